"""The toy model's tokenizer: a word is a token, and the chat template adds nothing."""

from collections.abc import Sequence
from typing import Any


class ToyTokenizer:
    """Reads and writes the toy model's ids; its end-of-sequence token is an ordinary word."""

    eos_token_id = 0

    def __len__(self) -> int:
        return 512

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [int(word.removeprefix("w")) for word in text.split()]

    def decode(self, token_ids: Sequence[int], *, skip_special_tokens: bool) -> str:
        return "".join(f" w{token}" for token in token_ids)

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        return conversation[-1]["content"]
