"""A person's way from signing up to a row on the board, in a real browser, with a real Celery worker."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from judge.engine import Model
from submissions.models import Competition
from tests import builders
from tests.conftest import SCRIPTED_TOML
from tests.processes import celery, environment

pytestmark = [pytest.mark.slow, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def contest(settings, engine_path: str, model: Model, broker_url: str) -> Competition:
    settings.ENGINE_PATH = engine_path
    settings.MODELS_DIR = model.folder.parent
    settings.BROKER_URL = broker_url
    return builders.competition(engine=SCRIPTED_TOML, name="The toy contest", description="As fast as you can.")


@pytest.fixture(autouse=True)
def worker(contest: Competition, broker_url: str, tmp_path: Path):
    with celery(tmp_path / "worker.log", environment(broker_url), "--queues", "cpu"):
        yield


def sign_up(page: Page, address: str, name: str) -> None:
    page.goto(address)
    page.get_by_role("link", name="Sign up").click()
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill("a long enough password")
    page.get_by_role("button", name="Sign up").click()


def test_from_the_form_to_the_board(page: Page, live_server, shoot) -> None:
    sign_up(page, live_server.url, "ada")
    page.get_by_role("link", name="The toy contest").click()
    page.get_by_role("link", name="Submit a config").click()
    page.get_by_label("Team name").fill("Ducks 🦆")
    page.get_by_role("button", name="Create the team").click()

    page.get_by_label("MAX_MODEL_LEN").fill("1024")
    page.get_by_label("SLIDING_WINDOW").fill("lots")
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("Must be a whole number, not lots.")).to_be_visible()
    expect(page.get_by_label("MAX_MODEL_LEN")).to_have_value("1024")
    shoot("submit-error")

    page.get_by_label("SLIDING_WINDOW").fill("8")
    page.get_by_label("SCRIPT").fill('{"seconds_per_token": 0.04}')
    page.get_by_role("button", name="Submit", exact=True).click()
    expect(page.get_by_text("of 6")).to_be_visible(timeout=30_000)
    shoot("submission-running")
    expect(page.get_by_text("Complete, within the cap.")).to_be_visible(timeout=60_000)
    page.get_by_text("What was measured").click()
    shoot("submission-verified")

    page.get_by_role("link", name="The toy contest").click()
    shoot("rules")
    page.get_by_role("link", name="Leaderboard").click()
    expect(page.get_by_role("row", name="Ducks 🦆")).to_contain_text("SLIDING_WINDOW=8")
    shoot("board")


def test_a_pasted_env_file_fills_the_form_and_a_failed_start_shows_its_log(page: Page, live_server, shoot) -> None:
    sign_up(page, live_server.url, "eve")
    page.goto(f"{live_server.url}/team/")
    page.get_by_label("Team name").fill("Geese")
    page.get_by_role("button", name="Create the team").click()
    page.goto(f"{live_server.url}/c/{Competition.objects.get().slug}/submit/")

    page.get_by_text("Fill the fields from a .env or JSON file").click()
    page.get_by_label("Paste .env or JSON").fill("MAX_MODEL_LEN=65536\n")
    page.get_by_role("button", name="Fill the fields").click()
    expect(page.get_by_label("MAX_MODEL_LEN")).to_have_value("65536")
    shoot("submit-filled")
    page.get_by_role("button", name="Submit", exact=True).click()

    expect(page.get_by_text("The engine exited before it was ready.")).to_be_visible(timeout=60_000)
    expect(page.get_by_text("the engine cannot start with this")).to_be_visible()
    shoot("submission-failed")


def test_everything_works_without_javascript(browser, live_server) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    sign_up(page, live_server.url, "nojs")
    page.goto(f"{live_server.url}/team/?next={Competition.objects.get().slug}")
    page.get_by_label("Team name").fill("Quiet")
    page.get_by_role("button", name="Create the team").click()
    page.get_by_role("button", name="Submit", exact=True).click()

    for _ in range(60):
        if page.get_by_text("Complete, within the cap.").count():
            break
        page.wait_for_timeout(1000)
        page.reload()
    expect(page.get_by_text("Complete, within the cap.")).to_be_visible()
    context.close()
