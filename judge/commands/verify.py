"""`judge verify`: check a receipt's signature and recompute its numbers and verdict."""

import argparse
from pathlib import Path

from judge.commands.inputs import BadInput, Commands, read_bytes
from judge.receipt import verify_receipt


def add(commands: Commands) -> None:
    command = commands.add_parser("verify", help="check a receipt's signature and recompute its verdict")
    command.add_argument("receipt", type=Path)
    command.add_argument("--public-key", help="the key that must have signed, in hexadecimal; any key without it")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 when everything holds. Raises BadInput when anything does not, after every check was printed."""
    checks = list(verify_receipt(read_bytes(options.receipt), options.public_key))
    for check in checks:
        print(f"{'holds' if check.holds else 'BROKEN':6}  {check.what}: {check.detail}")
    if broken := [check.what for check in checks if not check.holds]:
        raise BadInput(f"{options.receipt}: not as it was signed, or never true: {', '.join(broken)} did not hold")
    return 0
