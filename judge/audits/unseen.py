"""A7: is the engine as fast on prompts that nobody knows as on those that everybody knows?

Catches memorised prompts, precaching, and an engine that is held back where it thinks it is not scored.
Public and hidden prompts differ for honest engines too, so the gap is compared with the reference's.
"""

import math
from collections.abc import Sequence

from judge.audits.finding import Evidence, Finding, Result
from judge.speed import TimedRequest, tps


def speed_gap(public: Sequence[TimedRequest], hidden: Sequence[TimedRequest]) -> float:
    """The natural logarithm of the speed on public prompts over that on hidden ones; 0.05 is about 5 % faster."""
    return math.log(tps(public) / tps(hidden))


def audit_unseen(
    public: Sequence[TimedRequest], hidden: Sequence[TimedRequest], reference_gap: float | None, band: float
) -> Finding:
    """Without a `reference_gap` there is nothing to compare with: noted."""
    gap = speed_gap(public, hidden)
    evidence: Evidence = {
        "public_tps": round(tps(public), 3),
        "hidden_tps": round(tps(hidden), 3),
        "gap": round(gap, 4),
    }
    if reference_gap is None:
        return Finding("A7", Result.NOTED, evidence)
    evidence |= {"reference_gap": round(reference_gap, 4), "allowed": band}
    return Finding("A7", Result.REVIEW if abs(gap - reference_gap) > band else Result.CLEAN, evidence)
