"""Plain base cases: a test asks for one and changes what it is about."""

import hashlib
import itertools
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from math import log
from pathlib import Path

from django.contrib.auth.models import User

import judge
from judge.accuracy import AnsweredQuestion
from judge.config import RawVariable
from judge.prompts import AnswerKind, QualityRecord, Question, SetKind, SetRole, SpeedPrompt
from judge.quality import QualityScore
from judge.schema import SCHEMA
from submissions import services
from submissions.models import Attempt, Competition, ConfigSchema, Evaluation, Submission, Team
from tests.engines.toy_model import ToyModel
from tests.engines.toy_tokenizer import ToyTokenizer

__all__ = ["timedelta"]
NOW = datetime(2026, 6, 20, 12, 0, tzinfo=UTC)
PPL = 4.0
SCRIPTED_TOML = str(Path(__file__).parent / "engines" / "scripted.toml")
_numbers = itertools.count(1)


def protocol(**changes: object) -> judge.Protocol:
    defaults: dict[str, object] = {
        "output_tokens": 16,
        "warmup_requests": 3,
        "warmup_tokens": 2,
        "quality_sample": 4,
        "quality_repeats": 2,
        "rare_probes": 2,
        "accuracy_tokens": 5,
        "stream_requests": 1,
        "stream_tokens": 4,
        "audit_requests": 2,
        "audit_repeats": 2,
        "unseen_requests": 2,
        "compat_tolerance": 0.999,  # a toy answers within microseconds, so the gaps weigh
        "start_timeout_s": 20,
        "request_timeout_s": 10,
        "stop_timeout_s": 20,
        "answer_limit_bytes": 1_000_000,
    }
    return judge.Protocol(**(defaults | changes))


def speed_set(count: int = 6) -> judge.PromptSet:
    prompts = [SpeedPrompt(f"speed-{n}", tuple(range(n + 1, n + 13))) for n in range(count)]
    return judge.PromptSet(SetKind.SPEED, tuple(prompts))


def quality_set(count: int = 8, model: ToyModel | None = None) -> judge.PromptSet:
    """Continuations that the toy model itself would write."""
    model = model or ToyModel(PPL)
    records = []
    for n in range(count):
        context = tuple(range(100 + n, 120 + n))
        records.append(QualityRecord(f"quality-{n}", context, tuple(model.continuation(context, 20 + n))))
    return judge.PromptSet(SetKind.QUALITY, records=tuple(records))


def public_set(count: int = 4) -> judge.PromptSet:
    prompts = [SpeedPrompt(f"public-{n}", tuple(range(n + 200, n + 212))) for n in range(count)]
    return judge.PromptSet(SetKind.SPEED, tuple(prompts))


def question_set(count: int = 6, model: ToyModel | None = None) -> judge.PromptSet:
    """Questions that the toy model answers right: the number of its last word."""
    model = model or ToyModel(PPL)
    tokens = protocol().accuracy_tokens
    asked = [tuple(range(300 + n, 310 + n)) for n in range(count)]
    questions = [
        Question(f"question-{n}", ids, AnswerKind.NUMBER, str(model.continuation(ids, tokens)[-1]))
        for n, ids in enumerate(asked)
    ]
    return judge.PromptSet(SetKind.ACCURACY, questions=tuple(questions))


def calibration(right: int = 6) -> judge.Calibration:
    """What the reference came to: the toy model itself, which answers so many questions right."""
    records, questions = quality_set().records, question_set().questions
    return judge.Calibration(
        quality=tuple(
            QualityScore(r.sha256, len(r.target_token_ids), len(r.target_token_ids) * log(PPL)) for r in records
        ),
        answered=tuple(AnsweredQuestion(q.sha256, "a" * 64, n < right) for n, q in enumerate(questions)),
        unseen_gap=0.0,
    )


def plan(ppl_cap: float | None = PPL * 1.05, seed: str = "seed", **changes: object) -> judge.LapPlan:
    """The scripted engine without a config; `changes` are settings of the protocol."""
    return judge.LapPlan(
        engine=judge.load_engine(SCRIPTED_TOML),
        config=judge.Config(),
        protocol=protocol(**changes),
        speed_set=speed_set(),
        quality_set=quality_set(),
        seed=seed,
        ppl_cap=ppl_cap,
    )


def full_plan(**changes: object) -> judge.LapPlan:
    """A plan with everything that a plan can have."""
    return replace(
        plan(**changes),
        accuracy_floor=0.9,
        question_set=question_set(),
        public_set=public_set(),
        calibration=calibration(),
        tokenizer=ToyTokenizer(),
    )


def competition(engine: str = "vllm-cpu", ppl_cap: float | None = PPL * 1.05, **changes: object) -> Competition:
    number = next(_numbers)
    fields: dict[str, object] = {
        "slug": f"contest-{number}",
        "name": f"Contest {number}",
        "engine": engine,
        "model": "toy",
        "hardware_class": "cpu",
        "protocol": asdict(protocol()),
        "reference_ppl": None if ppl_cap is None else PPL,
        "ppl_cap": ppl_cap,
    }
    made = Competition.objects.create(**(fields | changes))
    services.store_prompts(made, speed_set(), SetRole.HIDDEN)
    services.store_prompts(made, quality_set(), SetRole.HIDDEN)
    content = SCHEMA.dump_json(judge.load_engine(engine).schema).decode()
    ConfigSchema.objects.create(competition=made, version=1, content=content)
    return made


def user(name: str | None = None, **fields: object) -> User:
    return User.objects.create_user(name or f"user-{next(_numbers)}", password="a long password", **fields)


def team(name: str = "Ducks", member: User | None = None) -> Team:
    return services.create_team(member or user(), name)


def submission(to: Competition, by: Team | None = None, **values: object) -> Submission:
    by = by or team()
    member = by.memberships.get().user
    return services.submit(to, by, member, [RawVariable(name, value) for name, value in values.items()])


def attempt(of: Submission) -> Attempt:
    return Attempt.objects.filter(evaluation__submission=of).latest("number")


def decided(
    of: Submission, verdict: str = "verified", tps: float | None = 500.0, ppl: float | None = 4.0
) -> Evaluation:
    """Give the submission's evaluation a verdict, without measuring anything."""
    evaluation = of.evaluations.get()
    fields = {"verdict": verdict, "tps": tps, "ppl": ppl, "decided_at": NOW}
    Evaluation.objects.filter(pk=evaluation.pk).update(**fields, reason="" if verdict == "verified" else "over-ppl-cap")
    evaluation.refresh_from_db()
    return evaluation


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
