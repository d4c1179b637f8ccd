"""A prompt's text as a user's turn, and what is none."""

from collections.abc import Sequence
from typing import Any

import pytest

from judge.tokenizer import rendered_turn, user_turn_of
from tests.engines.toy_tokenizer import ToyTokenizer


class Templated(ToyTokenizer):
    """Puts a turn between two words, and trims it."""

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        return f" w500 {conversation[-1]['content'].strip()} w501"


class WithoutTemplate(ToyTokenizer):
    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        raise ValueError("no chat template")


@pytest.mark.parametrize(
    ("tokenizer", "token_ids", "turn"),
    [
        (ToyTokenizer(), (5, 6), " w5 w6"),
        (Templated(), (500, 5, 6, 501), "w5 w6"),
        (Templated(), (5, 6), None),
        (Templated(), (500, 5, 6), None),
        (Templated(), (5, 6, 501), None),
        (WithoutTemplate(), (5, 6), None),
    ],
)
def test_a_turn_is_what_renders_to_exactly_these_ids(
    tokenizer: ToyTokenizer, token_ids: Sequence[int], turn: str | None
) -> None:
    found = user_turn_of(tokenizer, token_ids)

    assert (found.strip() if found else None) == (turn.strip() if turn else None)
    if found is not None:
        assert tuple(tokenizer.encode(rendered_turn(tokenizer, found), add_special_tokens=False)) == tuple(token_ids)


class EncodesInTwoWays(ToyTokenizer):
    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [*super().encode(text, add_special_tokens=add_special_tokens), 7]


def test_ids_that_their_own_text_does_not_encode_to_are_no_turn() -> None:
    assert user_turn_of(EncodesInTwoWays(), (5, 6)) is None
