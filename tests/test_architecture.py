"""What the folders promise beyond the import directions, which import-linter checks (`make check`)."""

import ast
import re
from pathlib import Path

import pytest

from tests.conftest import ROOT

APPS = ("judge", "submissions", "worker", "leaderboard", "fairlap")
SOURCES = [
    path
    for app in APPS
    for path in (ROOT / app).rglob("*.py")
    if "migrations" not in path.parts and path.stat().st_size
]
NAMES_OF_NOTHING = {"utils", "helpers", "common", "manager", "base", "misc"}


def functions(tree: ast.AST) -> list[ast.FunctionDef]:
    return [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_file_says_what_it_is_for_and_stays_short(path: Path) -> None:
    text = path.read_text()
    tree = ast.parse(text)

    assert ast.get_docstring(tree), "the first line says what the file is for"
    assert path.stem not in NAMES_OF_NOTHING
    assert len(text.splitlines()) <= 400
    too_long = [f.name for f in functions(tree) if (f.end_lineno or 0) - f.lineno >= 40]
    assert too_long == []


def test_states_of_attempts_are_written_in_one_file_only() -> None:
    writes = re.compile(r"update\([^)]*\bstate=|\.state = ")
    writers = {path.name for path in SOURCES if writes.search(path.read_text())}

    assert writers == {"transitions.py"}


def test_only_the_supervisors_edge_catches_everything() -> None:
    catchers = {path.name for path in SOURCES if "except Exception" in path.read_text()}

    assert catchers == {"session.py"}


def test_every_setting_is_documented_with_its_default() -> None:
    text = (ROOT / "fairlap" / "settings.py").read_text()
    read = set(re.findall(r"env\.\w+\(\s*\"([A-Z_]+)\"", text))
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", (ROOT / "docs" / "settings.md").read_text(), re.MULTILINE))

    assert read == documented
