"""Django's entry for the app."""

from django.apps import AppConfig


class SubmissionsConfig(AppConfig):
    """Who sent what, and what has become of it."""

    name = "submissions"
