"""Ways in which an engine can answer wrongly: each function changes a right answer.

What goes wrong on the wire (`http_500`, `quality:hang`, …) is named here and done by handler.py.
"""

import math
from collections.abc import Callable
from typing import Any

from tests.engines.script import Misbehaviour

Answer = dict[str, Any]


def cut_short(answer: Answer, how: Misbehaviour) -> None:
    choice = answer["choices"][0]
    choice["token_ids"] = choice["token_ids"][: how.tokens]
    answer["usage"]["completion_tokens"] = how.tokens


def without_ids(answer: Answer, how: Misbehaviour) -> None:
    del answer["choices"][0]["token_ids"]


def with_null_ids(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["token_ids"] = None


def without_usage(answer: Answer, how: Misbehaviour) -> None:
    del answer["usage"]


def with_null_usage(answer: Answer, how: Misbehaviour) -> None:
    answer["usage"] = None


def with_invented_usage(answer: Answer, how: Misbehaviour) -> None:
    answer["usage"]["completion_tokens"] *= 2


def stopped(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["finish_reason"] = "stop"


def error_in_200(answer: Answer, how: Misbehaviour) -> None:
    answer["error"] = {"message": "something broke inside", "code": 500}


def with_wrong_prompt(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["prompt_token_ids"] = [token + 1 for token in answer["choices"][0]["prompt_token_ids"]]


def with_wrong_text(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["text"] = " w1" * len(answer["choices"][0]["token_ids"])


def without_choices(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"] = []


def text_for_ids(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["token_ids"] = ["1"] * len(answer["choices"][0]["token_ids"])


def _last_position(answer: Answer) -> dict[str, Any]:
    position: dict[str, Any] = answer["choices"][0]["prompt_logprobs"][-1]
    return position


def odd_logprob(answer: Answer, how: Misbehaviour) -> None:
    for entry in _last_position(answer).values():
        entry["logprob"] = how.value


def inf_logprob(answer: Answer, how: Misbehaviour) -> None:
    for entry in _last_position(answer).values():
        entry["logprob"] = how.value or -math.inf


def nan_logprob(answer: Answer, how: Misbehaviour) -> None:
    for entry in _last_position(answer).values():
        entry["logprob"] = math.nan


def null_logprob(answer: Answer, how: Misbehaviour) -> None:
    for entry in _last_position(answer).values():
        entry["logprob"] = None


def without_target(answer: Answer, how: Misbehaviour) -> None:
    _last_position(answer).clear()


def without_logprobs(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["prompt_logprobs"] = None


def too_few_positions(answer: Answer, how: Misbehaviour) -> None:
    answer["choices"][0]["prompt_logprobs"].pop()


TIMED: dict[str, Callable[[Answer, Misbehaviour], None]] = {
    change.__name__: change
    for change in (
        cut_short,
        without_ids,
        with_null_ids,
        without_usage,
        with_null_usage,
        with_invented_usage,
        stopped,
        error_in_200,
        with_wrong_prompt,
        with_wrong_text,
        without_choices,
        text_for_ids,
    )
}
QUALITY: dict[str, Callable[[Answer, Misbehaviour], None]] = {
    change.__name__: change
    for change in (
        odd_logprob,
        inf_logprob,
        nan_logprob,
        null_logprob,
        without_target,
        without_logprobs,
        too_few_positions,
        error_in_200,
        without_choices,
    )
}
ON_THE_WIRE = ("http_500", "die", "break_off", "hang", "drip", "drip_headers", "not_json", "huge", "redirect")
DRIFT = "drift"
"""Log-probabilities that change from one quality request to the next."""

ALSO_CALLED = {
    "short_answer": "cut_short",
    "missing_ids": "without_ids",
    "usage_absent": "without_usage",
    "usage_null": "with_null_usage",
    "usage_wrong": "with_invented_usage",
    "finish_stop": "stopped",
    "wrong_prompt_ids": "with_wrong_prompt",
    "nan_logprobs": "nan_logprob",
    "inf_logprobs": "inf_logprob",
    "missing_target_logprob": "without_target",
    "null_prompt_logprobs": "without_logprobs",
    "order_dependent_logprobs": DRIFT,
}
KINDS = {"timed": {*TIMED, *ON_THE_WIRE}, "quality": {*QUALITY, *ON_THE_WIRE, DRIFT}}


def stage_and_kind(how: Misbehaviour) -> tuple[str, str]:
    """Where and in which way it goes wrong. Raises ValueError for a kind that is not known there."""
    prefix, _, name = how.what.rpartition(":")
    kind = ALSO_CALLED.get(name, name)
    stage = how.stage or prefix or ("timed" if kind in KINDS["timed"] else "quality")
    if kind not in KINDS.get(stage, ()):
        raise ValueError(f"no misbehaviour {how.what} at stage {stage}: expected one of {_known()}")
    return stage, kind


def _known() -> str:
    return "; ".join(f"{stage}: {', '.join(sorted(kinds))}" for stage, kinds in KINDS.items())
