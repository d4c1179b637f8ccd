"""An engine of known pace: every answer takes exactly so many seconds, whoever asks.

Answers `/v1/completions`, whole or streamed, from a request's last byte on: token n leaves at n / pace.
Nothing is computed meanwhile, so that a client's own error is all that is left to see.

    python -m bench.paced_engine PORT PACE TOKENS
"""

import json
import socket
import sys
import threading
import time
from dataclasses import dataclass

SPIN_S = 0.002
"""The last moments are waited out awake: a sleeping thread wakes up late."""


@dataclass(frozen=True, slots=True)
class Paced:
    """Tokens per second, and tokens of an answer."""

    pace: float
    tokens: int

    def whole(self) -> bytes:
        choice = {"index": 0, "text": " w" * self.tokens, "token_ids": [7] * self.tokens, "finish_reason": "length"}
        return json.dumps({"id": "1", "object": "text_completion", "choices": [choice], "usage": self.usage()}).encode()

    def usage(self) -> dict[str, int]:
        return {"prompt_tokens": 200, "completion_tokens": self.tokens, "total_tokens": 200 + self.tokens}

    def event(self, number: int) -> bytes:
        finish = "length" if number == self.tokens else None
        choice = {"index": 0, "text": " w", "token_ids": [7], "finish_reason": finish}
        head = {"id": "1", "object": "text_completion", "created": 0, "model": "toy", "choices": [choice]}
        return b"data: " + json.dumps(head | ({"usage": self.usage()} if finish else {})).encode() + b"\n\n"


def wait_until(moment_s: float) -> None:
    while (left := moment_s - time.perf_counter()) > 0:
        if left > SPIN_S:
            time.sleep(left - SPIN_S)


def chunk(data: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(data), data)


def answer(connection: socket.socket, paced: Paced, body: dict[str, object], started_s: float) -> None:
    if not body.get("stream"):
        content = paced.whole()
        whole = head("application/json", f"Content-Length: {len(content)}") + content
        wait_until(started_s + paced.tokens / paced.pace)
        connection.sendall(whole)
        return
    events = [chunk(paced.event(number)) for number in range(1, paced.tokens + 1)]
    started_s = time.perf_counter()
    connection.sendall(head("text/event-stream", "Transfer-Encoding: chunked"))
    for number, event in enumerate(events, start=1):
        wait_until(started_s + number / paced.pace)
        connection.sendall(event)
    connection.sendall(chunk(b"data: [DONE]\n\n") + chunk(b""))


def head(content_type: str, length: str) -> bytes:
    return f"HTTP/1.1 200 OK\r\nContent-Type: {content_type}\r\n{length}\r\n\r\n".encode()


def serve(connection: socket.socket, paced: Paced) -> None:
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    received = b""
    while True:
        while b"\r\n\r\n" not in received:
            if not (more := connection.recv(65536)):
                return
            received += more
        top, _, received = received.partition(b"\r\n\r\n")
        lengths = [line[15:] for line in top.split(b"\r\n") if line.lower().startswith(b"content-length:")]
        length = int(lengths[0]) if lengths else 0
        while len(received) < length:
            received += connection.recv(65536)
        started_s = time.perf_counter()
        body, received = received[:length], received[length:]
        if top.startswith(b"POST"):
            answer(connection, paced, json.loads(body), started_s)
        else:
            models = json.dumps({"object": "list", "data": [{"id": "toy", "object": "model"}]}).encode()
            connection.sendall(head("application/json", f"Content-Length: {len(models)}") + models)


def main() -> None:
    port, pace, tokens = int(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])
    listener = socket.create_server(("127.0.0.1", port))
    while True:
        connection, _ = listener.accept()
        threading.Thread(target=serve, args=(connection, Paced(pace, tokens)), daemon=True).start()


if __name__ == "__main__":
    main()
