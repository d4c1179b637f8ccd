"""Each audit's question, on evidence made by hand."""

import pytest

from judge.audits import Finding, Result, follows
from judge.audits.counts import audit_counts
from judge.audits.degenerate import LOOPS_LIMIT, audit_degenerate, compression_ratio, looping_share, repeated_share
from judge.audits.reference import audit_reference
from judge.audits.repeat import audit_repeat
from judge.audits.replay import Replayed, audit_replay, first_difference
from judge.audits.rescore import Rescored, audit_rescore, rescore
from judge.audits.text import audit_text
from judge.errors import Fault, LapFault
from judge.speed import Answer
from tests import real_runs
from tests.engines import wire
from tests.engines.gallery import ToyDetokenizer
from tests.engines.toy_model import ToyModel


def metrics(tokens: float, requests: float) -> str:
    return f'vllm:generation_tokens_total{{e="0"}} {tokens}\nvllm:request_success_total{{r="length"}} {requests}\n'


@pytest.mark.parametrize(
    ("before", "after", "result"),
    [
        (metrics(10, 1), metrics(106, 7), Result.CLEAN),
        (metrics(10, 1), metrics(105, 7), Result.BROKEN),
        (metrics(10, 1), metrics(106, 6), Result.BROKEN),
        (metrics(10, 1), metrics(10, 1), Result.BROKEN),
        ("", metrics(106, 7), Result.NOTED),
        (metrics(10, 1), "", Result.NOTED),
        ("garbage", "vllm:generation_tokens_total many", Result.NOTED),
    ],
)
def test_a1_counts_what_the_engine_counted(before: str, after: str, result: Result) -> None:
    assert audit_counts(before, after, tokens=96, requests=6).result == result


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
    finding = audit_text([(1, 2), (1, 2)], [GOOD, answer], ToyDetokenizer())

    assert finding.result == (Result.BROKEN if problem else Result.CLEAN)
    assert finding.evidence.get("request 2") == problem


def test_a2_without_a_tokenizer_still_compares_the_prompts() -> None:
    assert audit_text([(1, 2)], [Answer((5,), "anything", (1, 2))], None).result == Result.CLEAN
    assert audit_text([(1, 3)], [GOOD], None).result == Result.BROKEN


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
    finding = audit_degenerate([Answer((5, 0, 0, 0), " w5", None), Answer((5, 6, 7, 8), "w", None)], eos_token_id=0)

    assert finding.evidence["after_eos"] == 0.25
    assert finding.result == Result.CLEAN


def rescored_text(answer_of: ToyModel, scored_by: ToyModel) -> Rescored:
    prompt = [1, 2, 3]
    answer = answer_of.continuation(prompt, 20)
    choice = {"prompt_logprobs": wire.prompt_logprobs(scored_by, prompt + answer)}
    return rescore(prompt, answer, choice, "answer 1")


def test_a4_passes_the_models_own_text_and_no_other() -> None:
    own, other = rescored_text(ToyModel(), ToyModel()), rescored_text(ToyModel(window=2), ToyModel())

    assert audit_rescore([own], near_tie_nats=0.3).result == Result.CLEAN
    assert own.nll == pytest.approx(20 * 1.3863, rel=1e-3)
    assert audit_rescore([own, other], near_tie_nats=0.3).result == Result.BROKEN


def test_a4_allows_a_near_tie_and_nothing_beyond_it() -> None:
    assert audit_rescore([Rescored((0.0, 0.3), 1.0)], 0.3).result == Result.CLEAN
    assert audit_rescore([Rescored((0.0, 0.31), 1.0)], 0.3).result == Result.BROKEN


@pytest.mark.parametrize("choice", [{}, {"prompt_logprobs": [None]}, {"prompt_logprobs": [None, {}, {}]}])
def test_a4_needs_every_log_probability(choice: dict) -> None:
    with pytest.raises(LapFault) as raised:
        rescore([1], [2, 3], choice, "answer 1")

    assert raised.value.fault == Fault.LOGPROB_MISSING


def test_a5_asks_for_a_review_above_the_band() -> None:
    rescored = [Rescored((0.0,) * 10, 7.0), Rescored((0.0,) * 10, 9.0)]

    assert audit_reference(rescored, nll_limit=0.8).result == Result.CLEAN
    assert audit_reference(rescored, nll_limit=0.79).result == Result.REVIEW


def test_a6_takes_a_near_tie_for_what_it_is() -> None:
    same, tie = Replayed(1.0, 1.02, None, None), Replayed(1.0, 1.02, 5, 0.05)

    assert audit_replay([same, tie], near_tie_nats=0.1, speed_band=0.05).result == Result.CLEAN


@pytest.mark.parametrize(
    "odd", [Replayed(1.0, 1.0, 5, 0.5), Replayed(1.0, 1.0, 5, None), Replayed(1.0, 1.2, None, None)]
)
def test_a6_doubts_another_text_or_another_speed(odd: Replayed) -> None:
    assert audit_replay([odd], near_tie_nats=0.1, speed_band=0.05).result == Result.REVIEW


@pytest.mark.parametrize(
    ("one", "other", "place"), [((1, 2), (1, 2), None), ((1, 2), (1, 3), 1), ((1, 2), (1,), 1), ((), (), None)]
)
def test_where_two_answers_part(one: tuple[int, ...], other: tuple[int, ...], place: int | None) -> None:
    assert first_difference(one, other) == place


@pytest.mark.parametrize(
    ("again_s", "result"), [(0.98, Result.CLEAN), (0.88, Result.CLEAN), (0.8, Result.REVIEW), (0.1, Result.BROKEN)]
)
def test_a8_allows_what_the_prefill_saves_and_no_more(again_s: float, result: Result) -> None:
    assert audit_repeat([1.0] * 4, [again_s] * 4, first_token_s=0.1, band=0.05).result == result


@pytest.mark.parametrize("evidence", [{}, {"tokens_counted": 1}])
def test_evidence_that_says_nothing_proves_nothing(evidence: dict) -> None:
    assert not follows(Finding("A1", Result.CLEAN, evidence))
    assert not follows(Finding("A7", Result.CLEAN, evidence))
