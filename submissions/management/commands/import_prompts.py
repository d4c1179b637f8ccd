"""manage.py import_prompts COMPETITION SOURCE"""

from argparse import ArgumentParser
from dataclasses import fields
from pathlib import Path

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

import judge
from judge.prompts import SetRole
from judge.sources import Columns, Encoder, load_tokenizer, read_dataset, read_sharegpt, read_token_file
from submissions.models import Competition
from submissions.services import store_prompts


class Command(BaseCommand):
    """Tokenise a prompt set once, name it by its SHA-256, and make the competition measure with it."""

    help = (
        "Import a prompt set: ShareGPT JSON (.json), JSON Lines of token ids (.jsonl), or with column options "
        "anything that `datasets` reads."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("competition", help="slug of the competition")
        parser.add_argument("source", help="a file or folder, or the hub name of a data set")
        parser.add_argument("--role", choices=[role.value for role in SetRole], default=SetRole.HIDDEN.value)
        parser.add_argument("--split", default="train", help="split of the data set")
        parser.add_argument("--prompt-column", default="", help="column of the prompts: a speed set")
        parser.add_argument("--context-column", default="", help="column of the contexts: a quality set")
        parser.add_argument("--target-column", default="", help="column of the scored continuations")
        parser.add_argument("--question-column", default="", help="column of the questions: an accuracy set")
        parser.add_argument("--choice-column", default="", help="column of the right letters, A to J")
        parser.add_argument("--number-column", default="", help="column of the right numbers")
        parser.add_argument("--chat", action="store_true", help="render prompts as a user's turn of the chat template")

    def handle(self, *args: object, competition: str, source: str, role: str, **options: object) -> None:
        found = Competition.objects.filter(slug=competition).first()
        if found is None:
            raise CommandError(f"no competition {competition}")
        try:
            prompts = read_prompts(found, source, options)
            refuse_misfits(found, prompts)
            stored = store_prompts(found, prompts, SetRole(role))
        except judge.PromptSetError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{stored.role} {stored.kind} set of {stored.count}: {stored.sha256}")


def refuse_misfits(competition: Competition, prompts: judge.PromptSet) -> None:
    """Where this machine has the model: no record that the model cannot read. Raises PromptSetError."""
    model = judge.Model(competition.model, settings.MODELS_DIR / competition.model)
    if (model.folder / "config.json").is_file():
        model.refuse_misfits(prompts)


def read_prompts(competition: Competition, source: str, options: dict[str, object]) -> judge.PromptSet:
    columns = Columns(**{field.name: str(options[f"{field.name}_column"]) for field in fields(Columns)})
    with_columns = columns != Columns()
    if source.endswith(".jsonl") and not with_columns:
        return read_token_file(Path(source))
    if not source.endswith(".json") and not with_columns:
        raise judge.PromptSetError("a data set needs the names of its columns: see --help")
    encoder = Encoder(load_tokenizer(settings.MODELS_DIR / competition.model), chat=bool(options["chat"]))
    if with_columns:
        return read_dataset(source, str(options["split"]), columns, encoder)
    return read_sharegpt(Path(source), encoder)
