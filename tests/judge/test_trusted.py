"""What trusted servers say of a lap after it: the scores without speculation, A4 and A5."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from judge import Config, Lap, LapPlan, Outcome, decide, run_lap, trust
from judge.engine import Engine, without_speculation
from judge.errors import Fault
from tests import builders
from tests.engines.script import Script
from tests.engines.scripted import ScriptedEngine
from tests.judge.conftest import RunningServer

SPECULATIVE = Config((("SPECULATIVE_CONFIG", {"method": "ngram", "num_speculative_tokens": 3}),))
JudgedBy = Callable[..., tuple[Lap, list[Config]]]


@pytest.fixture
def judged_by(engine: ScriptedEngine, engine_file: Engine) -> JudgedBy:
    """A lap on the engine of the test, with another one as the trusted server; and for which configs it was started."""
    engine_file = replace(engine_file, readback=None)

    def judged(
        trusted_engine: ScriptedEngine, config: Config = SPECULATIVE, plan: LapPlan | None = None, is_gone: bool = True
    ) -> tuple[Lap, list[Config]]:
        started: list[Config] = []

        def start(of: Config) -> Callable[[], RunningServer]:
            started.append(of)
            return lambda: RunningServer(trusted_engine, is_gone)

        with trusted_engine:
            own = replace(plan or builders.plan(), engine=engine_file, config=config)
            lap = run_lap(lambda: RunningServer(engine), own, trusted=trust(start, engine_file, config, Config()))
        return lap, started

    return judged


def test_speculation_is_what_a_trusted_server_leaves_out(engine_file: Engine) -> None:
    config = Config((("SLIDING_WINDOW", 8), *SPECULATIVE.values))

    assert without_speculation(engine_file, config) == Config((("SLIDING_WINDOW", 8),))


def test_one_server_scores_for_both_where_the_configs_are_one(judged_by: JudgedBy) -> None:
    plan = builders.full_plan()

    lap, started = judged_by(ScriptedEngine(), plan=plan)

    findings = decide(lap, plan.rules).findings
    assert started == [Config()]
    assert [finding.audit for finding in findings] == ["A1", "A2", "A3", "A4", "A5", "A6", "A7", "A8"]
    assert {finding.result for finding in findings} == {"clean"}


def test_the_config_and_the_reference_have_a_server_each_where_they_differ(judged_by: JudgedBy) -> None:
    config = Config((("SLIDING_WINDOW", 8),))

    _, started = judged_by(ScriptedEngine(), config)

    assert started == [config, Config()]


def test_wrong_scores_only_with_speculation_are_a_review_not_a_cheat(
    engine: ScriptedEngine, judged_by: JudgedBy
) -> None:
    engine.model = replace(engine.model, perplexity=9.0)
    plan = builders.plan()

    lap, started = judged_by(ScriptedEngine(Script()), plan=plan)

    verdict = decide(lap, plan.rules)
    assert started == [Config()]
    assert (verdict.outcome, verdict.reason) == (Outcome.REVIEW, "speculation-changes-scores")
    assert "without speculation it is 4" in verdict.detail


def test_scores_that_are_over_the_cap_without_speculation_too_disqualify(
    engine: ScriptedEngine, judged_by: JudgedBy
) -> None:
    engine.model = replace(engine.model, perplexity=9.0)
    plan = builders.plan()

    lap, _ = judged_by(ScriptedEngine(Script(perplexity=9.0)), plan=plan)

    assert len(lap.plain_quality) == len(lap.quality)
    assert decide(lap, plan.rules).outcome == Outcome.DISQUALIFIED


def test_without_speculation_there_is_nothing_to_ask_again(engine: ScriptedEngine, judged_by: JudgedBy) -> None:
    engine.model = replace(engine.model, perplexity=9.0)
    plan = builders.plan()

    lap, started = judged_by(ScriptedEngine(), Config(), plan)

    assert (started, lap.plain_quality) == ([], [])
    assert decide(lap, plan.rules).outcome == Outcome.DISQUALIFIED


def test_a_trusted_server_that_breaks_down_voids_the_lap(judged_by: JudgedBy) -> None:
    broken = ScriptedEngine()
    broken.misbehaves("quality:http_500")
    plan = builders.plan()

    lap, _ = judged_by(broken, plan=plan)

    assert (lap.fault, lap.engine_gone) == (Fault.JUDGE_ERROR, True)
    assert "trusted server: http-error" in lap.fault_detail
    assert decide(lap, plan.rules).outcome == Outcome.VOID


def test_a_trusted_server_that_is_not_gone_is_told(judged_by: JudgedBy) -> None:
    lap, _ = judged_by(ScriptedEngine(), is_gone=False)

    assert (lap.fault, lap.engine_gone) == (Fault.JUDGE_ERROR, False)
