"""The plan of one lap, and the rules that decide over it afterwards."""

from collections.abc import Sequence
from dataclasses import dataclass

from judge.audits.bands import Bands
from judge.audits.state import StateRule
from judge.calibration import Calibration
from judge.config import Config
from judge.engine import Engine
from judge.errors import PromptSetError
from judge.prompts import PromptSet, Question, SetKind, SpeedPrompt, seeded_order
from judge.protocol import Protocol
from judge.tokenizer import Tokenizer


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides over a measured lap. Holds hashes and no prompt, so that it can be published.

    `ppl_cap` and `accuracy_floor` are None where there is none to keep, as for the reference. `seed` drives
    the bootstrap. `expects_metrics` tells an engine that hides its counters from one that never had any.
    """

    protocol: Protocol
    seed: str
    ppl_cap: float | None
    accuracy_floor: float | None
    calibration: Calibration | None
    bands: Bands
    expects_metrics: bool
    state_rules: tuple[StateRule, ...]
    speed_sha256s: tuple[str, ...]
    quality_sha256s: tuple[str, ...]
    question_sha256s: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class LapPlan:
    """One server life, decided before it starts.

    `seed` orders prompts and records and drives the bootstrap; its SHA-256 is published beforehand.
    `public_set` is for audit A7; without it, as in a trial on that very set, there is no such audit.
    `tokenizer` lets the audits read what the ids say. Raises PromptSetError when a scored prompt would
    reach the server inside a quality record, before its own timed request, or when an accuracy floor has
    nothing to compare with.
    """

    engine: Engine
    config: Config
    protocol: Protocol
    speed_set: PromptSet
    quality_set: PromptSet
    seed: str
    ppl_cap: float | None = None
    accuracy_floor: float | None = None
    question_set: PromptSet | None = None
    public_set: PromptSet | None = None
    calibration: Calibration | None = None
    state_rules: tuple[StateRule, ...] = ()
    tokenizer: Tokenizer | None = None

    def __post_init__(self) -> None:
        _refuse_kind(self.speed_set, SetKind.SPEED)
        _refuse_kind(self.quality_set, SetKind.QUALITY)
        _refuse_kind(self.question_set, SetKind.ACCURACY)
        _refuse_kind(self.public_set, SetKind.SPEED)
        self._refuse_early_prompts()
        self._refuse_floor_without_reference()

    def _refuse_early_prompts(self) -> None:
        sent_by_records = [(record.name, record.token_ids) for record in self.quality_set.records]
        for prompt in self.speed_set.prompts:
            for record_name, token_ids in sent_by_records:
                if token_ids[: len(prompt.token_ids)] == prompt.token_ids:
                    raise PromptSetError(f"quality record {record_name} begins with speed prompt {prompt.name}")

    def _refuse_floor_without_reference(self) -> None:
        if self.accuracy_floor is None:
            return
        if self.question_set is None:
            raise PromptSetError("an accuracy floor needs a set of questions")
        answered = {one.question_sha256 for one in self.calibration.answered} if self.calibration else set()
        if answered != {question.sha256 for question in self.questions}:
            raise PromptSetError("an accuracy floor needs the reference's answers to the same questions: calibrate")

    @property
    def rules(self) -> Rules:
        return Rules(
            protocol=self.protocol,
            seed=self.seed,
            ppl_cap=self.ppl_cap,
            accuracy_floor=self.accuracy_floor,
            calibration=self.calibration,
            bands=self.engine.bands,
            expects_metrics=self.engine.metrics,
            state_rules=self.state_rules,
            speed_sha256s=tuple(prompt.sha256 for prompt in self.speed_set.prompts),
            quality_sha256s=tuple(record.sha256 for record in self.quality_set.records),
            question_sha256s=tuple(question.sha256 for question in self.questions),
        )

    @property
    def questions(self) -> tuple[Question, ...]:
        return self.question_set.questions if self.question_set else ()

    def unseen_prompts(self) -> Sequence[SpeedPrompt]:
        """The public prompts of audit A7: none that is scored too."""
        scored = {prompt.token_ids for prompt in self.speed_set.prompts}
        public = self.public_set.prompts if self.public_set else ()
        fresh = [prompt for prompt in public if prompt.token_ids not in scored]
        return seeded_order(fresh, self.seed, "unseen")[: self.protocol.unseen_requests]


def _refuse_kind(prompts: PromptSet | None, kind: SetKind) -> None:
    if prompts is not None and prompts.kind != kind:
        raise PromptSetError(f"a {kind} set was expected, this is a {prompts.kind} set")
