"""The demo as a newcomer runs it: real vLLM on the CPU, a real model, configs by the web form."""

import json
import subprocess
import sys

import pytest

from tests.conftest import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def outcome() -> dict[str | None, dict[str, object]]:
    """What `make demo-check` prints, by team; None is the reference."""
    command = ["make", "--silent", "demo-check"]
    done = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=sys.stderr, text=True, check=True)
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    return {row["team"]: row for row in rows}


def test_each_team_gets_the_verdict_that_its_config_deserves(outcome) -> None:
    verdicts = {team: (row["kind"], row["verdict"], row["reason"], row["stage"]) for team, row in outcome.items()}

    assert verdicts == {
        None: ("calibration", "verified", None, None),
        "Plain Sailing": ("official", "verified", None, None),
        "Tunnel Vision": ("official", "disqualified", "over-ppl-cap", "quality-sample"),
        "Bigger Is Better": ("official", "failed", "engine-exited", "start"),
    }


def test_the_narrow_window_is_several_times_over_the_cap(outcome) -> None:
    row = outcome["Tunnel Vision"]

    assert row["ppl"] > 5 * row["ppl_cap"]


def test_the_reference_config_measures_like_the_reference(outcome) -> None:
    row, reference = outcome["Plain Sailing"], outcome[None]

    assert row["ppl"] == pytest.approx(reference["ppl"], rel=0.01)
    assert row["ppl_cap"] == pytest.approx(1.05 * reference["ppl"])
    assert row["tps"] > 0


def test_the_board_shows_one_row(outcome) -> None:
    script = (
        "from leaderboard.standings import standings; from submissions.models import Competition; "
        "board = standings(Competition.objects.get()); "
        "print([e.team for e in board.entries], [d.team for d in board.disqualified])"
    )
    env = {"PATH": "/usr/bin:/bin", "DEBUG": "1", "DATABASE_URL": f"sqlite:///{ROOT}/.demo/fairlap.sqlite3"}
    command = [sys.executable, "manage.py", "shell", "--no-imports", "-c", script]

    shown = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=True).stdout

    assert shown.strip() == "['Plain Sailing'] ['Tunnel Vision']"
