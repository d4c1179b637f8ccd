"""The only module that speaks HTTP: one keep-alive HTTP/1.1 connection to one engine.

The clock is read in httpcore's trace events (https://www.encode.io/httpcore/extensions/#trace): it
starts just before the first byte of the request is written on the open connection, and ends
just after the last byte of the answer was read. Nothing is parsed in between.
"""

import contextlib
import json
import logging
import re
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpcore
import httpx

from judge.errors import Fault, LapFault

ERROR_BODY_CHARACTERS = 300
CONNECT_TIMEOUT_S = 5.0
logging.getLogger("httpx").setLevel(logging.WARNING)  # a log line a request would stand inside the clock

TOKEN_ID_LIST = re.compile(r"[\[(]?\s*\d+(?:\s*,\s*\d+){3,}(?:\s*[\])])?")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its whole answer. Times from perf_counter_ns."""

    started_ns: int
    ended_ns: int
    body: bytes


@dataclass(frozen=True, slots=True)
class StreamedAnswer:
    """When a streamed answer began, brought its first chunk and ended, its ids, and how many chunks held them."""

    started_ns: int
    first_token_ns: int
    ended_ns: int
    token_ids: tuple[int, ...]
    chunks: int


@dataclass(slots=True)
class _Clock:
    """Listens to httpcore's trace events; knows when the exchange began and ended, and on which socket."""

    started_ns: int = 0
    ended_ns: int = 0

    def __call__(self, event: str, info: Mapping[str, Any]) -> None:
        now = time.perf_counter_ns()
        if event == "http11.send_request_headers.started":
            self.started_ns = now
        elif event == "http11.receive_response_body.complete":
            self.ended_ns = now


class _HardDeadline:
    """Shuts the connection down when the whole answer takes too long.

    A read time-out alone restarts with every byte, so an engine could answer slowly for ever.
    """

    def __init__(self, seconds: float) -> None:
        self.passed = False
        self._streams: list[httpcore.NetworkStream] = []
        self._timer = threading.Timer(seconds, self._shut_down)
        self._timer.daemon = True

    def watch(self, stream: httpcore.NetworkStream | None) -> None:
        if stream is not None:
            self._streams.append(stream)

    def __enter__(self) -> "_HardDeadline":
        self._timer.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._timer.cancel()

    def _shut_down(self) -> None:
        self.passed = True
        for stream in self._streams:
            with contextlib.suppress(OSError):
                stream.get_extra_info("socket").shutdown(socket.SHUT_RDWR)


class EngineClient:
    """Asks one engine, one request at a time.

    Every failure is a LapFault: REQUEST_TIMEOUT after `request_timeout_s` for the whole answer (a
    byte now and then does not prolong it), ANSWER_TOO_LARGE over `answer_limit_bytes`, HTTP_ERROR
    for a status other than 200, ERROR_ANSWER for an `error` object in a 200, MALFORMED_ANSWER for
    what is no JSON object, ENGINE_DIED when the connection breaks.
    """

    def __init__(self, base_url: str, model: str, *, request_timeout_s: float, answer_limit_bytes: int) -> None:
        self.model = model
        self._timeout_s = request_timeout_s
        self._limit_bytes = answer_limit_bytes
        self._connection: httpcore.NetworkStream | None = None
        self._http = httpx.Client(
            base_url=base_url,
            timeout=httpx.Timeout(request_timeout_s, connect=CONNECT_TIMEOUT_S),
            limits=httpx.Limits(max_connections=1, max_keepalive_connections=1, keepalive_expiry=None),
            headers={"Accept-Encoding": "identity"},
            follow_redirects=False,
            trust_env=False,
        )

    def __enter__(self) -> "EngineClient":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._http.close()

    def is_ready(self) -> bool:
        """Whether `/health` is 200 and `/v1/models` names the served model."""
        try:
            if self._get("/health").status_code != 200:
                return False
            models = self._get("/v1/models").json()
            return self.model in [entry["id"] for entry in models["data"]]
        except (httpx.HTTPError, ValueError, KeyError, TypeError):
            return False

    def complete(
        self, prompt: tuple[int, ...] | str, max_tokens: int, where: str, logprobs: int | None = None
    ) -> Exchange:
        """A greedy completion of exactly `max_tokens` tokens, not streamed. `where` names it in a fault.

        `logprobs` asks for the likeliest tokens of each position; the timed pass does not.
        """
        payload = self._greedy(prompt, max_tokens) | {"return_token_ids": True}
        return self._post(payload | ({"logprobs": logprobs} if logprobs else {}), where)

    def score(self, token_ids: tuple[int, ...], where: str) -> Exchange:
        """The log-probabilities of a text: `prompt_logprobs` of every position."""
        payload = self._greedy(token_ids, 1) | {"prompt_logprobs": 1, "add_special_tokens": False}
        return self._post(payload, where)

    def score_text(self, text: str, where: str) -> Exchange:
        """The log-probabilities of a text that the engine tokenises itself, and its ids."""
        return self._post(self._greedy(text, 1) | {"prompt_logprobs": 1, "return_token_ids": True}, where)

    def stream(self, prompt: tuple[int, ...] | str, max_tokens: int, where: str) -> StreamedAnswer:
        """A streamed greedy completion, for the time to the first token and the tokens per step."""
        payload = self._greedy(prompt, max_tokens) | {"return_token_ids": True, "stream": True}
        arrivals: list[tuple[int, tuple[int, ...]]] = []
        clock = _Clock()
        for line in self._lines(json.dumps(payload).encode(), clock, where):
            if token_ids := _ids_of_chunk(line):
                arrivals.append((time.perf_counter_ns(), token_ids))
        if not arrivals:
            raise LapFault(Fault.MISSING_TOKEN_IDS, f"{where}: no chunk held token ids")
        token_ids = tuple(token_id for _, of_chunk in arrivals for token_id in of_chunk)
        return StreamedAnswer(clock.started_ns, arrivals[0][0], clock.ended_ns, token_ids, len(arrivals))

    def metrics(self) -> str:
        """The Prometheus text of `/metrics`; empty when the engine has none."""
        try:
            answer = self._get("/metrics")
        except httpx.HTTPError:
            return ""
        return answer.text if answer.status_code == 200 else ""

    def read_json(self, path: str) -> object:
        """Any JSON document of the engine. Raises LapFault."""
        exchange = self._exchange("GET", path, b"", path)
        return parse_object(exchange.body, path)

    def _get(self, path: str) -> httpx.Response:
        return self._http.get(path, timeout=CONNECT_TIMEOUT_S, extensions={"trace": self._note_connection})

    def _note_connection(self, event: str, info: Mapping[str, Any]) -> None:
        if event == "connection.connect_tcp.complete":
            self._connection = info["return_value"]

    def _greedy(self, prompt: tuple[int, ...] | str, max_tokens: int) -> dict[str, object]:
        return {
            "model": self.model,
            "prompt": list(prompt) if isinstance(prompt, tuple) else prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "ignore_eos": True,
        }

    def _post(self, payload: dict[str, object], where: str) -> Exchange:
        return self._exchange("POST", "/v1/completions", json.dumps(payload).encode(), where)

    def _exchange(self, method: str, path: str, content: bytes, where: str) -> Exchange:
        clock = _Clock()
        body = b"".join(self._chunks(method, path, content, clock, where))
        return Exchange(clock.started_ns, clock.ended_ns, body)

    def _lines(self, content: bytes, clock: _Clock, where: str) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks("POST", "/v1/completions", content, clock, where):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        yield rest

    def _chunks(self, method: str, path: str, content: bytes, clock: _Clock, where: str) -> Iterator[bytes]:
        """The raw bytes of the answer as they come, within the time and size limits."""
        deadline = _HardDeadline(self._timeout_s)

        def trace(event: str, info: Mapping[str, Any]) -> None:
            clock(event, info)
            self._note_connection(event, info)
            if event == "connection.connect_tcp.complete":
                deadline.watch(self._connection)

        request = self._http.build_request(
            method, path, content=content, headers={"Content-Type": "application/json"}, extensions={"trace": trace}
        )
        deadline.watch(self._connection)
        try:
            with deadline:
                yield from self._checked(self._http.send(request, stream=True), where)
        except httpx.TransportError as error:
            if deadline.passed or isinstance(error, httpx.TimeoutException):
                detail = f"{where}: no complete answer within {self._timeout_s:g} s"
                raise LapFault(Fault.REQUEST_TIMEOUT, detail) from None
            raise LapFault(Fault.ENGINE_DIED, f"{where}: {type(error).__name__}: {error}") from None

    def _checked(self, response: httpx.Response, where: str) -> Iterator[bytes]:
        size = 0
        try:
            if response.status_code != 200:
                body = _short(next(response.iter_raw(), b""))
                raise LapFault(Fault.HTTP_ERROR, f"{where}: HTTP {response.status_code}: {body}")
            for chunk in response.iter_raw():
                size += len(chunk)
                if size > self._limit_bytes:
                    raise LapFault(Fault.ANSWER_TOO_LARGE, f"{where}: more than {self._limit_bytes} bytes")
                yield chunk
        finally:
            response.close()


def parse_object(body: bytes, where: str) -> dict[str, Any]:
    """The JSON object of an answer. Raises LapFault for anything else, an `error` key in a 200 included."""
    try:
        data = json.loads(body)
    except ValueError:
        raise LapFault(Fault.MALFORMED_ANSWER, f"{where}: not JSON: {_short(body)}") from None
    if not isinstance(data, dict):
        raise LapFault(Fault.MALFORMED_ANSWER, f"{where}: not a JSON object")
    if data.get("error"):
        raise LapFault(Fault.ERROR_ANSWER, f"{where}: HTTP 200 with an error: {_short(json.dumps(data['error']))}")
    return data


def _ids_of_chunk(line: bytes) -> tuple[int, ...]:
    """The token ids that a server-sent event carries."""
    if not line.startswith(b"data: {"):
        return ()
    try:
        choices = json.loads(line[len(b"data: ") :]).get("choices") or []
        return tuple(int(token_id) for choice in choices for token_id in choice.get("token_ids") or [])
    except (ValueError, AttributeError, TypeError):
        return ()


def without_token_ids(text: str) -> str:
    """The text with every list of four or more whole numbers taken out: a scored prompt could be one."""
    return TOKEN_ID_LIST.sub("[token ids left out]", text)


def _short(text: bytes | str) -> str:
    words = text.decode("utf-8", "replace") if isinstance(text, bytes) else text
    printable = "".join(c if c.isprintable() else " " for c in without_token_ids(words))
    return printable[:ERROR_BODY_CHARACTERS]
