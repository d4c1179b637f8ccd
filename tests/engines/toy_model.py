"""A seeded toy language model: small enough to know every one of its numbers."""

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ToyModel:
    """After each context one token has the probability 1 / `perplexity`, the others share the rest.

    Which one depends on the last `window` tokens. So its perplexity on its own greedy text is
    exactly `perplexity`, and with another window it does not know that text any more.
    """

    perplexity: float = 4.0
    window: int = 8
    vocabulary: int = 512

    def greedy(self, context: Sequence[int]) -> int:
        seen = ",".join(map(str, context[-self.window :]))
        return int.from_bytes(hashlib.sha256(seen.encode()).digest()[:4], "big") % self.vocabulary

    def logprob(self, context: Sequence[int], token: int) -> float:
        likely = 1 / self.perplexity
        return math.log(likely if token == self.greedy(context) else (1 - likely) / (self.vocabulary - 1))

    def continuation(self, context: Sequence[int], tokens: int) -> list[int]:
        """The greedy text of so many tokens."""
        text = list(context)
        for _ in range(tokens):
            text.append(self.greedy(text))
        return text[len(context) :]

    def words(self, tokens: Sequence[int]) -> str:
        return "".join(f" w{token}" for token in tokens)
