"""A8: is a prompt that was asked before answered from memory?

Asking again may save the prefill (a prefix cache), never the decoding.
"""

from collections.abc import Sequence
from statistics import median

from judge.audits.finding import Finding, Result


def audit_repeat(timed_s: Sequence[float], again_s: Sequence[float], first_token_s: float, band: float) -> Finding:
    """`again_s` holds the fastest repeat of each timed prompt; `first_token_s` is what prefill may save.

    Faster than that by more than `band` (a share) is an answer that was not decoded.
    """
    ratio = median(again / timed for timed, again in zip(timed_s, again_s, strict=True))
    allowed = 1 - first_token_s / median(timed_s) - band
    evidence = {"repeated": len(again_s), "time_ratio": round(ratio, 4), "allowed": round(allowed, 4)}
    return Finding("A8", Result.BROKEN if ratio < allowed else Result.CLEAN, {**evidence})
