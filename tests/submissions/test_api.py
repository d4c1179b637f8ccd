import json

import pytest
from django.test import Client

from submissions.models import Competition, Submission
from tests import builders
from tests.submissions.test_submit import WRONG

pytestmark = pytest.mark.django_db


@pytest.fixture
def contest() -> Competition:
    return builders.competition()


@pytest.fixture
def signed_in(client: Client) -> Client:
    user = builders.user("ada")
    builders.team("Ducks", user)
    client.force_login(user)
    return client


def send(client: Client, contest: Competition, body: object):
    return client.post(f"/api/competitions/{contest.slug}/submissions", json.dumps(body), "application/json")


def test_a_config_is_sent_and_watched(signed_in: Client, contest: Competition) -> None:
    answer = send(signed_in, contest, {"config": {"SLIDING_WINDOW": 188}})

    assert answer.status_code == 201
    sent = answer.json()
    assert (sent["config"], sent["verdict"], sent["step"]) == ({"SLIDING_WINDOW": 188}, "", "queued, 0 ahead")

    builders.decided(Submission.objects.get(), "disqualified", tps=None, ppl=5.0)
    seen = signed_in.get(f"/api/submissions/{sent['id']}").json()
    assert (seen["verdict"], seen["reason_words"], seen["ppl"]) == (
        "disqualified",
        "The perplexity is over the cap.",
        5.0,
    )


def test_env_text_is_taken_as_well(signed_in: Client, contest: Competition) -> None:
    assert send(signed_in, contest, {"text": "SLIDING_WINDOW=188"}).json()["config"] == {"SLIDING_WINDOW": 188}


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_a_refusal_says_what_the_form_says(
    signed_in: Client, contest: Competition, name: str, value: str, words: str
) -> None:
    answer = send(signed_in, contest, {"config": {name: value}})

    assert (answer.status_code, answer["Content-Type"]) == (422, "application/problem+json")
    [error] = answer.json()["errors"]
    assert error["variable"] == name
    assert words in error["message"]
    assert not Submission.objects.exists()


@pytest.mark.parametrize(
    ("body", "status"),
    [
        ({}, 422),
        ({"text": "A=1", "config": {}}, 422),
        ({"config": [1]}, 422),
        ({"text": ""}, 422),
        ({"text": "LD_PRELOAD=x"}, 422),
        ({"text": "A=1\u0000"}, 422),
        ({"config": {"SLIDING_WINDOW": [1]}}, 422),
        ({"config": {"SLIDING_WINDOW\u0000": 5}}, 422),
    ],
)
def test_a_body_that_is_no_config_is_refused(signed_in: Client, contest, body: object, status: int) -> None:
    assert send(signed_in, contest, body).status_code == status
    assert not Submission.objects.exists()


def test_a_body_that_is_no_json_is_refused(signed_in: Client, contest: Competition) -> None:
    answer = signed_in.post(f"/api/competitions/{contest.slug}/submissions", "{nope", "application/json")

    assert answer.status_code == 400


def test_whoever_is_not_signed_in_is_sent_away(client: Client, contest: Competition) -> None:
    assert send(client, contest, {"config": {}}).status_code == 401
    assert client.get("/api/submissions/1").status_code == 401


def test_a_post_from_another_site_is_refused(contest: Competition) -> None:
    strict = Client(enforce_csrf_checks=True)
    user = builders.user("ada")
    builders.team("Ducks", user)
    strict.force_login(user)

    assert send(strict, contest, {"config": {}}).status_code == 403


def test_without_a_team_or_a_calibration_there_is_a_conflict(client: Client, contest: Competition) -> None:
    user = builders.user()
    client.force_login(user)
    assert send(client, contest, {"config": {}}).json()["title"] == "You are in no team yet."

    builders.team("Ducks", user)
    answer = send(client, builders.competition(ppl_cap=None), {"config": {}})
    assert (answer.status_code, answer.json()["title"]) == (409, "This competition takes no configs yet.")


def test_an_unknown_competition_is_not_found(signed_in: Client, contest: Competition) -> None:
    contest.slug = "nothing"

    assert send(signed_in, contest, {"config": {}}).status_code == 404
