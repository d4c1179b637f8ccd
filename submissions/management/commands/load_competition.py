"""manage.py load_competition FILE"""

from argparse import ArgumentParser
from pathlib import Path

from django.core.management.base import BaseCommand, CommandError

from submissions.competition_file import CompetitionFileError, load_competition, read_competition


class Command(BaseCommand):
    """Create a competition from its TOML file."""

    help = "Create a competition from its TOML file."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", type=Path)

    def handle(self, *args: object, file: Path, **options: object) -> None:
        try:
            competition = load_competition(read_competition(file))
        except CompetitionFileError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(f"{competition.slug}: {competition.name}, schema version {competition.schema.version}")
