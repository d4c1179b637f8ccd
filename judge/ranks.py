"""Who is faster than whom: when to stop measuring, and who shares a rank."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from enum import StrEnum

from judge.speed import tps
from judge.statistics import Lap, mean_tps, tps_difference

ALPHA = 0.05
TUNED_FOR_LAPS = 4
"""The sequence is tightest about here; it holds at every number of laps."""


def sequence_radius(laps: int, noise: float, alpha: float = ALPHA) -> float:
    """Half the width of the confidence sequence around a mean of `laps` laps with standard deviation `noise`.

    Robbins' normal mixture, as in Waudby-Smith et al., Time-uniform central limit theory and
    asymptotic confidence sequences (2021), equation 2, with its rho tuned by their equation 47.
    It holds at all numbers of laps together, so one may look after every lap. No laps: infinity.
    """
    if laps < 1:
        return math.inf
    rho2 = (-2 * math.log(alpha) + math.log(-2 * math.log(alpha) + 1)) / TUNED_FOR_LAPS
    growth = laps * rho2 + 1
    return noise * math.sqrt(2 * growth / (laps**2 * rho2) * math.log(math.sqrt(growth) / alpha))


class Standing(StrEnum):
    """Where a config stands beside its nearest rival after so many laps."""

    ABOVE = "above"
    BELOW = "below"
    TIE = "tie"
    OPEN = "open"


@dataclass(frozen=True, slots=True)
class SequentialRule:
    """When to stop measuring a config. `start_noise` and `tie_zone` are relative (0.015 is 1.5 %)."""

    start_noise: float = 0.01
    tie_zone: float = 0.015
    min_laps: int = 2
    max_laps: int = 8

    def standing(self, speeds: Sequence[float], rival_speeds: Sequence[float]) -> Standing:
        """From the tps of each lap of both. Equal configs are called above or below in at most ALPHA of all cases.

        The two errors are independent, so their radii add in squares; the bound is simulated in the tests.
        """
        laps = len(speeds)
        if laps < self.min_laps or not rival_speeds:
            return Standing.TIE if laps >= self.max_laps else Standing.OPEN
        difference = _mean_log(speeds) - _mean_log(rival_speeds)
        radius = math.hypot(*(sequence_radius(len(s), self.start_noise) for s in (speeds, rival_speeds)))
        if difference - radius > 0:
            return Standing.ABOVE
        if difference + radius < 0:
            return Standing.BELOW
        inside = max(abs(difference - radius), abs(difference + radius)) < self.tie_zone
        return Standing.TIE if inside or laps >= self.max_laps else Standing.OPEN

    def is_out_of_reach(self, speeds: Sequence[float], last_shown: float) -> bool:
        """Whether one lap was enough: even the upper bound is below the last place that is shown."""
        upper = _mean_log(speeds) + sequence_radius(len(speeds), self.start_noise) if speeds else math.inf
        return upper < math.log(last_shown)


def _mean_log(speeds: Sequence[float]) -> float:
    return math.fsum(map(math.log, speeds)) / len(speeds)


@dataclass(frozen=True, slots=True)
class Entry:
    """A config with its laps; `submitted` orders entries that tie, earlier first."""

    key: Hashable
    laps: tuple[Lap, ...]
    submitted: int


@dataclass(frozen=True, slots=True)
class Ranked:
    """An entry with its rank; `is_tied` when it shares the rank (`1=`)."""

    entry: Entry
    rank: int
    is_tied: bool
    mean_tps: float


def rank_groups(entries: Sequence[Entry], start_noise: float, seed: str) -> list[Ranked]:
    """Ranks by mean tps. An entry joins the group of the leader when the interval of their difference holds 0.

    Entries without a finite positive speed are left out. Groups are runs of the order by mean, so
    an entry is never ranked above one that is faster, unless they tie.
    """
    fast = sorted(filter(_has_speed, entries), key=lambda entry: (-mean_tps(entry.laps), entry.submitted))
    groups: list[list[Entry]] = []
    for entry in fast:
        leader = groups[-1][0] if groups else None
        if leader and tps_difference(leader.laps, entry.laps, start_noise, seed).contains(0):
            groups[-1].append(entry)
        else:
            groups.append([entry])
    return [ranked for place, group in _placed(groups) for ranked in _ranked(group, place)]


def _has_speed(entry: Entry) -> bool:
    try:
        return bool(entry.laps) and all(0 < tps(lap) < math.inf for lap in entry.laps)
    except ValueError:
        return False


def _placed(groups: list[list[Entry]]) -> list[tuple[int, list[Entry]]]:
    return [(1 + sum(map(len, groups[:index])), group) for index, group in enumerate(groups)]


def _ranked(group: list[Entry], place: int) -> list[Ranked]:
    by_submission = sorted(group, key=lambda entry: entry.submitted)
    return [Ranked(entry, place, len(group) > 1, mean_tps(entry.laps)) for entry in by_submission]
