import math
import random

import pytest

from judge.quality import QualityScore, perplexity
from judge.statistics import perplexity_interval


def scores(count: int, seed: int, mean_nll: float = 1.0) -> list[QualityScore]:
    source = random.Random(seed)
    return [QualityScore(str(n), 50, 50 * source.gauss(mean_nll, 0.3)) for n in range(count)]


def test_the_same_seed_gives_the_same_interval() -> None:
    measured = scores(32, seed=1)

    assert perplexity_interval(measured, "a") == perplexity_interval(measured, "a")
    assert perplexity_interval(measured, "a") != perplexity_interval(measured, "b")


def test_the_interval_holds_the_perplexity_and_narrows_with_records() -> None:
    few, many = scores(16, seed=2), scores(400, seed=2)

    for measured in (few, many):
        low, high = perplexity_interval(measured, "a")
        assert low < perplexity(measured) < high
    assert math.dist(*[[x] for x in perplexity_interval(many, "a")]) < math.dist(
        *[[x] for x in perplexity_interval(few, "a")]
    )


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    hits = sum(low <= math.e <= high for low, high in (perplexity_interval(scores(40, n), "a") for n in range(200)))

    assert 0.90 <= hits / 200 <= 0.99


def test_identical_records_leave_no_doubt() -> None:
    low, high = perplexity_interval([QualityScore(str(n), 10, 20.0) for n in range(8)], "a")

    assert low == pytest.approx(high) == pytest.approx(math.exp(2))


def test_without_records_there_is_no_interval() -> None:
    with pytest.raises(ValueError, match="no records"):
        perplexity_interval([], "a")
