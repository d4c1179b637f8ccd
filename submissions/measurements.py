"""What was measured, as rows: from the judge's laps to the tables."""

from collections.abc import Sequence

from django.db import transaction

from judge import Lap as MeasuredLap
from submissions.models import Attempt, Lap, QualityScore, TimedRequest


@transaction.atomic
def store_laps(attempt: Attempt, laps: Sequence[MeasuredLap]) -> None:
    """Store each lap with its rows once; one that is there already stays as it is."""
    for number, measured in enumerate(laps, start=1):
        lap, created = Lap.objects.get_or_create(attempt=attempt, number=number, defaults=_fields(measured))
        if created:
            TimedRequest.objects.bulk_create(_timed_rows(lap, measured), batch_size=500)
            QualityScore.objects.bulk_create(_quality_rows(lap, measured), batch_size=500)


def _fields(measured: MeasuredLap) -> dict[str, object]:
    stream, speculation = measured.stream, measured.speculation
    return {
        "seed": measured.seed,
        "stages": [[stage.stage, stage.duration_ns] for stage in measured.stages],
        "effects": [[effect.variable, effect.asked, effect.found] for effect in measured.effects],
        "findings": [[finding.audit, finding.result, finding.evidence] for finding in measured.findings],
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
