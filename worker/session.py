"""One claim from beginning to end.

1. Claim the next attempt, under a lease.
2. Read its plan from the database: config, prompt sets, protocol, seed.
3. Have the judge run one lap against a fresh engine, while a thread keeps the lease alive.
4. Record the laps and the judge's verdict, if the attempt is still the live one.

Whatever goes wrong on the way ends in a verdict or in the next attempt.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial

from django.conf import settings
from django.db import close_old_connections
from django.utils import timezone

import judge
from judge.errors import Fault, JudgeError, LapStopped
from judge.server import Server
from judge.sources import find_tokenizer
from submissions import claims
from submissions.measurements import load_calibration
from submissions.models import Attempt, Evaluation, EvaluationKind
from submissions.queries import finished_lap
from submissions.transitions import LostRace
from worker.heartbeat import Heartbeat

logger = logging.getLogger(__name__)

stopping = threading.Event()
"""Set when this worker is asked to stop; the running attempt is then handed back."""


@dataclass(frozen=True, slots=True)
class Job:
    """What the judge needs to know of an attempt; no team, no competition."""

    reference: judge.Config
    model: judge.Model
    plan: judge.LapPlan


def work(worker_name: str, hardware_class: str) -> bool:
    """Judge the next attempt, if there is one; whether there was."""
    now = timezone.now()
    worker = claims.register_worker(worker_name, hardware_class, now)
    attempt = claims.claim_next(worker, now)
    if attempt is None:
        return False
    logger.info("attempt %s claimed", attempt.pk)
    judge_attempt(attempt)
    return True


def judge_attempt(attempt: Attempt) -> None:
    try:
        job = read_job(attempt)
        lap = measure(attempt, job)
        finish(attempt, [lap], judge.decide(lap, job.plan.rules))
        if not lap.engine_gone:
            claims.quarantine(attempt.worker, f"an engine process was left after attempt {attempt.pk}")
    except LapStopped as stopped:
        hand_back(attempt, str(stopped))
    except Exception as error:  # the supervisor's edge: every fault ends in a verdict
        logger.exception("attempt %s failed in the judge", attempt.pk)
        detail = f"{type(error).__name__}: {error}" if isinstance(error, JudgeError) else type(error).__name__
        finish(attempt, [], judge.Verdict(judge.Outcome.VOID, Fault.JUDGE_ERROR, detail=detail))


def read_job(attempt: Attempt) -> Job:
    """Raises JudgeError when what the database holds cannot be judged."""
    evaluation = attempt.evaluation
    submission = evaluation.submission
    competition = submission.competition
    model = judge.Model(competition.model, settings.MODELS_DIR / competition.model)
    plan = judge.LapPlan(
        engine=judge.load_engine(competition.engine),
        config=submission.load_config(),
        protocol=competition.load_protocol(),
        speed_set=evaluation.speed_set.load(),
        quality_set=evaluation.quality_set.load(),
        question_set=evaluation.accuracy_set.load() if evaluation.accuracy_set else None,
        public_set=evaluation.public_speed_set.load() if evaluation.public_speed_set else None,
        seed=evaluation.seed,
        ppl_cap=evaluation.ppl_cap,
        accuracy_floor=evaluation.accuracy_floor,
        calibration=read_calibration(evaluation),
        tokenizer=tokenizer_of(model.folder),
    )
    return Job(judge.Config.from_canonical(competition.reference_config), model, plan)


def read_calibration(evaluation: Evaluation) -> judge.Calibration | None:
    """What the reference came to; a calibration itself is compared with nothing."""
    found = evaluation.submission.competition.calibration
    lap = finished_lap(found) if found and evaluation.kind != EvaluationKind.CALIBRATION else None
    return load_calibration(lap) if lap else None


tokenizer_of = cache(find_tokenizer)
"""Reading a tokenizer takes seconds; a worker's models are few."""


def measure(attempt: Attempt, job: Job) -> judge.Lap:
    def start(config: judge.Config) -> Callable[[], Server]:
        launch = judge.plan_launch(job.plan.engine, config, job.model, "127.0.0.1", judge.free_port())
        return partial(judge.EngineProcess, launch, settings.ENGINE_PATH)

    trusted = judge.trust(start, job.plan.engine, job.plan.config, job.reference)
    with Heartbeat(attempt, settings.HEARTBEAT_SECONDS, stopping) as heartbeat:
        return judge.run_lap(start(job.plan.config), job.plan, heartbeat.report, trusted)


def finish(attempt: Attempt, laps: list[judge.Lap], verdict: judge.Verdict) -> None:
    close_old_connections()  # idle for the length of a lap, so it may be broken by now
    counted = claims.record(attempt, laps, verdict, timezone.now())
    logger.info("attempt %s: %s %s%s", attempt.pk, verdict.outcome, verdict.reason, "" if counted else " (too late)")


def hand_back(attempt: Attempt, note: str) -> None:
    try:
        claims.give_back(attempt, timezone.now(), note)
        logger.info("attempt %s handed back: %s", attempt.pk, note)
    except LostRace:
        logger.info("attempt %s was already taken over: %s", attempt.pk, note)
