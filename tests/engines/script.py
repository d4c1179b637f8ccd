"""What a scripted engine does, as data."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """One thing that goes wrong: at the n-th scored request of its kind (from 1), or at every one.

    `what` is a name of `misbehaviour.TIMED` or `misbehaviour.QUALITY`, or `timed:` or `quality:` with a
    method of scripted.py; `tokens` is the length of a
    wrong answer, `value` the log-probability that stands in for the right one.
    """

    what: str
    at_request: int | None = None
    tokens: int = 0
    value: float = 0.0


@dataclass(slots=True)
class Script:
    """How the engine behaves. A timed request is a plain completion of `output_tokens` tokens."""

    perplexity: float = 4.0
    window: int = 8
    seconds_per_token: float = 0.0
    output_tokens: int = 16
    has_metrics: bool = True
    never_ready: bool = False
    exit_at_start: int | None = None
    stubborn_child: bool = False
    misbehaviours: list[Misbehaviour] = field(default_factory=list)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Script":
        misbehaviours = [Misbehaviour(**one) for one in data.pop("misbehaviours", [])]
        return cls(**data, misbehaviours=misbehaviours)
