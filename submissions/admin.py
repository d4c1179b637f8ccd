"""Django's admin, for repair: what has a service is read-only, and prompts are shown nowhere."""

from django.contrib import admin
from django.http import HttpRequest

from submissions.models import Attempt, Competition, Evaluation, Membership, PromptSet, Submission, Team, Worker


class ReadOnlyAdmin(admin.ModelAdmin):
    """Looks, and changes nothing."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False


@admin.register(Submission)
class SubmissionAdmin(ReadOnlyAdmin):
    list_display = ["pk", "competition", "team", "config_sha256", "created_at"]


@admin.register(Evaluation)
class EvaluationAdmin(ReadOnlyAdmin):
    list_display = ["pk", "submission", "kind", "verdict", "reason", "tps", "ppl", "decided_at"]
    list_filter = ["kind", "verdict"]


@admin.register(Attempt)
class AttemptAdmin(ReadOnlyAdmin):
    list_display = ["pk", "evaluation", "number", "state", "worker", "lease_until", "verdict", "reason"]
    list_filter = ["state"]


@admin.register(PromptSet)
class PromptSetAdmin(ReadOnlyAdmin):
    list_display = ["sha256", "kind", "role", "count", "created_at"]
    exclude = ["content"]


@admin.register(Competition)
class CompetitionAdmin(ReadOnlyAdmin):
    list_display = ["slug", "name", "engine", "model", "hardware_class", "reference_ppl", "ppl_cap"]


@admin.register(Worker)
class WorkerAdmin(admin.ModelAdmin):
    """An organizer lifts a quarantine here, by emptying its reason."""

    list_display = ["name", "hardware_class", "last_seen_at", "quarantined_because"]
    readonly_fields = ["name", "hardware_class", "last_seen_at"]


admin.site.register([Team, Membership])
