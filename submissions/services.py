"""What can be done: verbs. Each is one transaction."""

import hashlib
from collections.abc import Iterable

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

import judge
from judge.config import RawVariable
from judge.prompts import SetKind, SetRole
from submissions import transitions
from submissions.models import (
    Competition,
    Evaluation,
    EvaluationKind,
    Membership,
    PromptSet,
    Submission,
    Team,
    new_seed,
)
from submissions.queries import finished_lap
from submissions.queue import ring


class NotOpen(Exception):
    """The competition takes no submissions yet: its reference was not calibrated, or prompts are missing."""


class AlreadyInTeam(Exception):
    """The user belongs to a team; one team a user."""


@transaction.atomic
def create_team(user: AbstractBaseUser, name: str) -> Team:
    """Raises AlreadyInTeam."""
    if Membership.objects.filter(user=user).exists():
        raise AlreadyInTeam
    team = Team.objects.create(name=name)
    Membership.objects.create(team=team, user=user)
    return team


@transaction.atomic
def submit(
    competition: Competition, team: Team, user: AbstractBaseUser | None, variables: Iterable[RawVariable]
) -> Submission:
    """Check a config and queue its official evaluation.

    Raises judge.ConfigError with everything that is wrong with the config, and NotOpen; nothing is
    stored then.
    """
    if not competition.ppl_cap or (competition.accuracy_floor and not competition.calibration):
        raise NotOpen
    submission = _store(competition, team, user, variables)
    ask(submission, EvaluationKind.OFFICIAL)
    return submission


@transaction.atomic
def calibrate(competition: Competition) -> Evaluation:
    """Queue the reference config, which has no cap to keep. Raises NotOpen without prompt sets."""
    reference = judge.Config.from_canonical(competition.reference_config)
    raw = [RawVariable(name, value) for name, value in reference.values]
    return ask(_store(competition, None, None, raw), EvaluationKind.CALIBRATION)


def _store(
    competition: Competition, team: Team | None, user: AbstractBaseUser | None, variables: Iterable[RawVariable]
) -> Submission:
    schema = competition.schema
    config = judge.check_config(variables, schema.load())
    return Submission.objects.create(
        competition=competition,
        team=team,
        submitted_by=user,
        schema=schema,
        config=config.canonical,
        config_sha256=config.sha256,
    )


@transaction.atomic
def ask(submission: Submission, kind: EvaluationKind) -> Evaluation:
    """One question about a submission: an evaluation with its first attempt queued, and the doorbell rung."""
    competition = submission.competition
    if competition.speed_set is None or competition.quality_set is None:
        raise NotOpen
    seed = new_seed()
    evaluation = Evaluation.objects.create(
        submission=submission,
        kind=kind,
        speed_set=competition.speed_set,
        quality_set=competition.quality_set,
        accuracy_set=competition.accuracy_set,
        public_speed_set=competition.public_speed_set,
        seed=seed,
        seed_sha256=hashlib.sha256(seed.encode()).hexdigest(),
        ppl_cap=None if kind == EvaluationKind.CALIBRATION else competition.ppl_cap,
        accuracy_floor=None if kind == EvaluationKind.CALIBRATION else competition.accuracy_floor,
    )
    transitions.queue(evaluation)
    ring(competition.hardware_class)
    return evaluation


@transaction.atomic
def accept_calibration(evaluation: Evaluation) -> Competition:
    """Make a verified calibration the competition's reference and cap.

    Raises ValueError for any other, and where a reference that answers nothing right would be the accuracy floor.
    """
    if evaluation.kind != EvaluationKind.CALIBRATION or evaluation.verdict != judge.Outcome.VERIFIED:
        raise ValueError(f"{evaluation} is no verified calibration")
    competition = evaluation.submission.competition
    lap = finished_lap(evaluation)
    right = [correct for _, _, correct in lap.answered] if lap else []
    if competition.accuracy_floor and not any(right):
        raise ValueError(f"an accuracy floor needs a reference that answers: 0 of {len(right)} questions are right")
    competition.reference_ppl = evaluation.ppl
    competition.ppl_cap = evaluation.ppl * competition.cap_ratio
    competition.calibration = evaluation
    competition.save(update_fields=["reference_ppl", "ppl_cap", "calibration"])
    return competition


@transaction.atomic
def store_prompts(competition: Competition, prompts: judge.PromptSet, role: SetRole) -> PromptSet:
    """Keep a prompt set under its SHA-256 and make the competition measure with it.

    A calibration on other sets is forgotten. Public speed prompts are never scored: audit A7 compares the speed
    on them. Raises PromptSetError for public
    sets of another kind, which nothing would use.
    """
    is_public = role == SetRole.PUBLIC
    if is_public and prompts.kind != SetKind.SPEED:
        raise judge.PromptSetError(f"a public {prompts.kind} set has no use: only public speed prompts are compared")
    stored, _ = PromptSet.objects.get_or_create(
        sha256=prompts.sha256,
        defaults={"kind": prompts.kind, "role": role, "count": len(prompts), "content": prompts.as_jsonl()},
    )
    field = "public_speed_set" if is_public else f"{prompts.kind}_set"
    if getattr(competition, field) != stored:
        setattr(competition, field, stored)
        competition.save(update_fields=[field])
        _forget_calibration(competition)
    return stored


def _forget_calibration(competition: Competition) -> None:
    """What the reference came to on other sets says nothing. A cap that an organizer set outright stays."""
    if competition.calibration:
        competition.calibration = competition.reference_ppl = competition.ppl_cap = None
        competition.save(update_fields=["calibration", "reference_ppl", "ppl_cap"])
