"""A seeded toy language model: small enough to know every one of its numbers."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToyModel:
    """After each context one token has the probability 1 / `perplexity`, the others share the rest.

    Which one depends on the last `window` tokens and on `seed`. So its perplexity on its own greedy
    text is exactly `perplexity`, and with another window it does not know that text any more.
    Raises ValueError for a perplexity that no such model has.
    """

    perplexity: float = 4.0
    window: int = 8
    vocab_size: int = 512
    seed: int = 0

    def __post_init__(self) -> None:
        if not 1 < self.perplexity < self.vocab_size:
            raise ValueError(f"perplexity {self.perplexity}: expected above 1 and below {self.vocab_size}")

    def greedy(self, context: Sequence[int]) -> int:
        """The likeliest next token."""
        seen = f"{self.seed}:" + ",".join(map(str, context[-self.window :]))
        return int.from_bytes(hashlib.sha256(seen.encode()).digest()[:4], "big") % self.vocab_size

    def logprob(self, context: Sequence[int], token: int) -> float:
        """The natural logarithm of the token's probability after the context."""
        likely = 1 / self.perplexity
        return math.log(likely if token == self.greedy(context) else (1 - likely) / (self.vocab_size - 1))

    def continuation(self, context: Sequence[int], tokens: int) -> list[int]:
        """The greedy text of so many tokens."""
        text = list(context)
        for _ in range(tokens):
            text.append(self.greedy(text))
        return text[len(context) :]

    def tokens_of(self, text: str) -> list[int]:
        """One token a character."""
        return [ord(character) % self.vocab_size for character in text]

    def words(self, tokens: Sequence[int]) -> str:
        """The text that tokens stand for."""
        return "".join(f" w{token}" for token in tokens)
