"""A1: did the engine itself generate as many tokens, for as many requests, as were timed?

Catches invented usage and replies from a cache. An engine that ought to have `/metrics` and shows none
keeps back the evidence: a review. One that never had it is noted.
"""

from dataclasses import dataclass

from judge.audits.finding import Evidence, Finding, Result
from judge.metrics import counter

GENERATED = "vllm:generation_tokens_total"
SUCCEEDED = "vllm:request_success_total"


@dataclass(frozen=True, slots=True)
class CounterRise:
    """How far the engine's own counters rose over the timed pass; None where it shows none."""

    tokens: int | None
    requests: int | None


def counter_rise(before: str, after: str) -> CounterRise:
    """From the Prometheus texts around the timed pass."""
    return CounterRise(_rise(before, after, GENERATED), _rise(before, after, SUCCEEDED))


def audit_counts(rise: CounterRise, tokens: int, requests: int, expects_metrics: bool) -> Finding:
    """`tokens` and `requests` are what was timed."""
    if rise.tokens is None or rise.requests is None:
        return Finding("A1", Result.REVIEW if expects_metrics else Result.NOTED, {"metrics": "absent"})
    evidence: Evidence = {
        "tokens_counted": tokens,
        "tokens_generated": rise.tokens,
        "requests_sent": requests,
        "requests_succeeded": rise.requests,
    }
    agree = (rise.tokens, rise.requests) == (tokens, requests)
    return Finding("A1", Result.CLEAN if agree else Result.BROKEN, evidence)


def _rise(before: str, after: str, name: str) -> int | None:
    first, last = counter(before, name), counter(after, name)
    return None if first is None or last is None else int(last - first)
