"""The process runtime: an engine on this machine, under a keeper, in a home of its own."""

import contextlib
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path

from judge import keeper
from judge.client import without_token_ids
from judge.engine import Launch

LOG_LIMIT_BYTES = 256 * 1024
TAIL_LINES = 60
TERM_GRACE_S = 10.0
CONTROL = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]|[^\t\n\x20-\x7e\x80-\U0010ffff]|[\x80-\x9f]")


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


class EngineProcess:
    """One server life. Its environment is built from nothing; HOME and the caches are fresh and go with it.

    `search_path` is where the executable is looked up, as in PATH. Raises FileNotFoundError when it
    is not there.
    """

    def __init__(self, launch: Launch, search_path: str = os.defpath) -> None:
        search_path = os.pathsep.join(os.path.abspath(part) for part in search_path.split(os.pathsep))
        executable = shutil.which(launch.executable, path=search_path)  # absolute: the engine has another cwd
        if executable is None:
            raise FileNotFoundError(f"engine executable {launch.executable} is not in {search_path}")
        self.url = launch.url
        self.model = launch.model
        self._home = Path(tempfile.mkdtemp(prefix="fairlap-lap-"))
        self._log = self._home / "engine.log"
        self._keeper = self._start_keeper([executable, *launch.arguments], launch.environment, search_path)

    def _start_keeper(self, argv: list[str], extra: Mapping[str, str], search_path: str) -> subprocess.Popen[bytes]:
        process = subprocess.Popen(
            [sys.executable, "-I", keeper.__file__],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,
            env={"PATH": os.defpath},
        )
        spec = {
            "argv": argv,
            "environment": clean_environment(self._home, search_path) | dict(extra),
            "cwd": str(self._home),
            "log_path": str(self._log),
            "log_limit_bytes": LOG_LIMIT_BYTES,
            "grace_s": TERM_GRACE_S,
        }
        assert process.stdin is not None
        process.stdin.write(json.dumps(spec).encode() + b"\n")
        process.stdin.flush()
        return process

    def is_running(self) -> bool:
        return self._keeper.poll() is None

    def exit_code(self) -> int | None:
        """The engine's exit code; None while it runs, or when the judge ended it."""
        if self.is_running() or self._keeper.stdout is None:
            return None
        with contextlib.suppress(ValueError):
            self._exit_report = json.loads(self._keeper.stdout.read())
        code = getattr(self, "_exit_report", {}).get("exit_code")
        return code if isinstance(code, int) else None

    def log_tail(self) -> str:
        """The last lines of the engine's output: printable, without terminal codes or token ids."""
        try:
            text = self._log.read_bytes().decode("utf-8", "replace")
        except OSError:
            return ""
        return without_token_ids("\n".join(CONTROL.sub("", text).splitlines()[-TAIL_LINES:]))

    def stop(self, timeout_s: float) -> bool:
        """End the engine and everything that descends from it; whether that is proved."""
        assert self._keeper.stdin is not None
        with contextlib.suppress(OSError):
            self._keeper.stdin.close()
        try:
            gone = self._keeper.wait(timeout_s) == 0
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            gone = False
        shutil.rmtree(self._home, ignore_errors=True)
        return gone


def clean_environment(home: Path, search_path: str) -> dict[str, str]:
    """What every engine process gets, and nothing of the judge's own environment."""
    temporary = home / "tmp"
    temporary.mkdir(exist_ok=True)
    return {
        "PATH": os.pathsep.join([search_path, os.defpath]),
        "HOME": str(home),
        "TMPDIR": str(temporary),
        "XDG_CACHE_HOME": str(home / "cache"),
        "XDG_CONFIG_HOME": str(home / "config"),
        "LANG": "C.UTF-8",
        "PYTHONUNBUFFERED": "1",
    }
