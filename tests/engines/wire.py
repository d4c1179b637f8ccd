"""Answers in the shape in which vLLM's OpenAI-compatible server gives them."""

import json
from collections.abc import Iterator, Sequence
from typing import Any

from tests.engines.toy_model import ToyModel


def completion(model: ToyModel, served: str, prompt: list[int], answer: list[int], with_ids: bool) -> dict[str, Any]:
    return {
        "id": "cmpl-0",
        "object": "text_completion",
        "model": served,
        "choices": [
            {
                "index": 0,
                "text": model.words(answer),
                "logprobs": None,
                "finish_reason": "length",
                "stop_reason": None,
                "token_ids": answer if with_ids else None,
                "prompt_token_ids": prompt if with_ids else None,
                "prompt_logprobs": None,
            }
        ],
        "usage": {
            "prompt_tokens": len(prompt),
            "completion_tokens": len(answer),
            "total_tokens": len(prompt) + len(answer),
        },
    }


def prompt_logprobs(model: ToyModel, prompt: Sequence[int]) -> list[dict[str, Any] | None]:
    """The entry of the first position is null; each other holds the prompt's token and the likeliest one."""
    positions: list[dict[str, Any] | None] = [None]
    for place in range(1, len(prompt)):
        context = prompt[max(0, place - 64) : place]
        tokens = {prompt[place], model.greedy(context)}
        positions.append({str(token): {"logprob": model.logprob(context, token), "rank": 1} for token in tokens})
    return positions


def events(answer: dict[str, Any]) -> Iterator[bytes]:
    """The same answer streamed, one token a chunk."""
    choice = answer["choices"][0]
    for token in choice["token_ids"]:
        yield _event({"choices": [{"index": 0, "text": f" w{token}", "token_ids": [token], "finish_reason": None}]})
    yield _event({"choices": [{"index": 0, "text": "", "token_ids": [], "finish_reason": "length"}]})
    yield b"data: [DONE]\n\n"


def _event(data: dict[str, Any]) -> bytes:
    return b"data: " + json.dumps(data).encode() + b"\n\n"


def metrics(served: str, tokens: int, requests: int) -> str:
    label = f'{{engine="0",model_name="{served}"}}'
    return (
        f"# TYPE vllm:generation_tokens counter\nvllm:generation_tokens_total{label} {float(tokens)}\n"
        f'vllm:request_success_total{{engine="0",finished_reason="length",model_name="{served}"}} {float(requests)}\n'
        f"vllm:spec_decode_num_drafts_total{label} 10.0\n"
        f"vllm:spec_decode_num_draft_tokens_total{label} 30.0\n"
        f"vllm:spec_decode_num_accepted_tokens_total{label} 21.0\n"
    )
