"""Codes of the judge in the reader's words."""

from django.utils.translation import gettext

from judge.errors import ConfigProblem
from judge.words import REASONS, STAGES, problem_sentence


def reason_words(code: str) -> str:
    return gettext(REASONS[code]) if code in REASONS else code


def stage_words(code: str) -> str:
    return gettext(STAGES[code]) if code in STAGES else code


def problem_words(problem: ConfigProblem) -> str:
    return problem_sentence(problem, gettext)
