"""The page of one submission: watching it, and reading what came of it."""

from datetime import timedelta

import pytest
from django.test import Client

from judge import Lap as MeasuredLap
from judge import Outcome, Progress, Stage, Verdict
from judge.accuracy import AnsweredQuestion
from judge.audits import Finding, Result
from judge.errors import Fault
from judge.lap import StageTime, StreamSample
from judge.quality import QualityScore
from judge.speed import TimedRequest
from submissions import claims
from submissions.models import Submission
from tests import builders
from tests.builders import NOW

pytestmark = pytest.mark.django_db


@pytest.fixture
def sent(client: Client) -> Submission:
    user = builders.user("ada")
    team = builders.team("Ducks", user)
    client.force_login(user)
    return builders.submission(builders.competition(), team, SLIDING_WINDOW=188)


def page_of(client: Client, submission: Submission, **headers: str) -> str:
    page = client.get(f"/submissions/{submission.pk}/", headers=headers)
    assert page.status_code == 200
    return page.content.decode()


def claimed(now=NOW):
    attempt = claims.claim_next(claims.register_worker("w1", "cpu", now), now)
    assert attempt is not None
    return attempt


def measured(**fields: object) -> MeasuredLap:
    lap = MeasuredLap("5eed", **fields)
    lap.timed = [
        TimedRequest("a" * 64, 0, 2_000_000_000, 2, "e" * 64),
        TimedRequest("b" * 64, 3, 4_000_000_003, 2, "f" * 64),
    ]
    lap.quality = [QualityScore("c" * 64, 10, 14.0), QualityScore("d" * 64, 10, 13.0)]
    lap.stages = [StageTime(Stage.START, 31_000_000_000)]
    lap.stream = StreamSample(25_000_000, 1.5)
    return lap


def test_a_queued_run_says_how_many_are_ahead_and_polls_itself(client: Client, sent: Submission) -> None:
    later = builders.submission(sent.competition, sent.team)

    text = page_of(client, sent)

    assert "1 run is ahead." in page_of(client, later)
    assert "Next in line." in text
    assert 'hx-trigger="every 2s"' in text
    assert "SLIDING_WINDOW=188" in text


def test_the_stage_is_shown_as_it_happens(client: Client, sent: Submission) -> None:
    attempt = claimed()
    claims.note_progress(attempt, Progress(Stage.START))
    claims.note_progress(attempt, Progress(Stage.TIMED_PASS, 57, 128))

    text = page_of(client, sent, HX_Request="true")

    assert "57 of 128" in text
    assert '<progress value="57" max="128">' in text
    assert "<html" not in text


def test_a_verified_run_shows_its_numbers_and_polls_no_more(client: Client, sent: Submission) -> None:
    verdict = Verdict(Outcome.VERIFIED, tps=510.126, ppl=2.393, ppl_cap=2.42)
    claims.record(claimed(), [measured()], verdict, NOW)

    text = page_of(client, sent)

    for shown in ("verified", "510.13", "2.393", "median 4.00 s, slowest 4.00 s", "25 ms", "start 31 s"):
        assert shown in text
    assert "hx-trigger" not in text


def test_the_perplexity_is_shown_as_a_ratio_to_the_reference_paired_by_record(client: Client, sent: Submission) -> None:
    calibration = builders.services.calibrate(sent.competition)
    claims.record(claimed(), [measured()], Verdict(Outcome.VERIFIED, tps=400.0, ppl=4.0), NOW)
    calibration.refresh_from_db()
    builders.services.accept_calibration(calibration)
    lap = measured()
    lap.quality = [QualityScore(s.record_sha256, s.tokens, s.nll + 0.1 * s.tokens) for s in lap.quality]

    claims.record(claimed(), [lap], Verdict(Outcome.VERIFIED, tps=510.0, ppl=4.1), NOW)

    assert "1.1052" in page_of(client, sent)
    assert "paired by record" in page_of(client, sent)


def test_the_audits_are_shown_with_their_evidence(client: Client, sent: Submission) -> None:
    findings = (Finding("A4", Result.CLEAN, {"largest_gap": 0.125}), Finding("A1", Result.NOTED, {"metrics": "absent"}))

    claims.record(claimed(), [measured()], Verdict(Outcome.VERIFIED, tps=510.0, ppl=4.1, findings=findings), NOW)

    text = page_of(client, sent)
    assert "largest gap 0.125" in text
    assert text.index("A1 <strong>noted") < text.index("A4 <strong>clean")


def test_right_answers_are_shown_beside_the_references(client: Client, sent: Submission) -> None:
    lap = measured()
    lap.answered = [AnsweredQuestion(f"{n:064}", "a" * 64, n < 3) for n in range(4)]
    calibration = builders.services.calibrate(sent.competition)
    claims.record(claimed(), [lap], Verdict(Outcome.VERIFIED, tps=400.0, ppl=4.0), NOW)
    calibration.refresh_from_db()
    builders.services.accept_calibration(calibration)

    claims.record(claimed(), [lap], Verdict(Outcome.VERIFIED, tps=510.0, ppl=4.1), NOW)

    assert "3 of 4" in page_of(client, sent)
    assert "1.000 of the reference" in page_of(client, sent)


def test_a_disqualified_run_shows_how_far_it_is_over_the_cap(client: Client, sent: Submission) -> None:
    detail = "perplexity 5.04 over 32 records, the cap is 4.2"
    verdict = Verdict(Outcome.DISQUALIFIED, "over-ppl-cap", Stage.QUALITY_SAMPLE, detail, None, 5.04, 4.2)
    claims.record(claimed(), [measured(stopped_early=True)], verdict, NOW)

    text = page_of(client, sent)

    for shown in ("The perplexity is over the cap.", "Stage: quality sample.", "+20.0 %", "early sample"):
        assert shown in text


def test_a_failed_start_shows_stage_reason_and_log_escaped(client: Client, sent: Submission) -> None:
    lap = MeasuredLap("5eed", fault=Fault.ENGINE_EXITED, log_tail="<b>ValueError</b>: too long")
    verdict = Verdict(Outcome.FAILED, Fault.ENGINE_EXITED, Stage.START, "ended with exit code 1")
    claims.record(claimed(), [lap], verdict, NOW)

    text = page_of(client, sent)

    for shown in ("The engine exited before it was ready.", "Stage: start.", "exit code 1", "&lt;b&gt;ValueError"):
        assert shown in text


def test_a_retried_run_says_so(client: Client, sent: Submission) -> None:
    claimed()
    claims.sweep(NOW + timedelta(seconds=61))

    text = page_of(client, sent)

    assert "Attempt 2: an earlier one was lost" in text
    assert "Attempt 1: lost." in text


def test_nobody_else_sees_it(client: Client, sent: Submission) -> None:
    stranger = Client()
    assert stranger.get(f"/submissions/{sent.pk}/").status_code == 302
    other = builders.user("eve")
    builders.team("Eves", other)
    stranger.force_login(other)

    assert stranger.get(f"/submissions/{sent.pk}/").status_code == 404
    assert stranger.get(f"/api/submissions/{sent.pk}").status_code == 404
    assert sent.config_sha256[:8] not in stranger.get("/submissions/").content.decode()


def test_an_organizer_sees_every_submission(sent: Submission) -> None:
    organizer = Client()
    organizer.force_login(builders.user("olga", is_staff=True))

    assert "SLIDING_WINDOW=188" in page_of(organizer, sent)


def test_the_list_shows_each_verdict(client: Client, sent: Submission) -> None:
    builders.decided(sent, tps=510.0, ppl=4.0)
    builders.submission(sent.competition, sent.team)

    text = client.get("/submissions/").content.decode()

    assert "510.00" in text
    assert "open" in text


@pytest.mark.parametrize("runs", [1, 20])
def test_the_list_asks_a_fixed_number_of_queries(
    client: Client, sent: Submission, django_assert_max_num_queries, runs: int
) -> None:
    for number in range(runs):
        builders.submission(sent.competition, sent.team, MAX_MODEL_LEN=1000 + number)

    with django_assert_max_num_queries(6):
        client.get("/submissions/")
