"""What several commands read: configs, files, and the complaint when they cannot."""

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TypeAlias

import judge
from judge.config import RawVariable
from judge.errors import JudgeError
from judge.receipt import Receipt, ReceiptError, read_receipt, verify_receipt

Commands: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


class BadInput(JudgeError):
    """What was asked for cannot be done; the message is for the person who asked."""


def add_engine(command: argparse.ArgumentParser) -> None:
    command.add_argument("--engine", required=True, help="name of an engine file, or a path to one (.toml)")


def read_variables(given: Sequence[str]) -> list[RawVariable]:
    """From files and NAME=VALUE pairs alike. Raises ConfigError, and BadInput for a file that is not there."""
    variables: list[RawVariable] = []
    for one in given:
        name, equals, value = one.partition("=")
        if equals and not Path(one).exists():
            variables.append(RawVariable(name, value))
        else:
            variables += judge.read_config(read_bytes(Path(one)))
    return variables


def read_bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


def read_verified(path: Path) -> Receipt:
    """A receipt whose checks all hold. Raises BadInput for one whose checks do not."""
    content = read_bytes(path)
    try:
        broken = [check.what for check in verify_receipt(content) if not check.holds]
    except ReceiptError as error:
        raise BadInput(f"{path}: {error}") from None
    if broken:
        raise BadInput(f"{path} does not verify: {', '.join(broken)}")
    return read_receipt(content)[0]
