"""A6: does the engine answer the same, and as fast, when the request has another shape?

Catches branching on the shape of the timed request. Two answers may part where the two likeliest
tokens are a near-tie: batch shapes round differently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

from judge.audits.finding import Evidence, Finding, Result


@dataclass(frozen=True, slots=True)
class Replayed:
    """One timed prompt asked again in another shape. `gap` is the difference (nats) between the two
    likeliest tokens where the answers first part, None where they do not.
    """

    timed_s: float
    again_s: float
    parted_at: int | None
    gap: float | None


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """The first position in which two answers differ, or None."""
    if list(one) == list(other):
        return None
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def audit_replay(replayed: Sequence[Replayed], near_tie_nats: float, speed_band: float) -> Finding:
    """`speed_band` is the share by which the median speed may differ between the shapes."""
    parted = [one for one in replayed if one.parted_at is not None]
    unexplained = [one for one in parted if one.gap is None or one.gap > near_tie_nats]
    slower = median(one.again_s / one.timed_s for one in replayed) - 1
    evidence: Evidence = {
        "replayed": len(replayed),
        "parted": len(parted),
        "parted_beyond_a_near_tie": len(unexplained),
        "slower": round(slower, 4),
        "allowed": speed_band,
    }
    return Finding("A6", result_of(evidence), evidence)


def result_of(evidence: Evidence) -> Result:
    too_slow = float(evidence["slower"]) > float(evidence["allowed"])
    return Result.REVIEW if evidence["parted_beyond_a_near_tie"] or too_slow else Result.CLEAN
