"""From measurements to a verdict: one pure function that anyone can run again."""

import math
from dataclasses import dataclass
from enum import StrEnum

from judge.audits import Finding, Result
from judge.errors import Fault
from judge.lap import Lap, is_over_cap, sample_is_over_cap
from judge.protocol import Rules, Stage
from judge.quality import perplexity
from judge.speed import tps

OVER_PPL_CAP = "over-ppl-cap"
SPECULATION_CHANGES_SCORES = "speculation-changes-scores"


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

    `tps` and `ppl` are what was measured up to there, None where nothing was.
    """

    outcome: Outcome
    reason: str = ""
    stage: Stage | None = None
    detail: str = ""
    tps: float | None = None
    ppl: float | None = None
    ppl_cap: float | None = None


def decide(lap: Lap, rules: Rules) -> Verdict:
    """The verdict on one lap measured under these rules.

    1. A fault voids the run, or fails it when the config is to blame.
    2. A perplexity over the cap disqualifies, on the early sample too when its lower bound is over;
       when only speculation puts it there, the evidence disagrees with itself: a review.
    3. A lap that lacks a request or a record is never a pass.
    4. An audit that proves a broken rule disqualifies; one that only raises a doubt asks for a review.
    """
    if lap.fault is not None:
        outcome = Outcome.VOID if lap.fault in PLATFORM_FAULTS else Outcome.FAILED
        return Verdict(outcome, lap.fault, lap.fault_stage, lap.fault_detail, ppl_cap=rules.ppl_cap)
    if lap.stopped_early and sample_is_over_cap(lap.quality, rules):
        return _over_cap(lap, rules, Stage.QUALITY_SAMPLE, None)
    if missing := _missing(lap, rules):
        return Verdict(Outcome.VOID, Fault.INCOMPLETE_LAP, detail=missing, ppl_cap=rules.ppl_cap)
    ppl, speed = perplexity(lap.quality), tps(lap.timed)
    if is_over_cap(lap.quality, rules):
        return _over_cap(lap, rules, Stage.QUALITY_PASS, speed)
    if accused := _accused(lap):
        outcome = Outcome.DISQUALIFIED if accused.result == Result.BROKEN else Outcome.REVIEW
        detail = ", ".join(f"{name} {value}" for name, value in accused.evidence.items())
        return Verdict(outcome, f"audit-{accused.audit.lower()}", Stage.AUDITS, detail, speed, ppl, rules.ppl_cap)
    return Verdict(Outcome.VERIFIED, tps=speed, ppl=ppl, ppl_cap=rules.ppl_cap)


def _accused(lap: Lap) -> Finding | None:
    """The first finding that speaks against the lap, one that proves a broken rule before one that only asks."""
    order = (Result.BROKEN, Result.REVIEW)
    return next((finding for result in order for finding in lap.findings if finding.result == result), None)


def _over_cap(lap: Lap, rules: Rules, stage: Stage, speed: float | None) -> Verdict:
    ppl = perplexity(lap.quality)
    detail = f"perplexity {ppl:.4g} over {len(lap.quality)} records, the cap is {rules.ppl_cap:.4g}"
    if lap.plain_quality and not is_over_cap(lap.plain_quality, rules):
        detail += f"; without speculation it is {perplexity(lap.plain_quality):.4g}"
        return Verdict(Outcome.REVIEW, SPECULATION_CHANGES_SCORES, stage, detail, speed, ppl, rules.ppl_cap)
    return Verdict(Outcome.DISQUALIFIED, OVER_PPL_CAP, stage, detail, speed, ppl, rules.ppl_cap)


def _missing(lap: Lap, rules: Rules) -> str:
    """What a complete lap has and this one lacks, or nothing. Compares what was asked, not only how often."""
    asked, scored = set(rules.speed_sha256s), set(rules.quality_sha256s)
    if len(lap.timed) != len(asked) or {request.prompt_sha256 for request in lap.timed} != asked:
        return f"{len(lap.timed)} of {len(asked)} timed requests"
    if len(lap.quality) != len(scored) or {score.record_sha256 for score in lap.quality} != scored:
        return f"{len(lap.quality)} of {len(scored)} quality records"
    if any(request.tokens != rules.protocol.output_tokens for request in lap.timed):
        return "an answer of another length"
    return "" if math.isfinite(sum(score.nll for score in lap.quality)) else "a record without a finite score"
