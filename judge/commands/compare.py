"""`judge compare`: are two receipts different, by how much, with what interval."""

import argparse
import json
from dataclasses import asdict
from pathlib import Path

from judge.commands.inputs import BadInput, Commands, read_verified
from judge.statistics import Interval, perplexity_ratio, tps_difference

SEED = "compare"
START_NOISE = 0.01
"""Relative standard deviation between starts of one config, as 18 runs of one real config had it."""


def add(commands: Commands) -> None:
    command = commands.add_parser("compare", help="are two receipts different, and by how much")
    command.add_argument("a", type=Path)
    command.add_argument("b", type=Path)
    command.add_argument("--start-noise", type=float, default=START_NOISE, help="relative noise between server starts")
    command.add_argument("--json", action="store_true")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    a, b = read_verified(options.a), read_verified(options.b)
    try:
        speed = tps_difference([a.lap.timed], [b.lap.timed], options.start_noise, SEED)
        quality = perplexity_ratio(a.lap.quality, b.lap.quality, SEED)
    except ValueError as error:
        raise BadInput(f"{options.a} and {options.b} cannot be compared: {error}") from None
    if options.json:
        print(json.dumps({"tps_difference": asdict(speed), "ppl_ratio": asdict(quality), "tie": speed.contains(0)}))
    else:
        print(f"tps: {percent(speed)}: {'a tie' if speed.contains(0) else 'different'}")
        print(f"ppl ratio: {quality.estimate:.4f} ({quality.low:.4f} to {quality.high:.4f})")
    return 0


def percent(interval: Interval) -> str:
    return f"{interval.estimate:+.2%} ({interval.low:+.2%} to {interval.high:+.2%})"
