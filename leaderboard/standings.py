"""The board of a competition: verified rows by rank, and disqualified runs apart."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime

from django.db.models import QuerySet

from judge import Outcome
from leaderboard.ranking import Result, Row, rank
from submissions.models import Competition, Evaluation, EvaluationKind

COUNTED = (EvaluationKind.OFFICIAL, EvaluationKind.BLIND)


@dataclass(frozen=True, slots=True)
class Entry:
    """A verified row as the public sees it. Speed in tokens a second."""

    rank: int
    team_id: int
    team: str
    tps: float
    ppl: float
    laps: int
    decided_at: datetime
    submission_id: int
    config: str
    config_sha256: str


@dataclass(frozen=True, slots=True)
class Disqualified:
    """A disqualified run as the public sees it: no rank, and the reason."""

    team_id: int
    team: str
    reason: str
    ppl: float | None
    ppl_cap: float | None
    decided_at: datetime
    submission_id: int
    config: str
    config_sha256: str


@dataclass(frozen=True, slots=True)
class Board:
    """Everything that page and JSON show of a competition's results."""

    entries: list[Entry]
    disqualified: list[Disqualified]


def standings(competition: Competition) -> Board:
    decided = list(_decided(competition))
    banned = {_config_of(e) for e in decided if e.verdict == Outcome.DISQUALIFIED}
    verified = [e for e in decided if e.verdict == Outcome.VERIFIED and _config_of(e) not in banned]
    by_submission = {e.submission_id: e for e in verified}
    return Board(
        entries=[_entry(row, by_submission[row.submission_id]) for row in rank(map(_result, verified))],
        disqualified=_disqualified(e for e in decided if e.verdict == Outcome.DISQUALIFIED),
    )


def _decided(competition: Competition) -> QuerySet[Evaluation]:
    return (
        Evaluation.objects.filter(
            submission__competition=competition,
            submission__team__isnull=False,
            kind__in=COUNTED,
            verdict__in=[Outcome.VERIFIED, Outcome.DISQUALIFIED],
        )
        .select_related("submission__team")
        .order_by("pk")
    )


def _config_of(evaluation: Evaluation) -> tuple[int, str]:
    """A config that was disqualified once does not rank for another, luckier run of it."""
    return evaluation.submission.team_id, evaluation.submission.config_sha256


def _result(evaluation: Evaluation) -> Result:
    submission = evaluation.submission
    return Result(
        team_id=submission.team_id,
        config_sha256=submission.config_sha256,
        tps=evaluation.tps,
        ppl=evaluation.ppl,
        decided_at=evaluation.decided_at,
        submission_id=submission.pk,
    )


def _entry(row: Row, evaluation: Evaluation) -> Entry:
    return Entry(
        rank=row.rank,
        team_id=row.team_id,
        team=evaluation.submission.team.name,
        tps=row.tps,
        ppl=row.ppl,
        laps=row.laps,
        decided_at=row.decided_at,
        submission_id=row.submission_id,
        config=evaluation.submission.load_config().as_env(),
        config_sha256=row.config_sha256,
    )


def _disqualified(evaluations: Iterable[Evaluation]) -> list[Disqualified]:
    """Newest first, one a config of a team."""
    newest = {_config_of(evaluation): evaluation for evaluation in evaluations}
    return [
        Disqualified(
            team_id=evaluation.submission.team_id,
            team=evaluation.submission.team.name,
            reason=evaluation.reason,
            ppl=evaluation.ppl,
            ppl_cap=evaluation.ppl_cap,
            decided_at=evaluation.decided_at,
            submission_id=evaluation.submission_id,
            config=evaluation.submission.load_config().as_env(),
            config_sha256=evaluation.submission.config_sha256,
        )
        for evaluation in sorted(newest.values(), key=lambda e: e.decided_at, reverse=True)
    ]
