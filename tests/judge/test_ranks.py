import math
import random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.ranks import Entry, Ranked, SequentialRule, Standing, rank_groups, sequence_radius
from judge.speed import TimedRequest
from tests import real_runs
from tests.judge.test_statistics import lap

RULE = SequentialRule()


def test_the_radius_shrinks_with_laps_and_is_endless_without() -> None:
    radii = [sequence_radius(laps, 0.01) for laps in range(9)]

    assert radii[0] == math.inf
    assert radii == sorted(radii, reverse=True)


def test_the_sequence_holds_at_every_number_of_laps_together() -> None:
    source = np.random.default_rng(1)
    means = source.normal(0, 0.01, (20_000, 8)).cumsum(axis=1) / np.arange(1, 9)
    radii = np.array([sequence_radius(laps, 0.01) for laps in range(1, 9)])

    assert (np.abs(means) > radii).any(axis=1).mean() <= 0.05


@pytest.mark.parametrize("rival_laps", [1, 2, 8])
def test_equal_configs_are_called_different_in_at_most_5_percent_of_20_000_trials(rival_laps: int) -> None:
    source = np.random.default_rng(rival_laps)
    speeds = np.exp(source.normal(math.log(500), 0.01, (20_000, 8)))
    rivals = np.exp(source.normal(math.log(500), 0.01, (20_000, rival_laps)))

    wrong = sum(
        next(filter(lambda s: s != Standing.OPEN, (RULE.standing(own[:laps], rival) for laps in range(1, 9))))
        in (Standing.ABOVE, Standing.BELOW)
        for own, rival in zip(speeds.tolist(), rivals.tolist(), strict=True)
    )

    assert wrong / 20_000 <= 0.05


def test_a_clear_difference_is_called_after_two_laps() -> None:
    assert RULE.standing([550, 551], [500, 501]) == Standing.ABOVE
    assert RULE.standing([450, 451], [500, 501]) == Standing.BELOW


def test_one_lap_alone_decides_nothing_but_what_is_out_of_reach() -> None:
    assert RULE.standing([900], [500]) == Standing.OPEN
    assert RULE.is_out_of_reach([300], last_shown=400)
    assert not RULE.is_out_of_reach([395], last_shown=400)
    assert not RULE.is_out_of_reach([], last_shown=400)


def test_eight_laps_without_a_call_are_a_tie() -> None:
    assert RULE.standing([500] * 7, [502]) == Standing.OPEN
    assert RULE.standing([500] * 8, [502]) == Standing.TIE
    assert RULE.standing([500] * 8, []) == Standing.TIE


def test_a_quiet_machine_reaches_the_tie_zone_sooner() -> None:
    assert SequentialRule(start_noise=0.0016).standing([500, 500.5], [500.2] * 4) == Standing.TIE


def entry(key: str, *speeds: float, submitted: int = 0) -> Entry:
    return Entry(key, tuple(lap(speed) for speed in speeds), submitted)


def ranks(entries: list[Entry], noise: float = 0.01) -> list[tuple[object, int, bool]]:
    return [(ranked.entry.key, ranked.rank, ranked.is_tied) for ranked in rank_groups(entries, noise, "a")]


def test_what_is_not_different_from_the_leader_shares_its_rank_and_the_earlier_stands_first() -> None:
    entries = [entry("late", 507, submitted=2), entry("early", 506, submitted=1), entry("slow", 400)]

    assert ranks(entries) == [("early", 1, True), ("late", 1, True), ("slow", 3, False)]


def test_the_mean_of_all_laps_ranks_never_the_best() -> None:
    assert ranks([entry("lucky", 560, 480, 480), entry("steady", 540, 540, 540)])[0][0] == "steady"


def scaled(run: str, speed: float) -> tuple[TimedRequest, ...]:
    """A real run, its clock stretched so that its score is this."""
    requests = real_runs.timed_passes()[run]
    factor = real_runs.reported("real_timed_passes.csv", "tps")[run] / speed
    return tuple(
        TimedRequest(
            r.prompt_sha256, r.started_ns, r.started_ns + round(r.duration_ns * factor), r.tokens, r.answer_sha256
        )
        for r in requests
    )


def test_the_real_podium_of_506_63_506_74_and_506_94_is_one_tie() -> None:
    podium = [("run-49", 506.63), ("run-15", 506.74), ("run-63", 506.94)]
    entries = [Entry(run, (scaled(run, speed),), place) for place, (run, speed) in enumerate(podium)]

    assert ranks(entries) == [("run-49", 1, True), ("run-15", 1, True), ("run-63", 1, True)]


@pytest.mark.parametrize("broken", [(), ((),), ((TimedRequest("p0", 5, 5, 1, "a"),),)])
def test_an_entry_without_a_speed_never_ranks(broken: tuple) -> None:
    assert ranks([entry("good", 500), Entry("broken", broken, 1)]) == [("good", 1, False)]


speeds = st.lists(st.floats(300, 600), min_size=1, max_size=3)
fields = st.lists(speeds, min_size=2, max_size=6)


def made(field: list[list[float]]) -> list[Entry]:
    return [Entry(n, tuple(lap(s, prompts=8) for s in own), submitted=n) for n, own in enumerate(field)]


def by_key(ranked: list[Ranked]) -> dict[object, Ranked]:
    return {one.entry.key: one for one in ranked}


@settings(deadline=None, max_examples=30)
@given(fields, st.randoms(use_true_random=False))
def test_ranks_do_not_depend_on_the_order_of_the_rows(field: list[list[float]], source: random.Random) -> None:
    entries = made(field)
    shuffled = list(entries)
    source.shuffle(shuffled)

    assert rank_groups(shuffled, 0.01, "a") == rank_groups(entries, 0.01, "a")


@settings(deadline=None, max_examples=30)
@given(fields, st.floats(300, 600))
def test_adding_a_lap_never_reorders_others(field: list[list[float]], speed: float) -> None:
    before = by_key(rank_groups(made(field), 0.01, "a"))
    after = by_key(rank_groups(made([[*field[0], speed], *field[1:]]), 0.01, "a"))

    others = range(1, len(field))
    for a in others:
        for b in others:
            if before[a].rank < before[b].rank:
                assert after[a].rank <= after[b].rank


@settings(deadline=None, max_examples=30)
@given(fields)
def test_a_better_rank_is_always_a_faster_mean(field: list[list[float]]) -> None:
    ranked = rank_groups(made(field), 0.01, "a")

    assert all(a.mean_tps >= b.mean_tps for a in ranked for b in ranked if a.rank < b.rank)
