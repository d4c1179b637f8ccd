"""Each audit's question, on evidence made by hand."""

import pytest

from judge.audits import Result
from judge.audits.counts import audit_counts, counter_rise
from judge.audits.degenerate import (
    LOOPS_LIMIT,
    audit_degenerate,
    compression_ratio,
    looping_share,
    repeated_share,
    texture_of,
)
from judge.audits.reference import audit_reference
from judge.audits.repeat import Repeated, audit_repeat
from judge.audits.replay import Replayed, Shape, audit_replay, first_difference
from judge.audits.rescore import Rescored, audit_rescore, rescore
from judge.audits.state import StateRule, audit_state
from judge.audits.text import OTHER_PROMPT, audit_text, problem_of
from judge.audits.unseen import audit_unseen
from judge.errors import Fault, LapFault
from judge.speed import Answer, TimedRequest
from tests import real_runs
from tests.engines import wire
from tests.engines.toy_model import ToyModel
from tests.engines.toy_tokenizer import ToyTokenizer


def metrics(tokens: float, requests: float) -> str:
    return f'vllm:generation_tokens_total{{e="0"}} {tokens}\nvllm:request_success_total{{r="length"}} {requests}\n'


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        (metrics(10, 1), metrics(106, 7), Result.CLEAN),
        (metrics(10, 1), metrics(105, 7), Result.BROKEN),
        (metrics(10, 1), metrics(106, 6), Result.BROKEN),
        (metrics(10, 1), metrics(10, 1), Result.BROKEN),
        ("", metrics(106, 7), Result.REVIEW),
        (metrics(10, 1), "", Result.REVIEW),
        ("garbage", "vllm:generation_tokens_total many", Result.REVIEW),
    ],
)
def test_a1_counts_what_the_engine_counted(before: str, after: str, result: Result) -> None:
    assert audit_counts(counter_rise(before, after), tokens=96, requests=6, expects_metrics=True).result == result


def test_a1_notes_an_engine_that_never_had_counters() -> None:
    assert audit_counts(counter_rise("", ""), tokens=96, requests=6, expects_metrics=False).result == Result.NOTED


GOOD = Answer((5, 6), " w5 w6", (1, 2))


@pytest.mark.parametrize(
    ("answer", "problem"),
    [
        (GOOD, None),
        (Answer((5, 6), " w5 w6\ufffd", (1, 2)), None),
        (Answer((5, 6), " w5 w6", None), None),
        (Answer((5, 6), " w5 w6", (1, 3)), "the prompt that came back is not the one that was sent"),
        (Answer((5, 512), " w5 w512", (1, 2)), "a token id is outside the vocabulary"),
        (Answer((5, 6), " w5 w7", (1, 2)), "the text is not what the ids say"),
        (Answer((5, 6), "", (1, 2)), "the text is not what the ids say"),
    ],
)
def test_a2_reads_what_the_ids_say(answer: Answer, problem: str | None) -> None:
    finding = audit_text([problem_of((1, 2), one, ToyTokenizer()) for one in (GOOD, answer)])

    assert finding.result == (Result.BROKEN if problem else Result.CLEAN)
    assert finding.evidence.get("request 2") == problem


def test_a2_without_a_tokenizer_still_compares_the_prompts() -> None:
    assert problem_of((1, 2), Answer((5,), "anything", (1, 2)), None) == ""
    assert problem_of((1, 3), GOOD, None) == OTHER_PROMPT


def test_a3_flags_the_real_looping_class_and_no_ordinary_run() -> None:
    flagged = {run for run, ratios in real_runs.answer_ratios().items() if looping_share(ratios) > LOOPS_LIMIT}

    assert len(real_runs.answer_ratios()) == 64
    assert flagged == {"run-03", "run-56"}


def test_a3_sees_loops_in_text_and_in_ids() -> None:
    loop, prose = "again and " * 200, "Every word of this sentence is another one than those before it, more or less."

    assert compression_ratio(loop) < 0.15 < compression_ratio(prose) <= 1.1
    assert compression_ratio("") == 1
    assert repeated_share([1, 2] * 50) > 0.9
    assert repeated_share(range(100)) == 0
    assert repeated_share([1]) == 0


def test_a3_publishes_the_share_after_the_end() -> None:
    answers = [Answer((5, 0, 0, 0), " w5", None), Answer((5, 6, 7, 8), "w", None)]

    finding = audit_degenerate([texture_of(answer, eos_token_id=0) for answer in answers])

    assert finding.evidence["after_eos"] == 0.25
    assert finding.result == Result.CLEAN


def rescored_text(answer_of: ToyModel, scored_by: ToyModel) -> Rescored:
    prompt = [1, 2, 3]
    answer = answer_of.continuation(prompt, 20)
    choice = {"prompt_logprobs": wire.prompt_logprobs(scored_by, prompt + answer)}
    return rescore("p", prompt, answer, choice, "answer 1")


def test_a4_passes_the_models_own_text_and_no_other() -> None:
    own, other = rescored_text(ToyModel(), ToyModel()), rescored_text(ToyModel(window=2), ToyModel())

    assert audit_rescore([own], near_tie_nats=0.3).result == Result.CLEAN
    assert own.nll == pytest.approx(20 * 1.3863, rel=1e-3)
    assert audit_rescore([own, other], near_tie_nats=0.3).result == Result.BROKEN


def test_a4_allows_a_near_tie_and_nothing_beyond_it() -> None:
    assert audit_rescore([Rescored("p", 2, 1.0, (0.3,))], 0.3).result == Result.CLEAN
    assert audit_rescore([Rescored("p", 2, 1.0, (0.31,))], 0.3).result == Result.BROKEN


@pytest.mark.parametrize("choice", [{}, {"prompt_logprobs": [None]}, {"prompt_logprobs": [None, {}, {}]}])
def test_a4_needs_every_log_probability(choice: dict) -> None:
    with pytest.raises(LapFault) as raised:
        rescore("p", [1], [2, 3], choice, "answer 1")

    assert raised.value.fault == Fault.LOGPROB_MISSING


def test_a5_asks_for_a_review_above_the_band() -> None:
    rescored = [Rescored("p", 10, 7.0, ()), Rescored("q", 10, 9.0, ())]

    assert audit_reference(rescored, nll_limit=0.8).result == Result.CLEAN
    assert audit_reference(rescored, nll_limit=0.79).result == Result.REVIEW


TIMED_NS = {"p": 1_000_000_000}


def replayed(again_s: float, parted_at: int | None = None, gap: float | None = None) -> Replayed:
    return Replayed("p", Shape.CHAT, round(again_s * 1e9), parted_at, gap)


def test_a6_takes_a_near_tie_for_what_it_is() -> None:
    rows = [replayed(1.02), replayed(1.02, 5, 0.05)]

    assert audit_replay(rows, TIMED_NS, near_tie_nats=0.1, speed_band=0.05).result == Result.CLEAN


@pytest.mark.parametrize("odd", [replayed(1.0, 5, 0.5), replayed(1.0, 5, None), replayed(1.2), replayed(0.8)])
def test_a6_doubts_another_text_or_another_speed(odd: Replayed) -> None:
    assert audit_replay([odd], TIMED_NS, near_tie_nats=0.1, speed_band=0.05).result == Result.REVIEW


def test_a6_looks_at_each_shape_by_itself() -> None:
    rows = [Replayed("p", shape, round(again_s * 1e9), None, None) for shape, again_s in SLOW_CHAT.items()]

    finding = audit_replay(rows, TIMED_NS, near_tie_nats=0.1, speed_band=0.05)

    assert finding.result == Result.REVIEW
    assert (finding.evidence["chat slower"], finding.evidence["streamed slower"]) == (0.5, 0.0)


SLOW_CHAT = {Shape.STREAMED: 1.0, Shape.LOGPROBS: 1.0, Shape.CHAT: 1.5}


@pytest.mark.parametrize(
    ("one", "other", "place"), [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1, 2), (1,), 1), ((), (), None)]
)
def test_where_two_answers_part(one: tuple[int, ...], other: tuple[int, ...], place: int | None) -> None:
    assert first_difference(one, other) == place


@pytest.mark.parametrize(
    ("again_s", "result"), [(0.98, Result.CLEAN), (0.88, Result.CLEAN), (0.8, Result.REVIEW), (0.1, Result.BROKEN)]
)
def test_a8_allows_what_the_prefill_saves_and_no_more(again_s: float, result: Result) -> None:
    rows = [Repeated("p", (2_000_000_000, round(again_s * 1e9)))] * 4

    assert audit_repeat(rows, TIMED_NS, first_token_ns=100_000_000, band=0.05).result == result


def requests(seconds: float) -> list[TimedRequest]:
    return [TimedRequest("p", 0, round(seconds * 1e9), 16, "a")]


@pytest.mark.parametrize(
    ("public_s", "reference_gap", "result"),
    [
        (1.0, 0.0, Result.CLEAN),
        (0.8, 0.2, Result.CLEAN),
        (0.8, 0.0, Result.REVIEW),
        (1.25, 0.0, Result.REVIEW),
        (0.5, None, Result.NOTED),
    ],
)
def test_a7_compares_the_gap_with_the_references(public_s: float, reference_gap: float | None, result: Result) -> None:
    assert audit_unseen(requests(public_s), requests(1.0), reference_gap, band=0.1).result == result


QUIET = {"gpu_name": "NVIDIA A10G", "mig": False, "temperature_celsius": 60, "busy_share": 0.1}


@pytest.mark.parametrize(
    ("rule", "problem"),
    [
        ({"quantity": "gpu_name", "one_of": ("NVIDIA A10G",)}, ""),
        ({"quantity": "gpu_name", "one_of": ("NVIDIA L4", "T4")}, "NVIDIA A10G, expected NVIDIA L4 or T4"),
        ({"quantity": "mig", "one_of": (False,)}, ""),
        ({"quantity": "temperature_celsius", "minimum": 20, "maximum": 84}, ""),
        ({"quantity": "temperature_celsius", "maximum": 84.5}, ""),
        ({"quantity": "temperature_celsius", "maximum": 59}, "90, at most 59 is allowed"),
        ({"quantity": "temperature_celsius", "minimum": 61}, "60, at least 61 is expected"),
        ({"quantity": "busy_share", "mean_maximum": 0.3}, ""),
        ({"quantity": "busy_share", "mean_maximum": 0.2}, "0.25 on average, at most 0.2 is allowed"),
        ({"quantity": "busy_share", "mean_minimum": 0.25}, ""),
        ({"quantity": "busy_share", "mean_minimum": 0.3}, "0.25 on average, at least 0.3 is expected"),
        ({"quantity": "power_watts", "maximum": 300}, "not observed"),
        ({"quantity": "gpu_name", "maximum": 300}, "not a number"),
    ],
)
def test_a9_holds_every_sample_against_the_rule(rule: dict, problem: str) -> None:
    hot = QUIET | {"temperature_celsius": 84, "busy_share": 0.4}
    samples = [QUIET, hot | {"temperature_celsius": 90} if "at most 59" in problem else hot]

    finding = audit_state(samples, [StateRule(**rule)])

    assert finding.evidence.get(rule["quantity"], "") == problem
    assert finding.result == (Result.BROKEN if problem else Result.CLEAN)


def test_a9_without_rules_notes_what_was_seen() -> None:
    assert audit_state([QUIET], []).result == Result.NOTED


def test_a9_without_any_sample_proves_nothing() -> None:
    assert audit_state([], [StateRule(quantity="busy_share", maximum=1)]).result == Result.BROKEN


def test_a_rule_that_asks_for_nothing_is_refused() -> None:
    with pytest.raises(ValueError, match="asks for nothing"):
        StateRule(quantity="busy_share")
