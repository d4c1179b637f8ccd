from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise

import pytest

from judge import Lap, Outcome, Progress, Stage, decide, run_lap
from judge.errors import Fault, LapStopped
from judge.prompts import warmup_prompts
from judge.quality import perplexity
from tests import builders
from tests.engines.scripted import ScriptedEngine
from tests.judge.conftest import RunningServer

LapOf = Callable[..., Lap]


def test_an_honest_engine_is_measured_completely(engine: ScriptedEngine, lap_of: LapOf) -> None:
    plan = builders.plan()

    lap = lap_of(plan)

    assert lap.fault is None
    assert [request.tokens for request in lap.timed] == [16] * 6
    assert sorted(score.tokens for score in lap.quality) == list(range(20, 28))
    assert perplexity(lap.quality) == pytest.approx(builders.PPL, rel=1e-9)
    assert decide(lap, plan.rules).outcome == Outcome.VERIFIED


def test_the_stages_come_in_the_order_of_the_protocol(lap_of: LapOf) -> None:
    seen: list[Stage] = []

    lap = lap_of(builders.full_plan(), report=lambda progress: seen.append(progress.stage))

    on_this_server = [stage for stage in Stage if stage != Stage.RESCORE]
    assert list(dict.fromkeys(seen)) == [stage for stage in on_this_server if stage != Stage.STOP]
    assert [time.stage for time in lap.stages] == on_this_server


def test_progress_counts_to_the_end_of_a_stage(lap_of: LapOf) -> None:
    seen: list[Progress] = []

    lap_of(report=seen.append)

    timed = [(progress.done, progress.total) for progress in seen if progress.stage == Stage.TIMED_PASS]
    assert timed == [(done, 6) for done in range(7)]


def test_no_scored_prompt_is_sent_before_its_timed_request_or_twice(engine: ScriptedEngine, lap_of: LapOf) -> None:
    plan = builders.plan(audit_requests=0)

    lap_of(plan)

    scored = {prompt.token_ids for prompt in plan.speed_set.prompts}
    sent = [tuple(body["prompt"]) for body in engine.requests if isinstance(body["prompt"], list)]
    assert all(sent.count(ids) == 1 for ids in scored)
    assert not [ids for ids in sent if any(len(ids) > len(one) and ids[: len(one)] == one for one in scored)]


def test_warm_up_is_the_judges_own_and_comes_first(engine: ScriptedEngine, lap_of: LapOf) -> None:
    lap_of()

    assert [body["prompt"] for body in engine.requests[:3]] == warmup_prompts()[:3]
    assert all(body["max_tokens"] == 2 for body in engine.requests[:3])


def test_timed_requests_are_greedy_with_ids_and_not_streamed(engine: ScriptedEngine, lap_of: LapOf) -> None:
    lap_of(builders.plan(audit_requests=0))

    timed = [body for body in engine.requests if body["max_tokens"] == 16]
    expected = {"temperature": 0, "ignore_eos": True, "return_token_ids": True, "max_tokens": 16, "model": "toy"}
    assert len(timed) == 6
    assert all(expected.items() <= body.items() and "stream" not in body for body in timed)


def test_the_seed_alone_decides_the_order(lap_of: LapOf) -> None:
    first, again, other = (lap_of(builders.plan(seed=seed)) for seed in ("a", "a", "b"))

    def order(lap: Lap) -> list[str]:
        return [request.prompt_sha256 for request in lap.timed]

    assert order(first) == order(again) != order(other)
    assert sorted(order(first)) == sorted(order(other))


def test_one_request_ends_before_the_next_begins(lap_of: LapOf) -> None:
    lap = lap_of()

    assert all(before.ended_ns < after.started_ns for before, after in pairwise(lap.timed))


def test_the_streamed_pass_and_the_counters_are_kept_beside_the_score(lap_of: LapOf) -> None:
    lap = lap_of()

    assert lap.stream is not None
    assert lap.stream.tokens_per_step == 1.0
    assert lap.stream.first_token_ns > 0
    assert lap.speculation is not None
    assert lap.speculation.accepted_tokens == 21


def test_no_metrics_is_no_fault(engine: ScriptedEngine, lap_of: LapOf) -> None:
    engine.script.has_metrics = False

    lap = lap_of()

    assert (lap.fault, lap.speculation) == (None, None)


def test_an_answer_one_token_short_fails_the_lap(engine: ScriptedEngine, lap_of: LapOf) -> None:
    engine.answers(tokens=15, at_request=5)
    plan = builders.plan()

    lap = lap_of(plan)

    assert lap.fault == Fault.SHORT_ANSWER
    assert "request 5" in lap.fault_detail
    assert decide(lap, plan.rules).outcome == Outcome.FAILED


TIMED_FAULTS = [
    ("without_ids", Fault.MISSING_TOKEN_IDS),
    ("with_null_ids", Fault.MISSING_TOKEN_IDS),
    ("with_invented_usage", Fault.USAGE_MISMATCH),
    ("stopped", Fault.WRONG_FINISH_REASON),
    ("error_in_200", Fault.ERROR_ANSWER),
    ("without_choices", Fault.MALFORMED_ANSWER),
    ("text_for_ids", Fault.MALFORMED_ANSWER),
    ("timed:http_500", Fault.HTTP_ERROR),
    ("timed:not_json", Fault.MALFORMED_ANSWER),
    ("timed:break_off", Fault.ENGINE_DIED),
    ("timed:huge", Fault.ANSWER_TOO_LARGE),
    ("timed:redirect", Fault.HTTP_ERROR),
    ("timed:hang", Fault.REQUEST_TIMEOUT),
    ("timed:drip", Fault.REQUEST_TIMEOUT),
    ("timed:drip_headers", Fault.REQUEST_TIMEOUT),
]


@pytest.mark.parametrize(("what", "fault"), TIMED_FAULTS)
def test_one_bad_answer_in_the_timed_pass_ends_the_lap_with_its_name(
    engine: ScriptedEngine, lap_of: LapOf, server: RunningServer, what: str, fault: Fault
) -> None:
    engine.misbehaves(what, at_request=2)
    plan = builders.plan(request_timeout_s=0.4)

    lap = lap_of(plan)

    assert (lap.fault, lap.fault_stage) == (fault, Stage.TIMED_PASS)
    assert "request 2" in lap.fault_detail
    assert lap.log_tail == "the last words"
    assert server.stopped
    assert decide(lap, plan.rules).outcome == Outcome.FAILED


@pytest.mark.parametrize("what", ["without_usage", "with_null_usage"])
def test_absent_usage_is_no_fault_since_ids_are_counted(engine: ScriptedEngine, lap_of: LapOf, what: str) -> None:
    engine.misbehaves(what)

    lap = lap_of()

    assert lap.fault is None
    assert len(lap.timed) == 6


QUALITY_FAULTS = [
    ("nan_logprob", 0.0, Fault.LOGPROB_NOT_FINITE),
    ("odd_logprob", float("-inf"), Fault.LOGPROB_NOT_FINITE),
    ("odd_logprob", float("inf"), Fault.LOGPROB_NOT_FINITE),
    ("odd_logprob", 0.1, Fault.LOGPROB_POSITIVE),
    ("null_logprob", 0.0, Fault.LOGPROB_MISSING),
    ("without_target", 0.0, Fault.LOGPROB_MISSING),
    ("without_logprobs", 0.0, Fault.LOGPROB_MISSING),
    ("too_few_positions", 0.0, Fault.LOGPROB_MISSING),
    ("quality:http_500", 0.0, Fault.HTTP_ERROR),
    ("quality:break_off", 0.0, Fault.ENGINE_DIED),
]


@pytest.mark.parametrize(("what", "value", "fault"), QUALITY_FAULTS)
def test_one_bad_log_probability_is_never_a_pass(
    engine: ScriptedEngine, lap_of: LapOf, what: str, value: float, fault: Fault
) -> None:
    engine.misbehaves(what, at_request=7, value=value)
    plan = builders.plan()

    lap = lap_of(plan)

    assert (lap.fault, lap.fault_stage) == (fault, Stage.QUALITY_PASS)
    assert decide(lap, plan.rules).outcome == Outcome.FAILED


def test_a_bad_log_probability_in_the_early_sample_counts_as_well(engine: ScriptedEngine, lap_of: LapOf) -> None:
    engine.misbehaves("nan_logprob", at_request=2)

    lap = lap_of()

    assert (lap.fault, lap.fault_stage) == (Fault.LOGPROB_NOT_FINITE, Stage.QUALITY_SAMPLE)
    assert lap.timed == []


def test_a_token_that_the_head_has_lost_is_never_a_pass(engine: ScriptedEngine, lap_of: LapOf) -> None:
    sample, others, repeats = 4, 4, 2
    engine.misbehaves("quality:without_target", at_request=sample + others + repeats + 2)

    lap = lap_of()

    assert (lap.fault, lap.fault_stage) == (Fault.LOGPROB_MISSING, Stage.QUALITY_PASS)
    assert "rare-token probe 2" in lap.fault_detail


def test_scores_that_change_when_asked_again_void_the_lap(engine: ScriptedEngine, lap_of: LapOf) -> None:
    engine.misbehaves("quality:drift")
    plan = builders.plan(ppl_cap=None)

    lap = lap_of(plan)

    assert lap.fault == Fault.QUALITY_NOT_REPEATABLE
    assert decide(lap, plan.rules).outcome == Outcome.VOID


def test_a_hopeless_sample_ends_the_lap_before_the_timed_pass(engine: ScriptedEngine, lap_of: LapOf) -> None:
    plan = builders.plan(ppl_cap=3.0)

    lap = lap_of(plan)

    assert lap.stopped_early
    assert (len(lap.quality), lap.timed) == (4, [])
    verdict = decide(lap, plan.rules)
    assert (verdict.outcome, verdict.reason) == (Outcome.DISQUALIFIED, "over-ppl-cap")
    assert verdict.ppl == pytest.approx(4.0)
    assert verdict.tps is None


def test_the_reference_has_no_cap_to_keep(lap_of: LapOf) -> None:
    plan = builders.plan(ppl_cap=None)

    assert decide(lap_of(plan), plan.rules).outcome == Outcome.VERIFIED


def test_gaps_between_timed_requests_void_the_lap(lap_of: LapOf) -> None:
    import time

    def slow(progress: Progress) -> None:
        time.sleep(0.02 if progress.stage == Stage.TIMED_PASS else 0)

    plan = builders.plan(compat_tolerance=0.05)

    lap = lap_of(plan, slow)

    assert lap.fault == Fault.DISTURBED_TIMING
    assert decide(lap, plan.rules).outcome == Outcome.VOID


def test_an_engine_that_is_not_gone_after_the_stop_voids_the_lap(engine: ScriptedEngine) -> None:
    plan = builders.plan()

    lap = run_lap(lambda: RunningServer(engine, is_gone=False), plan)

    assert not lap.engine_gone
    assert (lap.fault, lap.fault_stage) == (Fault.ENGINE_NOT_GONE, Stage.STOP)
    assert decide(lap, plan.rules).outcome == Outcome.VOID


def test_an_engine_that_is_never_ready_fails_at_its_start(engine: ScriptedEngine, lap_of: LapOf) -> None:
    engine.script.never_ready = True
    plan = builders.plan(start_timeout_s=0.5)

    lap = lap_of(plan)

    assert (lap.fault, lap.fault_stage) == (Fault.START_TIMEOUT, Stage.START)
    assert decide(lap, plan.rules).outcome == Outcome.FAILED


def test_a_variable_that_the_engine_ignores_fails_at_the_start(engine: ScriptedEngine, server: RunningServer) -> None:
    engine.effective = {"cache_config": {"sliding_window": None}}
    plan = replace(builders.plan(), config=builders.judge.Config((("SLIDING_WINDOW", 4),)))

    lap = run_lap(lambda: server, plan)

    assert (lap.fault, lap.fault_stage) == (Fault.VARIABLE_WITHOUT_EFFECT, Stage.START)
    assert "SLIDING_WINDOW was set to 4, the running engine has None" in lap.fault_detail
    assert decide(lap, plan.rules).outcome == Outcome.FAILED


def test_whoever_watches_can_stop_the_lap_and_the_engine_is_ended(lap_of: LapOf, server: RunningServer) -> None:
    def stop(progress: Progress) -> None:
        if progress == Progress(Stage.TIMED_PASS, 3, 6):
            raise LapStopped("enough")

    with pytest.raises(LapStopped):
        lap_of(report=stop)

    assert server.stopped


def test_a_missing_executable_is_the_platforms_fault() -> None:
    def start() -> RunningServer:
        raise FileNotFoundError("engine executable is not there")

    plan = builders.plan()

    lap = run_lap(start, plan)

    assert (lap.fault, lap.fault_stage) == (Fault.JUDGE_ERROR, Stage.START)
    assert decide(lap, plan.rules).outcome == Outcome.VOID
