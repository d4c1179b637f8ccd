"""What a text answers, and the floor that the answers have to keep."""

from dataclasses import replace
from decimal import Decimal

import pytest

from judge import LapPlan, Outcome, PromptSetError, decide, run_lap, trust
from judge.accuracy import AnsweredQuestion, as_number, is_correct, last_choice, last_number
from judge.gates import accuracy_to_reference, is_below_floor
from judge.prompts import AnswerKind, PromptSet, Question, question
from judge.protocol import Stage
from judge.statistics import accuracy_ratio
from tests import builders
from tests.engines.gallery import CannotAnswer
from tests.engines.scripted import ScriptedEngine
from tests.judge.conftest import RunningServer
from tests.judge.test_trusted import SPECULATIVE


@pytest.mark.parametrize(
    ("text", "letter"),
    [
        ("Because it is wet, the answer is (C).", "C"),
        ("The answer is A. No: the answer is B.", "B"),
        ("the answer is: **D**", "D"),
        ("Answer: E", "E"),
        ("B. Paris", "B"),
        ("(H) the last one", "H"),
        ("G", "G"),
        ("A cat sat on the mat. I think so.", None),
        ("The answer is K.", None),
        ("The answer is Apple.", None),
        ("", None),
    ],
)
def test_the_letter_that_a_text_settles_on(text: str, letter: str | None) -> None:
    assert last_choice(text) == letter


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("6 * 7 makes 42 in all.\n#### 42", 42),
        ("#### $1,234.50", Decimal("1234.5")),
        ("First 3, then 4. The total is 7.", 7),
        ("It costs $1,000,000.", 1_000_000),
        ("minus: -12", -12),
        ("3.0", 3),
        ("...", None),
        ("no number", None),
        ("", None),
    ],
)
def test_the_number_that_a_text_settles_on(text: str, number: object) -> None:
    assert last_number(text) == number


def test_numbers_are_compared_as_numbers() -> None:
    asked = question("q", (1,), AnswerKind.NUMBER, "1,000.0", "line 1")

    assert is_correct(asked, "So 1000.")
    assert not is_correct(asked, "So 1000.1")
    assert as_number("1.2.3") is None


@pytest.mark.parametrize(
    ("kind", "answer"), [(AnswerKind.CHOICE, "K"), (AnswerKind.CHOICE, "AB"), (AnswerKind.NUMBER, "x")]
)
def test_a_question_whose_answer_cannot_be_checked_is_refused(kind: AnswerKind, answer: str) -> None:
    with pytest.raises(PromptSetError, match="line 4: the answer"):
        question("q", (1,), kind, answer, "line 4")


def test_a_set_of_questions_reads_back_what_it_writes() -> None:
    asked = builders.question_set()

    assert PromptSet.from_jsonl(asked.as_jsonl()) == asked
    assert PromptSet.from_jsonl('{"token_ids":[1],"choice":"B"}').questions == (
        Question("line-1", (1,), AnswerKind.CHOICE, "B"),
    )


def answered(right: int, of: int = 100) -> list[AnsweredQuestion]:
    return [AnsweredQuestion(f"q{n}", "a" * 64, n < right) for n in range(of)]


def test_the_ratio_is_paired_by_question() -> None:
    ratio = accuracy_ratio(answered(60), answered(80), "seed")

    assert ratio.estimate == 0.75
    assert 0.6 < ratio.low < 0.75 < ratio.high < 0.9
    same = accuracy_ratio(answered(80), answered(80), "seed")
    assert (same.low, same.high) == (1.0, 1.0)


def test_nothing_can_be_said_beside_a_reference_that_answers_nothing_right() -> None:
    assert accuracy_ratio(answered(0), answered(0), "seed").high == float("inf")


def test_other_questions_cannot_be_compared() -> None:
    with pytest.raises(ValueError, match="other questions"):
        accuracy_ratio(answered(1, 3), answered(1, 4), "seed")


def with_floor(floor: float, right: int = 6) -> LapPlan:
    return replace(builders.full_plan(), accuracy_floor=floor, calibration=builders.calibration(right))


def test_a_model_that_answers_as_the_reference_does_keeps_the_floor(engine: ScriptedEngine) -> None:
    plan = with_floor(1.0)

    lap = run_lap(lambda: RunningServer(engine), plan)

    assert [one.correct for one in lap.answered] == [True] * 6
    assert decide(lap, plan.rules).outcome == Outcome.VERIFIED
    ratio = accuracy_to_reference(lap.answered, plan.rules)
    assert ratio is not None
    assert (ratio.low, ratio.estimate, ratio.high) == (1, 1, 1)


def test_chance_alone_does_not_break_the_floor() -> None:
    one_wrong = [replace(one, correct=n > 0) for n, one in enumerate(builders.calibration().answered)]

    assert not is_below_floor(one_wrong, with_floor(0.9).rules)


def test_answers_below_the_floor_disqualify(engine: ScriptedEngine) -> None:
    plan = with_floor(0.5)
    with CannotAnswer() as rogue:
        lap = run_lap(lambda: RunningServer(rogue), plan)

    verdict = decide(lap, plan.rules)

    assert (verdict.outcome, verdict.reason, verdict.stage) == (
        Outcome.DISQUALIFIED,
        "below-accuracy-floor",
        Stage.ACCURACY_PASS,
    )
    assert "0 of 6 questions right, 0.000 of the reference (0.000 to 0.000), the floor is 0.5" in verdict.detail
    assert verdict.tps is not None


def test_wrong_answers_only_with_speculation_are_a_review(engine: ScriptedEngine) -> None:
    plan = replace(with_floor(0.9), config=SPECULATIVE, engine=replace(builders.plan().engine, readback=None))
    trusted = trust(lambda config: lambda: RunningServer(engine), plan.engine, plan.config, plan.config)
    with CannotAnswer() as rogue:
        lap = run_lap(lambda: RunningServer(rogue), plan, trusted=trusted)

    verdict = decide(lap, plan.rules)

    assert (verdict.outcome, verdict.reason) == (Outcome.REVIEW, "speculation-changes-answers")
    assert "without speculation 6 are right" in verdict.detail


def test_a_lap_that_lacks_an_answer_is_never_a_pass(engine: ScriptedEngine) -> None:
    plan = with_floor(0.5)
    lap = run_lap(lambda: RunningServer(engine), plan)
    lap.answered.pop()

    verdict = decide(lap, plan.rules)

    assert (verdict.outcome, verdict.detail) == (Outcome.VOID, "5 of 6 questions")


def test_a_floor_needs_questions_and_the_references_answers_to_them() -> None:
    with pytest.raises(PromptSetError, match="needs a set of questions"):
        replace(builders.full_plan(), question_set=None)
    with pytest.raises(PromptSetError, match="calibrate"):
        replace(builders.full_plan(), calibration=None)
    with pytest.raises(PromptSetError, match="calibrate"):
        replace(builders.full_plan(), question_set=builders.question_set(3))
