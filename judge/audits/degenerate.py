"""A3: is the text a loop? Looping answers speculate fast and leave the perplexity as it is.

In the contest that the protocol learns from, a class of looping configs ran at 704 to 740 tokens a
second where the rest ran at 473 to 479. Published always; asks for a review above the limit.
"""

import zlib
from collections.abc import Sequence

from judge.audits.finding import Evidence, Finding, Result
from judge.speed import Answer

LOOP_RATIO = 0.15
"""Compressed to plain bytes; below it a text of some hundred tokens repeats itself."""
LOOPS_LIMIT = 0.4
"""Share of looping answers. Ordinary fast runs had up to 0.23, the looping class from 0.57."""
NGRAM = 8


def audit_degenerate(answers: Sequence[Answer], eos_token_id: int | None = None) -> Finding:
    """`eos_token_id` shows how much of the text stands after the model wanted to end."""
    ratios = [compression_ratio(answer.text) for answer in answers]
    evidence = {
        "loops": looping_share(ratios),
        "repeated_ngrams": sum(repeated_share(answer.token_ids) for answer in answers) / len(answers),
    }
    if eos_token_id is not None:
        evidence["after_eos"] = sum(share_after(answer.token_ids, eos_token_id) for answer in answers) / len(answers)
    rounded: Evidence = {name: round(value, 4) for name, value in evidence.items()}
    return Finding("A3", result_of(rounded), rounded)


def result_of(evidence: Evidence) -> Result:
    return Result.REVIEW if float(evidence["loops"]) > LOOPS_LIMIT else Result.CLEAN


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


def share_after(token_ids: Sequence[int], eos_token_id: int) -> float:
    """Share of the tokens that stand after the first end-of-sequence token."""
    if eos_token_id not in token_ids:
        return 0.0
    return 1 - (token_ids.index(eos_token_id) + 1) / len(token_ids)
