"""From measurements to a verdict: one pure function that anyone can run again."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import StrEnum

from judge.audits import Finding, Result
from judge.errors import Fault
from judge.findings import findings_of
from judge.gates import accuracy_to_reference, is_below_floor, is_over_cap, sample_is_over_cap
from judge.measurements import Lap
from judge.plan import Rules
from judge.protocol import Stage
from judge.quality import perplexity
from judge.speed import tps

OVER_PPL_CAP = "over-ppl-cap"
SPECULATION_CHANGES_SCORES = "speculation-changes-scores"
BELOW_ACCURACY_FLOOR = "below-accuracy-floor"
SPECULATION_CHANGES_ANSWERS = "speculation-changes-answers"
STATE_BROKEN = ("A9", Result.BROKEN)


class Outcome(StrEnum):
    VERIFIED = "verified"
    DISQUALIFIED = "disqualified"
    FAILED = "failed"
    VOID = "void"
    REVIEW = "review"


PLATFORM_FAULTS = frozenset(
    {
        Fault.QUALITY_NOT_REPEATABLE,
        Fault.DISTURBED_TIMING,
        Fault.ENGINE_NOT_GONE,
        Fault.INCOMPLETE_LAP,
        Fault.WORKER_LOST,
        Fault.JUDGE_ERROR,
    }
)
"""These make a run void; every other fault is the config's own."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a run comes to. `reason` is a code of words.REASONS, empty when verified; `stage` where it broke.

    `tps` and `ppl` are what was measured up to there, None where nothing was. `findings` are what the audits
    say of the rows, whatever decided.
    """

    outcome: Outcome
    reason: str = ""
    stage: Stage | None = None
    detail: str = ""
    tps: float | None = None
    ppl: float | None = None
    ppl_cap: float | None = None
    findings: tuple[Finding, ...] = ()


def decide(lap: Lap, rules: Rules) -> Verdict:
    """The verdict on one lap measured under these rules.

    1. A machine that was not as its class says, or not left alone, voids the run, whatever was measured.
    2. A fault voids it too, or fails it when the config is to blame.
    3. A perplexity over the cap disqualifies, on the early sample too when its lower bound is over, and so
       do answers below the accuracy floor; when only speculation puts it there, the evidence disagrees
       with itself: a review.
    4. A lap that lacks a request, a record or a question is never a pass.
    5. An audit that proves a broken rule disqualifies; one that only raises a doubt asks for a review.
    """
    findings = findings_of(lap, rules)
    return replace(_decide(lap, rules, findings), ppl_cap=rules.ppl_cap, findings=tuple(findings))


def _decide(lap: Lap, rules: Rules, findings: Sequence[Finding]) -> Verdict:
    if disturbed := next((one for one in findings if (one.audit, one.result) == STATE_BROKEN), None):
        return Verdict(Outcome.VOID, reason_of(disturbed), Stage.TIMED_PASS, _evidence_words(disturbed))
    if lap.fault is not None:
        outcome = Outcome.VOID if lap.fault in PLATFORM_FAULTS else Outcome.FAILED
        return Verdict(outcome, lap.fault, lap.fault_stage, lap.fault_detail)
    if lap.stopped_early and sample_is_over_cap(lap.quality, rules):
        return _over_cap(lap, rules, Stage.QUALITY_SAMPLE, None)
    if missing := _missing(lap, rules):
        return Verdict(Outcome.VOID, Fault.INCOMPLETE_LAP, detail=missing)
    ppl, speed = perplexity(lap.quality), tps(lap.timed)
    if is_over_cap(lap.quality, rules):
        return _over_cap(lap, rules, Stage.QUALITY_PASS, speed)
    if is_below_floor(lap.answered, rules):
        return _below_floor(lap, rules, speed, ppl)
    if accused := _accused(findings):
        outcome = Outcome.DISQUALIFIED if accused.result == Result.BROKEN else Outcome.REVIEW
        return Verdict(outcome, reason_of(accused), Stage.AUDITS, _evidence_words(accused), speed, ppl)
    return Verdict(Outcome.VERIFIED, tps=speed, ppl=ppl)


def reason_of(finding: Finding) -> str:
    return f"audit-{finding.audit.lower()}"


def _evidence_words(finding: Finding) -> str:
    return ", ".join(f"{name} {value}" for name, value in finding.evidence.items())


def _accused(findings: Sequence[Finding]) -> Finding | None:
    """The first finding that speaks against the lap, one that proves a broken rule before one that only asks."""
    order = (Result.BROKEN, Result.REVIEW)
    return next((finding for result in order for finding in findings if finding.result == result), None)


def _over_cap(lap: Lap, rules: Rules, stage: Stage, speed: float | None) -> Verdict:
    ppl = perplexity(lap.quality)
    detail = f"perplexity {ppl:.4g} over {len(lap.quality)} records, the cap is {rules.ppl_cap:.4g}"
    if lap.plain_quality and not is_over_cap(lap.plain_quality, rules):
        detail += f"; without speculation it is {perplexity(lap.plain_quality):.4g}"
        return Verdict(Outcome.REVIEW, SPECULATION_CHANGES_SCORES, stage, detail, speed, ppl)
    return Verdict(Outcome.DISQUALIFIED, OVER_PPL_CAP, stage, detail, speed, ppl)


def _below_floor(lap: Lap, rules: Rules, speed: float, ppl: float) -> Verdict:
    right = sum(one.correct for one in lap.answered)
    ratio = accuracy_to_reference(lap.answered, rules)
    detail = f"{right} of {len(lap.answered)} questions right"
    if ratio:
        detail += f", {ratio.estimate:.3f} of the reference ({ratio.low:.3f} to {ratio.high:.3f})"
    detail += f", the floor is {rules.accuracy_floor:g}"
    if lap.plain_answered and not is_below_floor(lap.plain_answered, rules):
        detail += f"; without speculation {sum(one.correct for one in lap.plain_answered)} are right"
        return Verdict(Outcome.REVIEW, SPECULATION_CHANGES_ANSWERS, Stage.ACCURACY_PASS, detail, speed, ppl)
    return Verdict(Outcome.DISQUALIFIED, BELOW_ACCURACY_FLOOR, Stage.ACCURACY_PASS, detail, speed, ppl)


def _missing(lap: Lap, rules: Rules) -> str:
    """What a complete lap has and this one lacks, or nothing. Compares what was asked, not only how often."""
    asked = {
        "timed requests": (rules.speed_sha256s, [request.prompt_sha256 for request in lap.timed]),
        "quality records": (rules.quality_sha256s, [score.record_sha256 for score in lap.quality]),
        "questions": (rules.question_sha256s, [one.question_sha256 for one in lap.answered]),
    }
    for what, (expected, found) in asked.items():
        if sorted(expected) != sorted(found):
            return f"{len(found)} of {len(expected)} {what}"
    if any(request.tokens != rules.protocol.output_tokens for request in lap.timed):
        return "an answer of another length"
    return "" if math.isfinite(sum(score.nll for score in lap.quality)) else "a record without a finite score"
