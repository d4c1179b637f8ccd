"""Real Celery processes on a real broker: a worker that dies or is asked to stop in the middle of a lap."""

import os
import signal
import time
from pathlib import Path

import pytest

from judge.engine import Model
from submissions.models import Attempt, AttemptEvent, Competition, Evaluation, Lap, State
from tests import builders
from tests.conftest import SCRIPTED_TOML
from tests.processes import celery, engines_in, environment, wait_until

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]
HOUSEKEEPING = ("--beat", "--queues", "housekeeping", "--hostname", "sweep@%h")


@pytest.fixture
def contest(settings, engine_path: str, model: Model, broker_url: str) -> Competition:
    settings.ENGINE_PATH = engine_path
    settings.MODELS_DIR = model.folder.parent
    settings.BROKER_URL = broker_url
    return builders.competition(engine=SCRIPTED_TOML)


def worker_options(name: str) -> tuple[str, ...]:
    return ("--queues", "cpu", "--hostname", f"{name}@%h")


def in_timed_pass() -> bool:
    return AttemptEvent.objects.filter(stage="timed-pass").exists()


def test_kill_9_in_mid_lap_gives_a_second_attempt_within_two_minutes_and_one_result(
    contest: Competition, broker_url: str, engine_path: str, tmp_path: Path
) -> None:
    submission = builders.submission(contest, SCRIPT={"seconds_per_token": 0.1})
    beat = ("--schedule", str(tmp_path / "beat"))
    env = environment(broker_url)
    with celery(tmp_path / "sweep.log", env, *HOUSEKEEPING, *beat):
        with celery(tmp_path / "first.log", env | {"WORKER_NAME": "first"}, *worker_options("first")) as first:
            wait_until(in_timed_pass, 60, "the first worker is in its timed pass")
            assert engines_in(engine_path)
            os.kill(first.pid, signal.SIGKILL)
            killed = time.monotonic()
            wait_until(lambda: not engines_in(engine_path), 30, "the dead worker's engine is gone")
        with celery(tmp_path / "second.log", env | {"WORKER_NAME": "second"}, *worker_options("second")):
            second_runs = Attempt.objects.filter(number=2, state__in=[State.RUNNING, State.FINISHED])
            wait_until(second_runs.exists, 120 - (time.monotonic() - killed), "the second attempt runs")
            wait_until(lambda: Evaluation.objects.exclude(verdict="").exists(), 90, "there is a verdict")

    assert list(Attempt.objects.values_list("number", "state", "worker__name")) == [
        (1, State.LOST, "first"),
        (2, State.FINISHED, "second"),
    ]
    assert submission.evaluations.get().verdict == "verified"
    assert Lap.objects.count() == 1


def test_sigterm_in_mid_lap_hands_the_attempt_back_at_once(
    contest: Competition, broker_url: str, engine_path: str, tmp_path: Path
) -> None:
    builders.submission(contest, SCRIPT={"seconds_per_token": 0.05})
    env = environment(broker_url, SWEEP_SECONDS="2")
    beat = ("--schedule", str(tmp_path / "beat"))
    with celery(tmp_path / "sweep.log", env, *HOUSEKEEPING, *beat):
        with celery(tmp_path / "first.log", env | {"WORKER_NAME": "first"}, *worker_options("first")) as first:
            wait_until(in_timed_pass, 60, "the first worker is in its timed pass")
            first.send_signal(signal.SIGTERM)
            first.wait(30)
        assert list(Attempt.objects.values_list("number", "state")) == [(1, State.INTERRUPTED), (2, State.QUEUED)]
        assert not engines_in(engine_path)
        with celery(tmp_path / "second.log", env | {"WORKER_NAME": "second"}, *worker_options("second")):
            wait_until(lambda: Evaluation.objects.exclude(verdict="").exists(), 60, "there is a verdict")

    assert Evaluation.objects.get().verdict == "verified"
