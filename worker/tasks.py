"""What Celery calls: each task makes one call."""

from celery import shared_task
from celery.signals import worker_shutting_down
from django.conf import settings
from django.utils import timezone

from submissions import claims
from submissions.queue import JUDGE_NEXT, ring
from worker import session


@shared_task(name=JUDGE_NEXT)
def judge_next() -> None:
    """Take the next attempt of this worker's class, if there is one, and look again after it."""
    if session.work(settings.WORKER_NAME, settings.HARDWARE_CLASS):
        ring(settings.HARDWARE_CLASS)


@shared_task(name="worker.sweep")
def sweep() -> None:
    claims.sweep(timezone.now())


@worker_shutting_down.connect
def stop_after_this_request(**kwargs: object) -> None:
    """On SIGTERM the running attempt is handed back; the solo pool lets the signal reach this process."""
    session.stopping.set()
