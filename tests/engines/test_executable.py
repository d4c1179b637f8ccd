"""The scripted engine as a process of its own."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from judge import free_port
from tests.conftest import ROOT

Starts = Callable[..., "Started"]


class Started:
    """One process and its address."""

    def __init__(self, *arguments: str, script: dict[str, object] | None, **environment: str) -> None:
        port = str(free_port())
        self.url = f"http://127.0.0.1:{port}"
        command = [sys.executable, "-m", "tests.engines.scripted", "--host", "127.0.0.1", "--port", port]
        self.process = subprocess.Popen(
            [*command, *arguments, *(["--script", json.dumps(script)] if script else [])],
            cwd=ROOT,
            env=os.environ | environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )

    def first_line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def end(self) -> None:
        """Not by reading to the end of its output, which a child that is left may hold open."""
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdout, self.process.stderr):
            assert pipe is not None
            pipe.close()

    def get(self, path: str) -> Any:
        return httpx2.get(self.url + path, timeout=20).json()


@pytest.fixture
def starts() -> Iterator[Starts]:
    """Starts engines; whatever still runs at the end is ended."""
    running: list[Started] = []

    def start(*arguments: str, script: dict[str, object] | None = None, **environment: str) -> Started:
        running.append(Started(*arguments, script=script, **environment))
        return running[-1]

    yield start
    for started in running:
        started.end()


ARGUMENTS = [
    *("--served-model-name", "duck", "--max-model-len", "1024", "--max-num-seqs", "4", "--window", "2"),
    *("--speculative-config", '{"method": "ngram"}'),
]


def test_arguments_take_effect_and_are_shown(starts: Starts) -> None:
    engine = starts(*ARGUMENTS)
    engine.first_line()

    [model] = engine.get("/v1/models")["data"]
    config = engine.get("/server_info?config_format=json")["vllm_config"]

    assert (model["id"], model["max_model_len"]) == ("duck", 1024)
    assert config["model_config"] == {"max_model_len": 1024, "hf_text_config": {"sliding_window": 2}}
    assert config["scheduler_config"] == {"max_num_seqs": 4}
    assert config["speculative_config"] == {"method": "ngram"}


def test_ignored_variables_are_accepted_and_take_no_effect(starts: Starts) -> None:
    names = ["MAX_MODEL_LEN", "SLIDING_WINDOW", "SPECULATIVE_CONFIG", "MAX_NUM_SEQS"]
    engine = starts(*ARGUMENTS, script={"ignored_variables": names})
    engine.first_line()

    config = engine.get("/server_info")["vllm_config"]

    assert config["model_config"] == {"max_model_len": 2048, "hf_text_config": {"sliding_window": 8}}
    assert config["scheduler_config"] == {"max_num_seqs": 256}
    assert config["speculative_config"] is None


def test_a_start_that_fails_leaves_its_code_and_its_last_words(starts: Starts) -> None:
    engine = starts(script={"exit_after_s": 0.2, "exit_code": 7, "exit_message": "out of memory"})

    _, errors = engine.process.communicate(timeout=20)

    assert (engine.process.returncode, errors) == (7, "out of memory\n")


def test_it_can_die_in_the_middle_of_a_request(starts: Starts) -> None:
    engine = starts(script={"exit_code": 9, "misbehaviours": [{"what": "die", "at_request": 1}]})
    engine.first_line()

    with pytest.raises(httpx2.RemoteProtocolError):
        httpx2.post(f"{engine.url}/v1/completions", json={"prompt": [1], "max_tokens": 16})

    assert engine.process.wait(20) == 9


def test_a_stubborn_child_outlives_sigterm_and_its_parent(starts: Starts) -> None:
    engine = starts(script={"stubborn_child": True})
    child = int(engine.first_line().split()[1])
    try:
        assert os.getsid(child) != os.getsid(engine.process.pid)
        engine.process.terminate()
        engine.process.wait(20)
        os.kill(child, signal.SIGTERM)
        time.sleep(0.2)
        assert Path(f"/proc/{child}").exists()
    finally:
        os.kill(child, signal.SIGKILL)


def test_the_script_may_come_by_the_environment(starts: Starts) -> None:
    engine = starts(SCRIPT='{"never_ready": true}')
    engine.first_line()

    assert httpx2.get(f"{engine.url}/health").status_code == 503
