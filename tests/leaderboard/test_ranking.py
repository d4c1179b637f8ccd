import math
import random
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from leaderboard.ranking import Result, rank

NOW = datetime(2026, 6, 20, tzinfo=UTC)


def result(team: int, tps: float | None, config: str = "a", submission: int | None = None) -> Result:
    return Result(team, config, tps, 2.39, NOW, submission or team)


@pytest.mark.parametrize("missing", [None, math.nan, math.inf, -math.inf, 0.0, -5.0])
def test_a_missing_number_never_ranks_and_never_hides_a_verified_one(missing: float | None) -> None:
    rows = rank([result(1, 500), result(1, missing, "b"), result(2, missing)])

    assert [(row.team_id, row.tps) for row in rows] == [(1, 500)]


def test_a_team_has_one_row_with_its_best_config() -> None:
    rows = rank([result(1, 490, "a"), result(1, 505, "b"), result(2, 500)])

    assert [(row.rank, row.team_id, row.config_sha256) for row in rows] == [(1, 1, "b"), (2, 2, "a")]


def test_the_score_of_a_config_is_the_mean_of_its_laps_never_the_best() -> None:
    rows = rank([result(1, tps) for tps in (490, 500, 510)] + [result(2, 505)])

    assert [(row.team_id, row.tps, row.laps) for row in rows] == [(2, 505, 1), (1, 500, 3)]


def test_equal_speeds_share_a_rank_and_the_earlier_stands_first() -> None:
    rows = rank([result(1, 500, submission=9), result(2, 500, submission=3), result(3, 400)])

    assert [(row.rank, row.team_id) for row in rows] == [(1, 2), (1, 1), (3, 3)]


def test_nothing_ranks_to_nothing() -> None:
    assert rank([]) == []


numbers = st.one_of(st.none(), st.floats(), st.floats(1, 1000))


def of_submission(number: int, tps: float | None) -> Result:
    """A submission belongs to one team and one config; several of its laps may be there."""
    return result(number % 6, tps, "abc"[number % 3], number)


results = st.lists(st.builds(of_submission, st.integers(1, 60), numbers), max_size=40)


@given(results, st.randoms(use_true_random=False))
def test_ranks_do_not_depend_on_the_order_of_the_results(listed: list[Result], source: random.Random) -> None:
    shuffled = list(listed)
    source.shuffle(shuffled)

    assert rank(shuffled) == rank(listed)


@given(results)
def test_ranks_are_what_a_slow_obvious_count_says(listed: list[Result]) -> None:
    rows = rank(listed)

    for row in rows:
        assert row.rank == 1 + sum(other.tps > row.tps for other in rows)
    good = {r.team_id for r in listed if r.tps is not None and 0 < r.tps < math.inf}
    assert sorted(row.team_id for row in rows) == sorted(good)
