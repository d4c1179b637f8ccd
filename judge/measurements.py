"""What a lap measured: rows that a verdict can be computed from again, by anyone."""

from dataclasses import dataclass, field

from pydantic import TypeAdapter

from judge.accuracy import AnsweredQuestion
from judge.audits.counts import CounterRise
from judge.audits.degenerate import Texture
from judge.audits.repeat import Repeated
from judge.audits.replay import Replayed
from judge.audits.rescore import Rescored
from judge.audits.state import Sample
from judge.engine import Effect
from judge.errors import Fault
from judge.metrics import Speculation
from judge.protocol import Stage
from judge.quality import QualityScore
from judge.speed import TimedRequest


@dataclass(frozen=True, slots=True)
class StageTime:
    """How long a stage took, from perf_counter_ns."""

    stage: Stage
    duration_ns: int


@dataclass(frozen=True, slots=True)
class StreamSample:
    """From the streamed pass, on the judge's own prompts; shown, never ranked.

    `first_token_ns` is a mean over its requests; `tokens_per_step` counts a chunk as a step.
    """

    first_token_ns: int
    tokens_per_step: float


@dataclass(slots=True)
class AuditRows:
    """The evidence of the audits, each empty where it was not asked for. `problems` (A2) and `textures` (A3)
    have one entry a timed answer, in the order of the timed pass; `plain` (A4) and `reference` (A5) are the
    answers that trusted servers scored.
    """

    counters: CounterRise | None = None
    problems: list[str] = field(default_factory=list)
    textures: list[Texture] = field(default_factory=list)
    plain: list[Rescored] = field(default_factory=list)
    reference: list[Rescored] = field(default_factory=list)
    replayed: list[Replayed] = field(default_factory=list)
    unseen: list[TimedRequest] = field(default_factory=list)
    repeated: list[Repeated] = field(default_factory=list)
    state: list[Sample] = field(default_factory=list)


AUDIT_ROWS = TypeAdapter(AuditRows)


@dataclass(slots=True)
class Lap:
    """All that one lap measured. A lap with a `fault` does not count; `fault_stage` and `fault_detail`
    say where it broke. `plain_quality` and `plain_answered` hold the same records and questions without
    speculation, when they were asked again because a gate was not kept. `engine_gone` is false when the
    engine could not be proved gone afterwards.
    """

    seed: str
    stages: list[StageTime] = field(default_factory=list)
    timed: list[TimedRequest] = field(default_factory=list)
    quality: list[QualityScore] = field(default_factory=list)
    answered: list[AnsweredQuestion] = field(default_factory=list)
    effects: list[Effect] = field(default_factory=list)
    audits: AuditRows = field(default_factory=AuditRows)
    plain_quality: list[QualityScore] = field(default_factory=list)
    plain_answered: list[AnsweredQuestion] = field(default_factory=list)
    stream: StreamSample | None = None
    speculation: Speculation | None = None
    stopped_early: bool = False
    engine_gone: bool = True
    fault: Fault | None = None
    fault_stage: Stage | None = None
    fault_detail: str = ""
    log_tail: str = ""
