import itertools
import math
import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.quality import QualityScore, perplexity
from judge.speed import TimedRequest, tps
from judge.statistics import (
    fixed_set_interval,
    holm,
    mean_tps,
    perplexity_interval,
    perplexity_ratio,
    population_interval,
    tps_difference,
)
from tests import real_runs


def scores(count: int, seed: int, mean_nll: float = 1.0) -> list[QualityScore]:
    source = random.Random(seed)
    return [QualityScore(str(n), 50, 50 * source.gauss(mean_nll, 0.3)) for n in range(count)]


def lap(speed: float, prompts: int = 128, spread: float = 0.2, seed: int = 0) -> tuple[TimedRequest, ...]:
    """A timed pass whose score is exactly this speed, its prompts unlike each other."""
    source = random.Random(seed)
    seconds = np.array([source.uniform(1 - spread, 1 + spread) for _ in range(prompts)])
    seconds *= prompts * 512 / speed / seconds.sum()
    starts = np.concatenate([[0], np.cumsum(seconds)[:-1]])
    return tuple(
        TimedRequest(f"p{n}", int(start * 1e9), int((start + taken) * 1e9), 512, f"a{n}")
        for n, (start, taken) in enumerate(zip(starts, seconds, strict=True))
    )


def test_the_same_seed_gives_the_same_interval() -> None:
    measured = scores(32, seed=1)

    assert perplexity_interval(measured, "a") == perplexity_interval(measured, "a")
    assert perplexity_interval(measured, "a") != perplexity_interval(measured, "b")


def test_the_interval_holds_the_perplexity_and_narrows_with_records() -> None:
    widths = []
    for count in (16, 400):
        measured = scores(count, seed=2)
        low, high = perplexity_interval(measured, "a")
        assert low < perplexity(measured) < high
        widths.append(high - low)

    assert widths[1] < widths[0] / 3


def test_the_interval_covers_the_truth_about_as_often_as_it_says() -> None:
    hits = sum(low <= math.e <= high for low, high in (perplexity_interval(scores(40, n), "a") for n in range(200)))

    assert 0.90 <= hits / 200 <= 0.99


def test_identical_records_leave_no_doubt() -> None:
    low, high = perplexity_interval([QualityScore(str(n), 10, 20.0) for n in range(8)], "a")

    assert low == pytest.approx(high) == pytest.approx(math.exp(2))


def test_without_records_there_is_no_interval() -> None:
    with pytest.raises(ValueError, match="no records"):
        perplexity_interval([], "a")


def test_the_paired_ratio_takes_out_what_the_records_have_in_common() -> None:
    reference = scores(64, seed=3)
    worse = [QualityScore(s.record_sha256, s.tokens, s.nll + s.tokens * 0.02) for s in reference]

    ratio = perplexity_ratio(worse, list(reversed(reference)), "a")

    assert ratio.estimate == pytest.approx(perplexity(worse) / perplexity(reference))
    assert ratio.low == pytest.approx(ratio.high) == pytest.approx(math.exp(0.02))


def test_the_real_paired_ratio_is_several_times_as_sharp_as_the_plain_perplexity() -> None:
    passes = real_runs.quality_passes()
    low, high = perplexity_interval(passes["run-15"], "a")
    plain = (high - low) / perplexity(passes["run-15"])

    ratio = perplexity_ratio(passes["run-15"], passes["run-49"], "a")

    assert ratio.high - ratio.low < plain / 4


@pytest.mark.parametrize("other", [[], scores(7, seed=1), [*scores(7, seed=1), QualityScore("x", 50, 50.0)]])
def test_a_ratio_to_other_records_is_refused(other: list[QualityScore]) -> None:
    with pytest.raises(ValueError, match="other records"):
        perplexity_ratio(scores(8, seed=1), other, "a")


@pytest.mark.parametrize("run", real_runs.quality_passes())
def test_the_real_perplexities_are_recomputed_from_their_records(run: str) -> None:
    reported = real_runs.reported("real_quality_passes.csv", "ppl")[run]

    assert perplexity(real_runs.quality_passes()[run]) == pytest.approx(reported, rel=1e-6)


@pytest.mark.parametrize("run", [run for run in real_runs.timed_passes() if run != "run-36"])
def test_the_real_scores_are_the_reported_ones_less_the_gaps_between_requests(run: str) -> None:
    by_wall_clock = real_runs.reported("real_timed_passes.csv", "tps")[run]

    assert by_wall_clock < tps(real_runs.timed_passes()[run]) < 1.001 * by_wall_clock


def test_eighteen_real_runs_of_one_config_pool_to_one_mean_whose_interval_holds_it() -> None:
    laps = list(real_runs.timed_passes("config-04").values())
    assert len(laps) == 18

    pooled = fixed_set_interval(laps, start_noise=0.01)
    single = [fixed_set_interval([lap], start_noise=0.01) for lap in laps]

    assert pooled.estimate == pytest.approx(500.528, abs=0.001)
    assert pooled.high - pooled.low < 6
    covering = sum(interval.contains(pooled.estimate) for interval in single)
    assert covering >= 17
    assert min(i.low for i in single) < min(map(tps, laps)) < max(map(tps, laps)) < max(i.high for i in single)


def test_two_real_runs_of_one_config_are_rarely_called_different() -> None:
    passes = list(real_runs.timed_passes("config-04").values())
    pairs = list(itertools.combinations(passes, 2))

    called = sum(not tps_difference([a], [b], 0.01, "a").contains(0) for a, b in pairs)

    assert called / len(pairs) <= 0.05


def test_the_population_interval_is_wider_than_one_run_of_the_fixed_set() -> None:
    laps = list(real_runs.timed_passes("config-04").values())

    population, fixed = population_interval(laps, "a"), fixed_set_interval(laps, 0.01)

    assert population.contains(fixed.estimate)
    assert population.high - population.low > fixed.high - fixed.low


def test_a_real_difference_is_found_paired_by_prompt() -> None:
    difference = tps_difference([lap(520)], [lap(500)], 0.005, "a")

    assert difference.estimate == pytest.approx(0.04)
    assert difference.low > 0


def test_a_difference_is_the_other_ways_round_when_asked_the_other_way() -> None:
    forth, back = tps_difference([lap(520)], [lap(500)], 0.01, "a"), tps_difference([lap(500)], [lap(520)], 0.01, "a")

    assert (1 + forth.estimate) * (1 + back.estimate) == pytest.approx(1)


def test_more_laps_narrow_the_difference() -> None:
    one = tps_difference([lap(500)], [lap(500)], 0.01, "a")
    four = tps_difference([lap(500)] * 4, [lap(500)] * 4, 0.01, "a")

    assert four.high - four.low < 0.6 * (one.high - one.low)


def test_runs_on_other_prompts_are_not_compared() -> None:
    with pytest.raises(ValueError, match="other prompts"):
        tps_difference([lap(500)], [lap(500, prompts=64)], 0.01, "a")


@pytest.mark.parametrize("call", [mean_tps, lambda laps: fixed_set_interval(laps, 0.01)])
def test_without_laps_there_is_no_mean(call) -> None:
    with pytest.raises(ValueError, match="no laps"):
        call([])


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])


@given(st.lists(st.floats(0, 1), max_size=12))
def test_holm_never_lowers_a_p_value_nor_changes_their_order(p_values: list[float]) -> None:
    adjusted = holm(p_values)

    assert all(p <= a <= 1 for p, a in zip(p_values, adjusted, strict=True))
    order = sorted(range(len(p_values)), key=lambda i: p_values[i])
    assert [adjusted[i] for i in order] == sorted(adjusted)
