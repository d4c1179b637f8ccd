"""An engine as data: a TOML file that says how a config becomes a server's arguments and environment."""

import json
import math
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass as plain_dataclass
from importlib import resources
from pathlib import Path
from string import Template
from typing import Annotated, Any

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError, model_validator
from pydantic.dataclasses import dataclass

from judge.audits.bands import Bands
from judge.config import Config, env_value
from judge.errors import EngineFileError, PromptSetError
from judge.prompts import PromptSet
from judge.refused import REFUSED_ARGUMENTS, refusal_of_name
from judge.schema import Schema, Value, Variable, refuse_names

STRICT = ConfigDict(extra="forbid")


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Becomes:
    """What a variable turns into: an argument with the value, one of two flags, a part of a JSON argument,
    or an environment variable. Raises ValueError for an argument that no config may touch.
    """

    argument: str | None = None
    json: dict[str, Any] | None = None
    if_true: str | None = None
    if_false: str | None = None
    environment: str | None = None

    @model_validator(mode="after")
    def _harmless(self) -> "Becomes":
        for argument in (self.argument, self.if_true, self.if_false):
            if argument in REFUSED_ARGUMENTS:
                raise ValueError(f"no variable may become {argument}")
        if self.environment and refusal_of_name(self.environment):
            raise ValueError(f"no variable may become the environment variable {self.environment}")
        return self


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class EngineVariable(Variable):
    """A variable of a schema with its mapping; `effect` is the path, in the read-back document, of the
    value that the running server must show. `speculates` marks what a trusted server leaves out.
    """

    becomes: Becomes
    effect: str | None = None
    speculates: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, config=STRICT)
class Engine:
    """An engine file. `readback` is the URL path of a JSON document with the effective configuration;
    `metrics` says that it shows its counters under `/metrics`.
    """

    name: str
    version: str
    executable: str
    arguments: tuple[str, ...]
    environment: dict[str, str] = Field(default_factory=dict)
    readback: str | None = None
    metrics: bool = True
    bands: Bands = Field(default_factory=Bands)
    variables: Annotated[dict[str, EngineVariable], Field(min_length=1)]

    @model_validator(mode="after")
    def _harmless(self) -> "Engine":
        refuse_names(self.variables)
        return self

    @property
    def schema(self) -> Schema:
        """Every variable that the engine knows, within its widest range."""
        return Schema({name: _without_mapping(variable) for name, variable in self.variables.items()})


@plain_dataclass(frozen=True, slots=True)
class Model:
    """A model folder in Hugging Face format, and the name under which it is served."""

    name: str
    folder: Path

    def layers(self) -> int:
        """The number of hidden layers. Raises KeyError when its config.json names none."""
        return int(self._config()["num_hidden_layers"])

    def refuse_misfits(self, prompts: PromptSet) -> None:
        """Raise PromptSetError for a record that the model cannot read, as far as its config.json tells."""
        config = self._config()
        vocabulary, longest = config.get("vocab_size", math.inf), config.get("max_position_embeddings", math.inf)
        for item in prompts.items:
            if max(item.token_ids) >= vocabulary:
                raise PromptSetError(
                    f"{item.name}: token id {max(item.token_ids)}, the vocabulary ends at {vocabulary}"
                )
            if len(item.token_ids) >= longest:
                raise PromptSetError(f"{item.name}: {len(item.token_ids)} tokens, the model reads {longest} at most")

    def _config(self) -> dict[str, Any]:
        """Its config.json; the text part where that is nested."""
        data = json.loads((self.folder / "config.json").read_text())
        config: dict[str, Any] = data.get("text_config", data)
        return config


@plain_dataclass(frozen=True, slots=True)
class Launch:
    """How to start one server: its command, what its environment holds, and where it will answer."""

    executable: str
    arguments: tuple[str, ...]
    environment: Mapping[str, str]
    host: str
    port: int
    model: str

    @property
    def url(self) -> str:
        return f"http://{self.host}:{self.port}"


ENGINE = TypeAdapter(Engine)


def _without_mapping(variable: EngineVariable) -> Variable:
    data = {name: getattr(variable, name) for name in Variable.__dataclass_fields__}
    return Variable(**data)


def load_engine(name: str) -> Engine:
    """An engine by the name of a file under judge/engines, or by a path to a TOML file.

    Raises EngineFileError, which says what the file must have.
    """
    path = Path(name)
    source = path if path.suffix == ".toml" else resources.files("judge").joinpath("engines", f"{name}.toml")
    try:
        return ENGINE.validate_python(tomllib.loads(source.read_text(encoding="utf-8")))
    except OSError:
        raise EngineFileError(f"no engine file {name}: give a name from judge/engines or a path to a .toml") from None
    except tomllib.TOMLDecodeError as error:
        raise EngineFileError(f"engine file {name}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise EngineFileError(f"engine file {name}: {where}: {first['msg']}") from None


def without_speculation(engine: Engine, config: Config) -> Config:
    """The same config for a trusted server: nothing is drafted."""
    kept = [(name, value) for name, value in config.values if not engine.variables[name].speculates]
    return Config(tuple(kept))


def plan_launch(engine: Engine, config: Config, model: Model, host: str, port: int) -> Launch:
    """The command and environment of a config, built from nothing.

    Raises EngineFileError for a variable that the engine does not map.
    """
    places = {"model": str(model.folder), "served_model": model.name, "host": host, "port": str(port)}
    arguments = [Template(argument).substitute(places) for argument in engine.arguments]
    environment = dict(engine.environment)
    merged: dict[str, dict[str, Any]] = {}
    for name, value in config.values:
        if name not in engine.variables:
            raise EngineFileError(f"engine {engine.name} does not map the variable {name}")
        becomes = engine.variables[name].becomes
        if becomes.json is not None and becomes.argument:
            _merge(merged.setdefault(becomes.argument, {}), _filled(becomes.json, value, model))
        arguments += _arguments_of(becomes, value)
        if becomes.environment:
            environment[becomes.environment] = env_value(value)
    for argument, document in merged.items():
        arguments += [argument, json.dumps(document, sort_keys=True)]
    return Launch(engine.executable, tuple(arguments), environment, host, port, model.name)


def _arguments_of(becomes: Becomes, value: Value) -> list[str]:
    flag = becomes.if_true if value is True else becomes.if_false if value is False else None
    if flag:
        return [flag]
    return [becomes.argument, env_value(value)] if becomes.argument and becomes.json is None else []


def _filled(template: Any, value: Value, model: Model) -> Any:
    """A JSON template with `$value` replaced, and `{repeat = X, times = "layers"}` made a list of X."""
    if template == "$value":
        return value
    if not isinstance(template, dict):
        return template
    if template.get("times") == "layers":
        return [template["repeat"]] * model.layers()
    return {key: _filled(inner, value, model) for key, inner in template.items()}


def _merge(into: dict[str, Any], more: dict[str, Any]) -> None:
    for key, value in more.items():
        if isinstance(value, dict) and isinstance(into.get(key), dict):
            _merge(into[key], value)
        else:
            into[key] = value


@plain_dataclass(frozen=True, slots=True)
class Effect:
    """One variable as it was asked for and as the running server shows it."""

    variable: str
    asked: object
    found: object

    @property
    def holds(self) -> bool:
        return _same(self.asked, self.found)


def read_effects(engine: Engine, config: Config, document: object) -> Iterator[Effect]:
    """Each variable of the config that can be read back, beside what the server says of it."""
    for name, value in config.values:
        if path := engine.variables[name].effect:
            yield Effect(name, value, _asked_part(value, _at(document, path)))


def _asked_part(asked: object, found: object) -> object:
    """Of a structured value only the keys that were asked for: servers show many more."""
    return {key: found.get(key) for key in asked} if isinstance(asked, dict) and isinstance(found, dict) else found


def _at(document: object, path: str) -> object:
    for part in path.split("."):
        document = document.get(part) if isinstance(document, dict) else None
    return document


def _same(asked: object, found: object) -> bool:
    """Equal, and a text whatever its module prefix (`torch.bfloat16`)."""
    if isinstance(asked, str):
        return isinstance(found, str) and found.removeprefix("torch.") == asked
    return asked == found
