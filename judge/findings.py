"""What the audits find in the rows of a lap: pure, so that anyone can find it again."""

from collections.abc import Iterator

from judge.audits import Finding
from judge.audits.counts import audit_counts
from judge.audits.degenerate import audit_degenerate
from judge.audits.reference import audit_reference
from judge.audits.repeat import audit_repeat
from judge.audits.replay import audit_replay
from judge.audits.rescore import audit_rescore
from judge.audits.state import audit_state
from judge.audits.text import audit_text
from judge.audits.unseen import audit_unseen
from judge.measurements import Lap
from judge.plan import Rules


def findings_of(lap: Lap, rules: Rules) -> list[Finding]:
    """One finding an audit that has rows, in the order of their names. Of an incomplete timed pass only the
    machine's state says anything.
    """
    complete = is_timed_completely(lap, rules)
    return [*(_findings(lap, rules) if complete else ()), *_state_finding(lap, rules)]


def is_timed_completely(lap: Lap, rules: Rules) -> bool:
    """Whether each speed prompt was timed once."""
    return sorted(request.prompt_sha256 for request in lap.timed) == sorted(rules.speed_sha256s)


def _state_finding(lap: Lap, rules: Rules) -> Iterator[Finding]:
    """A lap that ended before its timed pass need not have been observed."""
    if lap.audits.state or (rules.state_rules and lap.timed):
        yield audit_state(lap.audits.state, rules.state_rules)


def _findings(lap: Lap, rules: Rules) -> Iterator[Finding]:
    rows, bands = lap.audits, rules.bands
    timed_ns = {request.prompt_sha256: request.duration_ns for request in lap.timed}
    if rows.counters:
        tokens = sum(request.tokens for request in lap.timed)
        yield audit_counts(rows.counters, tokens, len(lap.timed), rules.expects_metrics)
    if rows.problems:
        yield audit_text(rows.problems)
    if rows.textures:
        yield audit_degenerate(rows.textures)
    if rows.plain:
        yield audit_rescore(rows.plain, bands.near_tie_nats)
    if rows.reference:
        yield audit_reference(rows.reference, bands.reference_nll)
    if rows.replayed:
        yield audit_replay(rows.replayed, timed_ns, bands.near_tie_nats, bands.replay_speed)
    if rows.unseen:
        reference_gap = rules.calibration.unseen_gap if rules.calibration else None
        yield audit_unseen(rows.unseen, lap.timed, reference_gap, bands.unseen_gap)
    if rows.repeated:
        first_token_ns = lap.stream.first_token_ns if lap.stream else 0
        yield audit_repeat(rows.repeated, timed_ns, first_token_ns, bands.repeat_speed)
