import os
import subprocess
import sys

import pytest

from tests.conftest import ROOT


def start(**environment: str) -> subprocess.CompletedProcess[str]:
    """`manage.py check` in a process of its own, with nothing in its environment but this."""
    env = {"PATH": os.environ["PATH"], **environment}
    command = [sys.executable, "manage.py", "check"]
    return subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, check=False)


def test_production_refuses_the_default_secret_key() -> None:
    done = start()

    assert done.returncode != 0
    assert "SECRET_KEY is the insecure default" in done.stderr


@pytest.mark.parametrize("environment", [{"DEBUG": "1"}, {"SECRET_KEY": "a long random text for this test only"}])
def test_it_starts_with_a_key_or_in_development(environment: dict[str, str]) -> None:
    assert start(**environment).returncode == 0


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [("DEBUG", "maybe", "DEBUG must be 1 or 0"), ("LEASE_SECONDS", "soon", "LEASE_SECONDS must be a whole number")],
)
def test_a_wrong_value_is_named(name: str, value: str, words: str) -> None:
    done = start(SECRET_KEY="x" * 50, **{name: value})

    assert done.returncode != 0
    assert words in done.stderr
