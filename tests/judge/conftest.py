"""Laps against a scripted engine in this process."""

from collections.abc import Callable, Iterator

import pytest

from judge import Lap, LapPlan, Progress, run_lap
from judge.client import EngineClient
from tests import builders
from tests.engines.scripted import SERVED, ScriptedEngine


class RunningServer:
    """What a runtime would give: the scripted engine, which stops when it is told to."""

    def __init__(self, engine: ScriptedEngine, is_gone: bool = True) -> None:
        self.url, self.model = engine.url, SERVED
        self.stopped = False
        self._is_gone = is_gone

    def is_running(self) -> bool:
        return not self.stopped

    def exit_code(self) -> int | None:
        return None

    def log_tail(self) -> str:
        return "the last words"

    def stop(self, timeout_s: float) -> bool:
        self.stopped = True
        return self._is_gone


@pytest.fixture
def server(engine: ScriptedEngine) -> RunningServer:
    return RunningServer(engine)


@pytest.fixture
def lap_of(server: RunningServer) -> Callable[..., Lap]:
    """Runs one lap of the plan against the scripted engine."""

    def run(plan: LapPlan | None = None, report: Callable[[Progress], None] = lambda progress: None) -> Lap:
        return run_lap(lambda: server, plan or builders.plan(), report)

    return run


@pytest.fixture
def client(engine: ScriptedEngine) -> Iterator[EngineClient]:
    with EngineClient(engine.url, SERVED, request_timeout_s=0.5, answer_limit_bytes=1_000_000) as connected:
        yield connected
