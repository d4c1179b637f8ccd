"""Trusted servers: the judge starts them itself, after the lap, to score the text that was timed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from judge.audits import Finding
from judge.audits.reference import audit_reference
from judge.audits.rescore import Rescored, audit_rescore, rescore
from judge.client import EngineClient, parse_object
from judge.config import Config
from judge.engine import Bands, Engine, without_speculation
from judge.errors import Fault, LapFault
from judge.prompts import QualityRecord, SpeedPrompt
from judge.protocol import Progress, Protocol, Stage
from judge.quality import QualityScore, score_quality
from judge.server import Server, wait_until_ready
from judge.speed import Answer, only_choice

Scored = TypeVar("Scored")
Start = Callable[[Config], Callable[[], Server]]
Answers = Sequence[tuple[SpeedPrompt, Answer]]


@dataclass(frozen=True, slots=True)
class Trusted:
    """How to start a server for a config, and which two configs score: the run's own without speculation,
    and the reference. Where they are one, one server scores for both.
    """

    start: Start
    plain: Config
    reference: Config


def trust(start: Start, engine: Engine, config: Config, reference: Config) -> Trusted:
    return Trusted(start, without_speculation(engine, config), without_speculation(engine, reference))


def rescore_on(
    trusted: Trusted, answers: Answers, protocol: Protocol, bands: Bands, report: Callable[[Progress], None]
) -> list[Finding]:
    """A4 and A5. Raises LapFault when a trusted server breaks down, or cannot be proved gone."""

    def score_one(client: EngineClient, number: int) -> Rescored:
        prompt, answer = answers[number - 1]
        where = f"re-scored answer {number}"
        exchange = client.score(prompt.token_ids + answer.token_ids, where)
        choice = only_choice(parse_object(exchange.body, where), where)
        return rescore(prompt.token_ids, answer.token_ids, choice, where)

    plain = _on_server(trusted.start(trusted.plain), len(answers), score_one, protocol, report)
    same = trusted.plain == trusted.reference
    reference = (
        plain if same else _on_server(trusted.start(trusted.reference), len(answers), score_one, protocol, report)
    )
    return [audit_rescore(plain, bands.near_tie_nats), audit_reference(reference, bands.reference_nll)]


def score_plainly(
    trusted: Trusted, records: Sequence[QualityRecord], protocol: Protocol, report: Callable[[Progress], None]
) -> list[QualityScore]:
    """The same quality records on a fresh server without speculation. Raises LapFault as rescore_on does."""

    def score_one(client: EngineClient, number: int) -> QualityScore:
        where = f"record {number} without speculation"
        return score_quality(records[number - 1], client.score(records[number - 1].token_ids, where), where)

    return _on_server(trusted.start(trusted.plain), len(records), score_one, protocol, report)


def _on_server(
    start: Callable[[], Server],
    total: int,
    score_one: Callable[[EngineClient, int], Scored],
    protocol: Protocol,
    report: Callable[[Progress], None],
) -> list[Scored]:
    """Start a trusted server, have it score so many texts, stop it."""

    def tell(done: int) -> None:
        report(Progress(Stage.RESCORE, done, total))

    tell(0)
    server = start()
    try:
        with EngineClient(
            server.url,
            server.model,
            request_timeout_s=protocol.request_timeout_s,
            answer_limit_bytes=protocol.answer_limit_bytes,
        ) as client:
            wait_until_ready(server, client, protocol.start_timeout_s, lambda: tell(0))
            scored = []
            for number in range(1, total + 1):
                scored.append(score_one(client, number))
                tell(number)
    finally:
        gone = server.stop(protocol.stop_timeout_s)
    if not gone:
        raise LapFault(Fault.ENGINE_NOT_GONE, "a trusted server could not be stopped completely")
    return scored
