"""What an audit found."""

from dataclasses import dataclass, field
from enum import StrEnum

Evidence = dict[str, float | int | str]


class Result(StrEnum):
    """`clean` and `noted` decide nothing; `review` waits for an organizer; `broken` disqualifies."""

    CLEAN = "clean"
    NOTED = "noted"
    REVIEW = "review"
    BROKEN = "broken"


@dataclass(frozen=True, slots=True)
class Finding:
    """The answer to one audit's question, with the numbers that it rests on."""

    audit: str
    result: Result
    evidence: Evidence = field(default_factory=dict)
