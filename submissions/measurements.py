"""What was measured, as rows: from the judge's laps to the tables, and what the reference came to back again."""

from collections.abc import Sequence

from django.db import transaction

from judge import Calibration, Verdict, calibration_of
from judge import Lap as MeasuredLap
from judge.accuracy import AnsweredQuestion
from judge.measurements import AUDIT_ROWS
from judge.quality import QualityScore as MeasuredScore
from judge.speed import TimedRequest as MeasuredRequest
from submissions.models import Attempt, Lap, QualityScore, TimedRequest


@transaction.atomic
def store_laps(attempt: Attempt, laps: Sequence[MeasuredLap], verdict: Verdict) -> None:
    """Store each lap with its rows once; one that is there already stays as it is."""
    findings = [[finding.audit, finding.result, finding.evidence] for finding in verdict.findings]
    for number, measured in enumerate(laps, start=1):
        fields = _fields(measured) | {"findings": findings}
        lap, created = Lap.objects.get_or_create(attempt=attempt, number=number, defaults=fields)
        if created:
            TimedRequest.objects.bulk_create(_timed_rows(lap, measured), batch_size=500)
            QualityScore.objects.bulk_create(_quality_rows(lap, measured), batch_size=500)


def _fields(measured: MeasuredLap) -> dict[str, object]:
    stream, speculation = measured.stream, measured.speculation
    return {
        "seed": measured.seed,
        "stages": [[stage.stage, stage.duration_ns] for stage in measured.stages],
        "effects": [[effect.variable, effect.asked, effect.found] for effect in measured.effects],
        "answered": [[one.question_sha256, one.answer_sha256, one.correct] for one in measured.answered],
        "audits": AUDIT_ROWS.dump_python(measured.audits, mode="json"),
        "first_token_ns": stream.first_token_ns if stream else None,
        "tokens_per_step": stream.tokens_per_step if stream else None,
        "drafts": speculation.drafts if speculation else None,
        "draft_tokens": speculation.draft_tokens if speculation else None,
        "accepted_tokens": speculation.accepted_tokens if speculation else None,
        "stopped_early": measured.stopped_early,
        "engine_gone": measured.engine_gone,
        "fault": measured.fault or "",
        "fault_stage": measured.fault_stage or "",
        "fault_detail": without_nul(measured.fault_detail),
        "log_tail": without_nul(measured.log_tail),
    }


def without_nul(text: str) -> str:
    """PostgreSQL's text columns take no NUL."""
    return text.replace("\0", "�")


def _timed_rows(lap: Lap, measured: MeasuredLap) -> list[TimedRequest]:
    return [
        TimedRequest(
            lap=lap,
            position=position,
            prompt_sha256=request.prompt_sha256,
            started_ns=request.started_ns,
            ended_ns=request.ended_ns,
            tokens=request.tokens,
            answer_sha256=request.answer_sha256,
        )
        for position, request in enumerate(measured.timed, start=1)
    ]


def _quality_rows(lap: Lap, measured: MeasuredLap) -> list[QualityScore]:
    return [
        QualityScore(lap=lap, position=position, record_sha256=s.record_sha256, tokens=s.tokens, nll=s.nll)
        for position, s in enumerate(measured.quality, start=1)
    ]


def load_calibration(lap: Lap) -> Calibration:
    """What the reference came to, from the rows of its lap."""
    timed = [
        MeasuredRequest(row.prompt_sha256, row.started_ns, row.ended_ns, row.tokens, row.answer_sha256)
        for row in lap.timed_requests.all()
    ]
    quality = [MeasuredScore(row.record_sha256, row.tokens, row.nll) for row in lap.quality_scores.all()]
    answered = [AnsweredQuestion(*row) for row in lap.answered]
    audits = AUDIT_ROWS.validate_python(lap.audits)
    return calibration_of(MeasuredLap(lap.seed, timed=timed, quality=quality, answered=answered, audits=audits))
