import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from judge import EngineProcess, free_port
from judge.engine import Launch
from judge.keeper import BoundedLog
from judge.process import LOG_LIMIT_BYTES
from tests.conftest import ROOT

Starts = Callable[..., EngineProcess]


def program(folder: Path, text: str) -> str:
    path = folder / "program"
    path.write_text(f"#!{sys.executable} -I\n{text}")
    path.chmod(0o755)
    return str(folder)


@pytest.fixture
def starts(tmp_path: Path) -> Iterator[Starts]:
    """Starts a Python text as an engine; whatever still runs at the end is ended."""
    running: list[EngineProcess] = []

    def start(text: str, *arguments: str, **environment: str) -> EngineProcess:
        launch = Launch("program", arguments, environment, "127.0.0.1", free_port(), "toy")
        running.append(EngineProcess(launch, program(tmp_path, text)))
        return running[-1]

    yield start
    for process in running:
        process.stop(20)


def wait_for(condition: Callable[[], object], seconds: float = 15) -> None:
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, "it did not happen"
        time.sleep(0.02)


def exists(pid: int) -> bool:
    """Whether a process is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


STUBBORN_GRANDCHILD = """
import os, signal, subprocess, sys, time
code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('up', flush=True); time.sleep(600)"
child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.PIPE)
child.stdout.readline()
print("pids", os.getpid(), child.pid, flush=True)
time.sleep(600)
"""


def pids_of(process: EngineProcess) -> list[int]:
    wait_for(lambda: "pids" in process.log_tail())
    return [int(word) for word in process.log_tail().split()[1:3]]


def test_stop_ends_the_whole_tree_and_proves_it(starts: Starts, monkeypatch) -> None:
    monkeypatch.setattr("judge.process.TERM_GRACE_S", 0.3)
    process = starts(STUBBORN_GRANDCHILD)
    pids = pids_of(process)

    assert all(map(exists, pids))
    assert process.stop(20)
    assert not any(map(exists, pids))


def test_a_dead_engine_takes_its_children_with_it(starts: Starts, monkeypatch) -> None:
    monkeypatch.setattr("judge.process.TERM_GRACE_S", 0.3)
    process = starts(STUBBORN_GRANDCHILD)
    main, grandchild = pids_of(process)

    os.kill(main, signal.SIGKILL)

    wait_for(lambda: not process.is_running())
    assert process.exit_code() == -signal.SIGKILL
    assert not exists(grandchild)


def test_a_judge_that_is_killed_leaves_no_engine_behind(tmp_path: Path) -> None:
    text = (
        "from judge import *; from judge.engine import Launch; import time\n"
        "p = EngineProcess(Launch('program', (), {}, '127.0.0.1', 1, 'toy'), "
        f"{program(tmp_path, STUBBORN_GRANDCHILD)!r})\n"
        "while 'pids' not in p.log_tail(): time.sleep(0.02)\n"
        "print(p.log_tail(), flush=True); time.sleep(600)\n"
    )
    with subprocess.Popen([sys.executable, "-c", text], cwd=ROOT, stdout=subprocess.PIPE, text=True) as judge:
        assert judge.stdout is not None
        pids = [int(word) for word in judge.stdout.readline().split()[1:3]]
        judge.kill()

    wait_for(lambda: not any(map(exists, pids)), seconds=30)


def test_the_exit_code_and_the_last_words_of_an_engine_that_exits(starts: Starts) -> None:
    process = starts("import sys\nprint('cannot load [1, 2, 3, 4, 5]\\x00\\x1b[31m red', file=sys.stderr)\nsys.exit(3)")

    wait_for(lambda: not process.is_running())

    assert process.exit_code() == 3
    assert process.log_tail() == "cannot load [token ids left out] red"


def test_the_engine_sees_nothing_of_the_judges_environment(starts: Starts, monkeypatch) -> None:
    monkeypatch.setenv("SECRET_KEY", "do not tell")
    process = starts("import os, time\nprint(sorted(os.environ), os.getcwd(), flush=True)\ntime.sleep(60)", TOY="1")

    wait_for(process.log_tail)

    names = ["HOME", "LANG", "PATH", "PYTHONUNBUFFERED", "TMPDIR", "TOY", "XDG_CACHE_HOME", "XDG_CONFIG_HOME"]
    shown = process.log_tail()
    assert all(repr(name) in shown for name in names)
    assert shown.count("'") == 2 * len([*names, *(["LC_CTYPE"] if "LC_CTYPE" in shown else [])])


def test_each_server_life_has_a_fresh_home_that_goes_with_it(starts: Starts) -> None:
    text = "import os, time\nprint(os.environ['HOME'], flush=True)\nopen('left', 'w').close()\ntime.sleep(60)"
    homes = []
    for _ in range(2):
        process = starts(text)
        wait_for(process.log_tail)
        homes.append(Path(process.log_tail().strip()))
        assert homes[-1].is_dir()
        process.stop(20)

    assert homes[0] != homes[1]
    assert not any(home.exists() for home in homes)


def test_a_flood_of_output_is_kept_to_its_end(starts: Starts) -> None:
    process = starts("for n in range(400_000): print('line', n, 'x' * 90)")

    wait_for(lambda: not process.is_running(), seconds=60)

    assert process.log_tail().splitlines()[-1].startswith("line 399999")
    assert process._log.stat().st_size <= 2 * LOG_LIMIT_BYTES


def test_invalid_utf_8_is_shown_as_such(starts: Starts) -> None:
    process = starts("import os\nos.write(1, b'a\\xff\\xfeb\\n')")

    wait_for(lambda: not process.is_running())

    assert process.log_tail() == "a��b"


def test_a_missing_executable_is_named(tmp_path: Path) -> None:
    launch = Launch("no-such-engine", (), {}, "127.0.0.1", 1, "toy")

    with pytest.raises(FileNotFoundError, match="no-such-engine"):
        EngineProcess(launch, str(tmp_path))


def test_the_search_path_may_be_relative_to_where_the_judge_runs(tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "bin").mkdir()
    program(tmp_path / "bin", "print('found', flush=True)")
    monkeypatch.chdir(tmp_path)

    process = EngineProcess(Launch("program", (), {}, "127.0.0.1", 1, "toy"), "bin")

    wait_for(lambda: not process.is_running())
    assert (process.exit_code(), process.log_tail()) == (0, "found")
    process.stop(5)


def test_a_program_that_cannot_be_run_ends_with_127(tmp_path: Path) -> None:
    (tmp_path / "program").write_text("#!/no/such/interpreter\n")
    (tmp_path / "program").chmod(0o755)
    process = EngineProcess(Launch("program", (), {}, "127.0.0.1", 1, "toy"), str(tmp_path))

    wait_for(lambda: not process.is_running())

    assert process.exit_code() == 127
    assert "cannot start" in process.log_tail()
    assert process.stop(5)


def test_the_log_keeps_the_newest_bytes(tmp_path: Path) -> None:
    log = BoundedLog(str(tmp_path / "log"), limit_bytes=100)

    for number in range(1000):
        log.write(b"%04d " % number)

    kept = (tmp_path / "log").read_bytes()
    assert kept.endswith(b"0998 0999 ")
    assert len(kept) <= 200
