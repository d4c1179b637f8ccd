"""Answers in the shape in which vLLM's OpenAI-compatible server gives them."""

import json
import time
from collections.abc import Iterator, Sequence
from typing import Any

from tests.engines.toy_model import ToyModel


def completion(model: ToyModel, served: str, prompt: list[int], answer: list[int], with_ids: bool) -> dict[str, Any]:
    """A whole answer; the ids of prompt and text are null unless they were asked for."""
    choice = {
        "index": 0,
        "text": model.words(answer),
        "logprobs": None,
        "finish_reason": "length",
        "stop_reason": None,
        "token_ids": answer if with_ids else None,
        "prompt_token_ids": prompt if with_ids else None,
        "prompt_logprobs": None,
    }
    return {**_head(served), "choices": [choice], "usage": _usage(len(prompt), len(answer))}


def logprobs(gaps: Sequence[float]) -> dict[str, Any]:
    """The log-probabilities of an answer's positions: the likeliest token, and the next one a gap below."""
    return {"top_logprobs": [{"likeliest": -0.1, "next": -0.1 - gap} for gap in gaps]}


def prompt_logprobs(model: ToyModel, prompt: Sequence[int]) -> list[dict[str, Any] | None]:
    """The entry of the first position is null; each other holds the prompt's token and the likeliest one."""
    return [None, *(_position(model, prompt[:place], prompt[place]) for place in range(1, len(prompt)))]


def _position(model: ToyModel, before: Sequence[int], token: int) -> dict[str, Any]:
    likeliest = model.greedy(before)
    return {
        str(one): {
            "logprob": model.logprob(before, one),
            "rank": 1 if one == likeliest else 2,
            "decoded_token": model.words([one]),
        }
        for one in (token, likeliest)
    }


def events(
    model: ToyModel, served: str, prompt: list[int], answer: list[int], *, with_ids: bool, with_usage: bool
) -> Iterator[bytes]:
    """The same answer streamed: one token a chunk, the usage where it was asked for, and the end mark."""
    head = _head(served)
    for place, token in enumerate(answer, start=1):
        choice = {
            "index": 0,
            "text": model.words([token]),
            "token_ids": [token] if with_ids else None,
            "logprobs": None,
            "finish_reason": "length" if place == len(answer) else None,
            "stop_reason": None,
        }
        yield _event({**head, "choices": [choice]})
    if with_usage:
        yield _event({**head, "choices": [], "usage": _usage(len(prompt), len(answer))})
    yield b"data: [DONE]\n\n"


def _head(served: str) -> dict[str, Any]:
    return {"id": "cmpl-0", "object": "text_completion", "created": int(time.time()), "model": served}


def _usage(prompt_tokens: int, completion_tokens: int) -> dict[str, int]:
    return {
        "prompt_tokens": prompt_tokens,
        "total_tokens": prompt_tokens + completion_tokens,
        "completion_tokens": completion_tokens,
    }


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def models(served: str, max_model_len: int) -> dict[str, Any]:
    """The one model that is served."""
    entry = {"id": served, "object": "model", "max_model_len": max_model_len}
    return {"object": "list", "data": [entry]}


def metrics(served: str, tokens: int, requests: int) -> str:
    """The counters in Prometheus text; those of speculation are always the same."""
    label = f'{{engine="0",model_name="{served}"}}'
    return (
        f"# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{label} {float(tokens)}\n"
        f'vllm:request_success_total{{engine="0",finished_reason="length",model_name="{served}"}} {float(requests)}\n'
        f"vllm:spec_decode_num_drafts_total{label} 10.0\n"
        f"vllm:spec_decode_num_draft_tokens_total{label} 30.0\n"
        f"vllm:spec_decode_num_accepted_tokens_total{label} 21.0\n"
    )
