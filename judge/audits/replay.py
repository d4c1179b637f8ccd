"""A6: does the engine answer the same, and as fast, when the request has another shape?

Catches branching on the shape of the timed request: slow when watched, or held back when timed. Two
answers may part where the two likeliest tokens are a near-tie: batch shapes round differently.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from statistics import median

from judge.audits.finding import Evidence, Finding, Result


class Shape(StrEnum):
    """Other ways to ask for what was timed."""

    STREAMED = "streamed"
    LOGPROBS = "with log-probabilities"
    CHAT = "chat"


@dataclass(frozen=True, slots=True)
class Replayed:
    """One timed prompt asked again in another shape. `gap` is the difference (nats) between the two
    likeliest tokens where the answers first part, None where they do not, or where it is not known.
    """

    prompt_sha256: str
    shape: Shape
    duration_ns: int
    parted_at: int | None
    gap: float | None


def first_difference(one: Sequence[int], other: Sequence[int]) -> int | None:
    """The first position in which two answers differ, or None."""
    if list(one) == list(other):
        return None
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )


def audit_replay(
    replayed: Sequence[Replayed], timed_ns: dict[str, int], near_tie_nats: float, speed_band: float
) -> Finding:
    """`timed_ns` are the durations of the timed requests by prompt; `speed_band` is the share by which the
    median speed of a shape may differ.
    """
    parted = [one for one in replayed if one.parted_at is not None]
    unexplained = [one for one in parted if one.gap is None or one.gap > near_tie_nats]
    shapes = sorted({one.shape for one in replayed})
    slower = {
        shape: median(one.duration_ns / timed_ns[one.prompt_sha256] for one in replayed if one.shape == shape) - 1
        for shape in shapes
    }
    evidence: Evidence = {
        "replayed": len(replayed),
        "parted": len(parted),
        "parted_beyond_a_near_tie": len(unexplained),
        **{f"{shape} slower": round(share, 4) for shape, share in slower.items()},
        "allowed": speed_band,
    }
    odd = bool(unexplained) or max(map(abs, slower.values())) > speed_band
    return Finding("A6", Result.REVIEW if odd else Result.CLEAN, evidence)
