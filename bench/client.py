"""How far a client's score is from the truth: the judge's, a raw socket's, vLLM's and GuideLLM's.

    make bench-client

An engine of known pace (bench/paced_engine.py) runs in a process of its own. The judge's client and a raw
socket ask it the same bytes in turn, so that the machine's noise hits both alike; then `vllm bench serve`
and `guidellm` measure the same engine. Prints what each adds to a request and what that does to a score.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import mean, median

from judge.client import EngineClient
from judge.process import free_port

ROOT = Path(__file__).resolve().parent.parent
TOKENIZER = ROOT / ".models" / "SmolLM2-135M-Instruct"
TOKENS = 512
PACES = {100: 3, 500: 12, 1000: 24, 5000: 100}
"""Tokens a second, and how many requests of TOKENS each are sent."""
PROMPT = tuple(range(1, 201))


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


def by_hand(port: int, requests: int) -> tuple[list[float], list[float]]:
    """Seconds of each request: by the raw socket, and by the judge's own clock."""
    raw, ours = [], []
    request = request_bytes(port)
    with (
        EngineClient(f"http://127.0.0.1:{port}", "toy", request_timeout_s=60, answer_limit_bytes=10**7) as client,
        socket.create_connection(("127.0.0.1", port)) as connection,
    ):
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for _ in range(requests):
            raw.append(raw_exchange(connection, request))
            exchange = client.complete(PROMPT, TOKENS, "bench")
            ours.append((exchange.ended_ns - exchange.started_ns) / 1e9)
    return raw, ours


def by_vllm(port: int, requests: int, folder: Path) -> float:
    """Tokens a second as `vllm bench serve` reports its output throughput."""
    sizes = ["--random-input-len", "200", "--random-output-len", str(TOKENS), "--ignore-eos"]
    command = [str(ROOT / ".venv-engine/bin/vllm"), "bench", "serve", "--backend", "openai", "--model", "toy"]
    command += ["--base-url", f"http://127.0.0.1:{port}", "--tokenizer", str(TOKENIZER), "--dataset-name", "random"]
    command += [*sizes, "--num-prompts", str(requests), "--max-concurrency", "1", "--disable-tqdm"]
    run([*command, "--save-result", "--result-dir", str(folder), "--result-filename", "vllm.json"])
    return float(json.loads((folder / "vllm.json").read_text())["output_throughput"])


def by_guidellm(port: int, requests: int, folder: Path) -> float:
    """Tokens a second as GuideLLM reports the mean of its output tokens."""
    command = [str(ROOT / ".venv-bench/bin/guidellm"), "run", "--profile", "kind=synchronous", "--disable-console"]
    command += [
        "--backend",
        f"kind=openai_http,target=http://127.0.0.1:{port},model=toy,request_format=/v1/completions",
    ]
    command += ["--tokenizer", f"kind=hf_auto,model={TOKENIZER}", "--constraint", f"kind=max_requests,count={requests}"]
    command += ["--data", f"kind=synthetic_text,prompt_tokens=200,output_tokens={TOKENS}"]
    run([*command, "--output", f"kind=json,path={folder / 'guidellm.json'}"])
    document = json.loads((folder / "guidellm.json").read_text())
    return float(document["benchmarks"][0]["metrics"]["output_tokens_per_second"]["successful"]["mean"])


def run(command: list[str]) -> None:
    environment = os.environ | {"HF_HUB_OFFLINE": "1", "VLLM_NO_USAGE_STATS": "1"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-2000:]}\n{done.stderr[-4000:]}")


@contextmanager
def paced_engine(pace: int) -> Iterator[int]:
    port = free_port()
    engine = subprocess.Popen([sys.executable, "-m", "bench.paced_engine", str(port), str(pace), str(TOKENS)])
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield port
    finally:
        engine.terminate()
        engine.wait(10)


def main() -> None:
    print(f"{TOKENS} tokens a request; error of the score against the engine's true pace, and times the raw socket's")
    print("true pace    raw socket   judge's client              vllm bench serve            guidellm")
    added_ms = []
    for pace, requests in PACES.items():
        with paced_engine(pace) as port, tempfile.TemporaryDirectory() as folder:
            raw, ours = by_hand(port, requests)
            added_ms += [1000 * (mine - plain) for mine, plain in zip(ours, raw, strict=True)]
            scores = [TOKENS / mean(raw), TOKENS / mean(ours)]
            scores += [by_vllm(port, requests, Path(folder)), by_guidellm(port, requests, Path(folder))]
        errors = [score / pace - 1 for score in scores]
        beside = [f"{error:+11.4%} ({error / errors[0]:8.1f} times)" for error in errors[1:]]
        print(f"{pace:5} tok/s {errors[0]:+11.4%} {' '.join(beside)}", flush=True)
    print(f"the judge's client adds {median(added_ms):.3f} ms to a raw exchange (median of {len(added_ms)} pairs)")


if __name__ == "__main__":
    main()
