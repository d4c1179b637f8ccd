"""The audits of one lap, after everything that counts was measured: they may ask timed prompts again."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from judge.audits import Finding
from judge.audits.counts import audit_counts
from judge.audits.degenerate import audit_degenerate
from judge.audits.repeat import audit_repeat
from judge.audits.replay import Replayed, audit_replay, first_difference
from judge.audits.text import Detokenizer, audit_text
from judge.client import EngineClient, parse_object
from judge.engine import Bands
from judge.prompts import SpeedPrompt
from judge.protocol import Progress, Protocol, Stage
from judge.speed import NS_PER_S, Answer, TimedRequest, only_choice, read_answer

COUNTERS_SETTLE_S = 2.0
POLL_S = 0.1


@dataclass(frozen=True, slots=True)
class Audited:
    """What the audits look at: the timed pass with its answers, in the same order, and what may differ."""

    answers: Sequence[tuple[SpeedPrompt, Answer]]
    timed: Sequence[TimedRequest]
    protocol: Protocol
    bands: Bands
    first_token_s: float


def count_pass(client: EngineClient, before: str, timed: Sequence[TimedRequest]) -> Finding:
    """A1, right after the timed pass. The counters may lag a moment behind the last answer."""
    tokens = sum(request.tokens for request in timed)
    deadline = time.monotonic() + COUNTERS_SETTLE_S
    while True:
        finding = audit_counts(before, client.metrics(), tokens, len(timed))
        if finding.result != "broken" or time.monotonic() > deadline:
            return finding
        time.sleep(POLL_S)


def run_audits(
    client: EngineClient, audited: Audited, detokenizer: Detokenizer | None, report: Callable[[Progress], None]
) -> list[Finding]:
    """A2, A3, A6 and A8. Raises LapFault when the engine breaks down over them."""
    answers = [answer for _, answer in audited.answers]
    asked = [prompt.token_ids for prompt, _ in audited.answers]
    eos_token_id = getattr(detokenizer, "eos_token_id", None)
    findings = [audit_text(asked, answers, detokenizer), audit_degenerate(answers, eos_token_id)]
    chosen = list(zip(audited.answers, audited.timed, strict=True))[: audited.protocol.audit_requests]
    replayed, again_s = [], []
    for number, ((prompt, answer), timed) in enumerate(chosen, start=1):
        where = f"audit of request {number}"
        replayed += replay(client, prompt, answer, timed, where)
        again_s.append(fastest_repeat(client, prompt, audited.protocol, where))
        report(Progress(Stage.AUDITS, number, len(chosen)))
    if chosen and audited.protocol.audit_repeats:
        timed_s = [timed.duration_ns / NS_PER_S for _, timed in chosen]
        findings.append(audit_replay(replayed, audited.bands.near_tie_nats, audited.bands.replay_speed))
        findings.append(audit_repeat(timed_s, again_s, audited.first_token_s, audited.bands.repeat_speed))
    return findings


def replay(
    client: EngineClient, prompt: SpeedPrompt, answer: Answer, timed: TimedRequest, where: str
) -> list[Replayed]:
    """One timed prompt in two other shapes: streamed, and with log-probabilities."""
    count, timed_s = len(answer.token_ids), timed.duration_ns / NS_PER_S
    streamed = client.stream(prompt.token_ids, count, where)
    exchange = client.complete(prompt.token_ids, count, where, logprobs=2)
    with_logprobs = read_answer(exchange, count, where)
    gaps = gaps_between_likeliest(only_choice(parse_object(exchange.body, where), where))
    shapes = (
        (streamed.token_ids, streamed.ended_ns - streamed.started_ns),
        (with_logprobs.token_ids, exchange.ended_ns - exchange.started_ns),
    )
    return [
        Replayed(timed_s, took_ns / NS_PER_S, place, _gap_at(place, gaps))
        for token_ids, took_ns in shapes
        for place in [first_difference(answer.token_ids, token_ids)]
    ]


def _gap_at(place: int | None, gaps: Sequence[float | None]) -> float | None:
    return gaps[place] if place is not None and place < len(gaps) else None


def gaps_between_likeliest(choice: dict[str, Any]) -> list[float | None]:
    """At each position of an answer the difference (nats) between its two likeliest tokens; None where unknown."""
    logprobs = choice.get("logprobs")
    positions = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    gaps: list[float | None] = []
    for position in positions if isinstance(positions, list) else []:
        values = sorted((v for v in position.values() if isinstance(v, float)), reverse=True) if position else []
        gaps.append(values[0] - values[1] if len(values) > 1 else None)
    return gaps


def fastest_repeat(client: EngineClient, prompt: SpeedPrompt, protocol: Protocol, where: str) -> float:
    """The seconds of the fastest of several repeats, in the shape of the timed request."""
    seconds = []
    for _ in range(protocol.audit_repeats):
        exchange = client.complete(prompt.token_ids, protocol.output_tokens, where)
        read_answer(exchange, protocol.output_tokens, where)
        seconds.append((exchange.ended_ns - exchange.started_ns) / NS_PER_S)
    return min(seconds, default=0.0)
