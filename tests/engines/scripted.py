"""A scripted engine: an OpenAI-compatible server whose model, speed and misbehaviour a test sets.

In a test: `with ScriptedEngine(Script(...)) as engine`, then `engine.url`. As an executable:
`scripted-engine serve MODEL --port N …` with the script as JSON in the environment variable SCRIPT.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from tests.engines import misbehaviour, wire
from tests.engines.script import Misbehaviour, Script
from tests.engines.toy_model import ToyModel

SERVED = "toy"


class ScriptedEngine(ThreadingHTTPServer):
    """The server. `requests` holds the body of every completion request, in order of arrival."""

    daemon_threads = True

    def __init__(
        self, script: Script | None = None, host: str = "127.0.0.1", port: int = 0, served: str = SERVED
    ) -> None:
        self.script = script or Script()
        self.model = ToyModel(self.script.perplexity, self.script.window)
        self.served = served
        self.effective: dict[str, Any] = {}
        self.requests: list[dict[str, Any]] = []
        self.tokens_out = 0
        self.timed = self.scored = 0
        super().__init__((host, port), _Handler)

    @property
    def url(self) -> str:
        return f"http://{self.server_address[0]}:{self.server_address[1]}"

    def misbehaves(self, what: str, at_request: int | None = None, tokens: int = 0, value: float = 0.0) -> None:
        self.script.misbehaviours.append(Misbehaviour(what, at_request, tokens, value))

    def answers(self, tokens: int, at_request: int | None = None) -> None:
        self.misbehaves("cut_short", at_request, tokens)

    def __enter__(self) -> "ScriptedEngine":
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self.shutdown()
        self.server_close()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """The judge breaks off what takes too long; that is no error of the engine's."""

    def due(self, kind: str, number: int) -> list[Misbehaviour]:
        """What goes wrong with the n-th request of this kind."""
        known = misbehaviour.TIMED if kind == "timed" else misbehaviour.QUALITY
        of_kind = [m for m in self.script.misbehaviours if m.what in known or m.what.split(":")[0] == kind]
        return [m for m in of_kind if m.at_request in (None, number)]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: ScriptedEngine

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        engine = self.server
        path = self.path.split("?")[0]
        if path == "/health":
            self._send(503 if engine.script.never_ready else 200, b"")
        elif path == "/v1/models":
            self._send_json({"object": "list", "data": [{"id": engine.served, "object": "model"}]})
        elif path == "/metrics" and engine.script.has_metrics:
            self._send(200, wire.metrics(engine.served, engine.tokens_out, len(engine.requests)).encode())
        elif path == "/server_info":
            self._send_json({"vllm_config": engine.effective})
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.requests.append(body)
        prompt = body["prompt"] if isinstance(body["prompt"], list) else [ord(c) % 512 for c in body["prompt"]]
        if body.get("prompt_logprobs"):
            self._score(prompt)
        else:
            self._complete(body, prompt)

    def _score(self, prompt: list[int]) -> None:
        engine = self.server
        engine.scored += 1
        due = engine.due("quality", engine.scored)
        if any(m.what == "quality:drift" for m in due):
            prompt_model = ToyModel(engine.model.perplexity + 0.01 * engine.scored, engine.model.window)
        else:
            prompt_model = engine.model
        answer = wire.completion(engine.model, engine.served, prompt, engine.model.continuation(prompt, 1), False)
        answer["choices"][0]["prompt_logprobs"] = wire.prompt_logprobs(prompt_model, prompt)
        self._answer(answer, due, misbehaviour.QUALITY)

    def _complete(self, body: dict[str, Any], prompt: list[int]) -> None:
        engine = self.server
        count = body["max_tokens"]
        answer = wire.completion(engine.model, engine.served, prompt, engine.model.continuation(prompt, count), True)
        engine.tokens_out += count
        if body.get("stream"):
            self._send(200, b"".join(wire.events(answer)), "text/event-stream")
            return
        due: list[Misbehaviour] = []
        if count == engine.script.output_tokens:
            engine.timed += 1
            due = engine.due("timed", engine.timed)
            time.sleep(engine.script.seconds_per_token * count)
        self._answer(answer, due, misbehaviour.TIMED)

    def _answer(self, answer: dict[str, Any], due: list[Misbehaviour], changes: dict[str, Any]) -> None:
        for one in due:
            if one.what in changes:
                changes[one.what](answer, one)
            elif (act := getattr(self, f"_{one.what.split(':')[1]}", None)) is not None:
                act()
                return
        self._send_json(answer)

    def _http_500(self) -> None:
        self._send(500, b'{"error": {"message": "engine says no to [1, 2, 3, 4, 5, 6]"}}')

    def _die(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def _break_off(self) -> None:
        self.connection.close()
        self.close_connection = True

    def _hang(self) -> None:
        time.sleep(30)

    def _drip(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        for _ in range(1000):
            self.wfile.write(b" ")
            time.sleep(0.05)

    def _drip_headers(self) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        for number in range(1000):
            self.wfile.write(f"X-{number}: 1\r\n".encode())
            time.sleep(0.05)

    def _not_json(self) -> None:
        self._send(200, b"<html>busy</html>", "text/html")

    def _huge(self) -> None:
        self._send(200, b'{"pad": "' + b"x" * 3_000_000 + b'"}')

    def _redirect(self) -> None:
        self.send_response(307)
        self.send_header("Location", "/health")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send_json(self, data: dict[str, Any]) -> None:
        self._send(200, json.dumps(data).encode())

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


STUBBORN = (
    "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); print('stubborn', flush=True); time.sleep(600)"
)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=["serve"])
    parser.add_argument("model")
    parser.add_argument("--served-model-name", default=SERVED)
    parser.add_argument("--host", default="127.0.0.1")
    parser.add_argument("--port", type=int, required=True)
    parser.add_argument("--max-model-len", type=int, default=2048)
    parser.add_argument("--window", type=int)
    parser.add_argument("--speculative-config", type=json.loads)
    options = parser.parse_args()
    script = Script.from_dict(json.loads(os.environ.get("SCRIPT", "{}")))
    if script.exit_at_start is not None or options.max_model_len > 8192:
        print("ValueError: the engine cannot start with this\0", "token ids [5, 6, 7, 8, 9]", file=sys.stderr)
        sys.exit(script.exit_at_start or 1)
    if script.stubborn_child:
        subprocess.Popen([sys.executable, "-c", STUBBORN], start_new_session=True)
    if options.window:
        script.window = options.window
    engine = ScriptedEngine(script, options.host, options.port, options.served_model_name)
    engine.effective = {
        "model_config": {"max_model_len": options.max_model_len},
        "cache_config": {"sliding_window": script.window},
        "speculative_config": options.speculative_config,
    }
    print(f"serving {options.model} with {sorted(os.environ)}", flush=True)
    engine.serve_forever(0.02)


if __name__ == "__main__":
    main()
