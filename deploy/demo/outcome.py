"""What came of the demo: progress while it runs, then a table or JSON lines of every evaluation."""

import json
import sys
from collections.abc import Iterator

from deploy.demo.contestant import Contestant


class Progress:
    """Says each new step of each contestant's run once, on stderr."""

    def __init__(self) -> None:
        self._told: dict[str, str] = {}

    def tell(self, contestant: Contestant) -> bool:
        """Whether the contestant's run has its verdict."""
        status = contestant.status()
        step = str(status["step"])
        if status["verdict"]:
            step = f"{status['verdict']} {status['reason_words']} {status['detail']}".rstrip()
        if self._told.get(contestant.team) != step:
            print(f"      {contestant.team}: {step}", file=sys.stderr, flush=True)
            self._told[contestant.team] = step
        return bool(status["verdict"])


def evaluations() -> Iterator[dict[str, object]]:
    """Every evaluation of the demo's database, in the order in which they were asked."""
    import django

    django.setup()
    from submissions.models import Evaluation

    for evaluation in Evaluation.objects.select_related("submission__team").order_by("pk"):
        team, last = evaluation.submission.team, evaluation.attempts.order_by("-number").first()
        took = (last.ended_at - last.started_at).total_seconds() if last and last.ended_at and last.started_at else None
        yield {
            "team": team.name if team else None,
            "kind": evaluation.kind,
            "verdict": evaluation.verdict or None,
            "reason": evaluation.reason or None,
            "tps": evaluation.tps,
            "ppl": evaluation.ppl,
            "ppl_cap": evaluation.ppl_cap,
            "seconds": took,
            "stage": evaluation.stage or None,
        }


def print_json_lines() -> int:
    """One JSON line per evaluation; 0 only when every one has its verdict."""
    rows = list(evaluations())
    for row in rows:
        print(json.dumps(row), flush=True)
    return 0 if rows and all(row["verdict"] for row in rows) else 1


def print_table() -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table("team", "kind", "verdict", "reason", "tokens/s", "PPL", "cap", "seconds")
    for row in evaluations():
        numbers = (row["tps"], row["ppl"], row["ppl_cap"], row["seconds"])
        shown = ["–" if number is None else f"{number:.2f}" for number in numbers]
        table.add_row(
            str(row["team"] or "(reference)"), str(row["kind"]), str(row["verdict"]), str(row["reason"] or ""), *shown
        )
    Console(stderr=True, width=110).print(table)
