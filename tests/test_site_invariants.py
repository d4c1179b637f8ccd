"""What holds for every page."""

import re

import pytest
from django.test import Client

from judge import Lap as MeasuredLap
from judge import Outcome, Stage, Verdict
from judge.errors import Fault
from submissions import claims
from tests import builders
from tests.builders import NOW

pytestmark = pytest.mark.django_db
POLICY = {
    "base-uri 'none'",
    "connect-src 'self'",
    "default-src 'none'",
    "font-src 'self'",
    "form-action 'self'",
    "frame-ancestors 'none'",
    "img-src 'self'",
    "script-src 'self'",
    "style-src 'self'",
}


@pytest.fixture
def pages(client: Client) -> list[str]:
    """An address of every kind of page, seen by a member of a team that is staff as well."""
    user = builders.user("ada", is_staff=True, is_superuser=True)
    team = builders.team("Ducks", user)
    client.force_login(user)
    contest = builders.competition()
    failed = builders.submission(contest, team, SLIDING_WINDOW=99)
    attempt = claims.claim_next(claims.register_worker("w1", "cpu", NOW), NOW)
    lap = MeasuredLap("seed", fault=Fault.ENGINE_EXITED, fault_stage=Stage.START, log_tail="no")
    claims.record(attempt, [lap], Verdict(Outcome.FAILED, Fault.ENGINE_EXITED, Stage.START), NOW)
    builders.decided(builders.submission(contest))
    builders.decided(builders.submission(contest), "disqualified", ppl=9.0)
    queued = builders.submission(contest, team)
    return [
        "/",
        f"/c/{contest.slug}/",
        f"/c/{contest.slug}/board/",
        f"/c/{contest.slug}/submit/",
        "/team/",
        "/submissions/",
        f"/submissions/{failed.pk}/",
        f"/submissions/{queued.pk}/",
        "/admin/submissions/evaluation/",
    ]


def test_every_page_is_there_under_a_strict_policy_without_inline_script_or_style(
    client: Client, pages: list[str]
) -> None:
    for address in pages:
        page = client.get(address)
        text = page.content.decode()
        assert page.status_code == 200, address
        assert set(page["Content-Security-Policy"].split("; ")) == POLICY
        assert not re.search(r"<script(?![^>]*\bsrc=)[^>]*>\s*\S|<style|\sstyle=|\son\w+=", text), address


def test_no_page_names_another_host(client: Client, pages: list[str]) -> None:
    for address in pages:
        links = re.findall(r'(?:src|href|action)="([^"]*)"', client.get(address).content.decode())
        foreign = [link for link in links if re.match(r"(https?:)?//", link)]
        assert foreign == [], address


def test_every_page_has_a_language_a_title_one_heading_and_labelled_fields(client: Client, pages: list[str]) -> None:
    for address in pages[:-1]:
        text = client.get(address).content.decode()
        assert '<html lang="en">' in text
        assert re.search(r"<title>[^<]+</title>", text), address
        assert text.count("<h1") == 1, address
        fields = set(re.findall(r'<(?:input|select|textarea)(?![^>]*type="hidden")[^>]*\bid="([^"]+)"', text))
        assert fields == set(re.findall(r'<label for="([^"]+)"', text)), address


def test_the_account_pages_are_ours(client: Client) -> None:
    for address, words in [("/accounts/login/", "Sign in"), ("/accounts/signup/", "Sign up")]:
        text = client.get(address).content.decode()
        assert f"<h1>{words}</h1>" in text
        assert 'class="brand"' in text


def test_reading_pages_refuse_to_be_posted_to(client: Client, pages: list[str]) -> None:
    for address in pages[:3]:
        assert client.post(address).status_code == 405


@pytest.mark.parametrize("address", ["/accounts/password/reset/", "/accounts/logout/", "/accounts/email/"])
def test_the_other_account_pages_stand_in_our_frame(client: Client, address: str) -> None:
    client.force_login(builders.user())

    page = client.get(address)

    assert page.status_code == 200
    assert 'class="brand"' in page.content.decode()


def test_what_is_not_there_is_said_in_our_frame(client: Client) -> None:
    page = client.get("/c/nothing/")

    assert page.status_code == 404
    assert "<h1>Not found</h1>" in page.content.decode()
