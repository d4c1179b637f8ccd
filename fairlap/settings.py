"""All settings. Values come from environment variables; docs/settings.md lists each of them."""

import socket
from pathlib import Path

import dj_database_url
from csp.constants import NONE, SELF
from django.core.exceptions import ImproperlyConfigured
from django.utils.translation import gettext_lazy as _

from fairlap import env

BASE_DIR = Path(__file__).resolve().parent.parent
INSECURE_SECRET_KEY = "insecure-default-for-development-only"

# Development mode: error pages with details, and the default secret key is accepted.
DEBUG = env.flag("DEBUG", False)
# Signs sessions and tokens; must be set to a long random text in production.
SECRET_KEY = env.text("SECRET_KEY", INSECURE_SECRET_KEY)
# Host names under which the site is reached, separated by commas.
ALLOWED_HOSTS = env.listing("ALLOWED_HOSTS", "localhost,127.0.0.1,[::1]")
# Origins (https://…) that may post forms, where a proxy changes the scheme.
CSRF_TRUSTED_ORIGINS = env.listing("CSRF_TRUSTED_ORIGINS")
# The database, as a URL; PostgreSQL in production.
DATABASE_URL = env.text("DATABASE_URL", f"sqlite:///{BASE_DIR / 'db.sqlite3'}")
# Redis or Valkey, where the doorbell messages go.
BROKER_URL = env.text("BROKER_URL", "redis://127.0.0.1:6379/0")
# Whether the site is reached over HTTPS only: secure cookies and redirects.
HTTPS_ONLY = env.flag("HTTPS_ONLY", False)
# The address that mails come from.
DEFAULT_FROM_EMAIL = env.text("DEFAULT_FROM_EMAIL", "fairlap@localhost")
# The mail server; without one, mails are printed.
EMAIL_HOST = env.text("EMAIL_HOST", "")
# The mail server's port.
EMAIL_PORT = env.whole_number("EMAIL_PORT", 25)
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if EMAIL_HOST else 'console'}.EmailBackend"
# Addresses of the organizers who are told of void runs, separated by commas.
MANAGERS = [(address, address) for address in env.listing("ORGANIZERS")]
# The smallest level of log lines that are printed.
LOG_LEVEL = env.text("LOG_LEVEL", "INFO")

# The folder whose subfolders are the models, by the name that a competition gives.
MODELS_DIR = Path(env.text("MODELS_DIR", str(BASE_DIR / ".models")))
# Where the executables of engines are looked up, as in PATH.
ENGINE_PATH = env.text("ENGINE_PATH", str(BASE_DIR / ".venv-engine" / "bin"))
# What this worker's machine is; it takes only evaluations for this class.
HARDWARE_CLASS = env.text("HARDWARE_CLASS", "cpu")
# The worker's name on pages and in claims; one a process.
WORKER_NAME = env.text("WORKER_NAME", socket.gethostname())
# How long a claim lasts without a heartbeat.
LEASE_SECONDS = env.whole_number("LEASE_SECONDS", 60)
# How often a working worker renews its claim.
HEARTBEAT_SECONDS = env.whole_number("HEARTBEAT_SECONDS", 10)
# How often expired claims are looked for.
SWEEP_SECONDS = env.whole_number("SWEEP_SECONDS", 15)

if not DEBUG and SECRET_KEY == INSECURE_SECRET_KEY:
    raise ImproperlyConfigured("SECRET_KEY is the insecure default: set it to a long random text, or set DEBUG=1")

INSTALLED_APPS = [
    "submissions",
    "leaderboard",
    "fairlap",
    "django.contrib.admin",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "csp",
    "django_htmx",
]

MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "csp.middleware.CSPMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
]

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ],
        },
    }
]

ROOT_URLCONF = "fairlap.urls"
WSGI_APPLICATION = "fairlap.wsgi.application"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

DATABASES = {"default": dj_database_url.parse(DATABASE_URL, conn_max_age=60, conn_health_checks=True)}
if DATABASES["default"]["ENGINE"] == "django.db.backends.sqlite3":
    DATABASES["default"]["OPTIONS"] = {
        "transaction_mode": "IMMEDIATE",
        "timeout": 30,
        "init_command": "PRAGMA journal_mode=WAL; PRAGMA synchronous=NORMAL;",
    }

AUTHENTICATION_BACKENDS = ["allauth.account.auth_backends.AuthenticationBackend"]
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": "django.contrib.auth.password_validation.MinimumLengthValidator"},
    {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    {"NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator"},
]
LOGIN_REDIRECT_URL = "/"
ACCOUNT_LOGIN_METHODS = {"username", "email"}
ACCOUNT_SIGNUP_FIELDS = ["username*", "email", "password1*"]
ACCOUNT_EMAIL_VERIFICATION = "none"

SECURE_SSL_REDIRECT = SESSION_COOKIE_SECURE = CSRF_COOKIE_SECURE = HTTPS_ONLY
SECURE_PROXY_SSL_HEADER = ("HTTP_X_FORWARDED_PROTO", "https") if HTTPS_ONLY else None
X_FRAME_OPTIONS = "DENY"
CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [NONE],
        "base-uri": [NONE],
        "connect-src": [SELF],
        "font-src": [SELF],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
        "img-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF],
    }
}

LANGUAGE_CODE = "en"
LANGUAGES = [("en", _("English"))]
TIME_ZONE = "UTC"
USE_TZ = True

STATIC_URL = "static/"
STATIC_ROOT = BASE_DIR / "static-collected"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {
        "BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"
        if DEBUG
        else "whitenoise.storage.CompressedManifestStaticFilesStorage"
    },
}
# A config is small; a form with it is no larger than this.
DATA_UPLOAD_MAX_MEMORY_SIZE = 2 * 1024 * 1024

LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "formatters": {"line": {"format": "{asctime} {levelname} {name}: {message}", "style": "{"}},
    "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "line"}},
    "root": {"handlers": ["console"], "level": LOG_LEVEL},
}
