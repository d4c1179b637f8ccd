"""A scripted engine: an OpenAI-compatible server whose model, speed and misbehaviour a test sets.

In a test: `with ScriptedEngine(Script(...)) as engine`, then `engine.url`. As an executable:
`python -m tests.engines.scripted --port N …` or `scripted-engine serve MODEL --port N …`, with the
script as JSON in `--script` or in the environment variable SCRIPT.
"""

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from http.server import ThreadingHTTPServer
from typing import Any

from tests.engines.handler import Handler
from tests.engines.misbehaviour import stage_and_kind
from tests.engines.script import Misbehaviour, Script
from tests.engines.toy_model import ToyModel

SERVED = "toy"


class ScriptedEngine(ThreadingHTTPServer):
    """The server. `requests` holds the body of every completion request, in order of arrival.

    `effective` is what `/server_info` shows as the vllm_config; `tokens_out` and `answered` are the
    counters of `/metrics`. Raises ValueError for a misbehaviour that it does not know.
    """

    daemon_threads = True

    def __init__(
        self,
        script: Script | None = None,
        host: str = "127.0.0.1",
        port: int = 0,
        served: str = SERVED,
        effective: dict[str, Any] | None = None,
    ) -> None:
        self.script = script or Script()
        for one in self.script.misbehaviours:
            stage_and_kind(one)
        self.model = ToyModel(self.script.perplexity, self.script.window, seed=self.script.seed)
        self.served = served
        self.effective = effective or {}
        self.requests: list[dict[str, Any]] = []
        self.tokens_out = self.answered = 0
        self.timed = self.scored = 0
        self.in_process = False
        self.stopped = threading.Event()
        self._started_s = time.monotonic()
        super().__init__((host, port), Handler)

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]!s}:{self.server_address[1]}"

    @property
    def max_model_len(self) -> int:
        return int(self.effective.get("model_config", {}).get("max_model_len", 2048))

    def is_ready(self) -> bool:
        """Whether `/health` is 200 by now."""
        waited_s = time.monotonic() - self._started_s
        return not self.script.never_ready and waited_s >= self.script.ready_after_s

    def misbehaves(self, what: str, at_request: int | None = None, **details: Any) -> None:
        """From now on something goes wrong; `details` are fields of Misbehaviour."""
        one = Misbehaviour(what, at_request, **details)
        stage_and_kind(one)
        self.script.misbehaviours.append(one)

    def answers(self, tokens: int, at_request: int | None = None) -> None:
        """From now on the timed answers, or one of them, hold only so many tokens."""
        self.misbehaves("cut_short", at_request, tokens=tokens)

    def due(self, stage: str, number: int) -> list[Misbehaviour]:
        """What goes wrong with the n-th request of this stage."""
        of_stage = [one for one in self.script.misbehaviours if stage_and_kind(one)[0] == stage]
        return [one for one in of_stage if one.at_request in (None, number)]

    def seconds_per_token_of(self, body: dict[str, Any], prompt: list[int]) -> float:
        """The pace of an answer; a rogue has its own ideas."""
        return self.script.seconds_per_token

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        """The ids of an answer; a rogue has its own ideas."""
        return self.generate(prompt, body["max_tokens"])

    def arranged(self, data: Any) -> Any:
        """A JSON document as it goes out."""
        return data

    def gaps_of(self, ids: list[int]) -> list[float]:
        """Between the two likeliest tokens of each position, in nats."""
        return [2.0] * len(ids)

    def generate(self, prompt: list[int], tokens: int) -> list[int]:
        """The model's text, counted."""
        self.tokens_out += tokens
        return self.model.continuation(prompt, tokens)

    def drifted_model(self) -> ToyModel:
        """The model as it has become after so many quality requests."""
        return ToyModel(self.model.perplexity + 0.01 * self.scored, self.model.window, seed=self.model.seed)

    def __enter__(self) -> "ScriptedEngine":
        self.in_process = True
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.stopped.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The judge breaks off what takes too long; that is no error of the engine's. Any other is shown."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


STUBBORN = """
import os, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
if child := os.fork():
    print("stubborn", child, flush=True)
    os._exit(0)
time.sleep(120)
"""


def start_stubborn_child() -> None:
    """A process outside the engine's session, its parent gone, that ignores SIGTERM from its first moment.

    Its id is printed before anything else is.
    """
    subprocess.run([sys.executable, "-c", STUBBORN], start_new_session=True, check=True)


def read_options(arguments: list[str] | None = None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripted-engine")
    parser.add_argument("command", nargs="?", default="serve", choices=["serve"])
    parser.add_argument("model", nargs="?", default=SERVED)
    parser.add_argument("--served-model-name", default=SERVED)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--max-model-len", type=int, default=2048)
    parser.add_argument("--max-num-seqs", type=int, default=256)
    parser.add_argument("--window", type=int)
    parser.add_argument("--speculative-config", type=json.loads)
    parser.add_argument("--script", type=json.loads, default=json.loads(os.environ.get("SCRIPT", "{}")))
    return parser.parse_args(arguments)


def effective_config(options: argparse.Namespace, script: Script) -> dict[str, Any]:
    """What the arguments have become: an ignored variable keeps its default."""
    defaults = read_options(["--port", "0"])
    ignored = set(script.ignored_variables)
    length = (defaults if "MAX_MODEL_LEN" in ignored else options).max_model_len
    sequences = (defaults if "MAX_NUM_SEQS" in ignored else options).max_num_seqs
    speculation = None if "SPECULATIVE_CONFIG" in ignored else options.speculative_config
    return {
        "model_config": {"max_model_len": length, "hf_text_config": {"sliding_window": script.window}},
        "cache_config": {"sliding_window": script.window},
        "scheduler_config": {"max_num_seqs": sequences},
        "speculative_config": speculation,
    }


def give_up(message: str, code: int) -> None:
    """End the process at once, whatever its threads do, with a last word on standard error."""
    print(message, file=sys.stderr, flush=True)
    os._exit(code)


def main() -> None:
    options = read_options()
    script = Script.from_dict(options.script)
    if options.window and "SLIDING_WINDOW" not in script.ignored_variables:
        script.window = options.window
    if script.exit_at_start is not None or options.max_model_len > 8192:
        give_up(script.exit_message, script.exit_at_start or 1)
    if script.stubborn_child:
        start_stubborn_child()
    if script.exit_after_s is not None:
        threading.Timer(script.exit_after_s, give_up, [script.exit_message, script.exit_code]).start()
    effective = effective_config(options, script)
    engine = ScriptedEngine(script, options.host, options.port, options.served_model_name, effective)
    print(f"serving {options.model} with {sorted(os.environ)}", flush=True)
    engine.serve_forever(0.02)


if __name__ == "__main__":
    main()
