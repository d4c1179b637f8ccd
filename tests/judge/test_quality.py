import math

import pytest

from judge.errors import Fault, LapFault
from judge.quality import QualityScore, check_repeat, perplexity


def score(nll: float, tokens: int = 10) -> QualityScore:
    return QualityScore("0" * 64, tokens, nll)


def test_perplexity_is_weighted_by_tokens() -> None:
    assert perplexity([score(10, 10), score(90, 30)]) == pytest.approx(math.exp(100 / 40))


def test_no_tokens_are_no_perplexity() -> None:
    with pytest.raises(ValueError, match="no tokens"):
        perplexity([])


def test_a_perplexity_too_large_for_a_float_is_over_every_cap() -> None:
    assert 1e300 < perplexity([score(1e6, 1)]) < math.inf


def test_a_repeat_within_the_tolerance_passes() -> None:
    check_repeat(score(10.0), score(10.009), 1e-3, "record 1")


def test_a_repeat_outside_the_tolerance_is_a_fault() -> None:
    with pytest.raises(LapFault, match="record 1.*0.0011 nats") as raised:
        check_repeat(score(10.0), score(10.011), 1e-3, "record 1")

    assert raised.value.fault == Fault.QUALITY_NOT_REPEATABLE
