"""A2: do ids, text and prompt belong together?

Catches swapped prompts, text that is not what the ids say, and ids that the model does not have.
"""

from collections.abc import Sequence
from typing import Protocol

from judge.audits.finding import Evidence, Finding, Result
from judge.speed import Answer

UNFINISHED = "\ufffd"
"""Stands at the end of a text whose last character has not all its bytes yet; engines leave it out."""


class Detokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    def __len__(self) -> int: ...

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str: ...


def audit_text(asked: Sequence[tuple[int, ...]], answers: Sequence[Answer], detokenizer: Detokenizer | None) -> Finding:
    """`asked` are the prompts that were sent, `answers` what came back. Without a detokenizer only the
    prompts are compared.
    """
    problems = [
        (number, problem)
        for number, (prompt, answer) in enumerate(zip(asked, answers, strict=True), start=1)
        if (problem := _problem(prompt, answer, detokenizer))
    ]
    evidence: Evidence = {
        "answers": len(answers),
        "texts_read": len(answers) * bool(detokenizer),
        "broken": len(problems),
    }
    for number, problem in problems[:1]:
        evidence[f"request {number}"] = problem
    return Finding("A2", result_of(evidence), evidence)


def result_of(evidence: Evidence) -> Result:
    return Result.BROKEN if evidence["broken"] else Result.CLEAN


def _problem(prompt: tuple[int, ...], answer: Answer, detokenizer: Detokenizer | None) -> str:
    if answer.prompt_token_ids is not None and answer.prompt_token_ids != prompt:
        return "the prompt that came back is not the one that was sent"
    if detokenizer is None:
        return ""
    if max(answer.token_ids) >= len(detokenizer):
        return "a token id is outside the vocabulary"
    if _text_of(prompt, answer.token_ids, detokenizer) != answer.text.rstrip(UNFINISHED):
        return "the text is not what the ids say"
    return ""


def _text_of(prompt: tuple[int, ...], token_ids: tuple[int, ...], detokenizer: Detokenizer) -> str:
    """Read after the prompt's last token: alone, some tokenizers drop the first space."""
    tail = list(prompt[-1:])
    before = detokenizer.decode(tail, skip_special_tokens=True)
    both = detokenizer.decode([*tail, *token_ids], skip_special_tokens=True)
    return both[len(before) :].rstrip(UNFINISHED)
