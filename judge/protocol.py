"""What will be done in a lap: the protocol's settings, its stages, and the plan of one lap."""

from dataclasses import dataclass as plain_dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

from judge.audits.text import Detokenizer
from judge.errors import PromptSetError
from judge.prompts import PromptSet, SetKind

Count = Annotated[int, Field(ge=1)]
CountOrZero = Annotated[int, Field(ge=0)]
Seconds = Annotated[float, Field(gt=0)]


class Stage(StrEnum):
    """The stages of a lap, in their order."""

    START = "start"
    WARM_UP = "warm-up"
    QUALITY_SAMPLE = "quality-sample"
    TIMED_PASS = "timed-pass"
    QUALITY_PASS = "quality-pass"
    STREAM_PASS = "stream-pass"
    AUDITS = "audits"
    STOP = "stop"
    RESCORE = "rescore"


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Protocol:
    """Settings of the measuring protocol; a competition may set each.

    `repeat_tolerance_nats` is a mean per token. `compat_tolerance` is the share by which the
    tokens per second over the whole wall clock of the timed pass may differ from the score.
    """

    output_tokens: Count = 512
    warmup_requests: CountOrZero = 64
    warmup_tokens: Count = 32
    quality_sample: CountOrZero = 32
    quality_repeats: CountOrZero = 8
    repeat_tolerance_nats: Annotated[float, Field(gt=0)] = 1e-3
    rare_probes: CountOrZero = 8
    stream_requests: CountOrZero = 4
    stream_tokens: Count = 64
    audit_requests: CountOrZero = 16
    audit_repeats: CountOrZero = 3
    compat_tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    start_timeout_s: Seconds = 900
    request_timeout_s: Seconds = 120
    stop_timeout_s: Seconds = 60
    answer_limit_bytes: Count = 64 * 1024 * 1024


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What decides over a measured lap. Holds hashes and no prompt, so that it can be published.

    `ppl_cap` is None for the reference, which has no cap to keep. `seed` drives the bootstrap.
    """

    protocol: Protocol
    seed: str
    ppl_cap: float | None
    speed_sha256s: tuple[str, ...]
    quality_sha256s: tuple[str, ...]


@plain_dataclass(frozen=True, slots=True, kw_only=True)
class LapPlan:
    """One server life, decided before it starts.

    `seed` orders prompts and records and drives the bootstrap; its SHA-256 is published beforehand.
    `ppl_cap` is None for the reference, which has no cap to keep; `detokenizer` lets audit A2 read
    what the ids say. Raises PromptSetError when a
    scored prompt would reach the server inside a quality record, before its own timed request.
    """

    protocol: Protocol
    speed_set: PromptSet
    quality_set: PromptSet
    seed: str
    ppl_cap: float | None = None
    detokenizer: Detokenizer | None = None

    def __post_init__(self) -> None:
        if self.speed_set.kind != SetKind.SPEED or self.quality_set.kind != SetKind.QUALITY:
            raise PromptSetError("a lap needs one speed set and one quality set")
        sent_by_records = [(record.name, record.token_ids) for record in self.quality_set.records]
        for prompt in self.speed_set.prompts:
            for record_name, token_ids in sent_by_records:
                if token_ids[: len(prompt.token_ids)] == prompt.token_ids:
                    raise PromptSetError(f"quality record {record_name} begins with speed prompt {prompt.name}")

    @property
    def rules(self) -> Rules:
        return Rules(
            protocol=self.protocol,
            seed=self.seed,
            ppl_cap=self.ppl_cap,
            speed_sha256s=tuple(prompt.sha256 for prompt in self.speed_set.prompts),
            quality_sha256s=tuple(record.sha256 for record in self.quality_set.records),
        )


@plain_dataclass(frozen=True, slots=True)
class Progress:
    """How far a lap is: `done` of `total` in `stage`; total 0 where a stage has no count."""

    stage: Stage
    done: int = 0
    total: int = 0
