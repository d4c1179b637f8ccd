"""How far honest engines may differ: the tolerances of the audits."""

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Bands:
    """Tolerances, calibrated for an engine on a class of machines (docs/audits.md says how).

    `near_tie_nats` is the gap between the two likeliest tokens within which two answers may part;
    `reference_nll` is the highest mean (nats a token) of honest texts under the reference;
    `replay_speed` and `repeat_speed` are shares by which the speed of replayed prompts may differ;
    `unseen_gap` is how far (natural logarithm) the speed on public prompts over that on hidden ones
    may be from the reference's.
    """

    near_tie_nats: float = 0.1
    reference_nll: float = 1.0
    replay_speed: float = 0.05
    repeat_speed: float = 0.05
    unseen_gap: float = 0.1
