"""A2: do ids, text and prompt belong together?

Catches swapped prompts, text that is not what the ids say, and ids that the model does not have.
"""

from collections.abc import Sequence

from judge.audits.finding import Evidence, Finding, Result
from judge.speed import Answer
from judge.tokenizer import Tokenizer

UNFINISHED = "\ufffd"
"""Stands at the end of a text whose last character has not all its bytes yet; engines leave it out."""

OTHER_PROMPT = "the prompt that came back is not the one that was sent"
OUTSIDE = "a token id is outside the vocabulary"
OTHER_TEXT = "the text is not what the ids say"


def problem_of(prompt: tuple[int, ...], answer: Answer, tokenizer: Tokenizer | None) -> str:
    """What does not belong together in one answer to `prompt`, or nothing.

    Without a tokenizer only the prompts are compared.
    """
    if answer.prompt_token_ids is not None and answer.prompt_token_ids != prompt:
        return OTHER_PROMPT
    if tokenizer is None:
        return ""
    if max(answer.token_ids) >= len(tokenizer):
        return OUTSIDE
    if _text_of(prompt, answer.token_ids, tokenizer) != answer.text.rstrip(UNFINISHED):
        return OTHER_TEXT
    return ""


def audit_text(problems: Sequence[str]) -> Finding:
    """`problems` has one entry an answer, empty where there is none."""
    wrong = [(number, problem) for number, problem in enumerate(problems, start=1) if problem]
    evidence: Evidence = {"answers": len(problems), "broken": len(wrong)}
    for number, problem in wrong[:1]:
        evidence[f"request {number}"] = problem
    return Finding("A2", Result.BROKEN if wrong else Result.CLEAN, evidence)


def _text_of(prompt: tuple[int, ...], token_ids: tuple[int, ...], tokenizer: Tokenizer) -> str:
    """Read after the prompt's last token: alone, some tokenizers drop the first space."""
    tail = list(prompt[-1:])
    before = tokenizer.decode(tail, skip_special_tokens=True)
    both = tokenizer.decode([*tail, *token_ids], skip_special_tokens=True)
    return both[len(before) :].rstrip(UNFINISHED)
