"""A config: a team's variables, from text to one canonical form with a SHA-256."""

import hashlib
import io
import json
import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from dotenv.parser import Binding, parse_stream

from judge.errors import ConfigError, ConfigProblem
from judge.refused import refusal_of_name
from judge.schema import Schema, Value, check_value, shown

CONFIG_LIMIT_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class RawVariable:
    """One variable as it was sent: the value is text, or what JSON made of it."""

    name: str
    value: object
    line: int | None = None


@dataclass(frozen=True)
class Config:
    """A checked config. A variable at its default is left out: it says the same as no variable."""

    values: tuple[tuple[str, Value], ...] = ()

    @cached_property
    def canonical(self) -> str:
        """Canonical JSON: names sorted, no spaces, one spelling for each value."""
        return json.dumps(dict(self.values), sort_keys=True, separators=(",", ":"), ensure_ascii=False)

    @cached_property
    def sha256(self) -> str:
        return hashlib.sha256(self.canonical.encode()).hexdigest()

    def as_env(self) -> str:
        """The same config as `.env` text, one NAME=value a line."""
        return "".join(f"{name}={env_value(value)}\n" for name, value in self.values)

    @classmethod
    def from_canonical(cls, text: str) -> "Config":
        """Read back what `canonical` wrote. It was checked when it was made."""
        return cls(tuple(sorted(json.loads(text).items())))


def env_value(value: Value) -> str:
    """A value as text in a `.env` file or a form field."""
    if isinstance(value, bool):
        return str(int(value))
    return (
        value
        if isinstance(value, str)
        else json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    )


def read_config(content: str | bytes) -> list[RawVariable]:
    """The variables of a `.env` or JSON file, unchecked. Raises ConfigError for what is neither.

    Text that begins with `{` is JSON, any other is `.env` (python-dotenv's syntax, nothing expanded).
    """
    text = _text_of(content)
    return _from_json(text) if text.lstrip().startswith("{") else _from_env(text)


def _text_of(content: str | bytes) -> str:
    size = len(content.encode("utf-8", "surrogatepass") if isinstance(content, str) else content)
    if size > CONFIG_LIMIT_BYTES:
        raise ConfigError([ConfigProblem("too-large", params={"limit": CONFIG_LIMIT_BYTES // 1024})])
    try:
        text = content.decode("utf-8-sig") if isinstance(content, bytes) else content
        text.encode("utf-8")
    except UnicodeError:
        raise ConfigError([ConfigProblem("not-text")]) from None
    if any(ord(c) < 32 and c not in "\t\n\r" for c in text):
        raise ConfigError([ConfigProblem("control-character")])
    if not text.strip():
        raise ConfigError([ConfigProblem("empty-file")])
    return text


class _Pairs(list[tuple[str, object]]):
    """A JSON object as it was written, a key that stands twice included."""


def _from_json(text: str) -> list[RawVariable]:
    try:
        pairs = json.loads(text, object_pairs_hook=_Pairs)
    except (ValueError, RecursionError) as error:
        line = getattr(error, "lineno", None)
        raise ConfigError([ConfigProblem("invalid-json", line=line, params={"detail": str(error)})]) from None
    return [RawVariable(name, _as_json(value) if isinstance(value, _Pairs) else value) for name, value in pairs]


def _as_json(value: object) -> str:
    """A structured value back as JSON text, its repeated keys kept for the schema to see."""
    if isinstance(value, _Pairs):
        return "{" + ",".join(f"{json.dumps(key)}:{_as_json(inner)}" for key, inner in value) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_as_json, value)) + "]"
    return json.dumps(value)


def _from_env(text: str) -> list[RawVariable]:
    bindings = [b for b in parse_stream(io.StringIO(text)) if b.error or b.key is not None]
    bad_lines = [
        ConfigProblem("bad-line", line=_line_of(b), params={"text": shown(b.original.string.strip())})
        for b in bindings
        if b.error or b.value is None
    ]
    if bad_lines:
        raise ConfigError(bad_lines)
    return [RawVariable(b.key or "", b.value, _line_of(b)) for b in bindings]


def _line_of(binding: Binding) -> int:
    """The parser counts the empty lines before a variable as part of it."""
    text = binding.original.string
    return binding.original.line + text[: len(text) - len(text.lstrip())].count("\n")


def check_config(variables: Iterable[RawVariable], schema: Schema) -> Config:
    """Every variable against the schema. Raises ConfigError with all that is wrong, not only the first."""
    variables = list(variables)
    problems = _repeated(variables)
    values: dict[str, Value] = {}
    for raw in variables:
        try:
            values[raw.name] = _checked_value(raw, schema)
        except ConfigError as error:
            problems += error.problems
    if problems:
        raise ConfigError(problems)
    defaults = {name: variable.default for name, variable in schema.variables.items()}
    return Config(tuple(sorted((name, value) for name, value in values.items() if value != defaults[name])))


def _repeated(variables: Sequence[RawVariable]) -> list[ConfigProblem]:
    first: dict[str, RawVariable] = {}
    problems = []
    for raw in variables:
        if raw.name in first:
            problems.append(ConfigProblem("duplicate-variable", shown(raw.name), raw.line))
        first.setdefault(raw.name, raw)
    return problems


def _checked_value(raw: RawVariable, schema: Schema) -> Value:
    if reason := refusal_of_name(raw.name):
        raise ConfigError([ConfigProblem("refused-variable", shown(raw.name), raw.line, {"refusal": reason})])
    if raw.name not in schema.variables:
        raise ConfigError([ConfigProblem("unknown-variable", shown(raw.name), raw.line)])
    if isinstance(raw.value, str) and any(ord(c) < 32 and c not in "\t\n\r" for c in raw.value):
        raise ConfigError([ConfigProblem("control-character", raw.name, raw.line)])
    return check_value(raw.name, raw.value, schema.variables[raw.name], raw.line)


logging.getLogger("dotenv").setLevel(logging.ERROR)
