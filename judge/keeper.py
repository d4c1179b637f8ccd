"""Keeps one engine: runs it, bounds its log, and leaves no process of it behind.

The judge starts this file as a process of its own and holds its standard input open. Whatever
ends the judge, kill -9 included, closes that pipe, and the keeper ends the engine.

1. Become a subreaper (prctl(2)), so that every orphan of the engine becomes a child of the keeper.
2. Start the engine in its own session, its output into a bounded log file.
3. When the pipe closes or the engine exits: SIGTERM to the group, and after the grace SIGKILL to
   every descendant, until waitpid(2) says that no child is left. Exit code 0 is the proof.

Standard library only, and no import of the judge: it runs with `python -I`.
"""

import contextlib
import ctypes
import json
import os
import select
import signal
import subprocess
import sys
import time
from typing import Any, BinaryIO

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
POLL_S = 0.1


def prctl(option: int, value: int) -> None:
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None, use_errno=True).prctl(option, value, 0, 0, 0)


class BoundedLog:
    """A log file that holds between one and two times `limit_bytes` of the newest output at most."""

    def __init__(self, path: str, limit_bytes: int) -> None:
        self._file: BinaryIO = open(path, "w+b", buffering=0)  # noqa: SIM115 - lives as long as the keeper
        self._limit = limit_bytes

    def write(self, chunk: bytes) -> None:
        with contextlib.suppress(OSError):  # a full disk must not end the lap
            if self._file.tell() + len(chunk) > 2 * self._limit:
                self._keep_newest(chunk)
            else:
                self._file.write(chunk)

    def _keep_newest(self, chunk: bytes) -> None:
        self._file.seek(max(0, self._file.tell() - self._limit))
        newest = (self._file.read() + chunk)[-self._limit :]
        self._file.seek(0)
        self._file.truncate()
        self._file.write(newest)


def start(spec: dict[str, Any]) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        spec["argv"],
        env=spec["environment"],
        cwd=spec["cwd"],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        preexec_fn=lambda: prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
    )


def watch(engine: subprocess.Popen[bytes], log: BoundedLog) -> int | None:
    """Copy output until the engine exits (its exit code) or the pipe to the judge closes (None)."""
    assert engine.stdout is not None
    output = engine.stdout.fileno()
    readable = [0, output]
    while True:
        ready, _, _ = select.select(readable, [], [], POLL_S)
        if output in ready and not copy(output, log):
            readable.remove(output)
        if 0 in ready:
            return None
        if (code := reap(engine.pid)) is not None:
            return code


def copy(output: int, log: BoundedLog) -> bool:
    chunk = os.read(output, 65536)
    log.write(chunk)
    return bool(chunk)


def reap(main_pid: int) -> int | None:
    """Collect every exited child; the main process's exit code if it was among them."""
    code = None
    with contextlib.suppress(ChildProcessError):
        while True:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if pid == 0:
                return code
            if pid == main_pid:
                code = os.waitstatus_to_exitcode(status)
    return code


def end_all(group: int, output: int, log: BoundedLog, grace_s: float) -> None:
    """End the engine and all that descends from it. Returns only when no child is left."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(group, signal.SIGTERM)
    deadline = time.monotonic() + grace_s
    os.set_blocking(output, False)
    while has_children():
        with contextlib.suppress(BlockingIOError):
            copy(output, log)
        if time.monotonic() > deadline:
            kill_descendants()
        time.sleep(POLL_S / 5)
    with contextlib.suppress(BlockingIOError):
        while copy(output, log):
            pass


def has_children() -> bool:
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
        return True
    except ChildProcessError:
        return False


def kill_descendants() -> None:
    for pid in descendants(os.getpid()):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, signal.SIGKILL)


def descendants(root: int) -> list[int]:
    """Every process below `root`, by the parent ids in /proc."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            with contextlib.suppress(OSError, ValueError, IndexError), open(f"/proc/{name}/stat") as stat:
                children.setdefault(int(stat.read().rpartition(")")[2].split()[1]), []).append(int(name))
    found, queue = [], [root]
    while queue:
        below = children.get(queue.pop(), [])
        found += below
        queue += below
    return found


def main() -> int:
    spec = json.loads(sys.stdin.buffer.readline())
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: None)  # not SIG_IGN, which the engine would inherit
    prctl(PR_SET_CHILD_SUBREAPER, 1)
    log = BoundedLog(spec["log_path"], spec["log_limit_bytes"])
    try:
        engine = start(spec)
    except OSError as error:
        log.write(f"cannot start {spec['argv'][0]}: {error.strerror}\n".encode())
        print(json.dumps({"exit_code": 127}), flush=True)
        return 0
    assert engine.stdout is not None
    code = watch(engine, log)
    end_all(engine.pid, engine.stdout.fileno(), log, spec["grace_s"])
    print(json.dumps({"exit_code": code}), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
