"""A competition as one TOML file."""

import tomllib
from pathlib import Path
from typing import Annotated

from django.db import transaction
from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass

import judge
from judge.config import RawVariable
from judge.schema import SCHEMA
from submissions.models import Competition, ConfigSchema


class CompetitionFileError(Exception):
    """The file does not describe a competition; the message says what is wrong and where."""


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class CompetitionFile:
    """What the file holds. `variables` names those of the engine that a config may set; all when empty.
    `accuracy_floor` needs a set of questions (import_prompts).
    """

    slug: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9-]*$", max_length=50)]
    name: Annotated[str, Field(min_length=1, max_length=120)]
    description: str = ""
    engine: str
    model: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._/-]*$")]
    hardware_class: Annotated[str, Field(pattern=r"^[a-z0-9][a-z0-9.-]*$")]
    cap_ratio: Annotated[float, Field(ge=1)] = 1.05
    accuracy_floor: Annotated[float, Field(gt=0, le=1)] | None = None
    protocol: judge.Protocol = Field(default_factory=judge.Protocol)
    reference_config: dict[str, object] = Field(default_factory=dict)
    variables: tuple[str, ...] = ()


FILE = TypeAdapter(CompetitionFile)


def read_competition(path: Path) -> CompetitionFile:
    """Raises CompetitionFileError."""
    try:
        return FILE.validate_python(tomllib.loads(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise CompetitionFileError(f"cannot read {path.name}: {error}") from None
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise CompetitionFileError(f"{path.name}: {where}: {first['msg']}") from None


@transaction.atomic
def load_competition(file: CompetitionFile) -> Competition:
    """Create the competition, or bring its name and description up to date when nothing was sent yet.

    Raises CompetitionFileError when submissions exist, or the reference config does not fit the schema.
    """
    competition = Competition.objects.filter(slug=file.slug).first() or Competition(slug=file.slug)
    if competition.pk and competition.submissions.exists():
        raise CompetitionFileError(f"{file.slug} has submissions; its rules no longer change by file")
    schema = _schema(file)
    reference = _reference(file, schema)
    for name in ("name", "description", "engine", "model", "hardware_class", "cap_ratio", "accuracy_floor"):
        setattr(competition, name, getattr(file, name))
    competition.protocol = TypeAdapter(judge.Protocol).dump_python(file.protocol)
    competition.reference_config = reference.canonical
    competition.save()
    version = competition.schemas.count() + 1
    content = SCHEMA.dump_json(schema).decode()
    ConfigSchema.objects.create(competition=competition, version=version, content=content)
    return competition


def _schema(file: CompetitionFile) -> judge.Schema:
    try:
        known = judge.load_engine(file.engine).schema.variables
    except judge.JudgeError as error:
        raise CompetitionFileError(str(error)) from None
    unknown = set(file.variables) - set(known)
    if unknown:
        raise CompetitionFileError(f"engine {file.engine} has no variable {', '.join(sorted(unknown))}")
    return judge.Schema({name: known[name] for name in file.variables or known})


def _reference(file: CompetitionFile, schema: judge.Schema) -> judge.Config:
    try:
        return judge.check_config([RawVariable(name, value) for name, value in file.reference_config.items()], schema)
    except judge.ConfigError as error:
        wrong = ", ".join(f"{problem.variable} ({problem.code})" for problem in error.problems)
        raise CompetitionFileError(f"reference_config does not fit the schema: {wrong}") from None
