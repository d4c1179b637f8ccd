"""A contestant of the demo: signs up, makes a team and submits, by the same pages as a person."""

import re
import time

import httpx2

TOKEN = re.compile(r'name="csrfmiddlewaretoken" value="([^"]+)"')
SITE_START_S = 60


class Contestant:
    """One signed-in browser without a screen. Raises RuntimeError when a page does not do what it should."""

    def __init__(self, address: str, username: str, password: str) -> None:
        self._http = httpx2.Client(base_url=address, follow_redirects=False, timeout=30, trust_env=False)
        self._username = username
        self._password = password
        self.team = ""
        self.submission = 0

    def sign_up(self, team: str) -> None:
        self._wait_for_site()
        self._post("/accounts/signup/", {"username": self._username, "email": "", "password1": self._password})
        self._post("/team/", {"name": team})
        self.team = team

    def submit(self, slug: str, values: dict[str, str]) -> None:
        place = self._post(f"/c/{slug}/submit/", values | {"action": "submit"})
        self.submission = int(place.rstrip("/").rsplit("/", 1)[-1])

    def status(self) -> dict[str, object]:
        """The submission as the API tells it."""
        answer = self._http.get(f"/api/submissions/{self.submission}")
        answer.raise_for_status()
        data: dict[str, object] = answer.json()
        return data

    def _post(self, path: str, values: dict[str, str]) -> str:
        """Fill in the form of a page and send it; where it leads to."""
        token = TOKEN.search(self._http.get(path).text)
        if token is None:
            raise RuntimeError(f"{path} shows no form")
        answer = self._http.post(path, data=values | {"csrfmiddlewaretoken": token[1]})
        if answer.status_code != 302:
            raise RuntimeError(f"{path} answered {answer.status_code}, a redirect was expected")
        return answer.headers["location"]

    def _wait_for_site(self) -> None:
        deadline = time.monotonic() + SITE_START_S
        while True:
            try:
                self._http.get("/").raise_for_status()
                return
            except httpx2.TransportError:
                if time.monotonic() > deadline:
                    raise RuntimeError("the site did not start; see .demo/site.log") from None
                time.sleep(0.5)
