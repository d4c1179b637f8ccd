"""What the judge's client adds to a request, beside a raw socket that exchanges the same bytes.

    make bench-client

A scripted engine in a process of its own answers at once; both clients ask the same, in turn, so that
the machine's noise hits both alike. Prints medians in milliseconds and their ratio, and what the
difference does to a score at several true paces.
"""

import json
import socket
import subprocess
import sys
import time
from statistics import median

from judge.client import EngineClient
from judge.process import free_port

REQUESTS = 400
TOKENS = 512
PACES = (100, 500, 1000, 5000)
PROMPT = tuple(range(1, 201))


def raw_exchange(connection: socket.socket, request: bytes) -> float:
    """Seconds from the first byte sent to the last byte read of an answer with a Content-Length."""
    started = time.perf_counter()
    connection.sendall(request)
    received = b""
    while b"\r\n\r\n" not in received:
        received += connection.recv(65536)
    head, _, body = received.partition(b"\r\n\r\n")
    length = next(int(line[15:]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length:"))
    while len(body) < length:
        body += connection.recv(65536)
    return time.perf_counter() - started


def request_bytes(port: int) -> bytes:
    payload = {
        "model": "toy",
        "prompt": list(PROMPT),
        "max_tokens": TOKENS,
        "temperature": 0,
        "ignore_eos": True,
        "return_token_ids": True,
    }
    body = json.dumps(payload).encode()
    head = f"POST /v1/completions HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nContent-Type: application/json\r\n"
    return head.encode() + f"Content-Length: {len(body)}\r\n\r\n".encode() + body


def measure(port: int) -> tuple[list[float], list[float]]:
    """Seconds of each request: by the raw socket, and by the judge's own clock."""
    raw, ours = [], []
    request = request_bytes(port)
    with (
        EngineClient(f"http://127.0.0.1:{port}", "toy", request_timeout_s=30, answer_limit_bytes=10**7) as client,
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while not client.is_ready():
            time.sleep(0.05)
        for _ in range(REQUESTS):
            raw.append(raw_exchange(connection, request))
            exchange = client.complete(PROMPT, TOKENS, "bench")
            ours.append((exchange.ended_ns - exchange.started_ns) / 1e9)
    return raw, ours


def start_engine(port: int) -> subprocess.Popen[bytes]:
    engine = subprocess.Popen([sys.executable, "-m", "tests.engines.scripted", "--port", str(port)])
    for _ in range(200):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return engine
        time.sleep(0.05)
    engine.kill()
    raise RuntimeError("the scripted engine did not start")


def main() -> None:
    port = free_port()
    engine = start_engine(port)
    try:
        raw, ours = measure(port)
    finally:
        engine.terminate()
        engine.wait(10)
    added_ms = 1000 * (median(ours) - median(raw))
    print(f"raw socket       {1000 * median(raw):8.3f} ms a request (median of {REQUESTS})")
    print(f"judge's client   {1000 * median(ours):8.3f} ms, ratio {median(ours) / median(raw):.3f}")
    print(f"added            {added_ms:8.3f} ms")
    for pace in PACES:
        true_ms = 1000 * TOKENS / pace
        print(f"at {pace:5} tokens/s, {TOKENS} tokens a request: score {-100 * added_ms / (true_ms + added_ms):+.4f} %")


if __name__ == "__main__":
    main()
