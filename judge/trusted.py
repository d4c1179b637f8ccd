"""Trusted servers: the judge starts them itself, after the lap, to score the text that was timed."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from judge.accuracy import AnsweredQuestion, check_answer
from judge.audits.rescore import Rescored, rescore
from judge.client import EngineClient, parse_object
from judge.config import Config
from judge.engine import Engine, without_speculation
from judge.errors import Fault, LapFault
from judge.prompts import QualityRecord, Question, SpeedPrompt
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
    trusted: Trusted, answers: Answers, protocol: Protocol, report: Callable[[Progress], None]
) -> tuple[list[Rescored], list[Rescored]]:
    """The rows of A4 and of A5. Raises LapFault when a trusted server breaks down, or cannot be proved gone."""

    def score_one(client: EngineClient, number: int) -> Rescored:
        prompt, answer = answers[number - 1]
        where = f"re-scored answer {number}"
        exchange = client.score(prompt.token_ids + answer.token_ids, where)
        choice = only_choice(parse_object(exchange.body, where), where)
        return rescore(prompt.sha256, prompt.token_ids, answer.token_ids, choice, where)

    plain = _on_server(trusted.start(trusted.plain), len(answers), score_one, protocol, report)
    if trusted.plain == trusted.reference:
        return plain, plain
    return plain, _on_server(trusted.start(trusted.reference), len(answers), score_one, protocol, report)


def score_plainly(
    trusted: Trusted, records: Sequence[QualityRecord], protocol: Protocol, report: Callable[[Progress], None]
) -> list[QualityScore]:
    """The same quality records on a fresh server without speculation. Raises LapFault as rescore_on does."""

    def score_one(client: EngineClient, number: int) -> QualityScore:
        where = f"record {number} without speculation"
        return score_quality(records[number - 1], client.score(records[number - 1].token_ids, where), where)

    return _on_server(trusted.start(trusted.plain), len(records), score_one, protocol, report)


def answer_plainly(
    trusted: Trusted, questions: Sequence[Question], protocol: Protocol, report: Callable[[Progress], None]
) -> list[AnsweredQuestion]:
    """The same questions on a fresh server without speculation. Raises LapFault as rescore_on does."""

    def answer_one(client: EngineClient, number: int) -> AnsweredQuestion:
        question, where = questions[number - 1], f"question {number} without speculation"
        return check_answer(question, client.answer(question.token_ids, protocol.accuracy_tokens, where), where)

    return _on_server(trusted.start(trusted.plain), len(questions), answer_one, protocol, report)


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
