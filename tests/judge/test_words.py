from string import Formatter

import pytest

from judge import Stage
from judge.errors import ConfigProblem, Fault
from judge.refused import REFUSED_KEYS, REFUSED_NAMES
from judge.verdict import OVER_PPL_CAP, SPECULATION_CHANGES_SCORES
from judge.words import PROBLEMS, REASONS, REFUSALS, STAGES, problem_sentence


@pytest.mark.parametrize(
    "code", [*Fault, OVER_PPL_CAP, SPECULATION_CHANGES_SCORES, *(f"audit-a{n}" for n in (1, 2, 3, 4, 5, 6, 8))]
)
def test_every_reason_has_words(code: str) -> None:
    assert REASONS[code].endswith(".")


def test_every_stage_has_words() -> None:
    assert set(STAGES) == set(Stage)


def test_every_refusal_has_words() -> None:
    used = {reason for _, reason in REFUSED_NAMES} | set(REFUSED_KEYS.values())

    assert used == set(REFUSALS)


@pytest.mark.parametrize("code", PROBLEMS)
def test_every_problem_becomes_a_sentence_in_any_language(code: str) -> None:
    names = {name for _, name, _, _ in Formatter().parse(PROBLEMS[code]) if name}
    params: dict[str, object] = {name: f"<{name}>" for name in names} | {"refusal": "loads-code"}

    sentence = problem_sentence(ConfigProblem(code, params=params), translate=lambda text: f"¡{text}")

    assert "{" not in sentence
    assert "¡" in sentence
    assert all(f"<{name}>" in sentence for name in names - {"refusal"})
