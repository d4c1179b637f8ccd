"""The site's own settings, on a test database in a file, and with no broker unless one is named."""

import os
import tempfile

os.environ.setdefault("DEBUG", "1")
os.environ.setdefault("BROKER_URL", "redis://127.0.0.1:1/0")

from fairlap.settings import *  # noqa: F403 - the defaults above come first
from fairlap.settings import DATABASES, INSTALLED_APPS, MIDDLEWARE  # noqa: F401

if DATABASES["default"]["ENGINE"].endswith("sqlite3"):
    DATABASES["default"]["TEST"] = {"NAME": f"{tempfile.gettempdir()}/fairlap-test-{os.getppid()}.sqlite3"}
DATABASES["default"]["CONN_MAX_AGE"] = 0
PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
MANAGERS = [("organizer", "organizer@example.org")]
