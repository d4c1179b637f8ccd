"""The scripted engine does what its script says; everything else leans on it."""

import math

import httpx
import pytest

from tests.engines.scripted import ScriptedEngine
from tests.engines.toy_model import ToyModel


def ask(engine: ScriptedEngine, **body: object) -> dict[str, object]:
    return httpx.post(f"{engine.url}/v1/completions", json={"model": "toy", "max_tokens": 1, **body}).json()


def test_its_perplexity_on_its_own_text_is_what_was_set(engine: ScriptedEngine) -> None:
    engine.model = ToyModel(perplexity=7.0)
    text = [1, 2, 3, *engine.model.continuation([1, 2, 3], 30)]

    positions = ask(engine, prompt=text, prompt_logprobs=1)["choices"][0]["prompt_logprobs"]

    logprobs = [positions[place][str(text[place])]["logprob"] for place in range(3, len(text))]
    assert math.exp(-sum(logprobs) / len(logprobs)) == pytest.approx(7.0)


def test_another_window_does_not_know_the_text() -> None:
    text = ToyModel(window=8).continuation([1, 2, 3], 30)

    assert ToyModel(window=2).continuation([1, 2, 3], 30) != text


def test_answers_have_ids_and_usage_that_agree(engine: ScriptedEngine) -> None:
    answer = ask(engine, prompt=[5, 6], max_tokens=9, return_token_ids=True)

    assert len(answer["choices"][0]["token_ids"]) == answer["usage"]["completion_tokens"] == 9


def test_a_misbehaviour_hits_the_request_that_it_is_set_for(engine: ScriptedEngine) -> None:
    engine.answers(tokens=3, at_request=2)

    lengths = [len(ask(engine, prompt=[n], max_tokens=16)["choices"][0]["token_ids"]) for n in range(3)]

    assert lengths == [16, 3, 16]
