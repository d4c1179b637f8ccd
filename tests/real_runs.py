"""The real runs in tests/data, as the judge's own types."""

import csv
from functools import cache
from pathlib import Path

from judge.quality import QualityScore
from judge.speed import TimedRequest

NS = 1_000_000_000
DATA = Path(__file__).parent / "data"
Passes = dict[str, tuple[TimedRequest, ...]]


def _rows(name: str) -> list[dict[str, str]]:
    with open(DATA / name) as file:
        return list(csv.DictReader(file))


@cache
def timed_passes(config: str | None = None) -> Passes:
    """Each run's timed pass, by the run's name."""
    rows = [row for row in _rows("real_timed_passes.csv") if config in (None, row["config"])]
    return {row["run"]: _requests(row) for row in rows}


def _requests(row: dict[str, str]) -> tuple[TimedRequest, ...]:
    run = row["run"]
    seconds = [float(value) for value in row["seconds"].split()]
    tokens = [int(value) for value in row["tokens"].split()]
    tokens = tokens * len(seconds) if len(tokens) == 1 else tokens
    return tuple(
        TimedRequest(f"prompt-{n}", n * 100 * NS, n * 100 * NS + round(taken * NS), count, f"{run} {n}")
        for n, (taken, count) in enumerate(zip(seconds, tokens, strict=True))
    )


@cache
def quality_passes() -> dict[str, tuple[QualityScore, ...]]:
    return {
        row["run"]: tuple(
            QualityScore(f"record-{n}", int(tokens), float(nll))
            for n, (tokens, nll) in enumerate(zip(row["tokens"].split(), row["nll"].split(), strict=True))
        )
        for row in _rows("real_quality_passes.csv")
    }


@cache
def reported(name: str, column: str) -> dict[str, float]:
    return {row["run"]: float(row[column]) for row in _rows(name) if row[column]}


@cache
def answer_ratios() -> dict[str, list[float]]:
    """zlib ratio of each answer, by run."""
    return {
        row["run"]: [float(value) for value in row["zlib_ratios"].split()] for row in _rows("real_answer_ratios.csv")
    }
