"""What the reference config came to: every config is compared with it."""

from dataclasses import dataclass

from judge.accuracy import AnsweredQuestion
from judge.audits.unseen import speed_gap
from judge.measurements import Lap
from judge.quality import QualityScore


@dataclass(frozen=True, slots=True, kw_only=True)
class Calibration:
    """The reference's rows on the same sets. `unseen_gap` is audit A7's, None where no public prompts were timed."""

    quality: tuple[QualityScore, ...]
    answered: tuple[AnsweredQuestion, ...] = ()
    unseen_gap: float | None = None


def calibration_of(lap: Lap) -> Calibration:
    """From a complete lap of the reference config."""
    unseen = lap.audits.unseen
    return Calibration(
        quality=tuple(lap.quality),
        answered=tuple(lap.answered),
        unseen_gap=speed_gap(unseen, lap.timed) if unseen else None,
    )
