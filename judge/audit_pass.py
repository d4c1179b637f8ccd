"""Gathering the evidence of the audits, after everything that counts was measured: timed prompts may be asked again."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from judge.audits.counts import CounterRise, audit_counts, counter_rise
from judge.audits.degenerate import texture_of
from judge.audits.repeat import Repeated
from judge.audits.replay import Replayed, Shape, first_difference
from judge.audits.text import problem_of
from judge.client import EngineClient, Exchange, parse_object
from judge.measurements import AuditRows
from judge.plan import LapPlan
from judge.prompts import SpeedPrompt
from judge.protocol import Progress, Protocol, Stage
from judge.speed import Answer, TimedRequest, only_choice, read_answer, timed_request, token_ids_of
from judge.tokenizer import user_turn_of

COUNTERS_SETTLE_S = 2.0
POLL_S = 0.1
LIKELIEST = 2
"""How many of the likeliest tokens are asked for: the gap between the first two is what counts."""


def counters_after(client: EngineClient, before: str, timed: Sequence[TimedRequest]) -> CounterRise:
    """A1, right after the timed pass. The counters may lag a moment behind the last answer."""
    tokens = sum(request.tokens for request in timed)
    deadline = time.monotonic() + COUNTERS_SETTLE_S
    while True:
        rise = counter_rise(before, client.metrics())
        if audit_counts(rise, tokens, len(timed), False).result != "broken" or time.monotonic() > deadline:
            return rise
        time.sleep(POLL_S)


@dataclass(frozen=True, slots=True)
class AuditPass:
    """A2, A3, A6, A7 and A8 of one lap. Each step adds its rows, and raises LapFault when the engine breaks down."""

    client: EngineClient
    plan: LapPlan
    answers: Sequence[tuple[SpeedPrompt, Answer]]
    rows: AuditRows
    report: Callable[[Progress], None]

    def run(self) -> None:
        """The public prompts are timed before anything is asked a second time."""
        asked_again = self.answers[: self.plan.protocol.audit_requests]
        unseen = self.plan.unseen_prompts()
        total = len(unseen) + len(asked_again)
        self.report(Progress(Stage.AUDITS, 0, total))
        self._read_texts()
        for number, prompt in enumerate(unseen, start=1):
            self.rows.unseen.append(self._time_unseen(prompt, f"public prompt {number}"))
            self.report(Progress(Stage.AUDITS, number, total))
        for number, (prompt, answer) in enumerate(asked_again, start=1):
            where = f"audit of request {number}"
            self.rows.replayed += self._replays(prompt, answer, where)
            self.rows.repeated += self._repeats(prompt, where)
            self.report(Progress(Stage.AUDITS, len(unseen) + number, total))

    def _read_texts(self) -> None:
        tokenizer = self.plan.tokenizer
        eos_token_id = tokenizer.eos_token_id if tokenizer else None
        for prompt, answer in self.answers:
            self.rows.problems.append(problem_of(prompt.token_ids, answer, tokenizer))
            self.rows.textures.append(texture_of(answer, eos_token_id))

    def _time_unseen(self, prompt: SpeedPrompt, where: str) -> TimedRequest:
        exchange = self.client.complete(prompt.token_ids, self.plan.protocol.output_tokens, where)
        return timed_request(prompt, exchange, read_answer(exchange, self.plan.protocol.output_tokens, where))

    def _replays(self, prompt: SpeedPrompt, answer: Answer, where: str) -> Iterator[Replayed]:
        """One timed prompt in other shapes: with log-probabilities, streamed, and as a user's turn where it is one."""
        count = len(answer.token_ids)
        exchange = self.client.complete(prompt.token_ids, count, where, logprobs=LIKELIEST)
        with_logprobs = read_answer(exchange, count, where)
        gaps = gaps_between_likeliest(only_choice(parse_object(exchange.body, where), where))

        def replayed(shape: Shape, token_ids: Sequence[int], duration_ns: int) -> Replayed:
            place = first_difference(answer.token_ids, token_ids)
            gap = gaps[place] if place is not None and place < len(gaps) else None
            return Replayed(prompt.sha256, shape, duration_ns, place, gap)

        yield replayed(Shape.LOGPROBS, with_logprobs.token_ids, exchange.duration_ns)
        streamed = self.client.stream(prompt.token_ids, count, where)
        yield replayed(Shape.STREAMED, streamed.token_ids, streamed.ended_ns - streamed.started_ns)
        if chat := self._chat(prompt, count, where):
            yield replayed(Shape.CHAT, chat[0], chat[1].duration_ns)

    def _chat(self, prompt: SpeedPrompt, count: int, where: str) -> tuple[tuple[int, ...], Exchange] | None:
        """The ids of the answer to a prompt as a user's turn; None where it is none, or the engine makes other
        ids of the turn than those that were timed.
        """
        content = user_turn_of(self.plan.tokenizer, prompt.token_ids) if self.plan.tokenizer else None
        if content is None:
            return None
        exchange = self.client.chat(content, count, where)
        answer = parse_object(exchange.body, where)
        if answer.get("prompt_token_ids") != list(prompt.token_ids):
            return None
        return token_ids_of(only_choice(answer, where), where), exchange

    def _repeats(self, prompt: SpeedPrompt, where: str) -> list[Repeated]:
        """The same prompt in the shape of the timed request, several times."""
        protocol = self.plan.protocol
        seconds = tuple(_again(self.client, prompt, protocol, where) for _ in range(protocol.audit_repeats))
        return [Repeated(prompt.sha256, seconds)] if seconds else []


def _again(client: EngineClient, prompt: SpeedPrompt, protocol: Protocol, where: str) -> int:
    exchange = client.complete(prompt.token_ids, protocol.output_tokens, where)
    read_answer(exchange, protocol.output_tokens, where)
    return exchange.duration_ns


def gaps_between_likeliest(choice: dict[str, Any]) -> list[float | None]:
    """At each position of an answer the difference (nats) between its two likeliest tokens; None where unknown."""
    logprobs = choice.get("logprobs")
    positions = logprobs.get("top_logprobs") if isinstance(logprobs, dict) else None
    gaps: list[float | None] = []
    for position in positions if isinstance(positions, list) else []:
        values = sorted((v for v in position.values() if isinstance(v, float)), reverse=True) if position else []
        gaps.append(values[0] - values[1] if len(values) > 1 else None)
    return gaps
