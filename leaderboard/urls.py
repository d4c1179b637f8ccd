"""Addresses of the public pages."""

from django.urls import path

from leaderboard import views

urlpatterns = [
    path("", views.home, name="home"),
    path("c/<slug:slug>/board/", views.board, name="board"),
    path("c/<slug:slug>/board.json", views.board_json, name="board-json"),
]
