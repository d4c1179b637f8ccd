"""Django's entry for the app."""

from django.apps import AppConfig


class LeaderboardConfig(AppConfig):
    """What the world sees of the results."""

    name = "leaderboard"
