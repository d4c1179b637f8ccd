"""Trusted servers: the judge starts them itself, after the lap, to score the text that was timed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from judge.audits import Finding
from judge.audits.reference import audit_reference
from judge.audits.rescore import Rescored, audit_rescore, rescore
from judge.client import EngineClient, parse_object
from judge.config import Config
from judge.engine import Bands, Engine, without_speculation
from judge.errors import Fault, LapFault
from judge.prompts import SpeedPrompt
from judge.protocol import Progress, Protocol, Stage
from judge.server import Server, wait_until_ready
from judge.speed import Answer, only_choice

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
    plain = _rescored(trusted.start(trusted.plain), answers, protocol, report)
    same = trusted.plain == trusted.reference
    reference = plain if same else _rescored(trusted.start(trusted.reference), answers, protocol, report)
    return [audit_rescore(plain, bands.near_tie_nats), audit_reference(reference, bands.reference_nll)]


def _rescored(
    start: Callable[[], Server], answers: Answers, protocol: Protocol, report: Callable[[Progress], None]
) -> list[Rescored]:
    report(Progress(Stage.RESCORE, 0, len(answers)))
    server = start()
    try:
        scored = _score_all(server, answers, protocol, report)
    finally:
        gone = server.stop(protocol.stop_timeout_s)
    if not gone:
        raise LapFault(Fault.ENGINE_NOT_GONE, "a trusted server could not be stopped completely")
    return scored


def _score_all(
    server: Server, answers: Answers, protocol: Protocol, report: Callable[[Progress], None]
) -> list[Rescored]:
    scored = []
    with EngineClient(
        server.url,
        server.model,
        request_timeout_s=protocol.request_timeout_s,
        answer_limit_bytes=protocol.answer_limit_bytes,
    ) as client:
        wait_until_ready(
            server, client, protocol.start_timeout_s, lambda: report(Progress(Stage.RESCORE, 0, len(answers)))
        )
        for number, (prompt, answer) in enumerate(answers, start=1):
            where = f"re-scored answer {number}"
            exchange = client.score(prompt.token_ids + answer.token_ids, where)
            choice = only_choice(parse_object(exchange.body, where), where)
            scored.append(rescore(prompt.token_ids, answer.token_ids, choice, where))
            report(Progress(Stage.RESCORE, number, len(answers)))
    return scored
