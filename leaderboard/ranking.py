"""Ranks from results. Pure: neither Django nor a database."""

import math
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Result:
    """One verified lap of a team's config. Speed in tokens a second."""

    team_id: int
    config_sha256: str
    tps: float | None
    ppl: float
    decided_at: datetime
    submission_id: int


@dataclass(frozen=True, slots=True)
class Row:
    """A team's place: its best config, by the mean of all its laps."""

    rank: int
    team_id: int
    config_sha256: str
    tps: float
    ppl: float
    laps: int
    decided_at: datetime
    submission_id: int


def rank(results: Iterable[Result]) -> list[Row]:
    """One row a team, fastest first, whatever the order of the results.

    A config's speed is the mean of all its laps, never the best. Missing, NaN, infinite, zero and
    negative numbers never rank, and never hide a number that does. Equal speeds share a rank; the
    earlier submission stands first.
    """
    laps: dict[tuple[int, str], list[Result]] = defaultdict(list)
    for result in results:
        if result.tps is not None and 0 < result.tps < math.inf:
            laps[result.team_id, result.config_sha256].append(result)
    best: dict[int, Row] = {}
    for of_config in laps.values():
        row = _row(of_config)
        if row.team_id not in best or _order(row) < _order(best[row.team_id]):
            best[row.team_id] = row
    return _numbered(sorted(best.values(), key=_order))


def _row(laps: list[Result]) -> Row:
    first = min(laps, key=lambda lap: lap.submission_id)
    return Row(
        rank=0,
        team_id=first.team_id,
        config_sha256=first.config_sha256,
        tps=_mean([lap.tps or 0.0 for lap in laps]),
        ppl=_mean([lap.ppl for lap in laps]),
        laps=len(laps),
        decided_at=max(lap.decided_at for lap in laps),
        submission_id=first.submission_id,
    )


def _mean(values: list[float]) -> float:
    """The same in every order of the values, and without overflow for any of them."""
    return math.fsum(value / len(values) for value in sorted(values))


def _order(row: Row) -> tuple[float, int]:
    return (-row.tps, row.submission_id)


def _numbered(rows: list[Row]) -> list[Row]:
    numbered: list[Row] = []
    for place, row in enumerate(rows, start=1):
        tied = numbered and numbered[-1].tps == row.tps
        numbered.append(replace(row, rank=numbered[-1].rank if tied else place))
    return numbered
