"""Every rogue is caught by a named audit, gate or fault; no honest engine is accused."""

from collections.abc import Callable
from dataclasses import replace

import pytest

from judge import Config, Verdict, decide, run_lap, trust
from judge.engine import Bands, Engine
from tests import builders
from tests.engines import gallery
from tests.engines.script import Misbehaviour, Script
from tests.engines.scripted import ScriptedEngine
from tests.judge.conftest import RunningServer

PACE_S = 0.004
BANDS = Bands(near_tie_nats=0.1, reference_nll=2.0, replay_speed=0.6, repeat_speed=0.3, unseen_gap=0.4)
TOKENS = 32
FLOOR = 0.9
"""Would catch many of the rogues; their own audits have to. Every honest engine keeps it."""
PUBLIC = frozenset(prompt.token_ids for prompt in builders.public_set().prompts)


def script(*misbehaviours: Misbehaviour, **settings: object) -> Script:
    return Script(seconds_per_token=PACE_S, output_tokens=TOKENS, misbehaviours=list(misbehaviours), **settings)


def scripted(what: str, at_request: int | None = None, **details: object) -> Callable[[], ScriptedEngine]:
    return lambda: ScriptedEngine(script(Misbehaviour(what, at_request, **details)))


ROGUES: dict[str, tuple[Callable[[], ScriptedEngine], str]] = {
    "invented usage": (scripted("with_invented_usage"), "usage-mismatch"),
    "short answers": (scripted("cut_short", 3, tokens=10), "short-answer"),
    "no ids": (scripted("without_ids"), "missing-token-ids"),
    "tokens that were never generated": (lambda: gallery.InventsTokens(script()), "audit-a1"),
    "replies from a cache": (lambda: gallery.RepliesFromACache(script()), "audit-a8"),
    "another prompt answered": (scripted("with_wrong_prompt"), "audit-a2"),
    "text without ids": (scripted("with_wrong_text", 2), "audit-a2"),
    "looping answers": (lambda: gallery.Loops(script()), "audit-a3"),
    "slow only when watched": (lambda: gallery.SlowOnlyWhenWatched(script()), "audit-a6"),
    "sandbagging: the timed shape at a set speed": (lambda: gallery.HeldBackWhenTimed(script()), "audit-a6"),
    "sandbagging: public prompts at a set speed": (lambda: on_public(gallery.HeldBackOnPublicPrompts), "audit-a7"),
    "memorised prompts": (lambda: on_public(gallery.FastOnPublicPrompts), "audit-a7"),
    "different text for chat and completions": (lambda: gallery.AnotherTextInChat(script()), "audit-a6"),
    "another text in another shape": (lambda: gallery.AnotherTextInAnotherShape(script()), "audit-a6"),
    "text that drifts from greedy (synthetic acceptance)": (lambda: gallery.DriftsFromGreedy(script()), "audit-a4"),
    "exact weights only for prompt_logprobs": (lambda: gallery.ExactOnlyWhenScored(script()), "audit-a4"),
    "skipped layers": (lambda: gallery.SkipsLayers(script()), "audit-a4"),
    "skipped layers, too many": (lambda: ScriptedEngine(script(perplexity=4.4)), "over-ppl-cap"),
    "model swapped for a smaller one": (lambda: gallery.SwappedModel(script(window=3)), "audit-a5"),
    "scores well, and can no longer answer": (lambda: gallery.CannotAnswer(script()), "below-accuracy-floor"),
    "metrics absent": (lambda: ScriptedEngine(script(has_metrics=False)), "audit-a1"),
    "readiness before it is ready": (lambda: gallery.ReadyTooSoon(script()), "engine-died"),
    "NaN as log-probability": (scripted("nan_logprob", 5), "logprob-not-finite"),
    "raw logits as log-probabilities": (scripted("odd_logprob", 5, value=11.5), "logprob-positive"),
    "one record without log-probabilities": (scripted("without_logprobs", 7), "logprob-missing"),
    "one token without a log-probability": (scripted("without_target", 7), "logprob-missing"),
    "an error in a 200 answer": (scripted("timed:error_in_200", 4), "error-answer"),
    "scores that drift": (scripted("quality:drift"), "quality-not-repeatable"),
    "a narrower window than the text needs": (lambda: ScriptedEngine(script(window=2)), "over-ppl-cap"),
}
HONEST: dict[str, Callable[[], ScriptedEngine]] = {
    "plain": lambda: ScriptedEngine(script()),
    "no usage": scripted("without_usage"),
    "splits at a near-tie": lambda: gallery.SplitsAtANearTie(script()),
    "ends early under ignore_eos": lambda: gallery.EndsEarly(script()),
    "repeats when it is asked to": lambda: gallery.RepeatsWhenAsked(script()),
    "another version's field order": lambda: gallery.AnotherFieldOrder(script()),
    "slow at first": lambda: gallery.SlowAtFirst(script()),
}


def on_public(rogue: type[gallery.FastOnPublicPrompts]) -> ScriptedEngine:
    engine = rogue(script())
    engine.public = PUBLIC
    return engine


def judged(engine: ScriptedEngine, engine_file: Engine, accuracy_floor: float | None) -> Verdict:
    """The verdict on a lap of this engine, its text scored by servers that the judge starts itself.

    The trusted server runs the weights that the config names; those of the reference are the model's own.
    Where the toy model cannot say what the engine says, its text is not scored, to show the other audits.
    """
    config, reference = Config((("SLIDING_WINDOW", 8),)), Config()
    engine_file = replace(engine_file, bands=BANDS, readback=None)
    plan = builders.full_plan(output_tokens=TOKENS, warmup_requests=3)
    plan = replace(plan, engine=engine_file, config=config, accuracy_floor=accuracy_floor)
    named_weights = getattr(engine, "named_weights", {})
    with engine, ScriptedEngine(script(**named_weights)) as plain, ScriptedEngine(script()) as honest:
        trusted = trust(
            lambda of: lambda: RunningServer(honest if of == reference else plain), engine_file, config, reference
        )
        trusted_or_none = trusted if getattr(engine, "is_rescored", True) else None
        lap = run_lap(lambda: RunningServer(engine), plan, trusted=trusted_or_none)
    return decide(lap, plan.rules)


Note = Callable[[str, object], None]


@pytest.mark.parametrize("name", ROGUES)
def test_every_rogue_is_caught_by_name(name: str, engine_file: Engine, record_property: Note) -> None:
    make, reason = ROGUES[name]

    verdict = judged(make(), engine_file, FLOOR if reason == "below-accuracy-floor" else None)

    record_property("gallery", ["rogue", name, verdict.outcome.value, str(verdict.reason)])
    assert verdict.reason == reason
    assert verdict.outcome != "verified"


@pytest.mark.parametrize("name", HONEST)
def test_no_honest_engine_is_accused(name: str, engine_file: Engine, record_property: Note) -> None:
    verdict = judged(HONEST[name](), engine_file, FLOOR)

    record_property("gallery", ["honest", name, verdict.outcome.value, str(verdict.reason)])
    assert (verdict.outcome, verdict.reason) == ("verified", "")
    assert {finding.result for finding in verdict.findings} == {"clean"}
