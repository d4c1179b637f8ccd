"""The only module that speaks HTTP: one keep-alive HTTP/1.1 connection to one engine.

The clock is read at the socket, in a network stream of httpcore2
(https://www.encode.io/httpcore/network-backends/): it starts just before the first byte of the request
is written on the open connection, and ends just after the last byte of the answer was read. The request
is encoded before and leaves in one piece; nothing of the answer's body is parsed in between.
"""

import json
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import httpcore2

from judge.errors import Fault, LapFault

ERROR_BODY_CHARACTERS = 300
CONNECT_TIMEOUT_S = 5.0
COMPLETIONS, CHAT = "/v1/completions", "/v1/chat/completions"
SOCKET_ERRORS = (
    httpcore2.NetworkError,
    httpcore2.TimeoutException,
    httpcore2.ProtocolError,
    httpcore2.UnsupportedProtocol,
)

TOKEN_ID_LIST = re.compile(r"[\[(]?\s*\d+(?:\s*,\s*\d+){3,}(?:\s*[\])])?")


@dataclass(frozen=True, slots=True)
class Exchange:
    """One request and its whole answer. Times from perf_counter_ns."""

    started_ns: int
    ended_ns: int
    body: bytes

    @property
    def duration_ns(self) -> int:
        return self.ended_ns - self.started_ns


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
    """When the exchange that is under way began and last brought a byte (perf_counter_ns), and when it must end
    (monotonic seconds).
    """

    started_ns: int = 0
    ended_ns: int = 0
    deadline_s: float = 0.0

    def restart(self, limit_s: float) -> None:
        self.started_ns = self.ended_ns = 0
        self.deadline_s = time.monotonic() + limit_s

    def left_s(self) -> float:
        """Seconds until the deadline. Raises httpcore2.ReadTimeout when it has passed.

        A time-out for each read alone would start again with every byte: an engine could answer for ever.
        """
        left = self.deadline_s - time.monotonic()
        if left <= 0:
            raise httpcore2.ReadTimeout("the answer took too long")
        return left


class _ClockedStream(httpcore2.NetworkStream):
    """A connection that holds a request back until all of it is there, and looks at the clock on its way."""

    def __init__(self, stream: httpcore2.NetworkStream, clock: _Clock) -> None:
        self._stream = stream
        self._clock = clock
        self._pending = b""

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        self._pending += buffer

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        if self._pending:
            request, self._pending = self._pending, b""
            left_s = self._clock.left_s()
            self._clock.started_ns = time.perf_counter_ns()
            self._stream.write(request, left_s)
        received = self._stream.read(max_bytes, self._clock.left_s())
        self._clock.ended_ns = time.perf_counter_ns()
        return received

    def close(self) -> None:
        self._stream.close()

    def get_extra_info(self, info: str) -> Any:
        return self._stream.get_extra_info(info)


class _ClockedBackend(httpcore2.NetworkBackend):
    """Opens clocked connections."""

    def __init__(self, clock: _Clock) -> None:
        self._clock = clock
        self._sockets = httpcore2.SyncBackend()

    def connect_tcp(
        self,
        host: str,
        port: int,
        timeout: float | None = None,
        local_address: str | None = None,
        socket_options: Iterable[Any] | None = None,
    ) -> httpcore2.NetworkStream:
        timeout = min(CONNECT_TIMEOUT_S, self._clock.left_s())
        return _ClockedStream(
            self._sockets.connect_tcp(host, port, timeout, local_address, socket_options), self._clock
        )


class EngineClient:
    """Asks one engine, one request at a time.

    Every failure is a LapFault: REQUEST_TIMEOUT after `request_timeout_s` for the whole answer (a
    byte now and then does not prolong it), ANSWER_TOO_LARGE over `answer_limit_bytes`, HTTP_ERROR
    for a status other than 200, ERROR_ANSWER for an `error` object in a 200, MALFORMED_ANSWER for
    what is no JSON object, ENGINE_DIED when the connection breaks.
    """

    def __init__(self, base_url: str, model: str, *, request_timeout_s: float, answer_limit_bytes: int) -> None:
        self.model = model
        self._url = base_url
        self._timeout_s = request_timeout_s
        self._limit_bytes = answer_limit_bytes
        self._clock = _Clock()
        self._http = httpcore2.ConnectionPool(max_connections=1, network_backend=_ClockedBackend(self._clock))

    def __enter__(self) -> "EngineClient":
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._http.close()

    def is_ready(self) -> bool:
        """Whether `/health` is 200 and `/v1/models` names the served model."""
        try:
            if self._get("/health").status != 200:
                return False
            models = json.loads(self._get("/v1/models").content)
            return self.model in [entry["id"] for entry in models["data"]]
        except (*SOCKET_ERRORS, ValueError, KeyError, TypeError):
            return False

    def complete(
        self, prompt: tuple[int, ...] | str, max_tokens: int, where: str, logprobs: int | None = None
    ) -> Exchange:
        """A greedy completion of exactly `max_tokens` tokens, not streamed. `where` names it in a fault.

        `logprobs` asks for the likeliest tokens of each position; the timed pass does not.
        """
        payload = self._greedy(prompt, max_tokens) | {"return_token_ids": True}
        return self._post(payload | ({"logprobs": logprobs} if logprobs else {}), where)

    def chat(self, content: str, max_tokens: int, where: str) -> Exchange:
        """The same kind of completion, asked for as the answer to a user's turn."""
        messages = [{"role": "user", "content": content}]
        payload = self._greedy("", max_tokens) | {"messages": messages, "return_token_ids": True}
        del payload["prompt"]
        return self._post(payload, where, CHAT)

    def answer(self, prompt: tuple[int, ...], max_tokens: int, where: str) -> Exchange:
        """A greedy completion that ends where the model ends it, with at most `max_tokens` tokens."""
        payload = self._greedy(prompt, max_tokens) | {"ignore_eos": False, "return_token_ids": True}
        return self._post(payload, where)

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
        for line in self._lines(json.dumps(payload).encode(), where):
            if token_ids := _ids_of_chunk(line):
                arrivals.append((self._clock.ended_ns, token_ids))
        if not arrivals:
            raise LapFault(Fault.MISSING_TOKEN_IDS, f"{where}: no chunk held token ids")
        token_ids = tuple(token_id for _, of_chunk in arrivals for token_id in of_chunk)
        started_ns, ended_ns = self._clock.started_ns, self._clock.ended_ns
        return StreamedAnswer(started_ns, arrivals[0][0], ended_ns, token_ids, len(arrivals))

    def metrics(self) -> str:
        """The Prometheus text of `/metrics`; empty when the engine has none."""
        try:
            answer = self._get("/metrics")
        except SOCKET_ERRORS:
            return ""
        return answer.content.decode("utf-8", "replace") if answer.status == 200 else ""

    def read_json(self, path: str) -> object:
        """Any JSON document of the engine. Raises LapFault."""
        exchange = self._exchange("GET", path, b"", path)
        return parse_object(exchange.body, path)

    def _get(self, path: str) -> httpcore2.Response:
        self._clock.restart(CONNECT_TIMEOUT_S)
        return self._http.request("GET", self._url + path)

    def _greedy(self, prompt: tuple[int, ...] | str, max_tokens: int) -> dict[str, object]:
        return {
            "model": self.model,
            "prompt": list(prompt) if isinstance(prompt, tuple) else prompt,
            "max_tokens": max_tokens,
            "temperature": 0,
            "ignore_eos": True,
        }

    def _post(self, payload: dict[str, object], where: str, path: str = COMPLETIONS) -> Exchange:
        return self._exchange("POST", path, json.dumps(payload).encode(), where)

    def _exchange(self, method: str, path: str, content: bytes, where: str) -> Exchange:
        body = b"".join(self._chunks(method, path, content, where))
        return Exchange(self._clock.started_ns, self._clock.ended_ns, body)

    def _lines(self, content: bytes, where: str) -> Iterator[bytes]:
        rest = b""
        for chunk in self._chunks("POST", COMPLETIONS, content, where):
            *lines, rest = (rest + chunk).split(b"\n")
            yield from lines
        yield rest

    def _chunks(self, method: str, path: str, content: bytes, where: str) -> Iterator[bytes]:
        """The raw bytes of the answer as they come, within the time and size limits."""
        self._clock.restart(self._timeout_s)
        headers = [("Content-Type", "application/json")]
        try:
            with self._http.stream(method, self._url + path, headers=headers, content=content) as response:
                yield from self._checked(response, where)
        except httpcore2.TimeoutException:
            detail = f"{where}: no complete answer within {self._timeout_s:g} s"
            raise LapFault(Fault.REQUEST_TIMEOUT, detail) from None
        except SOCKET_ERRORS as error:
            raise LapFault(Fault.ENGINE_DIED, f"{where}: {type(error).__name__}: {error}") from None

    def _checked(self, response: httpcore2.Response, where: str) -> Iterator[bytes]:
        size = 0
        if response.status != 200:
            body = _short(next(iter(response.iter_stream()), b""))
            raise LapFault(Fault.HTTP_ERROR, f"{where}: HTTP {response.status}: {body}")
        for chunk in response.iter_stream():
            size += len(chunk)
            if size > self._limit_bytes:
                raise LapFault(Fault.ANSWER_TOO_LARGE, f"{where}: more than {self._limit_bytes} bytes")
            yield chunk


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
