import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from nacl.signing import SigningKey

from judge.__main__ import main
from judge.engine import Model
from tests import builders
from tests.conftest import ROOT, SCRIPTED_TOML

PROTOCOL = """
output_tokens = 16
warmup_requests = 2
warmup_tokens = 2
quality_sample = 4
quality_repeats = 2
rare_probes = 1
accuracy_tokens = 5
stream_requests = 1
stream_tokens = 2
audit_requests = 1
audit_repeats = 2
compat_tolerance = 0.999
start_timeout_s = 20
"""


@pytest.fixture
def call(tmp_path: Path, engine_path: str, model: Model) -> list[str]:
    """The arguments of a run that is verified."""
    (tmp_path / "speed.jsonl").write_text(builders.speed_set().as_jsonl())
    (tmp_path / "quality.jsonl").write_text(builders.quality_set().as_jsonl())
    (tmp_path / "protocol.toml").write_text(PROTOCOL)
    paths = {name: str(tmp_path / name) for name in ("speed.jsonl", "quality.jsonl", "protocol.toml")}
    return [
        *("run", "--engine", SCRIPTED_TOML, "--model", str(model.folder), "--engine-path", engine_path),
        *("--prompts", paths["speed.jsonl"], "--quality", paths["quality.jsonl"]),
        *("--protocol", paths["protocol.toml"], "--seed", "seed", "--ppl-cap", "4.2"),
    ]


def test_a_good_config_is_verified_with_a_table(call: list[str], capsys) -> None:
    assert main([*call, "--config", "MAX_MODEL_LEN=1024"]) == 0

    printed = capsys.readouterr()
    assert "verified" in printed.out
    assert "4.0000 (95 % interval 4.0000 to 4.0000), cap 4.2000" in printed.out
    assert "asked 1024, found 1024" in printed.out
    assert printed.err == ""


def test_json_holds_every_row(call: list[str], capsys) -> None:
    assert main([*call, "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    timed = document["lap"]["timed"]
    seconds = sum(request["ended_ns"] - request["started_ns"] for request in timed) / 1e9
    assert document["verdict"]["tps"] == pytest.approx(6 * 16 / seconds)
    assert len(document["lap"]["quality"]) == 8


def test_a_narrow_window_is_disqualified(call: list[str], tmp_path: Path, capsys) -> None:
    (tmp_path / "narrow.env").write_text("SLIDING_WINDOW=2\n")

    assert main([*call, "--config", str(tmp_path / "narrow.env"), "--json"]) == 1

    verdict = json.loads(capsys.readouterr().out)["verdict"]
    assert (verdict["outcome"], verdict["reason"], verdict["stage"]) == (
        "disqualified",
        "over-ppl-cap",
        "quality-sample",
    )


def test_an_engine_that_cannot_start_fails_with_its_log(call: list[str], capsys) -> None:
    assert main([*call, "--config", "MAX_MODEL_LEN=65536"]) == 1

    printed = capsys.readouterr().out
    assert "failed" in printed
    assert "The engine exited before it was ready." in printed
    assert "exit code 1" in printed
    assert "the engine cannot start with this" in printed
    assert "token ids left out" in printed


def replaced(call: list[str], option: str, value: str) -> list[str]:
    place = call.index(option) + 1
    return [*call[:place], value, *call[place + 1 :]]


BAD = [
    ("--engine", "nothing", "no engine file nothing"),
    ("--model", "nowhere", "nowhere is no model folder"),
    ("--prompts", "nowhere.jsonl", "cannot read nowhere.jsonl"),
    ("--quality", "nowhere.jsonl", "cannot read nowhere.jsonl"),
    ("--protocol", "nowhere.toml", "cannot read nowhere.toml"),
]


@pytest.mark.parametrize(("option", "value", "words"), BAD)
def test_bad_input_is_one_sentence_and_exit_code_2(
    call: list[str], capsys, option: str, value: str, words: str
) -> None:
    assert main(replaced(call, option, value)) == 2

    printed = capsys.readouterr()
    assert words in printed.err
    assert (printed.err.count("\n"), printed.out) == (1, "")


def test_prompts_that_the_model_cannot_read_are_bad_input(call: list[str], model: Model, capsys) -> None:
    (model.folder / "config.json").write_text('{"num_hidden_layers": 3, "vocab_size": 10}')

    assert main(call) == 2
    assert "the vocabulary ends at 10" in capsys.readouterr().err


def test_every_problem_of_a_config_is_a_line_with_its_number(call: list[str], tmp_path: Path, capsys) -> None:
    (tmp_path / "bad.env").write_text("SLIDING_WINDOW=0\nLD_PRELOAD=x\n")

    assert main([*call, "--config", str(tmp_path / "bad.env")]) == 2

    assert capsys.readouterr().err.splitlines() == [
        "line 1: SLIDING_WINDOW: Must be from 1 to 512, not 0.",
        "line 2: LD_PRELOAD: This variable is always refused: it loads code.",
    ]


def test_a_receipt_is_written_and_verifies(call: list[str], tmp_path: Path, capsys) -> None:
    key, receipt = tmp_path / "key", str(tmp_path / "r.json")
    key.write_text("ab" * 32 + "\n")
    assert main([*call, "--receipt", receipt, "--key", str(key)]) == 0
    public = bytes(SigningKey(b"\xab" * 32).verify_key).hex()
    capsys.readouterr()

    assert main(["verify", receipt, "--public-key", public]) == 0
    assert capsys.readouterr().out.count("holds") == 7
    assert main(["verify", receipt, "--public-key", "0" * 64]) == 2
    assert "BROKEN  signer" in capsys.readouterr().out


def test_an_edited_receipt_and_a_cut_one_are_bad_input(call: list[str], tmp_path: Path, capsys) -> None:
    receipt = tmp_path / "r.json"
    main([*call, "--receipt", str(receipt)])
    content = receipt.read_bytes()

    receipt.write_bytes(content.replace(b'"tokens":16', b'"tokens":17', 1))
    assert main(["verify", str(receipt)]) == 2
    assert "r.json: not as it was signed, or never true: signature" in capsys.readouterr().err
    receipt.write_bytes(content[: len(content) // 2])
    assert main(["verify", str(receipt)]) == 2
    assert "cut short" in capsys.readouterr().err


@pytest.fixture
def compared(call: list[str], tmp_path: Path) -> list[str]:
    """A call that is compared with a receipt of the reference, on questions and public prompts too."""
    (tmp_path / "questions.jsonl").write_text(builders.question_set().as_jsonl())
    (tmp_path / "public.jsonl").write_text(builders.public_set().as_jsonl())
    with_sets = [
        *call[: call.index("--ppl-cap")],
        "--questions",
        str(tmp_path / "questions.jsonl"),
        "--public",
        str(tmp_path / "public.jsonl"),
    ]
    assert main([*with_sets, "--receipt", str(tmp_path / "reference.json")]) == 0
    return [*with_sets, "--calibration", str(tmp_path / "reference.json")]


def test_the_receipt_of_the_reference_is_what_a_run_is_compared_with(compared: list[str], capsys) -> None:
    capsys.readouterr()

    assert main([*compared, "--cap-ratio", "1.05", "--accuracy-floor", "0.9", "--json"]) == 0

    document = json.loads(capsys.readouterr().out)
    assert document["verdict"]["ppl_cap"] == pytest.approx(builders.PPL * 1.05)
    assert document["ppl_ratio"]["estimate"] == pytest.approx(1)
    assert document["accuracy_ratio"] == {"estimate": 1.0, "low": 1.0, "high": 1.0}
    audits = {finding["audit"]: finding for finding in document["verdict"]["findings"]}
    assert "reference_gap" in audits["A7"]["evidence"]


def test_a_run_over_the_cap_by_ratio_is_disqualified(compared: list[str], capsys) -> None:
    assert main([*compared, "--cap-ratio", "1.05", "--config", "SLIDING_WINDOW=2"]) == 1
    assert "The perplexity is over the cap." in " ".join(capsys.readouterr().out.split())


def test_a_ratio_without_a_calibration_is_bad_input(call: list[str], capsys) -> None:
    assert main([*call[: call.index("--ppl-cap")], "--cap-ratio", "1.05"]) == 2
    assert "--cap-ratio needs --calibration" in capsys.readouterr().err


def test_a_lost_run_is_no_calibration(call: list[str], tmp_path: Path, capsys) -> None:
    receipt = str(tmp_path / "lost.json")
    assert main([*call, "--config", "MAX_MODEL_LEN=65536", "--receipt", receipt]) == 1

    assert main([*call, "--calibration", receipt]) == 2
    assert "a reference must be verified" in capsys.readouterr().err


def test_two_runs_of_one_config_are_a_tie(call: list[str], tmp_path: Path, capsys) -> None:
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    for receipt in (a, b):
        assert main([*call, "--receipt", receipt, "--config", 'SCRIPT={"seconds_per_token": 0.002}']) == 0
    capsys.readouterr()

    assert main(["compare", a, b, "--start-noise", "0.1"]) == 0
    printed = capsys.readouterr().out
    assert ": a tie" in printed
    assert "ppl ratio: 1.0000 (1.0000 to 1.0000)" in printed


def test_a_config_twice_as_slow_is_different(call: list[str], tmp_path: Path, capsys) -> None:
    a, b = str(tmp_path / "a.json"), str(tmp_path / "b.json")
    for receipt, pace in ((a, 0.002), (b, 0.004)):
        main([*call, "--receipt", receipt, "--config", f'SCRIPT={{"seconds_per_token": {pace}}}'])
    capsys.readouterr()

    assert main(["compare", a, b, "--json"]) == 0
    compared = json.loads(capsys.readouterr().out)
    assert not compared["tie"]
    assert compared["tps_difference"]["low"] > 0.5


def test_a_running_engine_is_measured_by_its_address(call: list[str], engine, capsys) -> None:
    assert main([*call, "--base-url", engine.url]) == 0

    assert len(engine.requests) == 19 + 4 + 1
    assert main(["verify", "/nonexistent"]) == 2


def test_an_address_that_is_no_engine_is_bad_input(call: list[str], capsys) -> None:
    assert main([*call, "--base-url", "http://127.0.0.1:1"]) == 2

    assert "http://127.0.0.1:1 is no ready engine" in capsys.readouterr().err


def test_lint_names_file_line_and_variable(tmp_path: Path, capsys) -> None:
    path = tmp_path / "c.env"
    path.write_text("MAX_MODEL_LEN=1024\nSLIDING_WINDOW=0\n")
    assert main(["lint", "--engine", SCRIPTED_TOML, str(path)]) == 1
    assert capsys.readouterr().out == f"{path}:2: SLIDING_WINDOW: Must be from 1 to 512, not 0.\n"

    path.write_text("SLIDING_WINDOW=8\n")
    assert main(["lint", "--engine", SCRIPTED_TOML, str(path)]) == 0
    assert capsys.readouterr().out == '{"SLIDING_WINDOW":8}\n'


def test_explain_says_what_a_variable_does(capsys, monkeypatch) -> None:
    monkeypatch.setenv("COLUMNS", "200")
    assert main(["explain", "--engine", "vllm-cpu", "SLIDING_WINDOW"]) == 0
    assert "--hf-overrides" in capsys.readouterr().out

    assert main(["explain", "--engine", "vllm-cpu", "SLIDING_WINDOW", "--language", "ru"]) == 0
    assert "токен" in capsys.readouterr().out
    assert main(["explain", "--engine", "vllm-cpu", "NOPE"]) == 2
    assert "has no variable NOPE" in capsys.readouterr().err


def test_ctrl_c_ends_the_engine_too(call: list[str]) -> None:
    command = [sys.executable, "-m", "judge", *call, "--config", 'SCRIPT={"seconds_per_token": 5}']
    with subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        time.sleep(3)
        running.send_signal(signal.SIGINT)
        assert running.wait(30) == 130
        assert running.stderr is not None
        assert b"Traceback" not in running.stderr.read()

    listed = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True).stdout
    assert call[call.index("--engine-path") + 1] not in listed.replace(" ".join(command), "")
