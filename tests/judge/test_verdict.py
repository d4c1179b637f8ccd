import math
from collections.abc import Callable
from dataclasses import replace

import pytest

from judge import Lap, Outcome, decide
from judge.audits.state import StateRule
from judge.errors import Fault
from judge.measurements import AuditRows
from judge.quality import QualityScore
from judge.verdict import PLATFORM_FAULTS
from tests import builders, real_runs

LapOf = Callable[..., Lap]


@pytest.mark.parametrize("fault", Fault)
def test_every_fault_is_either_the_platforms_or_the_configs(fault: Fault) -> None:
    verdict = decide(Lap("seed", fault=fault, fault_detail="where"), builders.plan().rules)

    assert verdict.outcome == (Outcome.VOID if fault in PLATFORM_FAULTS else Outcome.FAILED)
    assert (verdict.reason, verdict.detail) == (fault, "where")
    assert (verdict.tps, verdict.ppl) == (None, None)


def test_the_numbers_of_a_verified_lap_can_be_recomputed_from_its_rows(lap_of: LapOf) -> None:
    plan = builders.plan()
    lap = lap_of(plan)

    verdict = decide(lap, plan.rules)

    seconds = sum((r.ended_ns - r.started_ns) / 1e9 for r in lap.timed)
    assert verdict.tps == pytest.approx(6 * 16 / seconds)
    assert verdict.ppl == pytest.approx(math.exp(sum(q.nll for q in lap.quality) / sum(q.tokens for q in lap.quality)))
    assert verdict == decide(lap, plan.rules)


def test_a_perplexity_at_the_cap_passes_and_one_above_it_does_not(lap_of: LapOf) -> None:
    lap = lap_of()
    ppl = decide(lap, builders.plan().rules).ppl
    assert ppl is not None

    assert decide(lap, builders.plan(ppl_cap=ppl).rules).outcome == Outcome.VERIFIED
    verdict = decide(lap, builders.plan(ppl_cap=math.nextafter(ppl, 0)).rules)
    assert (verdict.outcome, verdict.reason) == (Outcome.DISQUALIFIED, "over-ppl-cap")
    assert verdict.tps is not None


def test_however_fast_a_run_over_the_cap_is_disqualified(lap_of: LapOf) -> None:
    lap = lap_of()
    lap.quality = [QualityScore(s.record_sha256, s.tokens, s.nll * 3) for s in lap.quality]

    assert decide(lap, builders.plan().rules).outcome == Outcome.DISQUALIFIED


def missing_request(lap: Lap) -> None:
    lap.timed.pop()


def doubled_request(lap: Lap) -> None:
    lap.timed[0] = lap.timed[1]


def missing_record(lap: Lap) -> None:
    lap.quality.pop()


def foreign_record(lap: Lap) -> None:
    lap.quality[0] = QualityScore("f" * 64, 10, 10.0)


def endless_record(lap: Lap) -> None:
    lap.quality[0] = QualityScore(lap.quality[0].record_sha256, 10, math.nan)


@pytest.mark.parametrize("spoil", [missing_request, doubled_request, missing_record, foreign_record, endless_record])
def test_a_lap_that_lacks_anything_is_never_a_pass(lap_of: LapOf, spoil: Callable[[Lap], None]) -> None:
    lap = lap_of()
    spoil(lap)

    verdict = decide(lap, builders.plan().rules)

    assert (verdict.outcome, verdict.reason) == (Outcome.VOID, Fault.INCOMPLETE_LAP)


def test_stopping_early_without_a_sample_over_the_cap_is_no_disqualification(lap_of: LapOf) -> None:
    lap = lap_of()
    lap.stopped_early, lap.timed = True, []

    assert decide(lap, builders.plan().rules).outcome == Outcome.VOID


RULES = (StateRule(quantity="foreign_processes", maximum=0),)


def test_a_disturbed_machine_voids_the_lap_before_its_score_counts(lap_of: LapOf) -> None:
    plan = replace(builders.plan(), state_rules=RULES)
    lap = lap_of(plan)
    lap.quality = [replace(score, nll=score.nll * 3) for score in lap.quality]
    lap.audits.state = [{"foreign_processes": 0}, {"foreign_processes": 1}]

    verdict = decide(lap, plan.rules)

    assert (verdict.outcome, verdict.reason) == (Outcome.VOID, "audit-a9")
    assert "foreign_processes 1, at most 0 is allowed" in verdict.detail
    assert (verdict.tps, verdict.ppl) == (None, None)


def test_a_timed_pass_that_nobody_watched_is_void_where_the_class_has_rules(lap_of: LapOf) -> None:
    plan = replace(builders.plan(), state_rules=RULES)

    assert decide(lap_of(plan), plan.rules).reason == "audit-a9"


def test_a_failed_start_needs_no_state(lap_of: LapOf) -> None:
    plan = replace(builders.plan(), state_rules=RULES)

    verdict = decide(Lap("seed", fault=Fault.ENGINE_EXITED), plan.rules)

    assert (verdict.outcome, verdict.reason) == (Outcome.FAILED, Fault.ENGINE_EXITED)


def test_the_real_run_with_a_failed_request_and_a_short_answer_does_not_count(lap_of: LapOf) -> None:
    """The contest's own harness accepted it, and it ranked above its clean siblings."""
    (accepted,) = real_runs.timed_passes("config-15").values()
    prompts = tuple(f"prompt-{n}" for n in range(128))
    plan = builders.plan(output_tokens=512)
    rules = replace(plan.rules, speed_sha256s=prompts)
    lap = replace(lap_of(), timed=list(accepted), audits=AuditRows())

    verdict = decide(lap, rules)

    assert (len(accepted), {request.tokens for request in accepted}) == (128, {512, 64, 0})
    assert (verdict.outcome, verdict.reason) == (Outcome.VOID, Fault.INCOMPLETE_LAP)
    assert verdict.tps is None
