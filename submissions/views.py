"""Pages: each makes one call of queries or services, and answers."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_http_methods

import judge
from submissions import queries, services
from submissions.forms import ConfigForm, ConfigTextForm, TeamForm, bounds_words, fill_values
from submissions.models import Competition, Evaluation, Submission, Team


@require_GET
def competition(request: HttpRequest, slug: str) -> HttpResponse:
    """The rules of a competition and the variables that a config may set."""
    found = get_object_or_404(Competition.objects.select_related("speed_set", "quality_set"), slug=slug)
    schema = found.schema
    variables = [(name, variable, bounds_words(variable)) for name, variable in schema.load().variables.items()]
    context = {
        "competition": found,
        "protocol": found.load_protocol(),
        "schema": schema,
        "variables": variables,
        "reference": judge.Config.from_canonical(found.reference_config).as_env(),
    }
    return render(request, "submissions/competition.html", context)


@login_required
@require_http_methods(["GET", "POST"])
def create_team(request: HttpRequest) -> HttpResponse:
    """A user without a team makes one; afterwards back to the competition where the team was missing."""
    competition = Competition.objects.filter(slug=request.POST.get("next") or request.GET.get("next", "")).first()
    form = TeamForm(request.POST or None)
    if form.is_valid():
        try:
            services.create_team(request.user, form.cleaned_data["name"])
        except services.AlreadyInTeam:
            messages.info(request, _("You are in a team already."))
        return redirect("submit", competition.slug) if competition else redirect("submissions")
    return render(request, "submissions/team.html", {"form": form, "competition": competition})


@login_required
@require_http_methods(["GET", "POST"])
def submit(request: HttpRequest, slug: str) -> HttpResponse:
    """The config form. A pasted or uploaded text is put into the fields first, for a look before it is sent."""
    found = get_object_or_404(Competition, slug=slug)
    team = queries.team_of(request.user)
    if team is None:
        return redirect(reverse("create-team", query={"next": found.slug}))
    text_form = ConfigTextForm(request.POST or None, request.FILES or None)
    if request.method == "POST" and (text_form.is_used or request.POST.get("action") == "fill"):
        return _fill(request, found, text_form)
    form = ConfigForm(found.schema.load(), request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        return _submitted(request, found, team, form)
    return _form_page(request, found, form, ConfigTextForm())


def _submitted(request: HttpRequest, competition: Competition, team: Team, form: ConfigForm) -> HttpResponse:
    try:
        return redirect(services.submit(competition, team, request.user, form.raw_variables()))
    except services.NotOpen:
        form.add_error(None, _("This competition takes no configs yet: its reference has not been measured."))
        return _form_page(request, competition, form, ConfigTextForm())


def _fill(request: HttpRequest, competition: Competition, text_form: ConfigTextForm) -> HttpResponse:
    """What the text says goes into the fields; what it does not name keeps what was typed.

    A text that was understood is taken off the page, or the next press would fill the fields again.
    """
    schema = competition.schema.load()
    typed = {name: request.POST.get(name, "") for name in schema.variables}
    try:
        values, problems = fill_values(text_form.read(), schema)
    except judge.ConfigError:
        return _form_page(request, competition, ConfigForm(schema, typed), text_form)
    text_form.add_problems(text_form.source, problems)
    return _form_page(
        request,
        competition,
        ConfigForm(schema, typed | values),
        text_form if problems else ConfigTextForm(),
        filled=sorted(values),
    )


def _form_page(
    request: HttpRequest,
    competition: Competition,
    form: ConfigForm,
    text_form: ConfigTextForm,
    filled: list[str] | None = None,
) -> HttpResponse:
    refused = form.errors or (text_form.is_bound and text_form.errors)
    context = {"competition": competition, "form": form, "text_form": text_form, "filled": filled}
    return render(request, "submissions/submit.html", context, status=422 if refused else 200)


@login_required
@require_GET
def submissions(request: HttpRequest) -> HttpResponse:
    """All that the viewer's team has sent."""
    context = {"submissions": queries.visible_submissions(request.user)[:200], "team": queries.team_of(request.user)}
    return render(request, "submissions/list.html", context)


@login_required
@require_GET
def submission(request: HttpRequest, pk: int) -> HttpResponse:
    """One submission: its stage while it is judged, then its numbers. htmx asks for the live part alone."""
    found = get_object_or_404(queries.visible_submissions(request.user), pk=pk)
    template = "submissions/_result.html" if request.htmx else "submissions/submission.html"
    return render(request, template, _result_context(found, queries.official(found)))


def _result_context(submission: Submission, evaluation: Evaluation) -> dict[str, object]:
    decided = bool(evaluation.verdict)
    return {
        "submission": submission,
        "competition": submission.competition,
        "config": submission.load_config().as_env(),
        "evaluation": evaluation,
        "watch": None if decided else queries.watch(evaluation),
        "laps": queries.lap_numbers(evaluation) if decided else [],
        "earlier_tries": queries.earlier_tries(evaluation),
    }
