"""What a lap came to, for a person and for a program; and how far it is, on a terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
from rich.progress import Progress as Bar
from rich.table import Table

from judge.config import Config
from judge.gates import accuracy_to_reference, ratio_to_reference
from judge.measurements import Lap
from judge.plan import Rules
from judge.protocol import Progress
from judge.speed import NS_PER_S, summarise_speed
from judge.statistics import Interval, perplexity_interval
from judge.verdict import Verdict
from judge.words import REASONS, STAGES


@contextmanager
def progress_bar() -> Iterator[Callable[[Progress], None]]:
    """A bar with the stage's name on a terminal, nothing elsewhere."""
    columns = (TextColumn("{task.description:>15}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    console = Console(stderr=True)
    with Bar(*columns, console=console, disable=not sys.stderr.isatty(), transient=True) as bar:
        task = bar.add_task("start", total=None)

        def tell(progress: Progress) -> None:
            total = progress.total or None
            bar.update(task, description=STAGES[progress.stage], completed=progress.done, total=total)

        yield tell


def as_document(config: Config, lap: Lap, rules: Rules, verdict: Verdict) -> dict[str, object]:
    """Everything that was measured, as one JSON document. Times in nanoseconds, speed in tokens a second."""
    return {
        "config": dict(config.values),
        "config_sha256": config.sha256,
        "verdict": asdict(verdict),
        "speed": asdict(summarise_speed(lap.timed)) if lap.timed else None,
        "ppl_interval": perplexity_interval(lap.quality, lap.seed) if lap.quality else None,
        "ppl_ratio": _maybe(ratio_to_reference(lap.quality, rules)),
        "accuracy_ratio": _maybe(accuracy_to_reference(lap.answered, rules)),
        "lap": asdict(lap),
    }


def _maybe(interval: Interval | None) -> dict[str, float] | None:
    return asdict(interval) if interval else None


def print_tables(config: Config, lap: Lap, rules: Rules, verdict: Verdict) -> None:
    console = Console()
    table = Table(show_header=False, title=f"{verdict.outcome}", title_justify="left")
    for name, value in _facts(config, lap, rules, verdict):
        table.add_row(name, value)
    console.print(table)
    if lap.log_tail:
        console.print("The end of the engine's log:", lap.log_tail, sep="\n", markup=False, highlight=False)


def _facts(config: Config, lap: Lap, rules: Rules, verdict: Verdict) -> Iterator[tuple[str, str]]:
    yield "config", config.as_env().strip() or "(nothing set)"
    if verdict.reason:
        yield "reason", f"{REASONS.get(verdict.reason, verdict.reason)} {verdict.detail}"
    if verdict.stage:
        yield "stage", STAGES[verdict.stage]
    yield from _speed_facts(lap)
    yield from _gate_facts(lap, rules, verdict)
    for effect in lap.effects:
        yield effect.variable, f"asked {effect.asked}, found {effect.found}"
    for finding in verdict.findings:
        numbers = ", ".join(f"{name} {value}" for name, value in finding.evidence.items())
        yield f"audit {finding.audit}", f"{finding.result}: {numbers}"
    yield "seconds by stage", ", ".join(f"{STAGES[s.stage]} {s.duration_ns / NS_PER_S:.1f}" for s in lap.stages)


def _gate_facts(lap: Lap, rules: Rules, verdict: Verdict) -> Iterator[tuple[str, str]]:
    if lap.quality:
        low, high = perplexity_interval(lap.quality, lap.seed)
        cap = "none" if verdict.ppl_cap is None else f"{verdict.ppl_cap:.4f}"
        shown = "–" if verdict.ppl is None else f"{verdict.ppl:.4f}"
        yield "perplexity", f"{shown} (95 % interval {low:.4f} to {high:.4f}), cap {cap}"
    if ratio := ratio_to_reference(lap.quality, rules):
        yield "perplexity to reference", f"{ratio.estimate:.4f} (95 % interval {ratio.low:.4f} to {ratio.high:.4f})"
    if lap.answered:
        yield "questions right", f"{sum(one.correct for one in lap.answered)} of {len(lap.answered)}"
    if ratio := accuracy_to_reference(lap.answered, rules):
        floor = "none" if rules.accuracy_floor is None else f"{rules.accuracy_floor:g}"
        words = f"{ratio.estimate:.3f} (95 % interval {ratio.low:.3f} to {ratio.high:.3f}), floor {floor}"
        yield "accuracy to reference", words


def _speed_facts(lap: Lap) -> Iterator[tuple[str, str]]:
    if lap.timed:
        speed = summarise_speed(lap.timed)
        yield "tokens per second", f"{speed.tps:.3f}"
        yield "by wall clock", f"{speed.compat_tps:.3f}"
        yield "seconds a request", f"p50 {speed.p50_s:.3f}, p90 {speed.p90_s:.3f}, p99 {speed.p99_s:.3f}"
    if lap.stream:
        yield "time to first token", f"{lap.stream.first_token_ns / 1e6:.1f} ms"
        yield "tokens per step", f"{lap.stream.tokens_per_step:.2f}"
    if lap.speculation:
        yield "draft tokens accepted", f"{lap.speculation.accepted_tokens} of {lap.speculation.draft_tokens}"
