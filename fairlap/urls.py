"""Every address of the site."""

from django.contrib import admin
from django.urls import include, path

from submissions.api import api

urlpatterns = [
    path("", include("submissions.urls")),
    path("", include("leaderboard.urls")),
    path("accounts/", include("allauth.account.urls")),
    path("admin/", admin.site.urls),
    path("api/", api.urls),
]
