"""A worker's session from claim to verdict, with a scripted engine as a real process."""

import pytest
from django.conf import settings as django_settings

from judge.engine import Model
from judge.prompts import SetRole
from submissions import claims
from submissions.models import Attempt, AttemptEvent, Competition, Lap, QualityScore, State, Submission, TimedRequest
from submissions.models import Worker as WorkerRow
from tests import builders
from tests.conftest import SCRIPTED_TOML
from worker import session

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def this_worker(settings: django_settings, engine_path: str, model: Model) -> None:
    settings.ENGINE_PATH = engine_path
    settings.MODELS_DIR = model.folder.parent
    settings.HEARTBEAT_SECONDS = 1


@pytest.fixture
def contest() -> Competition:
    return builders.competition(engine=SCRIPTED_TOML)


def work() -> bool:
    return session.work("w1", "cpu")


def verdict_of(submission: Submission) -> tuple[str, str, str]:
    evaluation = submission.evaluations.get()
    return evaluation.verdict, evaluation.reason, evaluation.stage


def test_nothing_queued_is_nothing_done() -> None:
    assert not work()


def test_an_honest_run_is_verified_and_every_row_is_stored(contest: Competition) -> None:
    submission = builders.submission(contest, MAX_MODEL_LEN=1024)

    assert work()

    evaluation = submission.evaluations.get()
    assert verdict_of(submission) == ("verified", "", "")
    lap = Lap.objects.get()
    assert lap.effects == [["MAX_MODEL_LEN", 1024, 1024]]
    rows = TimedRequest.objects.filter(lap=lap)
    seconds = sum(row.ended_ns - row.started_ns for row in rows) / 1e9
    assert evaluation.tps == pytest.approx(sum(row.tokens for row in rows) / seconds)
    assert QualityScore.objects.filter(lap=lap).count() == 8
    assert evaluation.ppl == pytest.approx(builders.PPL)
    assert lap.seed == evaluation.seed


def test_a_calibration_sets_what_later_runs_are_compared_with(contest: Competition) -> None:
    """With questions and public prompts: the accuracy floor and audit A7 stand on the reference's own lap."""
    builders.services.store_prompts(contest, builders.question_set(), SetRole.HIDDEN)
    builders.services.store_prompts(contest, builders.public_set(), SetRole.PUBLIC)
    contest.accuracy_floor = 0.9
    contest.save()
    calibration = builders.services.calibrate(contest)
    work()
    calibration.refresh_from_db()
    builders.services.accept_calibration(calibration)
    contest.refresh_from_db()
    submission = builders.submission(contest)

    work()

    lap = Lap.objects.get(attempt__evaluation__submission=submission)
    audits = {audit: evidence for audit, _, evidence in lap.findings}
    assert verdict_of(submission) == ("verified", "", "")
    assert len(lap.answered) == 6
    assert "reference_gap" in audits["A7"]
    assert set(audits) == {f"A{number}" for number in range(1, 9)}


def test_the_stages_are_written_down_as_they_happen(contest: Competition) -> None:
    builders.submission(contest)

    work()

    events = AttemptEvent.objects.exclude(stage="").values_list("stage", "done", "total")
    assert ("timed-pass", 6, 6) in events
    assert ("quality-pass", 8, 8) in events


def test_a_narrow_window_is_disqualified(contest: Competition) -> None:
    submission = builders.submission(contest, SLIDING_WINDOW=2)

    work()

    assert verdict_of(submission) == ("disqualified", "over-ppl-cap", "quality-sample")
    assert submission.evaluations.get().ppl > 5 * contest.ppl_cap


FAILING = [
    ({"MAX_MODEL_LEN": 65536}, "engine-exited", "start"),
    ({"SCRIPT": {"never_ready": True}}, "start-timeout", "start"),
]


@pytest.mark.parametrize(("values", "reason", "stage"), FAILING)
def test_an_engine_that_does_not_start_fails_and_the_worker_goes_on(
    contest: Competition, values: dict[str, object], reason: str, stage: str
) -> None:
    contest.protocol |= {"start_timeout_s": 2}
    contest.save()
    broken, good = builders.submission(contest, **values), builders.submission(contest)

    assert work()
    assert work()

    assert verdict_of(broken) == ("failed", reason, stage)
    assert verdict_of(good)[0] == "verified"


def test_the_log_of_a_failed_start_is_kept_without_nul_or_ids(contest: Competition) -> None:
    builders.submission(contest, MAX_MODEL_LEN=65536)

    work()

    assert Lap.objects.get().log_tail == "ValueError: the engine cannot start with this token ids [token ids left out]"


def test_a_stubborn_child_of_the_engine_does_not_survive_the_lap(contest: Competition, monkeypatch) -> None:
    monkeypatch.setattr("judge.process.TERM_GRACE_S", 0.3)
    builders.submission(contest, SCRIPT={"stubborn_child": True})

    work()

    assert Lap.objects.get().engine_gone
    assert Attempt.objects.get().state == State.FINISHED


def test_a_missing_engine_is_void_and_tried_three_times(contest: Competition, settings) -> None:
    settings.ENGINE_PATH = "/nonexistent"
    submission = builders.submission(contest)

    assert [work() for _ in range(4)] == [True, True, True, False]

    assert verdict_of(submission)[:2] == ("void", "judge-error")


def test_what_the_judge_cannot_even_read_is_void(contest: Competition) -> None:
    submission = builders.submission(contest)
    Competition.objects.filter(pk=contest.pk).update(engine="gone")

    while work():
        pass

    assert verdict_of(submission)[:2] == ("void", "judge-error")
    assert "no engine file gone" in submission.evaluations.get().detail


def test_a_worker_that_is_asked_to_stop_hands_its_attempt_back(contest: Competition, monkeypatch) -> None:
    submission = builders.submission(contest)
    session.stopping.set()
    try:
        work()
    finally:
        session.stopping.clear()

    states = list(Attempt.objects.values_list("number", "state"))
    assert states == [(1, State.INTERRUPTED), (2, State.QUEUED)]
    assert work()
    assert verdict_of(submission)[0] == "verified"


def test_an_attempt_that_was_taken_over_stops_and_counts_nothing(contest: Competition, monkeypatch) -> None:
    submission = builders.submission(contest, SCRIPT={"seconds_per_token": 0.05})
    renew = claims.renew

    def take_over(attempt: Attempt, now) -> None:
        monkeypatch.setattr(claims, "renew", renew)
        Attempt.objects.filter(pk=attempt.pk).update(lease_until=now)
        claims.sweep(now + builders.timedelta(seconds=1))
        renew(attempt, now)

    monkeypatch.setattr(claims, "renew", take_over)

    work()

    assert list(Attempt.objects.values_list("number", "state")) == [(1, State.LOST), (2, State.QUEUED)]
    assert verdict_of(submission)[0] == ""


def test_an_engine_that_is_not_gone_quarantines_the_worker(contest: Competition, monkeypatch) -> None:
    stop = session.judge.EngineProcess.stop
    monkeypatch.setattr(session.judge.EngineProcess, "stop", lambda self, timeout_s: stop(self, timeout_s) and False)
    builders.submission(contest)

    work()

    assert "engine process was left" in WorkerRow.objects.get(name="w1").quarantined_because
    assert not work()


def test_hidden_prompts_reach_no_page_log_or_row(contest: Competition, client, caplog) -> None:
    client.force_login(builders.user(is_staff=True, is_superuser=True))
    submission = builders.submission(contest, MAX_MODEL_LEN=65536)
    work()
    builders.submission(contest)
    work()

    ids = ", ".join(map(str, builders.quality_set().records[0].token_ids[:5]))
    pages = [
        f"/submissions/{submission.pk}/",
        f"/c/{contest.slug}/",
        f"/c/{contest.slug}/board.json",
        f"/admin/submissions/promptset/{contest.speed_set_id}/change/",
        f"/admin/submissions/evaluation/{submission.evaluations.get().pk}/change/",
    ]
    for page in pages:
        answer = client.get(page)
        assert answer.status_code == 200
        text = answer.content.decode()
        assert ids not in text
        assert ids.replace(" ", "") not in text
    assert ids not in caplog.text
