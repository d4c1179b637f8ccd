"""A8: is a prompt that was asked before answered from memory?

Asking again may save the prefill (a prefix cache), never the decoding.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from judge.audits.finding import Evidence, Finding, Result


@dataclass(frozen=True, slots=True)
class Repeated:
    """One timed prompt asked again in the same shape, several times."""

    prompt_sha256: str
    durations_ns: tuple[int, ...]


def audit_repeat(repeated: Sequence[Repeated], timed_ns: dict[str, int], first_token_ns: int, band: float) -> Finding:
    """`timed_ns` are the durations of the timed requests by prompt; `first_token_ns` is what prefill may save.

    Of each prompt the fastest repeat counts. Faster than allowed by more than `band` (a share) asks for a
    review: the timed pass may have been disturbed. Less than half of what is allowed is no disturbance:
    the answer was not decoded.
    """
    ratio = median(min(one.durations_ns) / timed_ns[one.prompt_sha256] for one in repeated)
    allowed = 1 - first_token_ns / median(timed_ns[one.prompt_sha256] for one in repeated) - band
    evidence: Evidence = {"repeated": len(repeated), "time_ratio": round(ratio, 4), "allowed": round(allowed, 4)}
    result = Result.BROKEN if ratio < allowed / 2 else Result.REVIEW if ratio < allowed else Result.CLEAN
    return Finding("A8", result, evidence)
