"""manage.py calibrate COMPETITION"""

import time
from argparse import ArgumentParser

from django.core.management.base import BaseCommand, CommandError

import judge
from judge.words import REASONS
from submissions import queries, services
from submissions.models import Competition, Evaluation

POLL_S = 1.0


class Command(BaseCommand):
    """Measure the reference config on a worker, and set the reference perplexity and the cap."""

    help = "Measure the reference config on a worker, and set reference_ppl and ppl_cap."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("competition", help="slug of the competition")
        parser.add_argument("--timeout", type=int, default=3600, help="seconds to wait for a worker's result")

    def handle(self, *args: object, competition: str, timeout: int, **options: object) -> None:
        found = Competition.objects.filter(slug=competition).first()
        if found is None:
            raise CommandError(f"no competition {competition}")
        try:
            evaluation = services.calibrate(found)
        except services.NotOpen:
            raise CommandError(f"{competition} needs a speed set and a quality set: import_prompts") from None
        self._wait(evaluation, timeout)
        if evaluation.verdict != judge.Outcome.VERIFIED:
            words = REASONS.get(evaluation.reason, evaluation.reason)
            raise CommandError(f"the reference is {evaluation.verdict}: {words} {evaluation.detail}")
        try:
            found = services.accept_calibration(evaluation)
        except ValueError as error:
            raise CommandError(str(error)) from None
        self.stdout.write(
            f"reference: {evaluation.tps:.2f} tokens/s, "
            f"reference_ppl {found.reference_ppl:.4f}, ppl_cap {found.ppl_cap:.4f}"
        )

    def _wait(self, evaluation: Evaluation, timeout_s: int) -> None:
        """Until the verdict, saying each new step. Raises CommandError when none comes in time."""
        deadline, told = time.monotonic() + timeout_s, ""
        while not evaluation.verdict:
            step = queries.step_words(evaluation)
            if step != told:
                self.stderr.write(f"calibration: {step}")
                told = step
            if time.monotonic() > deadline:
                raise CommandError(f"no verdict within {timeout_s} s: is a worker running for this hardware class?")
            time.sleep(POLL_S)
            evaluation.refresh_from_db()
