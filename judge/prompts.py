"""Prompt sets: what they hold, how they are named, in which order they are sent, and never twice."""

import hashlib
import json
import random
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from importlib import resources
from typing import TypeVar

from judge.errors import PromptReused, PromptSetError

TokenIds = tuple[int, ...]
Item = TypeVar("Item")

CHOICE_ANSWER = re.compile(r"[A-J]")
NUMBER_ANSWER = re.compile(r"-?[0-9]+(?:,[0-9]{3})*(?:\.[0-9]+)?")


class SetKind(StrEnum):
    SPEED = "speed"
    QUALITY = "quality"
    ACCURACY = "accuracy"


class AnswerKind(StrEnum):
    """How an answer is read: one letter of a multiple choice, or a number."""

    CHOICE = "choice"
    NUMBER = "number"


class SetRole(StrEnum):
    PUBLIC = "public"
    HIDDEN = "hidden"
    RESERVE = "reserve"


@dataclass(frozen=True, slots=True)
class SpeedPrompt:
    """One scored prompt of the timed pass, as token ids."""

    name: str
    token_ids: TokenIds

    @property
    def sha256(self) -> str:
        return sha256_of_ids(self.token_ids)

    def as_dict(self) -> dict[str, object]:
        return {"id": self.name, "token_ids": list(self.token_ids)}


@dataclass(frozen=True, slots=True)
class QualityRecord:
    """One scored continuation: the perplexity of the target after the context."""

    name: str
    context_token_ids: TokenIds
    target_token_ids: TokenIds

    @property
    def token_ids(self) -> TokenIds:
        return self.context_token_ids + self.target_token_ids

    @property
    def sha256(self) -> str:
        return sha256_of_ids(self.token_ids)

    def as_dict(self) -> dict[str, object]:
        return {
            "id": self.name,
            "context_token_ids": list(self.context_token_ids),
            "target_token_ids": list(self.target_token_ids),
        }


@dataclass(frozen=True, slots=True)
class Question:
    """One question with a checkable answer: a letter from A to J, or a number."""

    name: str
    token_ids: TokenIds
    kind: AnswerKind
    answer: str

    @property
    def sha256(self) -> str:
        return sha256_of_ids(self.token_ids)

    def as_dict(self) -> dict[str, object]:
        return {"id": self.name, "token_ids": list(self.token_ids), self.kind.value: self.answer}


PromptItem = SpeedPrompt | QualityRecord | Question
KINDS: dict[type, SetKind] = {
    SpeedPrompt: SetKind.SPEED,
    QualityRecord: SetKind.QUALITY,
    Question: SetKind.ACCURACY,
}


@dataclass(frozen=True)
class PromptSet:
    """Speed prompts, quality records or questions, never two of them; named by the SHA-256 of its canonical JSONL."""

    kind: SetKind
    prompts: tuple[SpeedPrompt, ...] = ()
    records: tuple[QualityRecord, ...] = ()
    questions: tuple[Question, ...] = ()

    def __post_init__(self) -> None:
        if not len(self):
            raise PromptSetError("the prompt set is empty")
        if any(KINDS[type(item)] != self.kind for item in self.items):
            raise PromptSetError(f"a {self.kind} set holds only items of its own kind")
        refuse_repeats(self.items)

    def __len__(self) -> int:
        return len(self.items)

    @property
    def items(self) -> tuple[PromptItem, ...]:
        """What it holds, of whatever kind."""
        return (*self.prompts, *self.records, *self.questions)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.as_jsonl().encode()).hexdigest()

    def as_jsonl(self) -> str:
        """The set as canonical JSON Lines: sorted keys, no spaces, one record a line."""
        return "".join(
            json.dumps(item.as_dict(), sort_keys=True, separators=(",", ":"), ensure_ascii=False) + "\n"
            for item in self.items
        )

    @classmethod
    def of(cls, items: Sequence[PromptItem]) -> "PromptSet":
        """A set of the kind that its first item is of. Raises PromptSetError."""
        return cls(
            KINDS[type(items[0])] if items else SetKind.SPEED,
            tuple(item for item in items if isinstance(item, SpeedPrompt)),
            tuple(item for item in items if isinstance(item, QualityRecord)),
            tuple(item for item in items if isinstance(item, Question)),
        )

    @classmethod
    def from_jsonl(cls, text: str) -> "PromptSet":
        """Read a set of token ids; the fields of the first record say which kind it is.

        Raises PromptSetError with the line's number.
        """
        lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
        return cls.of([_item_of_line(number, line) for number, line in lines])


def _item_of_line(number: int, line: str) -> PromptItem:
    try:
        data = json.loads(line)
    except ValueError as error:
        raise PromptSetError(f"line {number} is not JSON: {error}") from None
    if not isinstance(data, dict):
        raise PromptSetError(f"line {number} is not a JSON object")
    name = str(data.get("id") or f"line-{number}")
    if "context_token_ids" in data:
        return QualityRecord(name, _ids(data, "context_token_ids", number), _ids(data, "target_token_ids", number))
    for kind in AnswerKind:
        if kind in data:
            return question(name, _ids(data, "token_ids", number), kind, str(data[kind]), f"line {number}")
    return SpeedPrompt(name, _ids(data, "token_ids", number))


def question(name: str, token_ids: TokenIds, kind: AnswerKind, answer: str, where: str) -> Question:
    """A question whose answer can be checked. Raises PromptSetError for one that cannot."""
    answer = answer.strip()
    pattern = CHOICE_ANSWER if kind == AnswerKind.CHOICE else NUMBER_ANSWER
    if not pattern.fullmatch(answer):
        expected = "one letter from A to J" if kind == AnswerKind.CHOICE else "a number"
        raise PromptSetError(f"{where}: the answer {answer!r} is not {expected}")
    return Question(name, token_ids, kind, answer)


def _ids(data: dict[str, object], key: str, number: int) -> TokenIds:
    ids = data.get(key)
    whole_numbers = isinstance(ids, list) and all(type(i) is int and i >= 0 for i in ids)
    if not isinstance(ids, list) or not ids or not whole_numbers:
        raise PromptSetError(f"line {number}: {key} must be a non-empty list of token ids (whole numbers from 0)")
    return tuple(ids)


def refuse_repeats(items: Iterable[PromptItem]) -> None:
    """Raise PromptSetError when a name or a text stands twice."""
    names: set[str] = set()
    texts: dict[TokenIds, str] = {}
    for item in items:
        if item.name in names:
            raise PromptSetError(f"two records are named {item.name}")
        if item.token_ids in texts:
            raise PromptSetError(f"records {texts[item.token_ids]} and {item.name} hold the same tokens")
        names.add(item.name)
        texts[item.token_ids] = item.name


def sha256_of_ids(token_ids: Sequence[int]) -> str:
    return hashlib.sha256(json.dumps(list(token_ids), separators=(",", ":")).encode()).hexdigest()


def seeded_order(items: Iterable[Item], seed: str, purpose: str) -> list[Item]:
    """The items in the order that the seed gives for this purpose; the same on every machine."""
    ordered = list(items)
    random.Random(f"{seed}/{purpose}").shuffle(ordered)
    return ordered


def warmup_prompts() -> list[str]:
    """The judge's own published warm-up texts."""
    return _own_texts("warmup_prompts.txt")


def rare_texts() -> list[str]:
    """The judge's own published texts of rare, multilingual and code tokens."""
    return _own_texts("rare_texts.txt")


def _own_texts(name: str) -> list[str]:
    return resources.files("judge").joinpath(name).read_text(encoding="utf-8").splitlines()


class SentPrompts:
    """Every scored text that one server life has seen."""

    def __init__(self) -> None:
        self._seen: set[TokenIds] = set()

    def spend(self, token_ids: TokenIds) -> None:
        """Note that the text is about to be sent. Raises PromptReused when it was sent before."""
        if token_ids in self._seen:
            raise PromptReused(f"a text of {len(token_ids)} tokens would be sent twice in one server life")
        self._seen.add(token_ids)
