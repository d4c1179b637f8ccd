"""Claims, leases and results: how an attempt gets from the queue to a verdict, whatever dies on the way."""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta

from django.conf import settings
from django.core.mail import mail_managers
from django.db import transaction
from django.db.models import (
    Case,
    DurationField,
    F,
    IntegerField,
    OuterRef,
    QuerySet,
    Subquery,
    Sum,
    Value,
    When,
)
from django.db.models.functions import Coalesce

from judge import Lap as MeasuredLap
from judge import Outcome, Progress, Verdict
from judge.errors import Fault
from submissions import transitions
from submissions.measurements import store_laps, without_nul
from submissions.models import Attempt, AttemptEvent, EvaluationKind, State, Worker
from submissions.queue import ring
from submissions.transitions import MAX_ATTEMPTS, LostRace

logger = logging.getLogger(__name__)


def register_worker(name: str, hardware_class: str, now: datetime) -> Worker:
    """The worker's row, seen now. What it was quarantined for stays."""
    worker, _ = Worker.objects.update_or_create(
        name=name, defaults={"hardware_class": hardware_class, "last_seen_at": now}
    )
    return worker


def claim_next(worker: Worker, now: datetime) -> Attempt | None:
    """Take the next attempt for the worker's hardware class.

    1. Pick the candidate: organizers' work first, then the team judged least today, then the oldest.
    2. Move it from queued to running, if it is still queued, with a lease.
    3. Start over if another worker was quicker, while anything is queued.

    Returns None when nothing is queued, or the worker is quarantined.
    """
    while not worker.quarantined_because:
        candidate = _candidate(worker, now)
        if candidate is None:
            return None
        try:
            transitions.start(candidate, worker, now, _lease_end(now))
        except LostRace:
            continue
        return candidate
    return None


def _candidate(worker: Worker, now: datetime) -> Attempt | None:
    organizers_first = Case(
        When(evaluation__kind__in=[EvaluationKind.BLIND, EvaluationKind.CALIBRATION], then=Value(0)),
        default=Value(1),
        output_field=IntegerField(),
    )
    queued = Attempt.objects.filter(
        state=State.QUEUED, evaluation__submission__competition__hardware_class=worker.hardware_class
    )
    return (
        queued.annotate(
            organizers_first=organizers_first,
            used_today=Coalesce(Subquery(_used_today(now)), Value(timedelta(0)), output_field=DurationField()),
        )
        .order_by("organizers_first", "used_today", "pk")
        .select_related("evaluation__submission__competition", "evaluation__submission__team")
        .first()
    )


def _used_today(now: datetime) -> QuerySet[Attempt]:
    """Per outer attempt: the time that workers have spent today on attempts of the same team."""
    midnight = now.replace(hour=0, minute=0, second=0, microsecond=0)
    same_team = Attempt.objects.filter(
        evaluation__submission__team=OuterRef("evaluation__submission__team"), ended_at__gte=midnight
    )
    spent = Sum(F("ended_at") - F("started_at"), output_field=DurationField())
    return same_team.order_by().values("evaluation__submission__team").annotate(spent=spent).values("spent")


def _lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.LEASE_SECONDS)


def renew(attempt: Attempt, now: datetime) -> None:
    """The heartbeat of a running attempt. Raises LostRace when it is no longer the live one."""
    transitions.renew(attempt, _lease_end(now))
    Worker.objects.filter(pk=attempt.worker_id).update(last_seen_at=now)


def note_progress(attempt: Attempt, progress: Progress) -> None:
    """One event row a stage, its count brought up to date."""
    AttemptEvent.objects.update_or_create(
        attempt=attempt, stage=progress.stage, defaults={"done": progress.done, "total": progress.total}
    )


def record(attempt: Attempt, laps: Sequence[MeasuredLap], verdict: Verdict, now: datetime) -> bool:
    """Store what was measured and end the attempt; whether it was the live one.

    Laps of an attempt that is no longer live are kept apart: under that attempt, with no verdict.
    The same result delivered twice is stored once.
    """
    store_laps(attempt, laps, verdict)
    try:
        _finish(attempt, verdict, now)
    except LostRace:
        logger.warning("a late result of attempt %s is kept and not counted", attempt.pk)
        return False
    return True


@transaction.atomic
def _finish(attempt: Attempt, verdict: Verdict, now: datetime) -> None:
    transitions.finish(attempt, verdict, now)
    if verdict.outcome == Outcome.VOID:
        _try_again_or_give_up(attempt, verdict, now)
    else:
        _decide(attempt, verdict, now)


def _try_again_or_give_up(attempt: Attempt, verdict: Verdict, now: datetime) -> None:
    """A platform's fault is tried again; the last of the tries makes the evaluation void."""
    evaluation = attempt.evaluation
    if attempt.number < MAX_ATTEMPTS:
        transitions.queue(evaluation)
        ring(evaluation.submission.competition.hardware_class)
        return
    _decide(attempt, verdict, now)
    subject = f"{evaluation} is void after {attempt.number} attempts"
    body = f"{verdict.reason}: {verdict.detail}\nSubmission {evaluation.submission_id}, last worker {attempt.worker}."
    transaction.on_commit(lambda: mail_managers(subject, body, fail_silently=True))


def _decide(attempt: Attempt, verdict: Verdict, now: datetime) -> None:
    evaluation = attempt.evaluation
    type(evaluation).objects.filter(pk=evaluation.pk, verdict="").update(
        verdict=verdict.outcome,
        reason=verdict.reason,
        stage=verdict.stage or "",
        detail=without_nul(verdict.detail),
        tps=verdict.tps,
        ppl=verdict.ppl,
        decided_at=now,
    )


def give_back(attempt: Attempt, now: datetime, note: str) -> None:
    """The worker stops before the lap is done: interrupted, and queued again. Raises LostRace."""
    with transaction.atomic():
        transitions.interrupt(attempt, now, note)
        _try_again_or_give_up(attempt, Verdict(Outcome.VOID, Fault.WORKER_LOST, detail=note), now)


def quarantine(worker: Worker, because: str) -> None:
    Worker.objects.filter(pk=worker.pk).update(quarantined_because=because[:200])
    logger.error("worker %s is quarantined: %s", worker, because)
    mail_managers(f"worker {worker} is quarantined", because, fail_silently=True)


def sweep(now: datetime) -> int:
    """Mark attempts with expired leases lost, make the next ones, ring for all that is queued.

    Returns how many were lost.
    """
    lost = 0
    for attempt in Attempt.objects.filter(state=State.RUNNING, lease_until__lt=now):
        try:
            _lose(attempt, now)
            lost += 1
        except LostRace:
            continue
    queued = Attempt.objects.filter(state=State.QUEUED)
    for hardware_class in queued.values_list(
        "evaluation__submission__competition__hardware_class", flat=True
    ).distinct():
        ring(hardware_class)
    return lost


@transaction.atomic
def _lose(attempt: Attempt, now: datetime) -> None:
    transitions.lose(attempt, now)
    detail = f"worker {attempt.worker} went silent in attempt {attempt.number}"
    _try_again_or_give_up(attempt, Verdict(Outcome.VOID, Fault.WORKER_LOST, detail=detail), now)
