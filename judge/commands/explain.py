"""`judge explain`: what each variable of an engine does, allows and becomes."""

import argparse

from rich.console import Console
from rich.table import Table

import judge
from judge.commands.inputs import BadInput, Commands, add_engine
from judge.engine import Becomes, EngineVariable


def add(commands: Commands) -> None:
    command = commands.add_parser("explain", help="what each variable does")
    add_engine(command)
    command.add_argument("variables", nargs="*", help="all when none is named")
    command.add_argument("--language", default="en", help="language of the help texts")
    command.set_defaults(run=run)


def run(options: argparse.Namespace) -> int:
    engine = judge.load_engine(options.engine)
    unknown = [name for name in options.variables if name not in engine.variables]
    if unknown:
        raise BadInput(f"engine {engine.name} has no variable {', '.join(unknown)}")
    table = Table("variable", "what it does", "allowed", "becomes", title=f"{engine.name} {engine.version}")
    for name in options.variables or engine.variables:
        variable = engine.variables[name]
        words = variable.help.get(options.language) or variable.help.get("en", "")
        table.add_row(name, words, allowed(variable), becomes(variable.becomes))
    Console().print(table)
    return 0


def allowed(variable: EngineVariable) -> str:
    if variable.keys:
        return "object: " + ", ".join(variable.keys)
    if variable.choices:
        return " | ".join(variable.choices)
    if variable.minimum is None or variable.maximum is None:
        return variable.type
    return f"{variable.type} {variable.minimum:.15g} to {variable.maximum:.15g}"


def becomes(mapping: Becomes) -> str:
    parts = (mapping.argument, mapping.if_true, mapping.if_false, mapping.environment)
    return " | ".join(part for part in parts if part)
