"""An engine that somebody else started: the judge measures it, and neither starts nor stops it."""

from judge.client import EngineClient


class AttachedEngine:
    """A running server at an address, in the shape that a lap needs."""

    def __init__(self, url: str, model: str) -> None:
        self.url = url
        self.model = model

    def problem(self) -> str:
        """Why this is no engine that can be measured; empty when it is one."""
        with EngineClient(self.url, self.model, request_timeout_s=10, answer_limit_bytes=1_000_000) as client:
            if client.is_ready():
                return ""
        return f"{self.url} is no ready engine: /health must answer 200 and /v1/models must name {self.model}"

    def is_running(self) -> bool:
        return True

    def exit_code(self) -> int | None:
        return None

    def log_tail(self) -> str:
        return ""

    def stop(self, timeout_s: float) -> bool:
        return True
