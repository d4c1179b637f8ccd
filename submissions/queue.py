"""The doorbell: tells workers of a hardware class that there is work. The row in the database is the queue."""

import logging
from functools import cache

from celery import Celery
from django.conf import settings
from django.db import transaction
from kombu.exceptions import OperationalError

JUDGE_NEXT = "worker.judge_next"
EXPIRES_S = 60
IMPATIENT = {"max_retries": 1, "interval_start": 0, "socket_connect_timeout": 1, "socket_timeout": 1}
"""Somebody waits for the page; without these a broker that is away takes six seconds to be given up."""

logger = logging.getLogger(__name__)


@cache
def _bell() -> Celery:
    app = Celery("doorbell", broker=settings.BROKER_URL, set_as_current=False)
    app.conf.broker_transport_options = IMPATIENT
    app.conf.task_ignore_result = True
    return app


def ring(hardware_class: str) -> None:
    """Ring after commit. A lost message costs nothing: the sweep rings again."""
    transaction.on_commit(lambda: _send(hardware_class))


def _send(hardware_class: str) -> None:
    try:
        _bell().send_task(JUDGE_NEXT, queue=hardware_class, expires=EXPIRES_S, retry=False)
    except OperationalError as error:
        logger.warning("the broker did not take the doorbell for %s: %s", hardware_class, error)
