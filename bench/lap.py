"""What judging costs beside the timed pass: each stage of one lap on the CPU engine, as a share of it.

    make bench-lap

One lap of the demo's reference config on the real engine, by the demo's protocol. Engine start and timed pass are
what any measurement costs; the rest is what trust costs. Prints seconds and shares.
"""

import json
import subprocess
import sys
import tempfile
import tomllib
from pathlib import Path

from judge.protocol import Stage

ROOT = Path(__file__).resolve().parent.parent
DEMO = ROOT / "deploy" / "demo"
NOT_JUDGING = (Stage.START, Stage.TIMED_PASS)


def run_lap(folder: Path) -> dict[str, float]:
    """Seconds of each stage. Raises SystemExit when the lap was not verified."""
    competition = tomllib.loads((DEMO / "competition.toml").read_text())
    protocol = "".join(f"{name} = {value}\n" for name, value in competition["protocol"].items())
    (folder / "protocol.toml").write_text(protocol)
    variables = [f"{name}={json.dumps(value)}" for name, value in competition["reference_config"].items()]
    command = [sys.executable, "-m", "judge", "run", "--json", "--engine", competition["engine"]]
    command += [
        "--engine-path",
        str(ROOT / ".venv-engine" / "bin"),
        "--model",
        str(ROOT / ".models" / competition["model"]),
    ]
    command += ["--config", *variables, "--chat", "--prompts", str(DEMO / "speed_prompts.json")]
    command += ["--quality", str(DEMO / "quality_records.jsonl"), "--questions", str(DEMO / "questions.jsonl")]
    command += ["--public", str(DEMO / "public_prompts.json"), "--protocol", str(folder / "protocol.toml")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stdout + done.stderr)
    stages = json.loads(done.stdout)["lap"]["stages"]
    return {stage["stage"]: stage["duration_ns"] / 1e9 for stage in stages}


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        seconds = run_lap(Path(folder))
    timed = seconds[Stage.TIMED_PASS]
    print("stage               seconds   times the timed pass")
    for stage, taken in seconds.items():
        print(f"{stage:16} {taken:10.1f} {taken / timed:10.2f}")
    judging = sum(taken for stage, taken in seconds.items() if stage not in NOT_JUDGING)
    print(f"{'judging':16} {judging:10.1f} {judging / timed:10.2f}   (all but start and timed pass)")


if __name__ == "__main__":
    main()
