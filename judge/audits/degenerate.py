"""A3: is the text a loop? Looping answers speculate fast and leave the perplexity as it is.

In the contest that the protocol learns from, a class of looping configs ran at 704 to 740 tokens a
second where the rest ran at 473 to 479. Published always; asks for a review above the limit.
"""

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

from judge.audits.finding import Evidence, Finding, Result
from judge.speed import Answer

LOOP_RATIO = 0.15
"""Compressed to plain bytes; below it a text of some hundred tokens repeats itself."""
LOOPS_LIMIT = 0.4
"""Share of looping answers. Ordinary fast runs had up to 0.23, the looping class from 0.57."""
NGRAM = 8
DIGITS = 4


@dataclass(frozen=True, slots=True)
class Texture:
    """How repetitive one answer is: `zlib_ratio` of its text, share of its n-grams that stood before,
    share of its tokens after the first end-of-sequence token.
    """

    zlib_ratio: float
    repeated_ngrams: float
    after_eos: float


def texture_of(answer: Answer, eos_token_id: int | None) -> Texture:
    """Without an `eos_token_id` nothing stands after it."""
    return Texture(
        round(compression_ratio(answer.text), DIGITS),
        round(repeated_share(answer.token_ids), DIGITS),
        round(share_after(answer.token_ids, eos_token_id), DIGITS),
    )


def audit_degenerate(textures: Sequence[Texture]) -> Finding:
    loops = looping_share([texture.zlib_ratio for texture in textures])
    evidence: Evidence = {
        "loops": round(loops, DIGITS),
        "repeated_ngrams": round(sum(texture.repeated_ngrams for texture in textures) / len(textures), DIGITS),
        "after_eos": round(sum(texture.after_eos for texture in textures) / len(textures), DIGITS),
    }
    return Finding("A3", Result.REVIEW if loops > LOOPS_LIMIT else Result.CLEAN, evidence)


def compression_ratio(text: str) -> float:
    """zlib-compressed bytes to plain bytes; 1 for an empty text."""
    plain = text.encode("utf-8", "replace")
    return len(zlib.compress(plain)) / len(plain) if plain else 1.0


def looping_share(ratios: Sequence[float]) -> float:
    return sum(ratio < LOOP_RATIO for ratio in ratios) / len(ratios)


def repeated_share(token_ids: Sequence[int]) -> float:
    """Share of the n-grams that stood before."""
    ngrams = [tuple(token_ids[place : place + NGRAM]) for place in range(len(token_ids) - NGRAM + 1)]
    return 1 - len(set(ngrams)) / len(ngrams) if ngrams else 0.0


def share_after(token_ids: Sequence[int], eos_token_id: int | None) -> float:
    """Share of the tokens that stand after the first end-of-sequence token."""
    if eos_token_id not in token_ids:
        return 0.0
    return 1 - (token_ids.index(eos_token_id) + 1) / len(token_ids)
