"""The scripted engine does what its script says; everything else leans on it."""

import json
import math
import time
from typing import Any

import httpx2
import pytest

from tests.engines.script import Script
from tests.engines.scripted import ScriptedEngine
from tests.engines.toy_model import ToyModel

CONTEXT = [1, 2, 3]


def post(engine: ScriptedEngine, **body: object) -> httpx2.Response:
    return httpx2.post(f"{engine.url}/v1/completions", json={"model": "toy", "prompt": CONTEXT, "max_tokens": 1} | body)


def timed(engine: ScriptedEngine) -> Any:
    return post(engine, max_tokens=16, return_token_ids=True).json()


def perplexity_of(engine: ScriptedEngine, text: list[int]) -> float:
    positions = post(engine, prompt=text, prompt_logprobs=1).json()["choices"][0]["prompt_logprobs"]
    assert positions[0] is None
    logprobs = [positions[place][str(text[place])]["logprob"] for place in range(len(CONTEXT), len(text))]
    return math.exp(-math.fsum(logprobs) / len(logprobs))


@pytest.mark.parametrize("window", [2, 8, 100])
def test_its_perplexity_on_its_own_text_is_what_was_set(window: int) -> None:
    text = CONTEXT + ToyModel(7.0, window).continuation(CONTEXT, 120)

    with ScriptedEngine(Script(perplexity=7.0, window=window)) as engine:
        assert perplexity_of(engine, text) == pytest.approx(7.0, rel=1e-9)


def test_a_narrower_window_does_not_know_the_text() -> None:
    text = CONTEXT + ToyModel(4.0, window=8).continuation(CONTEXT, 30)

    with ScriptedEngine(Script(perplexity=4.0, window=2)) as engine:
        assert perplexity_of(engine, text) > 40


def test_the_seed_decides_the_text() -> None:
    one, again, other = (ToyModel(seed=seed).continuation(CONTEXT, 20) for seed in (1, 1, 2))

    assert one == again != other


def test_probabilities_sum_to_one() -> None:
    model = ToyModel(vocab_size=50)

    assert math.fsum(math.exp(model.logprob(CONTEXT, token)) for token in range(50)) == pytest.approx(1)


@pytest.mark.parametrize("perplexity", [1.0, 512.0, math.nan])
def test_a_perplexity_that_no_toy_has_is_refused(perplexity: float) -> None:
    with pytest.raises(ValueError, match="expected above 1"):
        ToyModel(perplexity)


def test_answers_have_ids_and_usage_that_agree(engine: ScriptedEngine) -> None:
    answer = timed(engine)

    choice = answer["choices"][0]
    assert answer["usage"] == {"prompt_tokens": 3, "completion_tokens": 16, "total_tokens": 19}
    assert choice["token_ids"] == ToyModel().continuation(CONTEXT, 16)
    assert choice["prompt_token_ids"] == CONTEXT
    assert choice["finish_reason"] == "length"


def test_ids_are_given_only_when_asked_for(engine: ScriptedEngine) -> None:
    assert post(engine, max_tokens=16).json()["choices"][0]["token_ids"] is None


def test_a_stream_has_a_token_a_chunk_then_usage_then_the_end(engine: ScriptedEngine) -> None:
    answer = post(engine, max_tokens=5, return_token_ids=True, stream=True, stream_options={"include_usage": True})

    *data, done = answer.text.strip().split("\n\n")
    *chunks, usage = [json.loads(line.removeprefix("data: ")) for line in data]
    assert done == "data: [DONE]"
    assert [len(chunk["choices"][0]["token_ids"]) for chunk in chunks] == [1] * 5
    assert [chunk["choices"][0]["finish_reason"] for chunk in chunks] == [None] * 4 + ["length"]
    assert (usage["choices"], usage["usage"]["completion_tokens"]) == ([], 5)


def test_many_requests_travel_on_one_connection(engine: ScriptedEngine) -> None:
    with httpx2.Client(base_url=engine.url) as client:
        streams = {
            client.post("/v1/completions", json={"prompt": CONTEXT, "max_tokens": 2, "stream": stream})
            .extensions["network_stream"]
            .get_extra_info("client_addr")
            for stream in (False, True, False)
        }

    assert len(streams) == 1


def test_counters_count_what_was_generated(engine: ScriptedEngine) -> None:
    engine.misbehaves("usage_wrong", at_request=1)
    for _ in range(2):
        timed(engine)

    lines = httpx2.get(f"{engine.url}/metrics").text.splitlines()
    assert 'vllm:generation_tokens_total{engine="0",model_name="toy"} 32.0' in lines
    assert 'vllm:request_success_total{engine="0",finished_reason="length",model_name="toy"} 2.0' in lines


def test_speed_is_seconds_a_token() -> None:
    with ScriptedEngine(Script(seconds_per_token=0.005)) as engine:
        started = time.monotonic()
        timed(engine)

        assert time.monotonic() - started >= 16 * 0.005


def test_it_is_ready_after_the_time_that_was_set() -> None:
    with ScriptedEngine(Script(ready_after_s=1)) as engine:
        assert httpx2.get(f"{engine.url}/health").status_code == 503
        time.sleep(1.1)
        assert httpx2.get(f"{engine.url}/health").status_code == 200


def test_requests_are_kept_in_their_order(engine: ScriptedEngine) -> None:
    for number in range(3):
        post(engine, prompt=[number])

    assert [body["prompt"] for body in engine.requests] == [[0], [1], [2]]
