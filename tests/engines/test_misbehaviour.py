"""Each misbehaviour is seen by whoever asks, at the request that it is set for and at no other."""

import math
from collections.abc import Callable
from typing import Any

import httpx2
import pytest

from tests.engines.misbehaviour import ALSO_CALLED, KINDS
from tests.engines.script import Misbehaviour, Script
from tests.engines.scripted import ScriptedEngine

Seen = Callable[[Any], bool]


def post(engine: ScriptedEngine, timeout_s: float = 20, **body: object) -> httpx2.Response:
    defaults = {"model": "toy", "prompt": [1, 2, 3], "return_token_ids": True}
    return httpx2.post(f"{engine.url}/v1/completions", json=defaults | body, timeout=timeout_s)


def timed(engine: ScriptedEngine) -> httpx2.Response:
    return post(engine, max_tokens=16)


def quality(engine: ScriptedEngine) -> httpx2.Response:
    return post(engine, max_tokens=1, prompt_logprobs=1)


def ids(answer: Any) -> Any:
    return answer["choices"][0].get("token_ids")


def last_logprobs(answer: Any) -> list[float]:
    return [entry["logprob"] for entry in answer["choices"][0]["prompt_logprobs"][-1].values()]


TIMED: list[tuple[str, dict[str, object], Seen]] = [
    ("short_answer", {"tokens": 15}, lambda answer: len(ids(answer)) == 15),
    ("error_in_200", {}, lambda answer: "error" in answer),
    ("missing_ids", {}, lambda answer: ids(answer) is None),
    ("usage_absent", {}, lambda answer: "usage" not in answer),
    ("usage_null", {}, lambda answer: answer["usage"] is None),
    ("usage_wrong", {}, lambda answer: answer["usage"]["completion_tokens"] != len(ids(answer))),
    ("finish_stop", {}, lambda answer: answer["choices"][0]["finish_reason"] == "stop"),
    ("wrong_prompt_ids", {}, lambda answer: answer["choices"][0]["prompt_token_ids"] != [1, 2, 3]),
]
QUALITY: list[tuple[str, dict[str, object], Seen]] = [
    ("nan_logprobs", {}, lambda answer: all(map(math.isnan, last_logprobs(answer)))),
    ("inf_logprobs", {}, lambda answer: set(last_logprobs(answer)) == {-math.inf}),
    ("inf_logprobs", {"value": math.inf}, lambda answer: set(last_logprobs(answer)) == {math.inf}),
    ("odd_logprob", {"value": 0.1}, lambda answer: set(last_logprobs(answer)) == {0.1}),
    ("missing_target_logprob", {}, lambda answer: last_logprobs(answer) == []),
    ("null_prompt_logprobs", {}, lambda answer: answer["choices"][0]["prompt_logprobs"] is None),
]


@pytest.mark.parametrize(
    ("ask", "what", "details", "seen"),
    [(timed, *case) for case in TIMED] + [(quality, *case) for case in QUALITY],
)
def test_only_the_second_answer_is_wrong(
    engine: ScriptedEngine, ask: Callable[..., httpx2.Response], what: str, details: dict[str, object], seen: Seen
) -> None:
    engine.misbehaves(what, at_request=2, **details)

    assert [seen(ask(engine).json()) for _ in range(3)] == [False, True, False]


@pytest.mark.parametrize(("stage", "ask"), [("timed", timed), ("quality", quality)])
@pytest.mark.parametrize(
    ("what", "error"),
    [("die", httpx2.RemoteProtocolError), ("break_off", httpx2.RemoteProtocolError), ("not_json", ValueError)],
)
def test_only_the_second_exchange_breaks(
    engine: ScriptedEngine, stage: str, ask: Callable[..., httpx2.Response], what: str, error: type[Exception]
) -> None:
    engine.misbehaves(what, at_request=2, stage=stage)

    ask(engine).json()
    with pytest.raises(error):
        ask(engine).json()
    ask(engine).json()


def test_a_hanging_engine_never_answers(engine: ScriptedEngine) -> None:
    engine.misbehaves("hang", at_request=1)

    with pytest.raises(httpx2.ReadTimeout):
        post(engine, max_tokens=16, timeout_s=0.3)
    assert timed(engine).status_code == 200


def test_a_dripping_answer_comes_byte_by_byte(engine: ScriptedEngine) -> None:
    engine.misbehaves("drip", seconds=0.02)

    with httpx2.stream("POST", f"{engine.url}/v1/completions", json={"prompt": [1], "max_tokens": 16}) as answer:
        first = next(answer.iter_raw())

    assert first == b" "


def test_an_http_error_is_no_success(engine: ScriptedEngine) -> None:
    engine.misbehaves("http_500")

    assert timed(engine).status_code == 500
    assert engine.answered == 0


def test_log_probabilities_can_depend_on_the_order_of_requests(engine: ScriptedEngine) -> None:
    assert quality(engine).json()["choices"] == quality(engine).json()["choices"]

    engine.misbehaves("order_dependent_logprobs")

    assert quality(engine).json()["choices"] != quality(engine).json()["choices"]


def test_warm_up_and_streams_are_not_counted_as_timed(engine: ScriptedEngine) -> None:
    engine.misbehaves("http_500", at_request=1)

    assert post(engine, max_tokens=4).status_code == 200
    assert post(engine, max_tokens=16, stream=True).status_code == 200
    assert timed(engine).status_code == 500


@pytest.mark.parametrize("what", ["short_anser", "quality:cut_short", "timed:nan_logprob", "start:hang"])
def test_an_unknown_misbehaviour_is_refused_rather_than_left_out(engine: ScriptedEngine, what: str) -> None:
    with pytest.raises(ValueError, match="no misbehaviour"):
        engine.misbehaves(what)
    with pytest.raises(ValueError, match="no misbehaviour"):
        ScriptedEngine(Script(misbehaviours=[Misbehaviour(what)]))


def test_other_names_lead_to_kinds_that_exist() -> None:
    assert set(ALSO_CALLED.values()) <= KINDS["timed"] | KINDS["quality"]
    assert not set(ALSO_CALLED) & (KINDS["timed"] | KINDS["quality"])
