"""A model's tokenizer, as far as the judge uses it; and a prompt's text as a user's turn."""

from collections.abc import Sequence
from typing import Any, Protocol

MARK = "\u2063user\u2063"
"""Stands for a user's words while a chat template is taken apart: invisible separators, in no prompt."""


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    eos_token_id: int | None

    def __len__(self) -> int: ...

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str: ...

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str: ...


def rendered_turn(tokenizer: Tokenizer, content: str) -> str:
    """A user's turn in the chat template, with what makes the model answer it. Raises ValueError without a template."""
    turn = [{"role": "user", "content": content}]
    return tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)


def user_turn_of(tokenizer: Tokenizer, token_ids: Sequence[int]) -> str | None:
    """The user's words whose rendered turn is exactly these ids; None where there are none.

    Checked by rendering and encoding them again: templates trim, and some texts encode in two ways.
    """
    try:
        before, mark, after = rendered_turn(tokenizer, MARK).partition(MARK)
    except ValueError:
        return None
    text = tokenizer.decode(list(token_ids), skip_special_tokens=False)
    if not mark or not text.startswith(before) or not text.endswith(after):
        return None
    content = text[len(before) : len(text) - len(after)]
    again = tokenizer.encode(rendered_turn(tokenizer, content), add_special_tokens=False)
    return content if list(again) == list(token_ids) else None
