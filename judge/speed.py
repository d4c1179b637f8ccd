"""The timed pass: which answers count, and the tokens per second they make."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from judge.client import Exchange, parse_object
from judge.errors import Fault, LapFault
from judge.prompts import SpeedPrompt, sha256_of_ids

NS_PER_S = 1_000_000_000


@dataclass(frozen=True, slots=True)
class TimedRequest:
    """One scored prompt and its answer. Times from perf_counter_ns; tokens counted from ids."""

    prompt_sha256: str
    started_ns: int
    ended_ns: int
    tokens: int
    answer_sha256: str

    @property
    def duration_ns(self) -> int:
        return self.ended_ns - self.started_ns


@dataclass(frozen=True, slots=True)
class Answer:
    """What the engine said to a timed request; `prompt_token_ids` is None where it does not repeat the prompt."""

    token_ids: tuple[int, ...]
    text: str
    prompt_token_ids: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class SpeedSummary:
    """What a timed pass shows beside its score; nothing here is ranked.

    Seconds are per request. `compat_tps` counts the whole pass from the first
    byte sent to the last byte read, as `sglang.bench_serving` computes `output_throughput`.
    """

    tps: float
    compat_tps: float
    p50_s: float
    p90_s: float
    p99_s: float


def timed_request(prompt: SpeedPrompt, exchange: Exchange, answer: Answer) -> TimedRequest:
    answer_sha256 = sha256_of_ids(answer.token_ids)
    return TimedRequest(prompt.sha256, exchange.started_ns, exchange.ended_ns, len(answer.token_ids), answer_sha256)


def read_answer(exchange: Exchange, output_tokens: int, where: str) -> Answer:
    """Check one answer of the timed pass. Raises LapFault when it may not count."""
    answer = parse_object(exchange.body, where)
    choice = only_choice(answer, where)
    token_ids = token_ids_of(choice, where)
    if len(token_ids) != output_tokens:
        raise LapFault(Fault.SHORT_ANSWER, f"{where}: {len(token_ids)} token ids, expected {output_tokens}")
    _check_usage(answer, len(token_ids), where)
    if choice.get("finish_reason") != "length":
        detail = f"{where}: finish_reason {choice.get('finish_reason')!r}, expected 'length'"
        raise LapFault(Fault.WRONG_FINISH_REASON, detail)
    prompt_ids = choice.get("prompt_token_ids")
    repeated = tuple(prompt_ids) if isinstance(prompt_ids, list) else None
    return Answer(token_ids, str(choice.get("text") or ""), repeated)


def only_choice(answer: dict[str, Any], where: str) -> dict[str, Any]:
    """The single choice of a completion. Raises LapFault when there is not exactly one."""
    choices = answer.get("choices")
    if not isinstance(choices, list) or len(choices) != 1 or not isinstance(choices[0], dict):
        raise LapFault(Fault.MALFORMED_ANSWER, f"{where}: expected exactly one choice")
    return choices[0]


def token_ids_of(choice: dict[str, Any], where: str) -> tuple[int, ...]:
    """The ids of an answer. Raises LapFault when there are none, or they are no ids."""
    ids = choice.get("token_ids")
    if not isinstance(ids, list) or not ids:
        raise LapFault(Fault.MISSING_TOKEN_IDS, f"{where}: the answer holds no token ids")
    if not all(type(i) is int and i >= 0 for i in ids):
        raise LapFault(Fault.MALFORMED_ANSWER, f"{where}: token ids must be whole numbers from 0")
    return tuple(ids)


def _check_usage(answer: dict[str, Any], counted: int, where: str) -> None:
    """An absent usage is no fault, since ids are counted; one that disagrees is."""
    usage = answer.get("usage")
    claimed = usage.get("completion_tokens") if isinstance(usage, dict) else None
    if claimed is not None and claimed != counted:
        raise LapFault(Fault.USAGE_MISMATCH, f"{where}: usage claims {claimed} tokens, {counted} ids were returned")


def tps(requests: Sequence[TimedRequest]) -> float:
    """Σ tokens / Σ seconds over the timed pass. Raises ValueError when there is no time to divide by."""
    total_ns = sum(request.duration_ns for request in requests)
    if total_ns <= 0:
        raise ValueError("the timed pass took no time")
    return sum(request.tokens for request in requests) * NS_PER_S / total_ns


def compat_tps(requests: Sequence[TimedRequest]) -> float:
    """Σ tokens / the whole wall clock of the timed pass. Raises ValueError as tps does."""
    wall_ns = max(r.ended_ns for r in requests) - min(r.started_ns for r in requests) if requests else 0
    if wall_ns <= 0:
        raise ValueError("the timed pass took no time")
    return sum(request.tokens for request in requests) * NS_PER_S / wall_ns


def summarise_speed(requests: Sequence[TimedRequest]) -> SpeedSummary:
    """The score and the percentiles of a timed pass. Raises ValueError as tps does."""
    score = tps(requests)
    seconds = [request.duration_ns / NS_PER_S for request in requests]
    p50, p90, p99 = np.percentile(seconds, [50, 90, 99])
    return SpeedSummary(score, compat_tps(requests), float(p50), float(p90), float(p99))
