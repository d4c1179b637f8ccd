"""The hands: one process a GPU, which claims attempts and has the judge measure them."""

from worker.celery import app

__all__ = ["app"]
