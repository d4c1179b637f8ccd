"""Public pages: each makes one call and answers."""

from dataclasses import asdict

from django.db.models import Count, Q
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.shortcuts import get_object_or_404, render
from django.views.decorators.http import require_GET

from leaderboard.standings import standings
from submissions.models import Competition
from submissions.reasons import reason_words


@require_GET
def home(request: HttpRequest) -> HttpResponse:
    """Every competition, newest first."""
    official = Q(submissions__team__isnull=False)
    competitions = Competition.objects.annotate(runs=Count("submissions", filter=official))
    return render(request, "leaderboard/home.html", {"competitions": competitions})


@require_GET
def board(request: HttpRequest, slug: str) -> HttpResponse:
    competition = get_object_or_404(Competition, slug=slug)
    context = {"competition": competition, "board": standings(competition)}
    return render(request, "leaderboard/board.html", context)


@require_GET
def board_json(request: HttpRequest, slug: str) -> JsonResponse:
    """The same board for programs. Speed in tokens a second, times in UTC."""
    competition = get_object_or_404(Competition, slug=slug)
    seen = standings(competition)
    return JsonResponse(
        {
            "competition": competition.slug,
            "reference_ppl": competition.reference_ppl,
            "ppl_cap": competition.ppl_cap,
            "entries": [asdict(entry) for entry in seen.entries],
            "disqualified": [asdict(run) | {"reason_words": reason_words(run.reason)} for run in seen.disqualified],
        }
    )
