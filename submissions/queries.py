"""What can be seen: nouns. `visible_submissions(viewer)` is the only door to somebody's submissions."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import QuerySet
from django.utils.translation import gettext as _

from judge import Stage
from judge.accuracy import AnsweredQuestion
from judge.quality import QualityScore as MeasuredScore
from judge.speed import NS_PER_S
from judge.statistics import Interval, accuracy_ratio, perplexity_interval, perplexity_ratio
from submissions.models import Attempt, AttemptEvent, Evaluation, Lap, State, Submission, Team
from submissions.reasons import stage_words

Viewer = User | AnonymousUser


def team_of(viewer: Viewer) -> Team | None:
    return Team.objects.filter(memberships__user=viewer).first() if viewer.is_authenticated else None


def visible_submissions(viewer: Viewer) -> QuerySet[Submission]:
    """A team sees its own, an organizer every one, anybody else none."""
    known = Submission.objects.select_related("competition", "team", "schema").prefetch_related("evaluations")
    if viewer.is_authenticated and viewer.is_staff:
        return known
    if not viewer.is_authenticated:
        return known.none()
    return known.filter(team__memberships__user=viewer)


def official(submission: Submission) -> Evaluation:
    """The evaluation that a submission's page shows: its first."""
    return submission.evaluations.order_by("pk")[0]


@dataclass(frozen=True, slots=True)
class StageLine:
    """One stage as a watcher sees it: `status` is done, now or ahead; `percent` is 0 without a count."""

    name: str
    status: str
    done: int = 0
    total: int = 0
    seconds: float | None = None

    @property
    def percent(self) -> int:
        return 100 * self.done // self.total if self.total else 0


@dataclass(frozen=True, slots=True)
class Watch:
    """Where an evaluation is: its attempt, the stages of it, and how many are queued before it."""

    attempt: Attempt
    stages: list[StageLine]
    ahead: int
    tries: int

    @property
    def is_queued(self) -> bool:
        return self.attempt.state == State.QUEUED


def watch(evaluation: Evaluation) -> Watch:
    attempt = evaluation.attempts.select_related("worker").order_by("-number")[0]
    events = {event.stage: event for event in attempt.events.exclude(stage="")}
    return Watch(attempt, list(_stage_lines(attempt, events)), _ahead(attempt), attempt.number)


def _stage_lines(attempt: Attempt, events: dict[str, AttemptEvent]) -> Iterator[StageLine]:
    newest = max(events.values(), key=lambda event: event.pk, default=None)
    running = attempt.state == State.RUNNING
    asks_questions = attempt.evaluation.accuracy_set_id is not None
    for stage in Stage:
        if stage == Stage.ACCURACY_PASS and not asks_questions:
            continue
        event = events.get(stage)
        if event is None:
            yield StageLine(stage_words(stage), "ahead")
        else:
            status = "now" if running and event is newest else "done"
            yield StageLine(stage_words(stage), status, event.done, event.total)


def _ahead(attempt: Attempt) -> int:
    """How many attempts of the same hardware class were queued before; claims may order them otherwise."""
    if attempt.state != State.QUEUED:
        return 0
    hardware_class = attempt.evaluation.submission.competition.hardware_class
    return Attempt.objects.filter(
        state=State.QUEUED, pk__lt=attempt.pk, evaluation__submission__competition__hardware_class=hardware_class
    ).count()


def step_words(evaluation: Evaluation) -> str:
    """Where an evaluation is, in one line of text."""
    seen = watch(evaluation)
    if seen.is_queued:
        return _("queued, %(ahead)d ahead") % {"ahead": seen.ahead}
    current = next((line for line in seen.stages if line.status == "now"), None)
    if current is None:
        return str(seen.attempt.get_state_display())
    return f"{current.name} {current.done}/{current.total}" if current.total else current.name


@dataclass(frozen=True, slots=True)
class LapNumbers:
    """What a finished lap shows beside its score."""

    lap: Lap
    stages: list[StageLine]
    ppl_low: float | None
    ppl_high: float | None
    median_s: float | None
    slowest_s: float | None
    to_reference: Interval | None
    right: int
    accuracy: Interval | None

    @property
    def first_token_ms(self) -> float | None:
        return self.lap.first_token_ns / 1e6 if self.lap.first_token_ns else None


def lap_numbers(evaluation: Evaluation) -> list[LapNumbers]:
    """Per lap of the attempt that counted, or of the last one when none did."""
    laps = Lap.objects.filter(attempt__evaluation=evaluation, attempt__state=State.FINISHED)
    reference = _reference_lap(evaluation)
    return [_numbers(lap, reference) for lap in laps.order_by("attempt__number", "number")]


def finished_lap(evaluation: Evaluation) -> Lap | None:
    """The lap that counted of an evaluation."""
    return Lap.objects.filter(attempt__evaluation=evaluation, attempt__state=State.FINISHED).last()


def _reference_lap(evaluation: Evaluation) -> Lap | None:
    calibration = evaluation.submission.competition.calibration
    return finished_lap(calibration) if calibration else None


def _scores(lap: Lap | None) -> list[MeasuredScore]:
    rows = lap.quality_scores.all() if lap else []
    return [MeasuredScore(row.record_sha256, row.tokens, row.nll) for row in rows]


def _to_reference(scores: list[MeasuredScore], reference: list[MeasuredScore], seed: str) -> Interval | None:
    """The paired ratio over the records that this lap scored; None when the reference lacks one of them."""
    mine = {score.record_sha256 for score in scores}
    theirs = [score for score in reference if score.record_sha256 in mine]
    return perplexity_ratio(scores, theirs, seed) if scores and len(theirs) == len(mine) else None


def _answers(lap: Lap | None) -> list[AnsweredQuestion]:
    return [AnsweredQuestion(*row) for row in lap.answered] if lap else []


def _numbers(lap: Lap, reference: Lap | None) -> LapNumbers:
    scores, answers, theirs = _scores(lap), _answers(lap), _answers(reference)
    low, high = perplexity_interval(scores, lap.seed) if scores else (None, None)
    seconds = sorted((row.ended_ns - row.started_ns) / NS_PER_S for row in lap.timed_requests.all())
    stages = [StageLine(stage_words(name), "done", seconds=ns / NS_PER_S) for name, ns in lap.stages]
    return LapNumbers(
        lap,
        stages,
        low,
        high,
        median_s=seconds[len(seconds) // 2] if seconds else None,
        slowest_s=seconds[-1] if seconds else None,
        to_reference=_to_reference(scores, _scores(reference), lap.seed),
        right=sum(answer.correct for answer in answers),
        accuracy=accuracy_ratio(answers, theirs, lap.seed) if answers and len(theirs) == len(answers) else None,
    )


@dataclass(frozen=True, slots=True)
class Tried:
    """An earlier attempt that did not count, and why."""

    number: int
    state: str
    reason: str
    ended_at: datetime | None


def earlier_tries(evaluation: Evaluation) -> list[Tried]:
    attempts = list(evaluation.attempts.order_by("number"))[:-1]
    return [Tried(a.number, str(a.get_state_display()), a.reason, a.ended_at) for a in attempts]
