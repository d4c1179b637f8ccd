"""Debian's Chromium, driven by Playwright, against a site with its worker."""

import os
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, ViewportSize, sync_playwright

from tests.conftest import ROOT

os.environ.setdefault("DJANGO_ALLOW_ASYNC_UNSAFE", "1")  # Playwright keeps an event loop in this thread
CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
WIDTHS = {"wide": ViewportSize(width=1280, height=800), "narrow": ViewportSize(width=390, height=844)}


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=CHROMIUM, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(params=WIDTHS)
def page(request: pytest.FixtureRequest, browser: Browser) -> Iterator[Page]:
    """A page at each width; anything that the console complains about fails the test."""
    context = browser.new_context(viewport=WIDTHS[request.param])
    opened = context.new_page()
    opened.width_name = request.param  # type: ignore[attr-defined]
    complaints: list[str] = []
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    yield opened
    context.close()
    assert [text for text in complaints if "422 (" not in text] == []


@pytest.fixture
def shoot(page: Page):
    """Keeps a picture of the page under artefacts/, and refuses one that scrolls sideways."""
    folder = ROOT / "artefacts"
    folder.mkdir(exist_ok=True)

    def take(name: str) -> Path:
        overflow = page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
        path = folder / f"{name}-{page.width_name}.png"  # type: ignore[attr-defined]
        page.screenshot(path=str(path), full_page=True)
        assert overflow <= 0, f"{name} scrolls sideways by {overflow} px"
        return path

    return take
