"""A config schema: which variables a config may set, of which type, within which range."""

import json
import math
import re
from collections.abc import Mapping
from typing import Annotated, Literal, cast

from pydantic import ConfigDict, Field, TypeAdapter, model_validator
from pydantic.dataclasses import dataclass

from judge.errors import ConfigError, ConfigProblem
from judge.refused import refusal_of_key, refusal_of_name

Value = bool | int | float | str | dict[str, "Value"]

VARIABLE_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
WHOLE_NUMBER = re.compile(r"[+-]?[0-9]{1,18}")
TRUE_OR_FALSE = {"1": True, "true": True, "0": False, "false": False}


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class Variable:
    """One variable of a schema.

    `minimum` and `maximum` bound numbers, inclusive; `choices` lists the texts of a choice; `keys`
    says what a structured value (`object`) may hold. `help` holds a sentence by language code.
    Raises ValueError when these contradict each other.
    """

    type: Literal["integer", "number", "boolean", "choice", "object"]
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] = ()
    keys: dict[str, "Variable"] = Field(default_factory=dict)
    required: bool = False
    default: bool | int | float | str | None = None
    help: dict[str, str] = Field(default_factory=dict)

    @model_validator(mode="after")
    def _consistent(self) -> "Variable":
        if (self.type == "choice") != bool(self.choices) or (self.type == "object") != bool(self.keys):
            raise ValueError("`choices` belong to a choice, `keys` to an object, and neither may lack them")
        if self.minimum is not None and self.maximum is not None and self.minimum > self.maximum:
            raise ValueError(f"minimum {self.minimum:g} is above maximum {self.maximum:g}")
        return self


def refuse_names(variables: Mapping[str, Variable]) -> None:
    """Raise ValueError for a name that is none, or that no config may ever set."""
    for name in variables:
        if not VARIABLE_NAME.fullmatch(name):
            raise ValueError(f"{name} is no variable name: capital letters, digits and underscores")
        if refusal_of_name(name):
            raise ValueError(f"{name} may be in no schema: {refusal_of_name(name)}")


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class Schema:
    """The variables of a competition, by name. Raises ValueError for a name that is always refused."""

    variables: Annotated[dict[str, Variable], Field(min_length=1)]

    @model_validator(mode="after")
    def _harmless(self) -> "Schema":
        refuse_names(self.variables)
        return self


SCHEMA = TypeAdapter(Schema)


class _Wrong(Exception):
    """A value does not fit; carries the code of words.PROBLEMS and what its sentence needs."""

    def __init__(self, code: str, **params: object) -> None:
        super().__init__(code)
        self.code = code
        self.params = params


def check_value(name: str, raw: object, variable: Variable, line: int | None = None) -> Value:
    """The value in its own type, from text or from JSON. Raises ConfigError."""
    try:
        return _typed(raw, variable)
    except _Wrong as wrong:
        raise ConfigError([ConfigProblem(wrong.code, name, line, wrong.params)]) from None


def _typed(raw: object, variable: Variable) -> Value:
    match variable.type:
        case "integer":
            return cast(int, _in_range(_whole_number(raw), variable))
        case "number":
            return _in_range(_number(raw), variable)
        case "boolean":
            return _true_or_false(raw)
        case "choice":
            return _choice(raw, variable.choices)
        case "object":
            return _object(raw, variable.keys)


def _whole_number(raw: object) -> int:
    if type(raw) is int:
        return raw
    if isinstance(raw, str) and WHOLE_NUMBER.fullmatch(raw.strip()):
        return int(raw)
    raise _Wrong("not-a-whole-number", value=shown(raw))


def _number(raw: object) -> float:
    if isinstance(raw, str | int | float) and not isinstance(raw, bool):
        try:
            number = float(raw)
        except (ValueError, OverflowError):
            number = math.nan
        if math.isfinite(number):
            return number
    raise _Wrong("not-a-number", value=shown(raw))


def _in_range(number: float, variable: Variable) -> float:
    low, high = variable.minimum, variable.maximum
    if (low is not None and number < low) or (high is not None and number > high):
        code = "out-of-range" if None not in (low, high) else "below-minimum" if high is None else "above-maximum"
        raise _Wrong(code, value=shown(number), minimum=_plain(low), maximum=_plain(high))
    return number


def _plain(bound: float | None) -> str:
    return "" if bound is None else f"{bound:.15g}"


def _true_or_false(raw: object) -> bool:
    if isinstance(raw, bool):
        return raw
    text = str(raw).strip().lower() if isinstance(raw, str | int) else ""
    if text not in TRUE_OR_FALSE:
        raise _Wrong("not-true-or-false", value=shown(raw))
    return TRUE_OR_FALSE[text]


def _choice(raw: object, choices: tuple[str, ...]) -> str:
    if not isinstance(raw, str) or raw.strip() not in choices:
        raise _Wrong("not-a-choice", value=shown(raw), choices=", ".join(choices))
    return raw.strip()


def _object(raw: object, keys: Mapping[str, Variable]) -> dict[str, Value]:
    data = unique_object(raw) if isinstance(raw, str) else raw
    if not isinstance(data, dict):
        raise _Wrong("not-an-object", value=shown(raw))
    for key, value in data.items():
        if reason := refusal_of_key(key, value):
            raise _Wrong("refused-key", key=shown(key), refusal=reason)
        if key not in keys:
            raise _Wrong("unknown-key", key=shown(key), keys=", ".join(sorted(keys)))
    for key, variable in keys.items():
        if variable.required and key not in data:
            raise _Wrong("missing-key", key=key)
    return {key: _key_value(key, value, keys[key]) for key, value in data.items()}


def _key_value(key: str, raw: object, variable: Variable) -> Value:
    try:
        return _typed(raw, variable)
    except _Wrong as wrong:
        wrong.params.setdefault("key", key)
        raise


def unique_object(text: str) -> object:
    """The JSON of a structured value; a key that stands twice is a problem of its own."""

    def once(pairs: list[tuple[str, object]]) -> dict[str, object]:
        data = dict(pairs)
        for key in data:
            if [name for name, _ in pairs].count(key) > 1:
                raise _Wrong("duplicate-key", key=shown(key))
        return data

    try:
        return json.loads(text, object_pairs_hook=once)
    except (ValueError, RecursionError) as error:
        raise _Wrong("invalid-json", detail=str(error)) from None


def shown(raw: object) -> str:
    """A value as an error message may repeat it: one short printable line."""
    text = raw if isinstance(raw, str) else f"{raw:.15g}" if isinstance(raw, float) else json.dumps(raw, default=str)
    printable = "".join(c if c.isprintable() else "�" for c in text)
    return printable if len(printable) <= 60 else printable[:57] + "..."
