import pytest
from django.test import Client
from django.urls import reverse

from submissions.models import Competition, Evaluation
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def contest() -> Competition:
    return builders.competition()


@pytest.fixture
def board(client: Client, contest: Competition):
    """The board as JSON."""
    return lambda: client.get(reverse("board-json", args=[contest.slug])).json()


def teams(board_json: dict) -> list[tuple[int, str, float]]:
    return [(entry["rank"], entry["team"], entry["tps"]) for entry in board_json["entries"]]


def test_a_verified_run_stands_on_the_board(contest: Competition, board) -> None:
    run = builders.submission(contest, builders.team("Ducks"), SLIDING_WINDOW=188)
    builders.decided(run, tps=510.0, ppl=4.1)

    seen = board()

    [entry] = seen["entries"]
    assert (entry["rank"], entry["team"], entry["tps"], entry["ppl"]) == (1, "Ducks", 510.0, 4.1)
    assert entry["config"] == "SLIDING_WINDOW=188\n"
    assert (seen["reference_ppl"], seen["ppl_cap"]) == (contest.reference_ppl, contest.ppl_cap)


def test_a_pending_faster_run_hides_nothing(contest: Competition, board) -> None:
    team = builders.team()
    builders.decided(builders.submission(contest, team), tps=500.0)
    builders.submission(contest, team, SLIDING_WINDOW=100)

    assert teams(board()) == [(1, "Ducks", 500.0)]


def test_a_disqualified_best_lets_the_teams_next_best_appear(contest: Competition, board) -> None:
    team = builders.team()
    builders.decided(builders.submission(contest, team), tps=500.0)
    builders.decided(builders.submission(contest, team, SLIDING_WINDOW=16), "disqualified", tps=535.0, ppl=4.4)

    seen = board()

    assert teams(seen) == [(1, "Ducks", 500.0)]
    [run] = seen["disqualified"]
    assert (run["team"], run["reason"], run["ppl"]) == ("Ducks", "over-ppl-cap", 4.4)
    assert "rank" not in run


def test_a_config_that_was_disqualified_once_does_not_rank_for_a_luckier_run(contest: Competition, board) -> None:
    team = builders.team()
    builders.decided(builders.submission(contest, team), tps=500.0)
    builders.decided(builders.submission(contest, team), "disqualified", tps=510.0, ppl=4.4)

    assert teams(board()) == []


@pytest.mark.parametrize("verdict", ["failed", "void", "review"])
def test_no_other_verdict_shows_anywhere(contest: Competition, board, verdict: str) -> None:
    builders.decided(builders.submission(contest), verdict, tps=None, ppl=None)

    assert (board()["entries"], board()["disqualified"]) == ([], [])


@pytest.mark.parametrize("kind", ["trial", "calibration"])
def test_trials_and_calibrations_never_rank(contest: Competition, board, kind: str) -> None:
    evaluation = builders.decided(builders.submission(contest))
    Evaluation.objects.filter(pk=evaluation.pk).update(kind=kind)

    assert teams(board()) == []


def test_two_teams_of_one_name_are_two_rows(contest: Competition, board) -> None:
    for tps in (500.0, 400.0):
        builders.decided(builders.submission(contest, builders.team("Ducks")), tps=tps)

    assert teams(board()) == [(1, "Ducks", 500.0), (2, "Ducks", 400.0)]


def test_a_renamed_team_keeps_its_row(contest: Competition, board) -> None:
    team = builders.team("Ducks")
    builders.decided(builders.submission(contest, team), tps=500.0)
    team.name = "Geese"
    team.save()

    assert teams(board()) == [(1, "Geese", 500.0)]


NAMES = ["🦆🦆", "عرب", "e\u0301quipe", "<script>alert(1)</script>", "=1+1", "x" * 80]


@pytest.mark.parametrize("name", NAMES)
def test_any_name_stands_on_the_page_as_text(client: Client, contest: Competition, name: str) -> None:
    builders.decided(builders.submission(contest, builders.team(name)))

    page = client.get(reverse("board", args=[contest.slug]))

    assert page.status_code == 200
    assert b"<script>alert" not in page.content


def test_the_page_shows_rank_speed_perplexity_cap_and_config(client: Client, contest: Competition) -> None:
    builders.decided(builders.submission(contest, SLIDING_WINDOW=188), tps=1510.126, ppl=4.1)
    builders.decided(builders.submission(contest, SLIDING_WINDOW=16), "disqualified", tps=None, ppl=351.9)

    text = client.get(reverse("board", args=[contest.slug])).content.decode()

    for shown in ("1,510.13", "4.100", "−2.4 %", "SLIDING_WINDOW=188", "351.900", "The perplexity is over the cap."):
        assert shown in text


@pytest.mark.parametrize("rows", [0, 1, 30])
def test_the_number_of_queries_does_not_grow_with_the_rows(
    client: Client, contest: Competition, django_assert_max_num_queries, rows: int
) -> None:
    for number in range(rows):
        builders.decided(builders.submission(contest), tps=100.0 + number)

    with django_assert_max_num_queries(3):
        page = client.get(reverse("board", args=[contest.slug]))

    assert page.content.count(b'class="number rank"') == rows


def test_an_unknown_competition_is_not_found(client: Client) -> None:
    assert client.get("/c/nothing/board/").status_code == 404
    assert client.get("/c/nothing/board.json").status_code == 404


@pytest.mark.parametrize("ppl", [0.001, 999.9996, 1e6, 1.7e308])
def test_any_perplexity_fits_on_the_page_and_in_json(client: Client, contest: Competition, board, ppl: float) -> None:
    builders.decided(builders.submission(contest), "disqualified", tps=None, ppl=ppl)

    assert board()["disqualified"][0]["ppl"] == ppl
    assert len(client.get(reverse("board", args=[contest.slug])).content) < 20_000
