"""One running engine, as a lap sees it, whatever started it."""

import time
from collections.abc import Callable
from typing import Protocol

from judge.client import EngineClient
from judge.errors import Fault, LapFault

READY_POLL_S = 0.25


class Server(Protocol):
    """What a runtime gives the judge: one running engine."""

    url: str
    model: str

    def is_running(self) -> bool: ...

    def exit_code(self) -> int | None: ...

    def log_tail(self) -> str: ...

    def stop(self, timeout_s: float) -> bool:
        """End it; whether it is proved that no process of it is left."""
        ...


def wait_until_ready(server: Server, client: EngineClient, timeout_s: float, waiting: Callable[[], None]) -> None:
    """Raises LapFault when it exits or is not ready in time; calls `waiting` at every look."""
    deadline = time.monotonic() + timeout_s
    while not client.is_ready():
        waiting()
        if not server.is_running():
            raise LapFault(Fault.ENGINE_EXITED, exit_words(server))
        if time.monotonic() > deadline:
            raise LapFault(Fault.START_TIMEOUT, f"not ready within {timeout_s:g} s")
        time.sleep(READY_POLL_S)


def exit_words(server: Server) -> str:
    code = server.exit_code()
    return "the engine process ended" if code is None else f"the engine process ended with exit code {code}"
