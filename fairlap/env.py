"""Typed readers of environment variables; each names the variable when its value is wrong."""

import os

from django.core.exceptions import ImproperlyConfigured

TRUE, FALSE = {"1", "true", "yes", "on"}, {"0", "false", "no", "off", ""}


def text(name: str, default: str) -> str:
    return os.environ.get(name, default)


def flag(name: str, default: bool) -> bool:
    value = os.environ.get(name, str(int(default))).strip().lower()
    if value not in TRUE | FALSE:
        raise ImproperlyConfigured(f"{name} must be 1 or 0, not {value!r}")
    return value in TRUE


def whole_number(name: str, default: int) -> int:
    value = os.environ.get(name, str(default))
    try:
        return int(value)
    except ValueError:
        raise ImproperlyConfigured(f"{name} must be a whole number, not {value!r}") from None


def listing(name: str, default: str = "") -> list[str]:
    """Values separated by commas."""
    return [part.strip() for part in os.environ.get(name, default).split(",") if part.strip()]
