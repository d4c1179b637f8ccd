"""Ways in which an engine can answer wrongly: each changes a right answer.

What goes wrong on the wire (`timed:http_500`, `quality:hang`, …) is done by scripted.py.
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
        without_choices,
        text_for_ids,
    )
}
QUALITY: dict[str, Callable[[Answer, Misbehaviour], None]] = {
    change.__name__: change
    for change in (
        odd_logprob,
        nan_logprob,
        null_logprob,
        without_target,
        without_logprobs,
        too_few_positions,
    )
}
