"""What is done in a lap: the stages, the protocol's settings, and how far a lap is."""

from dataclasses import dataclass as plain_dataclass
from enum import StrEnum
from typing import Annotated

from pydantic import ConfigDict, Field
from pydantic.dataclasses import dataclass

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
    ACCURACY_PASS = "accuracy-pass"
    STREAM_PASS = "stream-pass"
    AUDITS = "audits"
    STOP = "stop"
    RESCORE = "rescore"


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Protocol:
    """Settings of the measuring protocol; a competition may set each.

    `repeat_tolerance_nats` is a mean per token. `compat_tolerance` is the share by which the
    tokens per second over the whole wall clock of the timed pass may differ from the score.
    `accuracy_tokens` is the longest answer to a question.
    """

    output_tokens: Count = 512
    warmup_requests: CountOrZero = 64
    warmup_tokens: Count = 32
    quality_sample: CountOrZero = 32
    quality_repeats: CountOrZero = 8
    repeat_tolerance_nats: Annotated[float, Field(gt=0)] = 1e-3
    rare_probes: CountOrZero = 8
    accuracy_tokens: Count = 512
    stream_requests: CountOrZero = 4
    stream_tokens: Count = 64
    audit_requests: CountOrZero = 16
    audit_repeats: CountOrZero = 3
    unseen_requests: CountOrZero = 16
    compat_tolerance: Annotated[float, Field(gt=0, lt=1)] = 0.05
    start_timeout_s: Seconds = 900
    request_timeout_s: Seconds = 120
    stop_timeout_s: Seconds = 60
    answer_limit_bytes: Count = 64 * 1024 * 1024


@plain_dataclass(frozen=True, slots=True)
class Progress:
    """How far a lap is: `done` of `total` in `stage`; total 0 where a stage has no count."""

    stage: Stage
    done: int = 0
    total: int = 0
