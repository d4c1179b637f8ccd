"""`judge lint`: check a config against an engine's schema, without starting anything."""

import argparse
import sys
from pathlib import Path

import judge
from judge.commands.inputs import Commands, add_engine, read_bytes
from judge.words import problem_sentence


def add(commands: Commands) -> None:
    command = commands.add_parser("lint", help="check a config against an engine's schema")
    add_engine(command)
    command.add_argument("file", type=Path, help="a .env or JSON file")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 when the config is good, 1 with every problem on a line of its own as FILE:LINE: VARIABLE: sentence."""
    engine = judge.load_engine(options.engine)
    try:
        config = judge.check_config(judge.read_config(read_bytes(options.file)), engine.schema)
    except judge.ConfigError as error:
        for problem in error.problems:
            where = f"{options.file}:{problem.line}: " if problem.line else f"{options.file}: "
            print(where + (f"{problem.variable}: " if problem.variable else "") + problem_sentence(problem))
        return 1
    print(config.canonical)
    print(f"good for {engine.name}, SHA-256 {config.sha256}", file=sys.stderr)
    return 0
