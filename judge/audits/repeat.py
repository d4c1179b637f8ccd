"""A8: is a prompt that was asked before answered from memory?

Asking again may save the prefill (a prefix cache), never the decoding.
"""

from collections.abc import Sequence
from statistics import median

from judge.audits.finding import Evidence, Finding, Result


def audit_repeat(timed_s: Sequence[float], again_s: Sequence[float], first_token_s: float, band: float) -> Finding:
    """`again_s` holds the fastest repeat of each timed prompt; `first_token_s` is what prefill may save.

    Faster than that by more than `band` (a share) asks for a review: the timed pass may have been
    disturbed. Less than half of what is allowed is no disturbance: the answer was not decoded.
    """
    ratio = median(again / timed for timed, again in zip(timed_s, again_s, strict=True))
    allowed = 1 - first_token_s / median(timed_s) - band
    evidence: Evidence = {"repeated": len(again_s), "time_ratio": round(ratio, 4), "allowed": round(allowed, 4)}
    return Finding("A8", result_of(evidence), evidence)


def result_of(evidence: Evidence) -> Result:
    ratio, allowed = float(evidence["time_ratio"]), float(evidence["allowed"])
    return Result.BROKEN if ratio < allowed / 2 else Result.REVIEW if ratio < allowed else Result.CLEAN
