"""Addresses of the contestants' pages."""

from django.urls import path

from submissions import views

urlpatterns = [
    path("c/<slug:slug>/", views.competition, name="competition"),
    path("c/<slug:slug>/submit/", views.submit, name="submit"),
    path("team/", views.create_team, name="create-team"),
    path("submissions/", views.submissions, name="submissions"),
    path("submissions/<int:pk>/", views.submission, name="submission"),
]
