"""Keeps a claim alive from a thread of its own, while the judge measures in the main one."""

import logging
import threading
from contextlib import suppress

from django.db import DatabaseError, connection
from django.utils import timezone

from judge import Progress
from judge.errors import LapStopped
from submissions import claims
from submissions.models import Attempt
from submissions.transitions import LostRace

logger = logging.getLogger(__name__)

PROGRESS_S = 1.0


class Heartbeat:
    """Renews the lease every `interval_s`, and writes down the newest progress about once a second.

    The measuring thread only leaves its progress here, so that no database write stands between two
    timed requests. `report` raises LapStopped once the attempt is no longer the live one, or when
    `stopping` says that the worker is asked to stop.
    """

    def __init__(self, attempt: Attempt, interval_s: float, stopping: threading.Event) -> None:
        self._attempt = attempt
        self._interval_s = interval_s
        self._stopping = stopping
        self._fresh: list[Progress] = []
        self._ended = threading.Event()
        self.lost = False
        self._thread = threading.Thread(target=self._run, name=f"heartbeat-{attempt.pk}", daemon=True)

    def report(self, progress: Progress) -> None:
        if self.lost:
            raise LapStopped("the attempt is no longer the live one")
        if self._stopping.is_set():
            raise LapStopped("the worker is asked to stop")
        self._fresh.append(progress)

    def __enter__(self) -> "Heartbeat":
        self._thread.start()
        return self

    def __exit__(self, *exc_info: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        """Beat until the end. A database that is away for a while is not the end: the lease is."""
        beats_every = max(1, round(self._interval_s / PROGRESS_S))
        count = 0
        while not self._ended.wait(min(PROGRESS_S, self._interval_s)):
            count += 1
            try:
                self._write_progress()
                if count % beats_every == 0:
                    claims.renew(self._attempt, timezone.now())
            except LostRace:
                self.lost = True
                break
            except DatabaseError as error:
                logger.warning("heartbeat of attempt %s: %s", self._attempt.pk, error)
                connection.close()
        with suppress(DatabaseError):
            self._write_progress()
        connection.close()

    def _write_progress(self) -> None:
        """The newest progress of each stage entered since the last time."""
        fresh, self._fresh = self._fresh, []
        newest = {progress.stage: progress for progress in fresh}
        for progress in newest.values():
            claims.note_progress(self._attempt, progress)
