"""Fairlap's parts as real processes on the test database, for the slow tests."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings
from django.db import connection

from tests.conftest import ROOT


def database_url() -> str:
    """The test database that Django made, as another process must name it."""
    made = connection.settings_dict
    if made["ENGINE"].endswith("sqlite3"):
        return f"sqlite:///{made['NAME']}"
    return f"postgres://{made['USER']}:{made['PASSWORD']}@{made['HOST']}:{made['PORT']}/{made['NAME']}"


def environment(broker_url: str, **changes: str) -> dict[str, str]:
    return os.environ | {
        "DJANGO_SETTINGS_MODULE": "fairlap.settings",
        "DEBUG": "1",
        "DATABASE_URL": database_url(),
        "BROKER_URL": broker_url,
        "ENGINE_PATH": settings.ENGINE_PATH,
        "MODELS_DIR": str(settings.MODELS_DIR),
        **changes,
    }


@contextmanager
def celery(log: Path, env: dict[str, str], *options: str) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery process of the worker app; ended with the block, whatever the test did to it."""
    command = [sys.executable, "-m", "celery", "--app", "worker", "worker", "--loglevel", "INFO", *options]
    with open(log, "ab") as out:
        running = subprocess.Popen(command, cwd=ROOT, env=env, stdout=out, stderr=out, start_new_session=True)
    try:
        yield running
    finally:
        running.send_signal(signal.SIGTERM)
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def wait_until(condition: Callable[[], object], seconds: float, what: str) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"{what}: not within {seconds:g} s"
        time.sleep(0.1)


def engines_in(folder: str) -> list[int]:
    """Processes whose command line names an executable of this folder."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                if folder.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                continue
    return found
