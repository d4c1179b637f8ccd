from datetime import timedelta

import pytest
from django.core import mail

from judge import Lap as MeasuredLap
from judge import Outcome, Progress, Stage, Verdict
from judge.errors import Fault
from submissions import claims, services
from submissions.models import Attempt, AttemptEvent, Evaluation, Lap, State, Worker
from tests import builders
from tests.builders import NOW

pytestmark = pytest.mark.django_db
VERIFIED = Verdict(Outcome.VERIFIED, tps=500.0, ppl=4.0, ppl_cap=4.2)
VOID = Verdict(Outcome.VOID, Fault.DISTURBED_TIMING, Stage.TIMED_PASS, "gaps")
LATER = NOW + timedelta(seconds=61)


@pytest.fixture
def contest():
    return builders.competition()


@pytest.fixture
def worker() -> Worker:
    return claims.register_worker("w1", "cpu", NOW)


def claim(worker: Worker, at=NOW) -> Attempt:
    attempt = claims.claim_next(worker, at)
    assert attempt is not None
    return attempt


def test_a_claim_takes_the_oldest_with_a_lease(contest, worker: Worker) -> None:
    first = builders.submission(contest)
    builders.submission(contest)

    attempt = claim(worker)

    assert attempt.evaluation.submission == first
    assert (attempt.state, attempt.worker, attempt.lease_until) == (
        State.RUNNING,
        worker,
        NOW + timedelta(seconds=60),
    )


def test_each_attempt_is_claimed_once(contest, worker: Worker) -> None:
    for _ in range(3):
        builders.submission(contest)

    claimed = [claim(worker).pk for _ in range(3)]

    assert len(set(claimed)) == 3
    assert claims.claim_next(worker, NOW) is None


def test_organizers_work_comes_first(contest, worker: Worker) -> None:
    builders.submission(contest)
    calibration = services.calibrate(contest)

    assert claim(worker).evaluation == calibration


def test_then_the_team_that_used_the_least_time_today(contest, worker: Worker) -> None:
    busy, idle = builders.team("Busy"), builders.team("Idle")
    for team in (busy, busy, idle):
        builders.submission(contest, team)
    first = claim(worker)
    claims.record(first, [], VERIFIED, NOW + timedelta(minutes=8))

    assert claim(worker, NOW + timedelta(minutes=9)).evaluation.submission.team == idle


def test_another_hardware_class_is_left_alone(contest) -> None:
    builders.submission(contest)

    assert claims.claim_next(claims.register_worker("w2", "gpu.a10g", NOW), NOW) is None


def test_a_quarantined_worker_claims_nothing(contest, worker: Worker) -> None:
    builders.submission(contest)
    claims.quarantine(worker, "an engine was left behind")

    assert claims.claim_next(claims.register_worker("w1", "cpu", NOW), NOW) is None
    assert "w1 is quarantined" in mail.outbox[0].subject


def test_a_result_becomes_the_evaluations_verdict(contest, worker: Worker) -> None:
    submission = builders.submission(contest)
    lap = MeasuredLap("seed")

    assert claims.record(claim(worker), [lap], VERIFIED, LATER)

    evaluation = submission.evaluations.get()
    assert (evaluation.verdict, evaluation.tps, evaluation.ppl) == ("verified", 500.0, 4.0)
    assert evaluation.decided_at == LATER


def test_the_same_result_delivered_twice_is_stored_once(contest, worker: Worker) -> None:
    builders.submission(contest)
    attempt = claim(worker)

    assert claims.record(attempt, [MeasuredLap("seed")], VERIFIED, NOW)
    assert not claims.record(attempt, [MeasuredLap("seed")], VERIFIED, LATER)

    assert Lap.objects.count() == 1
    assert Evaluation.objects.get().decided_at == NOW


def test_an_expired_lease_is_lost_and_the_next_attempt_queued(contest, worker: Worker) -> None:
    submission = builders.submission(contest)
    attempt = claim(worker)

    assert claims.sweep(NOW + timedelta(seconds=59)) == 0
    assert claims.sweep(LATER) == 1

    states = [(a.number, a.state) for a in Attempt.objects.filter(evaluation__submission=submission)]
    assert states == [(1, State.LOST), (2, State.QUEUED)]
    assert claim(worker, LATER).pk != attempt.pk


def test_a_renewed_lease_is_not_swept(contest, worker: Worker) -> None:
    builders.submission(contest)
    claims.renew(claim(worker), NOW + timedelta(seconds=50))

    assert claims.sweep(LATER) == 0


def test_a_late_result_is_kept_apart_and_not_counted(contest, worker: Worker) -> None:
    submission = builders.submission(contest)
    dead = claim(worker)
    claims.sweep(LATER)

    assert not claims.record(dead, [MeasuredLap("seed")], VERIFIED, LATER)

    assert submission.evaluations.get().verdict == ""
    assert Lap.objects.get().attempt == dead
    alive = claim(worker, LATER)
    assert claims.record(alive, [MeasuredLap("seed")], VERIFIED, LATER)
    assert submission.evaluations.get().verdict == "verified"


def test_after_the_third_lost_attempt_the_run_is_void_and_organizers_are_told(
    contest, worker: Worker, django_capture_on_commit_callbacks
) -> None:
    submission = builders.submission(contest)
    now = NOW
    with django_capture_on_commit_callbacks(execute=True):
        for _ in range(3):
            claim(worker, now)
            now += timedelta(seconds=61)
            claims.sweep(now)

    evaluation = submission.evaluations.get()
    assert (evaluation.verdict, evaluation.reason) == ("void", "worker-lost")
    assert claims.claim_next(worker, now) is None
    assert "is void after 3 attempts" in mail.outbox[-1].subject


def test_a_void_lap_is_tried_again_by_itself(contest, worker: Worker) -> None:
    submission = builders.submission(contest)
    claims.record(claim(worker), [MeasuredLap("seed", fault=Fault.DISTURBED_TIMING)], VOID, NOW)

    assert submission.evaluations.get().verdict == ""
    claims.record(claim(worker), [MeasuredLap("seed")], VERIFIED, NOW)
    assert submission.evaluations.get().verdict == "verified"


def test_a_configs_own_fault_is_not_tried_again(contest, worker: Worker) -> None:
    submission = builders.submission(contest)

    claims.record(claim(worker), [], Verdict(Outcome.FAILED, Fault.ENGINE_EXITED, Stage.START, "code 1"), NOW)

    evaluation = submission.evaluations.get()
    assert (evaluation.verdict, evaluation.stage, evaluation.detail) == ("failed", "start", "code 1")
    assert claims.claim_next(worker, NOW) is None


def test_a_poison_config_leaves_the_queue_and_blocks_nobody(contest, worker: Worker) -> None:
    poison, good = builders.submission(contest), builders.submission(contest)
    for _ in range(3):
        attempt = claim(worker)
        if attempt.evaluation.submission == good:
            claims.record(attempt, [], VERIFIED, NOW)
            attempt = claim(worker)
        claims.record(attempt, [], VOID, NOW)

    assert claims.claim_next(worker, NOW) is None or claims.record(claim(worker), [], VERIFIED, NOW)
    assert poison.evaluations.get().verdict == "void"


def test_an_attempt_that_is_handed_back_is_queued_again(contest, worker: Worker) -> None:
    builders.submission(contest)
    attempt = claim(worker)

    claims.give_back(attempt, NOW, "the worker is asked to stop")

    assert attempt.state == State.INTERRUPTED
    assert claim(worker).number == 2


def test_progress_is_one_event_a_stage(contest, worker: Worker) -> None:
    builders.submission(contest)
    attempt = claim(worker)

    for done in (0, 57):
        claims.note_progress(attempt, Progress(Stage.TIMED_PASS, done, 128))

    event = AttemptEvent.objects.get(attempt=attempt, stage=Stage.TIMED_PASS)
    assert (event.done, event.total) == (57, 128)


def test_nul_in_a_log_is_storable(contest, worker: Worker) -> None:
    builders.submission(contest)
    lap = MeasuredLap("seed", fault=Fault.ENGINE_EXITED, fault_detail="a\0b", log_tail="c\0d")

    claims.record(claim(worker), [lap], Verdict(Outcome.FAILED, Fault.ENGINE_EXITED, detail="e\0f"), NOW)

    stored = Lap.objects.get()
    assert (stored.fault_detail, stored.log_tail) == ("a�b", "c�d")


def test_the_doorbell_rings_after_commit_only(contest, worker, monkeypatch, django_capture_on_commit_callbacks) -> None:
    rung: list[str] = []
    monkeypatch.setattr("submissions.queue._send", rung.append)

    with django_capture_on_commit_callbacks(execute=True):
        builders.submission(contest)
        assert rung == []

    assert rung == ["cpu"]


def test_a_broker_that_is_away_costs_nothing(contest, django_capture_on_commit_callbacks) -> None:
    with django_capture_on_commit_callbacks(execute=True):
        submission = builders.submission(contest)

    assert builders.attempt(submission).state == State.QUEUED


def test_the_sweep_rings_for_whatever_is_queued(contest, monkeypatch, django_capture_on_commit_callbacks) -> None:
    builders.submission(contest)
    builders.submission(contest)
    rung: list[str] = []
    monkeypatch.setattr("submissions.queue._send", rung.append)

    with django_capture_on_commit_callbacks(execute=True):
        claims.sweep(NOW)

    assert rung == ["cpu"]
