"""The HTTP side of a scripted engine: HTTP/1.1 keep-alive, and what can go wrong on the wire."""

import json
import os
import time
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler
from typing import TYPE_CHECKING, Any

from tests.engines import misbehaviour, wire
from tests.engines.misbehaviour import DRIFT, stage_and_kind
from tests.engines.script import Misbehaviour
from tests.engines.toy_tokenizer import ToyTokenizer

if TYPE_CHECKING:
    from tests.engines.scripted import ScriptedEngine

Changes = dict[str, Callable[[misbehaviour.Answer, Misbehaviour], None]]


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: "ScriptedEngine"

    def log_message(self, format: str, *args: object) -> None:
        pass

    def do_GET(self) -> None:
        engine = self.server
        path = self.path.split("?")[0]
        if path == "/health":
            self._send(200 if engine.is_ready() else 503, b"")
        elif path == "/v1/models":
            self._send_json(wire.models(engine.served, engine.max_model_len))
        elif path == "/metrics" and engine.script.has_metrics:
            text = wire.metrics(engine.served, engine.tokens_out, engine.answered)
            self._send(200, text.encode(), "text/plain; version=0.0.4")
        elif path == "/server_info":
            self._send_json({"vllm_config": engine.effective})
        else:
            self._send(404, b"{}")

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path not in ("/v1/completions", "/v1/chat/completions"):
            self._send(404, b"{}")
            return
        self.server.requests.append(body)
        if "messages" in body:
            self._chat(body)
            return
        given = body["prompt"]
        prompt = given if isinstance(given, list) else self.server.model.tokens_of(given)
        if body.get("prompt_logprobs") is not None:
            self._score(body, prompt)
        elif body.get("stream"):
            self._stream(body, prompt)
        else:
            self._complete(body, prompt)

    def _score(self, body: dict[str, Any], prompt: list[int]) -> None:
        engine = self.server
        engine.scored += 1
        due = engine.due("quality", engine.scored)
        drifts = any(stage_and_kind(one)[1] == DRIFT for one in due)
        answer = self._answer_to(body, prompt)
        model = engine.drifted_model() if drifts else engine.model
        answer["choices"][0]["prompt_logprobs"] = wire.prompt_logprobs(model, prompt)
        self._send_answer(answer, due, misbehaviour.QUALITY)

    def _complete(self, body: dict[str, Any], prompt: list[int]) -> None:
        engine = self.server
        due: list[Misbehaviour] = []
        if body["max_tokens"] == engine.script.output_tokens > 1:
            engine.timed += 1
            due = engine.due("timed", engine.timed)
        seconds = engine.seconds_per_token_of(body, prompt)
        answer = self._answer_to(body, prompt)
        time.sleep(seconds * body["max_tokens"])
        self._send_answer(answer, due, misbehaviour.TIMED)

    def _chat(self, body: dict[str, Any]) -> None:
        """The toy's chat template adds nothing to what the user says."""
        prompt = ToyTokenizer().encode(body["messages"][-1]["content"], add_special_tokens=False)
        time.sleep(self.server.seconds_per_token_of(body, prompt) * body["max_tokens"])
        answer = self._answer_to(body, prompt)
        answer["prompt_token_ids"] = answer["choices"][0].pop("prompt_token_ids")
        self._send_answer(answer, [], misbehaviour.TIMED)

    def _answer_to(self, body: dict[str, Any], prompt: list[int]) -> dict[str, Any]:
        engine = self.server
        ids = engine.answer_to(body, prompt)
        answer = wire.completion(engine.model, engine.served, prompt, ids, bool(body.get("return_token_ids")))
        if body.get("logprobs"):
            answer["choices"][0]["logprobs"] = wire.logprobs(engine.gaps_of(ids))
        return answer

    def _stream(self, body: dict[str, Any], prompt: list[int]) -> None:
        engine = self.server
        seconds = engine.seconds_per_token_of(body, prompt)
        ids = engine.answer_to(body, prompt)
        with_usage = bool((body.get("stream_options") or {}).get("include_usage"))
        with_ids = bool(body.get("return_token_ids"))
        events = wire.events(engine.model, engine.served, prompt, ids, with_ids=with_ids, with_usage=with_usage)
        self._send_chunks(events, seconds)
        engine.answered += 1

    def _send_answer(self, answer: dict[str, Any], due: list[Misbehaviour], changes: Changes) -> None:
        for one in due:
            kind = stage_and_kind(one)[1]
            if kind in misbehaviour.ON_THE_WIRE:
                getattr(self, f"_{kind}")(one)
                return
            if kind in changes:
                changes[kind](answer, one)
        self.server.answered += 1
        self._send_json(answer)

    def _http_500(self, how: Misbehaviour) -> None:
        self._send(500, b'{"error": {"message": "engine says no to [1, 2, 3, 4, 5, 6]"}}')

    def _die(self, how: Misbehaviour) -> None:
        """End the process, in the middle of the answer; the connection alone where a test holds the process."""
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n{")
        if self.server.in_process:
            self._break_off(how)
        else:
            os._exit(self.server.script.exit_code)

    def _break_off(self, how: Misbehaviour) -> None:
        self.connection.close()
        self.close_connection = True

    def _hang(self, how: Misbehaviour) -> None:
        self.server.stopped.wait()
        self.close_connection = True

    def _drip(self, how: Misbehaviour) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\n")
        self._write_slowly([b" "] * 1000, how.seconds)

    def _drip_headers(self, how: Misbehaviour) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\n")
        self._write_slowly([f"X-{number}: 1\r\n".encode() for number in range(1000)], how.seconds)

    def _write_slowly(self, parts: list[bytes], pause_s: float) -> None:
        self.close_connection = True
        for part in parts:
            self.wfile.write(part)
            if self.server.stopped.wait(pause_s):
                return

    def _not_json(self, how: Misbehaviour) -> None:
        self._send(200, b"<html>busy</html>", "text/html")

    def _huge(self, how: Misbehaviour) -> None:
        self._send(200, b'{"pad": "' + b"x" * 3_000_000 + b'"}')

    def _redirect(self, how: Misbehaviour) -> None:
        self.send_response(307)
        self.send_header("Location", "/health")
        self.send_header("Content-Length", "0")
        self.end_headers()

    def _send_chunks(self, events: Iterable[bytes], pause_s: float) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream; charset=utf-8")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for event in events:
            if b'"token_ids"' in event:
                time.sleep(pause_s)
            self.wfile.write(b"%x\r\n%b\r\n" % (len(event), event))
        self.wfile.write(b"0\r\n\r\n")

    def _send_json(self, data: dict[str, Any]) -> None:
        self._send(200, json.dumps(self.server.arranged(data)).encode())

    def _send(self, status: int, body: bytes, content_type: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", content_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
