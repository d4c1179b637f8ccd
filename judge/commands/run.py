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
from judge.commands.inputs import BadInput, Commands, add_engine, read_bytes, read_variables
from judge.server import Server
from judge.sources import (
    Columns,
    Encoder,
    find_detokenizer,
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
    command.add_argument("--ppl-cap", type=float, help="perplexity cap; none by default")
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
    model = read_model(options)
    plan = read_plan(options)
    for prompts in (plan.speed_set, plan.quality_set):
        model.refuse_misfits(prompts)
    key = read_key(options.key)
    if options.base_url:
        engine = replace(engine, readback=None)  # a server that somebody else configured need not show how
    start = starter(options, engine, model)
    reference = judge.check_config(read_variables(options.reference), engine.schema) if options.reference else config
    trusted = None if options.base_url else judge.trust(start, engine, config, reference)
    with report.progress_bar() as told:
        lap = judge.run_lap(start(config), plan, engine, config, told, trusted)
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
        sets = (plan.speed_set.sha256, plan.quality_set.sha256)
        signed = receipt.sign(receipt.make_receipt(config, measured, sets, plan.rules, lap, verdict), key)
        options.receipt.write_bytes(signed)
    if options.json:
        print(json.dumps(report.as_document(config, lap, verdict), indent=1))
    else:
        report.print_tables(config, lap, verdict)
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


def read_plan(options: argparse.Namespace) -> judge.LapPlan:
    needs_tokenizer = is_sharegpt(options.prompts) or holds_texts(options.quality)
    encoder = Encoder(load_tokenizer(options.model), options.chat) if needs_tokenizer else None
    return judge.LapPlan(
        protocol=read_protocol(options.protocol),
        speed_set=read_speed(options.prompts, encoder),
        quality_set=read_quality(options.quality, encoder),
        seed=options.seed or secrets.token_hex(16),
        ppl_cap=options.ppl_cap,
        detokenizer=find_detokenizer(options.model),
    )


def is_sharegpt(path: Path) -> bool:
    return path.suffix == ".json"


def holds_texts(path: Path) -> bool:
    """Whether the first record of a quality file holds `context` and `target` texts, not ids."""
    first = read_bytes(path).split(b"\n", 1)[0]
    try:
        return "context" in json.loads(first)
    except (ValueError, TypeError):
        return False


def read_speed(path: Path, encoder: Encoder | None) -> judge.PromptSet:
    return read_sharegpt(path, encoder) if encoder and is_sharegpt(path) else read_token_file(path)


def read_quality(path: Path, encoder: Encoder | None) -> judge.PromptSet:
    if encoder is None or not holds_texts(path):
        return read_token_file(path)
    plain = Encoder(encoder.tokenizer)  # the chat template is for speed prompts
    return read_dataset(str(path), "train", Columns(context="context", target="target"), plain)


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
