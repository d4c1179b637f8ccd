"""The API: what the pages do, as JSON, with problem documents (RFC 9457) in the same words."""

from datetime import datetime
from http import HTTPStatus

from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404
from ninja import NinjaAPI, Schema, Status
from ninja.security import django_auth

import judge
from judge.config import RawVariable
from judge.errors import ConfigProblem
from submissions import queries, services
from submissions.models import Competition, Submission
from submissions.reasons import problem_words, reason_words

api = NinjaAPI(title="Fairlap", version="1", urls_namespace="api", docs_url=None)


class ConfigIn(Schema):
    """A config: as `.env` or JSON text, or as an object of variables."""

    text: str | None = None
    config: dict[str, object] | None = None


class SubmissionOut(Schema):
    """A submission with its official verdict; numbers are null until there are any."""

    id: int
    competition: str
    config: dict[str, object]
    config_sha256: str
    created_at: datetime
    step: str
    verdict: str
    reason: str
    reason_words: str
    stage: str
    detail: str
    tps: float | None
    ppl: float | None
    ppl_cap: float | None


class Problem(Schema):
    """One thing that is wrong, with the variable it belongs to."""

    code: str
    variable: str | None
    line: int | None
    message: str


class Refusal(Exception):
    """Becomes a problem document."""

    def __init__(self, status: HTTPStatus, title: str, errors: list[Problem] | None = None) -> None:
        super().__init__(title)
        self.status = status
        self.title = title
        self.errors = errors or []


@api.exception_handler(Refusal)
def as_problem(request: HttpRequest, refusal: Refusal) -> HttpResponse:
    body = {
        "title": refusal.title,
        "status": refusal.status.value,
        "errors": [error.model_dump() for error in refusal.errors],
    }
    response = api.create_response(request, body, status=refusal.status)
    response["Content-Type"] = "application/problem+json"
    return response


@api.post("/competitions/{slug}/submissions", auth=django_auth, response={201: SubmissionOut})
def create_submission(request: HttpRequest, slug: str, body: ConfigIn) -> Status:
    competition = get_object_or_404(Competition, slug=slug)
    team = queries.team_of(request.user)
    if team is None:
        raise Refusal(HTTPStatus.CONFLICT, "You are in no team yet.")
    try:
        submission = services.submit(competition, team, request.user, _variables(body))
    except judge.ConfigError as error:
        problems = [_problem(problem) for problem in error.problems]
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "The config was refused.", problems) from None
    except services.NotOpen:
        raise Refusal(HTTPStatus.CONFLICT, "This competition takes no configs yet.") from None
    return Status(201, _out(submission))


@api.get("/submissions/{pk}", auth=django_auth, response=SubmissionOut)
def get_submission(request: HttpRequest, pk: int) -> SubmissionOut:
    return _out(get_object_or_404(queries.visible_submissions(request.user), pk=pk))


def _variables(body: ConfigIn) -> list[RawVariable]:
    if (body.text is None) == (body.config is None):
        raise Refusal(HTTPStatus.UNPROCESSABLE_ENTITY, "Send either text or config.")
    if body.text is not None:
        return judge.read_config(body.text)
    return [RawVariable(name, value) for name, value in (body.config or {}).items()]


def _problem(problem: ConfigProblem) -> Problem:
    return Problem(code=problem.code, variable=problem.variable, line=problem.line, message=problem_words(problem))


def _out(submission: Submission) -> SubmissionOut:
    evaluation = queries.official(submission)
    return SubmissionOut(
        id=submission.pk,
        competition=submission.competition.slug,
        config=dict(submission.load_config().values),
        config_sha256=submission.config_sha256,
        created_at=submission.created_at,
        step="decided" if evaluation.verdict else queries.step_words(evaluation),
        verdict=evaluation.verdict,
        reason=evaluation.reason,
        reason_words=reason_words(evaluation.reason) if evaluation.reason else "",
        stage=evaluation.stage,
        detail=evaluation.detail,
        tps=evaluation.tps,
        ppl=evaluation.ppl,
        ppl_cap=evaluation.ppl_cap,
    )
