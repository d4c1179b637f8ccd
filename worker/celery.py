"""The Celery app, and when the sweep runs."""

import os

from celery import Celery
from django.conf import settings

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "fairlap.settings")

HOUSEKEEPING = "housekeeping"

app = Celery("worker", broker=settings.BROKER_URL)
app.conf.update(
    task_default_queue=settings.HARDWARE_CLASS,
    task_ignore_result=True,
    task_acks_late=False,
    worker_prefetch_multiplier=1,
    worker_pool="solo",
    worker_hijack_root_logger=False,
    broker_connection_retry_on_startup=True,
    task_routes={"worker.sweep": {"queue": HOUSEKEEPING}},
    beat_schedule={
        "sweep": {
            "task": "worker.sweep",
            "schedule": settings.SWEEP_SECONDS,
            "options": {"expires": settings.SWEEP_SECONDS},
        }
    },
)
app.autodiscover_tasks(["worker"])
