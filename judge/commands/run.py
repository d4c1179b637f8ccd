"""`judge run`: measure one lap of a config and print the verdict."""

import argparse
import contextlib
import json
import os
import secrets
import tomllib
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from pathlib import Path

from nacl.signing import SigningKey
from pydantic import TypeAdapter, ValidationError

import judge
from judge import receipt, report
from judge.attached import AttachedEngine
from judge.commands.inputs import BadInput, Commands, add_engine, read_bytes, read_variables, read_verified
from judge.prompts import SetKind
from judge.quality import perplexity
from judge.server import Server
from judge.sources import (
    Columns,
    Encoder,
    find_tokenizer,
    load_tokenizer,
    read_dataset,
    read_sharegpt,
    read_token_file,
)
from judge.trusted import Start


def add(commands: Commands) -> None:
    command = commands.add_parser("run", help="measure one lap of a config and print the verdict")
    add_engine(command)
    command.add_argument("--model", required=True, type=Path, help="model folder in Hugging Face format")
    command.add_argument("--served-model", help="name under which it is served; the folder's name by default")
    command.add_argument(
        "--config", nargs="*", default=[], metavar="FILE|NAME=VALUE", help="a .env or JSON file, or variables"
    )
    command.add_argument(
        "--reference", nargs="*", default=[], metavar="FILE|NAME=VALUE", help="the reference config, for audit A5"
    )
    command.add_argument("--prompts", required=True, type=Path, help="speed prompts: JSON Lines of ids, or ShareGPT")
    command.add_argument("--quality", required=True, type=Path, help="quality records: JSON Lines of ids or of texts")
    command.add_argument("--chat", action="store_true", help="render ShareGPT prompts with the chat template")
    command.add_argument(
        "--questions", type=Path, help="questions: JSON Lines of ids or of texts, with choice or number"
    )
    command.add_argument("--public", type=Path, help="public speed prompts for audit A7, as --prompts")
    command.add_argument("--calibration", type=Path, help="receipt of the reference config, to compare with")
    command.add_argument("--ppl-cap", type=float, help="perplexity cap; none by default")
    command.add_argument("--cap-ratio", type=float, help="perplexity cap as a ratio to the calibration's perplexity")
    command.add_argument("--accuracy-floor", type=float, help="least share of the calibration's right answers")
    command.add_argument("--protocol", type=Path, help="TOML file of protocol settings")
    command.add_argument("--seed", help="orders prompts and records; random by default")
    command.add_argument("--engine-path", default=os.environ.get("PATH", os.defpath), help="where executables are")
    command.add_argument("--base-url", help="measure this running engine instead of starting one")
    command.add_argument("--receipt", type=Path, help="write a signed receipt to this file")
    command.add_argument(
        "--key", type=Path, help="Ed25519 key that signs, 32 bytes in hexadecimal; a fresh one if none"
    )
    command.add_argument("--json", action="store_true", help="print one JSON document instead of a table")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    """0 when verified, 1 for any other verdict."""
    engine = judge.load_engine(options.engine)
    config = judge.check_config(read_variables(options.config), engine.schema)
    if options.base_url:  # a server that somebody else configured need not show how
        engine = replace(engine, readback=None, metrics=False)
    model = read_model(options)
    plan = read_plan(options, engine, config)
    for prompts in (plan.speed_set, plan.quality_set, plan.question_set, plan.public_set):
        if prompts:
            model.refuse_misfits(prompts)
    key = read_key(options.key)
    start = starter(options, engine, model)
    reference = judge.check_config(read_variables(options.reference), engine.schema) if options.reference else config
    trusted = None if options.base_url else judge.trust(start, engine, config, reference)
    with report.progress_bar() as told:
        lap = judge.run_lap(start(config), plan, told, trusted)
    verdict = judge.decide(lap, plan.rules)
    if options.receipt:
        measured = receipt.Measured(
            engine=engine.name,
            engine_version=engine.version,
            engine_sha256=receipt.engine_sha256(engine),
            image_digest=None,
            model=model.name,
            hardware=receipt.describe_hardware(),
        )
        signed = receipt.sign(receipt.make_receipt(measured, plan, lap, verdict), key)
        options.receipt.write_bytes(signed)
    if options.json:
        print(json.dumps(report.as_document(config, lap, plan.rules, verdict), indent=1))
    else:
        report.print_tables(config, lap, plan.rules, verdict)
    return 0 if verdict.outcome == judge.Outcome.VERIFIED else 1


def starter(options: argparse.Namespace, engine: judge.Engine, model: judge.Model) -> Start:
    """How a server is had for a config: started, or the one at `--base-url`."""
    if options.base_url:
        attached = AttachedEngine(options.base_url.rstrip("/"), model.name)
        if problem := attached.problem():
            raise BadInput(problem)
        return lambda config: lambda: attached

    def start(config: judge.Config) -> Callable[[], Server]:
        launch = judge.plan_launch(engine, config, model, "127.0.0.1", judge.free_port())
        return partial(judge.EngineProcess, launch, options.engine_path)

    return start


def read_model(options: argparse.Namespace) -> judge.Model:
    if not (options.model / "config.json").is_file():
        raise BadInput(f"{options.model} is no model folder: it has no config.json")
    return judge.Model(options.served_model or options.model.resolve().name, options.model.resolve())


def read_key(path: Path | None) -> SigningKey:
    if path is None:
        return SigningKey.generate()
    with contextlib.suppress(ValueError):
        return SigningKey(bytes.fromhex(read_bytes(path).decode("ascii", "replace").strip()))
    raise BadInput(f"{path} holds no key: 64 hexadecimal digits were expected")


def read_plan(options: argparse.Namespace, engine: judge.Engine, config: judge.Config) -> judge.LapPlan:
    files = (options.prompts, options.quality, options.questions, options.public)
    encoder = Encoder(load_tokenizer(options.model), options.chat) if any(map(needs_tokenizer, files)) else None
    calibration = read_calibration(options.calibration) if options.calibration else None
    return judge.LapPlan(
        engine=engine,
        config=config,
        protocol=read_protocol(options.protocol),
        speed_set=read_set(options.prompts, encoder),
        quality_set=read_set(options.quality, encoder),
        question_set=read_set(options.questions, encoder) if options.questions else None,
        public_set=read_set(options.public, encoder) if options.public else None,
        seed=options.seed or secrets.token_hex(16),
        ppl_cap=read_cap(options, calibration),
        accuracy_floor=options.accuracy_floor,
        calibration=calibration,
        tokenizer=find_tokenizer(options.model),
    )


def read_calibration(path: Path) -> judge.Calibration:
    """From a receipt of the reference config whose checks all hold. Raises BadInput."""
    found = read_verified(path)
    if found.verdict.outcome != judge.Outcome.VERIFIED:
        raise BadInput(f"{path}: the run is {found.verdict.outcome}; a reference must be verified")
    return judge.calibration_of(found.lap)


def read_cap(options: argparse.Namespace, calibration: judge.Calibration | None) -> float | None:
    if options.cap_ratio is None:
        cap: float | None = options.ppl_cap
        return cap
    if calibration is None or options.ppl_cap is not None:
        raise BadInput("--cap-ratio needs --calibration, and no --ppl-cap")
    ratio: float = options.cap_ratio
    return perplexity(calibration.quality) * ratio


TEXT_COLUMNS = {
    frozenset({"context", "target"}): Columns(context="context", target="target"),
    frozenset({"question", "choice"}): Columns(question="question", choice="choice"),
    frozenset({"question", "number"}): Columns(question="question", number="number"),
}
"""What a record of texts, not ids, is made of."""


def needs_tokenizer(path: Path | None) -> bool:
    return path is not None and (is_sharegpt(path) or columns_of(path) is not None)


def is_sharegpt(path: Path) -> bool:
    return path.suffix == ".json"


def columns_of(path: Path) -> Columns | None:
    """The columns of a file of texts, by its first record; None for a file of ids."""
    try:
        first = json.loads(read_bytes(path).split(b"\n", 1)[0])
    except ValueError:
        return None
    names = set(first) - {"id"} if isinstance(first, dict) else set()
    return TEXT_COLUMNS.get(frozenset(names))


def read_set(path: Path, encoder: Encoder | None) -> judge.PromptSet:
    """ShareGPT JSON, or JSON Lines of texts or of ids. The chat template is for what is generated, not for records."""
    if encoder and is_sharegpt(path):
        return read_sharegpt(path, encoder)
    columns = None if is_sharegpt(path) else columns_of(path)
    if encoder is None or columns is None:
        return read_token_file(path)
    plain = replace(encoder, chat=encoder.chat and columns.kind != SetKind.QUALITY)
    return read_dataset(str(path), "train", columns, plain)


def read_protocol(path: Path | None) -> judge.Protocol:
    if path is None:
        return judge.Protocol()
    try:
        return TypeAdapter(judge.Protocol).validate_python(tomllib.loads(read_bytes(path).decode()))
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(f"{path}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        raise BadInput(f"{path}: {'.'.join(map(str, first['loc']))}: {first['msg']}") from None
