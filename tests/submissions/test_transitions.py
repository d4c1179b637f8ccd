from datetime import timedelta

import pytest
from django.db import IntegrityError, transaction

from judge import Outcome, Verdict
from submissions import transitions
from submissions.models import Attempt, AttemptEvent, Evaluation, State, Submission, Worker
from submissions.transitions import LostRace
from tests import builders
from tests.builders import NOW

pytestmark = pytest.mark.django_db
SOON = NOW + timedelta(seconds=60)
VERIFIED = Verdict(Outcome.VERIFIED, tps=1.0, ppl=2.0)


@pytest.fixture
def worker() -> Worker:
    return Worker.objects.create(name="w1", hardware_class="cpu")


@pytest.fixture
def queued() -> Attempt:
    return builders.attempt(builders.submission(builders.competition()))


@pytest.fixture
def running(queued: Attempt, worker: Worker) -> Attempt:
    transitions.start(queued, worker, NOW, SOON)
    return queued


def test_each_move_leaves_an_event(running: Attempt) -> None:
    transitions.finish(running, VERIFIED, SOON)

    states = AttemptEvent.objects.filter(attempt=running).values_list("state", flat=True)
    assert list(states) == [State.QUEUED, State.RUNNING, State.FINISHED]
    assert (running.state, running.verdict, running.lease_until) == (State.FINISHED, "verified", None)


def test_only_one_of_two_workers_starts_an_attempt(queued: Attempt, worker: Worker) -> None:
    same_row = Attempt.objects.get(pk=queued.pk)
    transitions.start(queued, worker, NOW, SOON)

    with pytest.raises(LostRace):
        transitions.start(same_row, Worker.objects.create(name="w2", hardware_class="cpu"), NOW, SOON)

    assert Attempt.objects.get(pk=queued.pk).worker == worker


def test_a_lost_attempt_is_never_revived(running: Attempt, worker: Worker) -> None:
    transitions.lose(running, SOON + timedelta(seconds=1))

    for revive in (
        lambda: transitions.start(running, worker, NOW, SOON),
        lambda: transitions.renew(running, SOON),
        lambda: transitions.finish(running, VERIFIED, NOW),
        lambda: transitions.interrupt(running, NOW, ""),
        lambda: transitions.lose(running, SOON),
    ):
        with pytest.raises(LostRace):
            revive()
    assert Attempt.objects.get(pk=running.pk).state == State.LOST


def test_a_heartbeat_in_the_last_moment_wins(running: Attempt) -> None:
    transitions.renew(running, SOON + timedelta(seconds=60))

    with pytest.raises(LostRace, match="renewed"):
        transitions.lose(running, SOON + timedelta(seconds=1))


def test_another_worker_cannot_renew_or_finish(running: Attempt) -> None:
    running.worker = Worker.objects.create(name="thief", hardware_class="cpu")

    with pytest.raises(LostRace):
        transitions.renew(running, SOON)
    with pytest.raises(LostRace):
        transitions.finish(running, VERIFIED, NOW)


def test_a_failed_move_leaves_no_event(running: Attempt) -> None:
    before = AttemptEvent.objects.count()

    with pytest.raises(LostRace):
        transitions.lose(running, NOW)

    assert AttemptEvent.objects.count() == before


def refused(change) -> None:
    with pytest.raises(IntegrityError), transaction.atomic():
        change()


def test_the_database_holds_the_rules_too(running: Attempt) -> None:
    attempts = Attempt.objects.filter(pk=running.pk)

    refused(lambda: Attempt.objects.create(evaluation=running.evaluation, number=1))
    refused(lambda: Attempt.objects.create(evaluation=running.evaluation, number=2))
    refused(lambda: attempts.update(state=State.FINISHED))
    refused(lambda: attempts.update(verdict="verified"))
    refused(lambda: attempts.update(lease_until=None))
    evaluations = Evaluation.objects.filter(pk=running.evaluation_id)
    refused(lambda: evaluations.update(verdict="verified"))
    refused(lambda: evaluations.update(decided_at=NOW))
    refused(lambda: evaluations.update(verdict="verified", decided_at=NOW, tps=0, ppl=1))


def test_a_submission_never_changes(running: Attempt) -> None:
    submission = Submission.objects.get()
    submission.config = "{}"

    with pytest.raises(Exception, match="never changes"):
        submission.save()
