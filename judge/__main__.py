"""Judge at home, with the code of the official run: `python -m judge --help`."""

import argparse
import sys
from collections.abc import Sequence

from judge.commands import compare, explain, lint, run, verify
from judge.errors import ConfigError, JudgeError
from judge.words import problem_sentence

BAD_INPUT = 2
INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 good, 1 not verified or a bad config, 2 bad input (a broken receipt too), 130 interrupted."""
    options = parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        return code
    except ConfigError as error:
        for problem in error.problems:
            where = f"line {problem.line}: " if problem.line else ""
            name = f"{problem.variable}: " if problem.variable else ""
            print(f"{where}{name}{problem_sentence(problem)}", file=sys.stderr)
    except JudgeError as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        return INTERRUPTED
    return BAD_INPUT


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m judge", description="Measure a config as the official judge does.")
    commands = top.add_subparsers(required=True)
    for command in (run, lint, verify, compare, explain):
        command.add(commands)
    return top


if __name__ == "__main__":
    sys.exit(main())
