import threading
import time
from collections.abc import Callable

import pytest
from django.db import OperationalError
from django.utils import timezone

from judge import Progress, Stage
from judge.errors import LapStopped
from submissions import claims
from submissions.models import Attempt, AttemptEvent
from tests import builders
from worker.heartbeat import Heartbeat

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def attempt() -> Attempt:
    builders.submission(builders.competition())
    now = timezone.now()
    claimed = claims.claim_next(claims.register_worker("w1", "cpu", now), now)
    assert claimed is not None
    return claimed


@pytest.fixture
def heartbeat(attempt: Attempt) -> Heartbeat:
    return Heartbeat(attempt, 0.05, threading.Event())


def wait_until(condition: Callable[[], object]) -> None:
    deadline = time.monotonic() + 10
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_lease_moves_on_while_the_judge_measures(attempt: Attempt, heartbeat: Heartbeat) -> None:
    before = attempt.lease_until

    with heartbeat:
        wait_until(lambda: Attempt.objects.get(pk=attempt.pk).lease_until > before)


def test_the_last_progress_is_written_at_the_end(attempt: Attempt, heartbeat: Heartbeat) -> None:
    with heartbeat:
        for done in range(129):
            heartbeat.report(Progress(Stage.TIMED_PASS, done, 128))

    assert AttemptEvent.objects.get(attempt=attempt, stage="timed-pass").done == 128


def test_reporting_asks_the_database_nothing(attempt: Attempt, heartbeat: Heartbeat, django_assert_num_queries) -> None:
    with django_assert_num_queries(0):
        heartbeat.report(Progress(Stage.TIMED_PASS, 1, 128))


def test_a_lost_attempt_is_told_at_the_next_report(attempt: Attempt, heartbeat: Heartbeat) -> None:
    with heartbeat:
        Attempt.objects.filter(pk=attempt.pk).update(state="lost", lease_until=None)
        wait_until(lambda: heartbeat.lost)

        with pytest.raises(LapStopped, match="no longer the live one"):
            heartbeat.report(Progress(Stage.WARM_UP))


def test_a_stopping_worker_is_told_at_the_next_report(attempt: Attempt) -> None:
    stopping = threading.Event()
    heartbeat = Heartbeat(attempt, 1, stopping)
    stopping.set()

    with pytest.raises(LapStopped, match="asked to stop"):
        heartbeat.report(Progress(Stage.WARM_UP))


def test_a_database_that_is_away_for_a_moment_is_not_the_end(
    attempt: Attempt, heartbeat: Heartbeat, monkeypatch
) -> None:
    renew, calls = claims.renew, []

    def sometimes(attempt: Attempt, now) -> None:
        calls.append(now)
        if len(calls) < 3:
            raise OperationalError("server closed the connection")
        renew(attempt, now)

    monkeypatch.setattr(claims, "renew", sometimes)
    before = attempt.lease_until

    with heartbeat:
        wait_until(lambda: Attempt.objects.get(pk=attempt.pk).lease_until > before)

    assert not heartbeat.lost
