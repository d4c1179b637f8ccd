"""The truth: who sent what, what was asked of it, and what was measured."""

import secrets

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import models
from django.db.models import F, Q
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

import judge
from judge.errors import Fault
from judge.prompts import SetKind, SetRole
from judge.schema import SCHEMA


def new_seed() -> str:
    return secrets.token_hex(16)


def choices_of(codes: type) -> list[tuple[str, str]]:
    return [(code.value, code.value) for code in codes]


class Team(models.Model):
    """Identity is the id; names may repeat."""

    name = models.CharField(_("name"), max_length=80)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return self.name


class Membership(models.Model):
    """Which user belongs to which team; one team a user."""

    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="memberships")
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="membership")
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.user} in {self.team}"


class PromptSet(models.Model):
    """A set of scored prompts or records; `content` is its canonical JSONL and is shown nowhere."""

    sha256 = models.CharField(max_length=64, unique=True)
    kind = models.CharField(max_length=10, choices=choices_of(SetKind))
    role = models.CharField(max_length=10, choices=choices_of(SetRole))
    count = models.PositiveIntegerField()
    content = models.TextField(editable=False)
    created_at = models.DateTimeField(auto_now_add=True)

    def __str__(self) -> str:
        return f"{self.role} {self.kind} {self.sha256[:12]}"

    def load(self) -> judge.PromptSet:
        return judge.PromptSet.from_jsonl(self.content)


class ConfigSchema(models.Model):
    """Which variables a config may set, as JSON text. Never changed: a change is a new version.

    Text and not a JSONField: PostgreSQL would reorder the variables, and the form shows them in this order.
    """

    competition = models.ForeignKey("Competition", on_delete=models.CASCADE, related_name="schemas")
    version = models.PositiveIntegerField()
    content = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["competition", "version"], name="one_schema_a_version")]

    def __str__(self) -> str:
        return f"{self.competition} v{self.version}"

    def load(self) -> judge.Schema:
        return SCHEMA.validate_json(self.content)


class Competition(models.Model):
    """What is measured, how, and by which rules.

    `ppl_cap` is None until the reference was calibrated; nothing can be submitted before. `model` is
    the name of a folder in the workers' model directory. `cap_ratio` times `reference_ppl` is the cap;
    `calibration` is the evaluation that measured it. `accuracy_floor` is the least share of the reference's
    right answers; None where no questions are asked. `public_speed_set` is for audit A7.
    """

    slug = models.SlugField(unique=True)
    name = models.CharField(max_length=120)
    description = models.TextField(blank=True)
    engine = models.CharField(max_length=60)
    model = models.CharField(max_length=120)
    hardware_class = models.CharField(max_length=60)
    protocol = models.JSONField(default=dict)
    reference_config = models.TextField(default="{}")
    speed_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    quality_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    accuracy_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    public_speed_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    cap_ratio = models.FloatField(default=1.05)
    accuracy_floor = models.FloatField(null=True, blank=True)
    reference_ppl = models.FloatField(null=True, blank=True)
    ppl_cap = models.FloatField(null=True, blank=True)
    calibration = models.ForeignKey("Evaluation", on_delete=models.PROTECT, null=True, blank=True, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at"]

    def __str__(self) -> str:
        return self.name

    def get_absolute_url(self) -> str:
        return reverse("competition", args=[self.slug])

    @property
    def schema(self) -> ConfigSchema:
        """The version that new configs are checked against."""
        return self.schemas.order_by("-version")[0]

    def load_protocol(self) -> judge.Protocol:
        return judge.Protocol(**self.protocol)


class Submission(models.Model):
    """A config that was sent. Immutable. `team` is None for the organizers' reference config."""

    competition = models.ForeignKey(Competition, on_delete=models.PROTECT, related_name="submissions")
    team = models.ForeignKey(Team, on_delete=models.PROTECT, related_name="submissions", null=True)
    submitted_by = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.SET_NULL, null=True, related_name="+")
    schema = models.ForeignKey(ConfigSchema, on_delete=models.PROTECT, related_name="+")
    config = models.TextField()
    config_sha256 = models.CharField(max_length=64, db_index=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["-created_at", "-pk"]

    def __str__(self) -> str:
        return f"submission {self.pk}"

    def save(self, *args: object, **kwargs: object) -> None:
        if self.pk is not None:
            raise ValidationError("a submission never changes")
        super().save(*args, **kwargs)

    def get_absolute_url(self) -> str:
        return reverse("submission", args=[self.pk])

    def load_config(self) -> judge.Config:
        return judge.Config.from_canonical(self.config)


class EvaluationKind(models.TextChoices):
    """Why a config is measured."""

    TRIAL = "trial", _("trial")
    OFFICIAL = "official", _("official")
    BLIND = "blind", _("blind")
    CALIBRATION = "calibration", _("calibration")


class Evaluation(models.Model):
    """One question asked of one config; its verdict once known.

    `seed` stays secret until the verdict, `seed_sha256` is shown from the start. Speed in tokens a second.
    """

    submission = models.ForeignKey(Submission, on_delete=models.PROTECT, related_name="evaluations")
    kind = models.CharField(max_length=12, choices=EvaluationKind.choices, default=EvaluationKind.OFFICIAL)
    speed_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, related_name="+")
    quality_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, related_name="+")
    accuracy_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, related_name="+")
    public_speed_set = models.ForeignKey(PromptSet, on_delete=models.PROTECT, null=True, related_name="+")
    seed = models.CharField(max_length=64, default=new_seed)
    seed_sha256 = models.CharField(max_length=64)
    created_at = models.DateTimeField(auto_now_add=True)
    decided_at = models.DateTimeField(null=True)
    verdict = models.CharField(max_length=12, choices=choices_of(judge.Outcome), blank=True, default="")
    reason = models.CharField(max_length=40, blank=True, default="")
    stage = models.CharField(max_length=20, blank=True, default="")
    detail = models.TextField(blank=True, default="")
    tps = models.FloatField(null=True)
    ppl = models.FloatField(null=True)
    ppl_cap = models.FloatField(null=True)
    accuracy_floor = models.FloatField(null=True)

    class Meta:
        ordering = ["-created_at", "-pk"]
        indexes = [models.Index(fields=["verdict", "kind"])]
        constraints = [
            models.CheckConstraint(
                condition=Q(verdict="", decided_at=None) | (~Q(verdict="") & Q(decided_at__isnull=False)),
                name="a_verdict_has_a_time",
            ),
            models.CheckConstraint(
                condition=~Q(verdict="verified") | Q(tps__gt=0, ppl__gt=0),
                name="a_verified_evaluation_has_its_numbers",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind} evaluation {self.pk}"


class Worker(models.Model):
    """A worker process, by its name. A quarantined one claims nothing until an organizer looked."""

    name = models.CharField(max_length=120, unique=True)
    hardware_class = models.CharField(max_length=60)
    last_seen_at = models.DateTimeField(null=True)
    quarantined_because = models.CharField(max_length=200, blank=True, default="")

    def __str__(self) -> str:
        return self.name


class State(models.TextChoices):
    """Of an attempt; goes forward only."""

    QUEUED = "queued", _("queued")
    RUNNING = "running", _("running")
    FINISHED = "finished", _("finished")
    LOST = "lost", _("lost")
    INTERRUPTED = "interrupted", _("interrupted")
    CANCELLED = "cancelled", _("cancelled")


LIVE_STATES = (State.QUEUED, State.RUNNING)


class Attempt(models.Model):
    """One try of a worker at an evaluation. `lease_until` is set while it runs."""

    evaluation = models.ForeignKey(Evaluation, on_delete=models.CASCADE, related_name="attempts")
    number = models.PositiveSmallIntegerField()
    state = models.CharField(max_length=12, choices=State.choices, default=State.QUEUED)
    worker = models.ForeignKey(Worker, on_delete=models.PROTECT, null=True, related_name="attempts")
    lease_until = models.DateTimeField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)
    started_at = models.DateTimeField(null=True)
    ended_at = models.DateTimeField(null=True)
    verdict = models.CharField(max_length=12, choices=choices_of(judge.Outcome), blank=True, default="")
    reason = models.CharField(max_length=40, blank=True, default="")

    class Meta:
        ordering = ["number"]
        indexes = [models.Index(fields=["state", "lease_until"])]
        constraints = [
            models.UniqueConstraint(fields=["evaluation", "number"], name="one_attempt_a_number"),
            models.UniqueConstraint(
                fields=["evaluation"], condition=Q(state__in=LIVE_STATES), name="one_live_attempt_an_evaluation"
            ),
            models.CheckConstraint(
                condition=(Q(state=State.FINISHED) & ~Q(verdict="")) | (~Q(state=State.FINISHED) & Q(verdict="")),
                name="a_verdict_if_and_only_if_finished",
            ),
            models.CheckConstraint(
                condition=~Q(state=State.RUNNING) | Q(worker__isnull=False, lease_until__isnull=False),
                name="a_running_attempt_has_a_lease",
            ),
        ]

    def __str__(self) -> str:
        return f"attempt {self.number} of {self.evaluation}"


class AttemptEvent(models.Model):
    """What happened to an attempt, in order: a new state, or a stage with its progress."""

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="events")
    at = models.DateTimeField(auto_now_add=True)
    state = models.CharField(max_length=12, choices=State.choices, blank=True, default="")
    stage = models.CharField(max_length=20, blank=True, default="")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    note = models.CharField(max_length=200, blank=True, default="")

    class Meta:
        ordering = ["pk"]

    def __str__(self) -> str:
        return f"{self.state or self.stage} of {self.attempt}"


class Lap(models.Model):
    """One server life as measured. Laps of an attempt that was not the live one are kept and never counted.

    `stages` holds [stage, nanoseconds] pairs, `effects` [variable, asked, found], `answered` [question, answer,
    correct] with the SHA-256 of both, `audits` the judge's rows of evidence, `findings` what it makes of them as
    [audit, result, evidence]; `log_tail` is redacted.
    """

    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="laps")
    number = models.PositiveSmallIntegerField()
    seed = models.CharField(max_length=64)
    stages = models.JSONField(default=list)
    effects = models.JSONField(default=list)
    answered = models.JSONField(default=list)
    audits = models.JSONField(default=dict)
    findings = models.JSONField(default=list)
    first_token_ns = models.BigIntegerField(null=True)
    tokens_per_step = models.FloatField(null=True)
    drafts = models.BigIntegerField(null=True)
    draft_tokens = models.BigIntegerField(null=True)
    accepted_tokens = models.BigIntegerField(null=True)
    stopped_early = models.BooleanField(default=False)
    engine_gone = models.BooleanField(default=True)
    fault = models.CharField(max_length=40, choices=choices_of(Fault), blank=True, default="")
    fault_stage = models.CharField(max_length=20, blank=True, default="")
    fault_detail = models.TextField(blank=True, default="")
    log_tail = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ["number"]
        constraints = [models.UniqueConstraint(fields=["attempt", "number"], name="one_lap_a_number")]

    def __str__(self) -> str:
        return f"lap {self.number} of {self.attempt}"


class TimedRequest(models.Model):
    """One request of a timed pass. Times from perf_counter_ns; tokens counted from ids."""

    lap = models.ForeignKey(Lap, on_delete=models.CASCADE, related_name="timed_requests")
    position = models.PositiveIntegerField()
    prompt_sha256 = models.CharField(max_length=64)
    started_ns = models.BigIntegerField()
    ended_ns = models.BigIntegerField()
    tokens = models.PositiveIntegerField()
    answer_sha256 = models.CharField(max_length=64)

    class Meta:
        ordering = ["position"]
        constraints = [
            models.UniqueConstraint(fields=["lap", "position"], name="one_request_a_position"),
            models.CheckConstraint(condition=Q(ended_ns__gt=F("started_ns")), name="a_request_takes_time"),
        ]

    def __str__(self) -> str:
        return f"request {self.position} of {self.lap}"


class QualityScore(models.Model):
    """One quality record of a lap: the negative log-likelihood (nats) of its target tokens, summed."""

    lap = models.ForeignKey(Lap, on_delete=models.CASCADE, related_name="quality_scores")
    position = models.PositiveIntegerField()
    record_sha256 = models.CharField(max_length=64)
    tokens = models.PositiveIntegerField()
    nll = models.FloatField()

    class Meta:
        ordering = ["position"]
        constraints = [models.UniqueConstraint(fields=["lap", "position"], name="one_record_a_position")]

    def __str__(self) -> str:
        return f"record {self.position} of {self.lap}"
