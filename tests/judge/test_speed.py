import pytest

from judge.speed import TimedRequest, compat_tps, summarise_speed, tps

S = 1_000_000_000


def request(started_s: float, ended_s: float, tokens: int = 100) -> TimedRequest:
    return TimedRequest("0" * 64, int(started_s * S), int(ended_s * S), tokens, "a" * 64)


def test_the_score_is_all_tokens_over_all_seconds_not_a_mean_of_rates() -> None:
    timed = [request(0, 1), request(1, 4)]

    assert tps(timed) == pytest.approx(200 / 4)


def test_the_wall_clock_counts_the_gaps_too() -> None:
    timed = [request(0, 1), request(3, 4)]

    assert tps(timed) == pytest.approx(100)
    assert compat_tps(timed) == pytest.approx(50)


@pytest.mark.parametrize("score", [tps, compat_tps])
@pytest.mark.parametrize("timed", [[], [request(1, 1)]])
def test_no_time_is_no_score(score, timed: list[TimedRequest]) -> None:
    with pytest.raises(ValueError, match="took no time"):
        score(timed)


def test_percentiles_are_per_request() -> None:
    summary = summarise_speed([request(n, n + seconds / 10) for n, seconds in enumerate(range(1, 11))])

    assert (summary.p50_s, summary.p90_s) == (pytest.approx(0.55), pytest.approx(0.91))
