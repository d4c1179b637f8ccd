"""One server life, in the protocol's order: start, warm-up, sample, timed pass, quality, streamed pass, stop."""

import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager, nullcontext
from itertools import cycle, islice

from judge.accuracy import check_answer
from judge.audit_pass import AuditPass, counters_after
from judge.audits.state import Sample
from judge.client import EngineClient
from judge.engine import read_effects
from judge.errors import Fault, LapFault
from judge.gates import is_below_floor, is_over_cap, sample_is_over_cap
from judge.measurements import Lap, StageTime, StreamSample
from judge.metrics import read_speculation
from judge.plan import LapPlan
from judge.prompts import QualityRecord, SentPrompts, SpeedPrompt, rare_texts, seeded_order, warmup_prompts
from judge.protocol import Progress, Stage
from judge.quality import QualityScore, check_rare_text, check_repeat, score_quality
from judge.server import READY_POLL_S, Server, exit_words, wait_until_ready
from judge.speed import NS_PER_S, Answer, TimedRequest, compat_tps, read_answer, timed_request, tps
from judge.trusted import Trusted, answer_plainly, rescore_on, score_plainly

Observe = Callable[[list[Sample]], AbstractContextManager[object]]
"""Watches the machine while it is entered, and appends what it sees: preflight, then samples."""


def run_lap(
    start: Callable[[], Server],
    plan: LapPlan,
    report: Callable[[Progress], None] = lambda progress: None,
    trusted: Trusted | None = None,
    observe: Observe = lambda samples: nullcontext(),
) -> Lap:
    """Start a fresh server, measure it by the plan, stop it; then let trusted servers score its text.

    `report` hears of every step and may raise LapStopped; the server is stopped all the same. `observe`
    watches the machine over the timed pass.
    Faults do not raise: they are in the lap.
    """
    runner = _LapRunner(plan, report, observe)
    server: Server | None = None
    try:
        server = runner.start(start)
        runner.measure(server)
    except LapFault as fault:
        runner.note_fault(fault)
    except OSError as error:
        runner.note_fault(LapFault(Fault.JUDGE_ERROR, str(error)))
    finally:
        if server is not None:
            runner.stop(server)
    if trusted is not None:
        runner.rescore(trusted)
    return runner.lap


class _LapRunner:
    """Holds what the stages of one lap share."""

    def __init__(self, plan: LapPlan, report: Callable[[Progress], None], observe: Observe) -> None:
        self.lap = Lap(plan.seed)
        self._plan = plan
        self._protocol = plan.protocol
        self._report = report
        self._observe = observe
        self._stage = Stage.START
        self._entered_ns = time.perf_counter_ns()
        self._sent = SentPrompts()
        self._answers: list[tuple[SpeedPrompt, Answer]] = []
        records = seeded_order(plan.quality_set.records, plan.seed, "quality")
        self._sample = records[: self._protocol.quality_sample]
        self._others = records[self._protocol.quality_sample :]

    def start(self, start: Callable[[], Server]) -> Server:
        self._report(Progress(Stage.START))
        return start()

    def measure(self, server: Server) -> None:
        with EngineClient(
            server.url,
            server.model,
            request_timeout_s=self._protocol.request_timeout_s,
            answer_limit_bytes=self._protocol.answer_limit_bytes,
        ) as client:
            try:
                self._measure(server, client)
            except LapFault as fault:
                self._explain_death(server, fault)
                raise

    def _measure(self, server: Server, client: EngineClient) -> None:
        wait_until_ready(server, client, self._protocol.start_timeout_s, lambda: self._report(Progress(Stage.START)))
        self._check_effects(client)
        self._warm_up(client)
        if not self._sample_passes(client):
            self.lap.stopped_early = True
            return
        with self._observe(self.lap.audits.state):
            self._time(client)
        self._score_rest(client)
        self._answer(client)
        self._stream(client)
        self._audit(client)

    def _enter(self, stage: Stage, total: int = 0) -> None:
        now = time.perf_counter_ns()
        self.lap.stages.append(StageTime(self._stage, now - self._entered_ns))
        self._stage, self._entered_ns = stage, now
        self._report(Progress(stage, 0, total))

    def _check_effects(self, client: EngineClient) -> None:
        if self._plan.engine.readback is None:
            return
        document = client.read_json(self._plan.engine.readback)
        self.lap.effects = list(read_effects(self._plan.engine, self._plan.config, document))
        for effect in self.lap.effects:
            if not effect.holds:
                detail = f"{effect.variable} was set to {effect.asked}, the running engine has {effect.found}"
                raise LapFault(Fault.VARIABLE_WITHOUT_EFFECT, detail)

    def _warm_up(self, client: EngineClient) -> None:
        total = self._protocol.warmup_requests
        self._enter(Stage.WARM_UP, total)
        for number, prompt in enumerate(islice(cycle(warmup_prompts()), total), start=1):
            client.complete(prompt, self._protocol.warmup_tokens, f"warm-up request {number}")
            self._report(Progress(Stage.WARM_UP, number, total))

    def _sample_passes(self, client: EngineClient) -> bool:
        """Score the early sample; False when even its lower bound is over the cap."""
        self._enter(Stage.QUALITY_SAMPLE, len(self._sample))
        for number, record in enumerate(self._sample, start=1):
            self.lap.quality.append(self._score(client, record, f"sample record {number}"))
            self._report(Progress(Stage.QUALITY_SAMPLE, number, len(self._sample)))
        return not sample_is_over_cap(self.lap.quality, self._plan.rules)

    def _time(self, client: EngineClient) -> None:
        prompts = seeded_order(self._plan.speed_set.prompts, self._plan.seed, "speed")
        before = client.metrics()
        self._enter(Stage.TIMED_PASS, len(prompts))
        for number, prompt in enumerate(prompts, start=1):
            where = f"request {number}"
            self._sent.spend(prompt.token_ids)
            exchange = client.complete(prompt.token_ids, self._protocol.output_tokens, where)
            answer = read_answer(exchange, self._protocol.output_tokens, where)
            self.lap.timed.append(timed_request(prompt, exchange, answer))
            self._answers.append((prompt, answer))
            self._report(Progress(Stage.TIMED_PASS, number, len(prompts)))
        check_wall_clock(self.lap.timed, self._protocol.compat_tolerance)
        self.lap.audits.counters = counters_after(client, before, self.lap.timed)

    def _score_rest(self, client: EngineClient) -> None:
        scored = {record.sha256: score for record, score in zip(self._sample, self.lap.quality, strict=True)}
        repeats = seeded_order(self._plan.quality_set.records, self._plan.seed, "repeats")
        repeats = repeats[: self._protocol.quality_repeats]
        rare = rare_texts()[: self._protocol.rare_probes]
        total = len(self._others) + len(repeats) + len(rare)
        self._enter(Stage.QUALITY_PASS, total)
        for number, record in enumerate(self._others, start=1):
            score = scored[record.sha256] = self._score(client, record, f"quality record {number}")
            self.lap.quality.append(score)
            self._report(Progress(Stage.QUALITY_PASS, number, total))
        for number, record in enumerate(repeats, start=1):
            where = f"repeated record {number}"
            again = score_quality(record, client.score(record.token_ids, where), where)
            check_repeat(scored[record.sha256], again, self._protocol.repeat_tolerance_nats, where)
            self._report(Progress(Stage.QUALITY_PASS, len(self._others) + number, total))
        for number, text in enumerate(rare, start=1):
            where = f"rare-token probe {number}"
            check_rare_text(client.score_text(text, where), where)
            self._report(Progress(Stage.QUALITY_PASS, total - len(rare) + number, total))

    def _score(self, client: EngineClient, record: QualityRecord, where: str) -> QualityScore:
        self._sent.spend(record.token_ids)
        return score_quality(record, client.score(record.token_ids, where), where)

    def _answer(self, client: EngineClient) -> None:
        questions = seeded_order(self._plan.questions, self._plan.seed, "accuracy")
        if not questions:
            return
        self._enter(Stage.ACCURACY_PASS, len(questions))
        for number, question in enumerate(questions, start=1):
            where = f"question {number}"
            exchange = client.answer(question.token_ids, self._protocol.accuracy_tokens, where)
            self.lap.answered.append(check_answer(question, exchange, where))
            self._report(Progress(Stage.ACCURACY_PASS, number, len(questions)))

    def _stream(self, client: EngineClient) -> None:
        total = self._protocol.stream_requests
        self._enter(Stage.STREAM_PASS, total)
        answers = []
        for number, prompt in enumerate(islice(cycle(reversed(warmup_prompts())), total), start=1):
            answers.append(client.stream(prompt, self._protocol.stream_tokens, f"streamed request {number}"))
            self._report(Progress(Stage.STREAM_PASS, number, total))
        if answers:
            first_token_ns = sum(a.first_token_ns - a.started_ns for a in answers) // len(answers)
            tokens_per_step = sum(len(a.token_ids) for a in answers) / sum(a.chunks for a in answers)
            self.lap.stream = StreamSample(first_token_ns, tokens_per_step)
        self.lap.speculation = read_speculation(client.metrics())

    def _audit(self, client: EngineClient) -> None:
        self._enter(Stage.AUDITS)
        AuditPass(client, self._plan, self._answers, self.lap.audits, self._report).run()

    def _explain_death(self, server: Server, fault: LapFault) -> None:
        """A broken connection is told apart from a dead engine, and the exit code is named."""
        if fault.fault == Fault.ENGINE_DIED:
            deadline = time.monotonic() + 2
            while server.is_running() and time.monotonic() < deadline:
                time.sleep(READY_POLL_S / 5)
            if not server.is_running():
                fault.detail = f"{fault.detail}; {exit_words(server)}"

    def rescore(self, trusted: Trusted) -> None:
        """Once more without speculation what a gate refuses (engines have returned wrong prompt
        log-probabilities with speculation on, vllm#53488); or else the answers, for A4 and A5.
        """
        if self.lap.fault:
            return
        started_ns = time.perf_counter_ns()
        self._stage = Stage.RESCORE
        try:
            self._rescore(trusted)
        except LapFault as fault:  # the trusted servers are the judge's own, whatever goes wrong with them
            self.note_fault(LapFault(Fault.JUDGE_ERROR, f"trusted server: {fault.fault}: {fault.detail}"))
            self.lap.engine_gone = fault.fault != Fault.ENGINE_NOT_GONE
        self.lap.stages.append(StageTime(Stage.RESCORE, time.perf_counter_ns() - started_ns))

    def _rescore(self, trusted: Trusted) -> None:
        speculates = trusted.plain != self._plan.config
        if is_over_cap(self.lap.quality, self._plan.rules):
            if speculates:
                scored = {score.record_sha256 for score in self.lap.quality}
                records = [record for record in self._sample + self._others if record.sha256 in scored]
                self.lap.plain_quality = score_plainly(trusted, records, self._protocol, self._report)
        elif is_below_floor(self.lap.answered, self._plan.rules):
            if speculates:
                self.lap.plain_answered = answer_plainly(trusted, self._plan.questions, self._protocol, self._report)
        elif chosen := self._answers[: self._protocol.audit_requests]:
            rows = self.lap.audits
            rows.plain, rows.reference = rescore_on(trusted, chosen, self._protocol, self._report)

    def note_fault(self, fault: LapFault) -> None:
        self.lap.fault, self.lap.fault_stage, self.lap.fault_detail = fault.fault, self._stage, fault.detail

    def stop(self, server: Server) -> None:
        self.lap.stages.append(StageTime(self._stage, time.perf_counter_ns() - self._entered_ns))
        if self.lap.fault:
            self.lap.log_tail = server.log_tail()
        started_ns = time.perf_counter_ns()
        self.lap.engine_gone = server.stop(self._protocol.stop_timeout_s)
        self.lap.stages.append(StageTime(Stage.STOP, time.perf_counter_ns() - started_ns))
        if not self.lap.engine_gone and self.lap.fault is None:
            self.lap.fault, self.lap.fault_stage = Fault.ENGINE_NOT_GONE, Stage.STOP
            self.lap.fault_detail = f"processes were left {self._protocol.stop_timeout_s:g} s after the stop"


def check_wall_clock(timed: Iterable[TimedRequest], tolerance: float) -> None:
    """Raise LapFault when the score and the whole wall clock of the timed pass disagree."""
    timed = list(timed)
    score, wall_clock = tps(timed), compat_tps(timed)
    if abs(wall_clock / score - 1) > tolerance:
        idle_s = (timed[-1].ended_ns - timed[0].started_ns - sum(r.duration_ns for r in timed)) / NS_PER_S
        detail = f"{score:.3f} tokens/s by request, {wall_clock:.3f} by wall clock; {idle_s:.3f} s passed between"
        raise LapFault(Fault.DISTURBED_TIMING, detail)
