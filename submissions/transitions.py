"""The only writer of attempt states: one function a transition.

Each is one conditional UPDATE that says from what, and one event row. Losing the race is an
ordinary outcome, told by LostRace.
"""

from datetime import datetime

from django.db import transaction

from judge.verdict import Verdict
from submissions.models import Attempt, AttemptEvent, Evaluation, State, Worker

MAX_ATTEMPTS = 3


class LostRace(Exception):
    """The attempt is no longer in the state that the transition starts from."""


@transaction.atomic
def _move(attempt: Attempt, old: State, new: State, note: str = "", **fields: object) -> None:
    conditions = {"worker": attempt.worker} if old == State.RUNNING else {}
    moved = Attempt.objects.filter(pk=attempt.pk, state=old, **conditions).update(state=new, **fields)
    if not moved:
        raise LostRace(f"attempt {attempt.pk} is no longer {old.label}")
    AttemptEvent.objects.create(attempt=attempt, state=new, note=note)
    attempt.refresh_from_db()


def queue(evaluation: Evaluation) -> Attempt:
    """Make the next attempt of an evaluation, queued."""
    attempt = Attempt.objects.create(evaluation=evaluation, number=evaluation.attempts.count() + 1)
    AttemptEvent.objects.create(attempt=attempt, state=State.QUEUED)
    return attempt


def start(attempt: Attempt, worker: Worker, now: datetime, lease_until: datetime) -> None:
    _move(attempt, State.QUEUED, State.RUNNING, worker=worker, started_at=now, lease_until=lease_until)


def renew(attempt: Attempt, lease_until: datetime) -> None:
    """Prolong the lease of a running attempt; no event. Raises LostRace when it is not the live one."""
    live = Attempt.objects.filter(pk=attempt.pk, state=State.RUNNING, worker=attempt.worker)
    if not live.update(lease_until=lease_until):
        raise LostRace(f"attempt {attempt.pk} is no longer running on {attempt.worker}")


def finish(attempt: Attempt, verdict: Verdict, now: datetime) -> None:
    _move(
        attempt,
        State.RUNNING,
        State.FINISHED,
        verdict=verdict.outcome,
        reason=verdict.reason,
        ended_at=now,
        lease_until=None,
    )


def lose(attempt: Attempt, now: datetime) -> None:
    """Its worker went silent. Conditional on the lease too: a heartbeat in the last moment wins."""
    with transaction.atomic():
        if not Attempt.objects.filter(pk=attempt.pk, state=State.RUNNING, lease_until__lt=now).exists():
            raise LostRace(f"attempt {attempt.pk} was renewed")
        _move(attempt, State.RUNNING, State.LOST, ended_at=now, lease_until=None)


def interrupt(attempt: Attempt, now: datetime, note: str) -> None:
    """Its worker gave it back before it was done."""
    _move(attempt, State.RUNNING, State.INTERRUPTED, note=note, ended_at=now, lease_until=None)
