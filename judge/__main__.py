"""Judge a config at home, with the code of the official run: `python -m judge run --help`."""

import argparse
import json
import os
import secrets
import sys
import tomllib
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from pydantic import TypeAdapter, ValidationError

import judge
from judge import report
from judge.config import RawVariable
from judge.errors import EngineFileError
from judge.sources import Columns, Encoder, load_tokenizer, read_dataset, read_sharegpt, read_token_file
from judge.words import problem_sentence

BAD_INPUT = 2
INTERRUPTED = 130


class BadInput(Exception):
    """What was asked for cannot be judged; the message is for the person who asked."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes: 0 verified, 1 any other verdict, 2 bad input, 130 interrupted."""
    options = parser().parse_args(arguments)
    try:
        return run(options)
    except judge.ConfigError as error:
        for problem in error.problems:
            where = f"line {problem.line}: " if problem.line else ""
            name = f"{problem.variable}: " if problem.variable else ""
            print(f"{where}{name}{problem_sentence(problem)}", file=sys.stderr)
    except (BadInput, EngineFileError, judge.PromptSetError) as error:
        print(error, file=sys.stderr)
    except KeyboardInterrupt:
        return INTERRUPTED
    return BAD_INPUT


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(prog="python -m judge", description="Measure a config as the official judge does.")
    commands = top.add_subparsers(required=True)
    command = commands.add_parser("run", help="start an engine with a config, measure one lap, print the verdict")
    command.add_argument("--engine", required=True, help="name of an engine file, or a path to one (.toml)")
    command.add_argument("--model", required=True, type=Path, help="model folder in Hugging Face format")
    command.add_argument("--served-model", help="name under which it is served; the folder's name by default")
    command.add_argument(
        "--config", nargs="*", default=[], metavar="FILE|NAME=VALUE", help="a .env or JSON file, or variables"
    )
    command.add_argument("--prompts", required=True, type=Path, help="speed prompts: JSON Lines of ids, or ShareGPT")
    command.add_argument("--quality", required=True, type=Path, help="quality records: JSON Lines of ids or of texts")
    command.add_argument("--chat", action="store_true", help="render ShareGPT prompts with the chat template")
    command.add_argument("--ppl-cap", type=float, help="perplexity cap; none by default")
    command.add_argument("--protocol", type=Path, help="TOML file of protocol settings")
    command.add_argument("--seed", help="orders prompts and records; random by default")
    command.add_argument("--engine-path", default=os.environ.get("PATH", os.defpath), help="where executables are")
    command.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    return top


def run(options: argparse.Namespace) -> int:
    engine = judge.load_engine(options.engine)
    config = judge.check_config(read_variables(options.config), engine.schema)
    model = read_model(options)
    plan = read_plan(options)
    launch = judge.plan_launch(engine, config, model, "127.0.0.1", judge.free_port())
    start = partial(judge.EngineProcess, launch, options.engine_path)
    with report.progress_bar() as told:
        lap = judge.run_lap(start, plan, engine, config, told)
    verdict = judge.decide(lap, plan.rules)
    if options.json:
        print(json.dumps(report.as_document(config, lap, verdict), indent=1))
    else:
        report.print_tables(config, lap, verdict)
    return 0 if verdict.outcome == judge.Outcome.VERIFIED else 1


def read_variables(given: Sequence[str]) -> list[RawVariable]:
    """From files and NAME=VALUE pairs alike. Raises ConfigError, and BadInput for a file that is not there."""
    variables: list[RawVariable] = []
    for one in given:
        name, equals, value = one.partition("=")
        if equals and not Path(one).exists():
            variables.append(RawVariable(name, value))
        else:
            variables += judge.read_config(_bytes_of(Path(one)))
    return variables


def read_model(options: argparse.Namespace) -> judge.Model:
    if not (options.model / "config.json").is_file():
        raise BadInput(f"{options.model} is no model folder: it has no config.json")
    return judge.Model(options.served_model or options.model.resolve().name, options.model.resolve())


def read_plan(options: argparse.Namespace) -> judge.LapPlan:
    encoder = Encoder(load_tokenizer(options.model), options.chat) if needs_tokenizer(options) else None
    return judge.LapPlan(
        protocol=read_protocol(options.protocol),
        speed_set=read_sharegpt(options.prompts, encoder)
        if encoder and is_sharegpt(options.prompts)
        else read_token_file(options.prompts),
        quality_set=read_quality(options.quality, encoder),
        seed=options.seed or secrets.token_hex(16),
        ppl_cap=options.ppl_cap,
    )


def needs_tokenizer(options: argparse.Namespace) -> bool:
    return is_sharegpt(options.prompts) or holds_texts(options.quality)


def is_sharegpt(path: Path) -> bool:
    return path.suffix == ".json"


def holds_texts(path: Path) -> bool:
    """Whether the first record of a quality file holds `context` and `target` texts, not ids."""
    first = _bytes_of(path).split(b"\n", 1)[0]
    try:
        return "context" in json.loads(first)
    except (ValueError, TypeError):
        return False


def read_quality(path: Path, encoder: Encoder | None) -> judge.PromptSet:
    if encoder is None or not holds_texts(path):
        return read_token_file(path)
    return read_dataset(str(path), "train", Columns(context="context", target="target"), encoder)


def read_protocol(path: Path | None) -> judge.Protocol:
    if path is None:
        return judge.Protocol()
    try:
        return TypeAdapter(judge.Protocol).validate_python(tomllib.loads(_bytes_of(path).decode()))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def _bytes_of(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(f"cannot read {path}: {error.strerror}") from None


if __name__ == "__main__":
    sys.exit(main())
