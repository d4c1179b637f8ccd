"""Hardware classes as data: what a machine of the class must be like while a lap is timed (audit A9)."""

import tomllib
from importlib import resources

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

from judge.audits.state import StateRule
from judge.errors import JudgeError


class HardwareFileError(JudgeError):
    """A hardware file does not say what it must say."""


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class HardwareClass:
    """A hardware file. `rules` hold for every lap on a machine of the class."""

    name: str
    rules: tuple[StateRule, ...]


HARDWARE_CLASS = TypeAdapter(HardwareClass)


def load_hardware_class(name: str) -> HardwareClass | None:
    """A class by the name of a file under judge/hardware_classes; None for one that has no file, and so no rules.

    Raises HardwareFileError for a file that is wrong.
    """
    source = resources.files("judge").joinpath("hardware_classes", f"{name}.toml")
    if not source.is_file():
        return None
    try:
        return HARDWARE_CLASS.validate_python(tomllib.loads(source.read_text(encoding="utf-8")))
    except (tomllib.TOMLDecodeError, ValidationError) as error:
        raise HardwareFileError(f"hardware file {name}: {error}") from None
