"""The accuracy gate: hidden questions with checkable answers, answered by the decode path.

A perplexity stays what it was while the model can no longer think: one real entry at PPL 2.377 fell from
0.668 to 0.274 on MMLU-Pro. What a text answers is read as the published harnesses read it, then compared
exactly after normalisation.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TypeVar

from judge.client import Exchange, parse_object
from judge.prompts import AnswerKind, Question, sha256_of_ids
from judge.speed import only_choice, token_ids_of

Read = TypeVar("Read")

CHOICE = (
    re.compile(r"answer is:?\s*\**\(?([A-J])\b"),
    re.compile(r"[aA]nswer:\s*\**\(?([A-J])\b"),
    re.compile(r"^\W*([A-J])(?:[).:,*]|\s*$)", re.MULTILINE),
)
"""The first two: TIGER-AI-Lab/MMLU-Pro, evaluate_from_local.py. The third: a line that begins with the letter."""

NUMBER = (
    re.compile(r"####\s*(-?\$?[0-9.,]+)"),
    re.compile(r"(-?[$0-9.,]{2,}|-?[0-9]+)"),
)
"""The two filters of lm-evaluation-harness for GSM8K (gsm8k.yaml): `strict-match`, then `flexible-extract`."""


@dataclass(frozen=True, slots=True)
class AnsweredQuestion:
    """One question and whether it was answered right; `answer_sha256` is that of the answer's token ids."""

    question_sha256: str
    answer_sha256: str
    correct: bool


def check_answer(question: Question, exchange: Exchange, where: str) -> AnsweredQuestion:
    """Raises LapFault for what is no completion; a text that answers nothing is only wrong."""
    choice = only_choice(parse_object(exchange.body, where), where)
    answer_sha256 = sha256_of_ids(token_ids_of(choice, where))
    return AnsweredQuestion(question.sha256, answer_sha256, is_correct(question, str(choice.get("text") or "")))


def is_correct(question: Question, text: str) -> bool:
    if question.kind == AnswerKind.CHOICE:
        return last_choice(text) == question.answer.strip().upper()
    found = last_number(text)
    return found is not None and found == as_number(question.answer)


def last_choice(text: str) -> str | None:
    """The letter that a text settles on: the last that the first of CHOICE finds."""
    return _last(text, CHOICE, lambda found: found)


def last_number(text: str) -> Decimal | None:
    """The number that a text settles on: the last that the first of NUMBER finds."""
    return _last(text, NUMBER, as_number)


def as_number(text: str) -> Decimal | None:
    """A number without its dollar sign, thousands separators and closing full stop."""
    try:
        return Decimal(text.strip().replace("$", "").replace(",", "").rstrip("."))
    except InvalidOperation:
        return None


def _last(text: str, patterns: Sequence[re.Pattern[str]], read: Callable[[str], Read | None]) -> Read | None:
    for pattern in patterns:
        values = [value for found in pattern.findall(text) if (value := read(found)) is not None]
        if values:
            return values[-1]
    return None
