"""A1: did the engine itself generate as many tokens, for as many requests, as were timed?

Catches invented usage and replies from a cache. An engine without `/metrics` is noted, not accused.
"""

from judge.audits.finding import Finding, Result
from judge.metrics import counter

GENERATED = "vllm:generation_tokens_total"
SUCCEEDED = "vllm:request_success_total"


def audit_counts(before: str, after: str, tokens: int, requests: int) -> Finding:
    """`before` and `after` are the Prometheus texts around the timed pass of so many tokens and requests."""
    generated, succeeded = _rise(before, after, GENERATED), _rise(before, after, SUCCEEDED)
    if generated is None or succeeded is None:
        return Finding("A1", Result.NOTED, {"metrics": "absent"})
    evidence = {
        "tokens_counted": tokens,
        "tokens_generated": int(generated),
        "requests_sent": requests,
        "requests_succeeded": int(succeeded),
    }
    agrees = (generated, succeeded) == (tokens, requests)
    return Finding("A1", Result.CLEAN if agrees else Result.BROKEN, {**evidence})


def _rise(before: str, after: str, name: str) -> float | None:
    first, last = counter(before, name), counter(after, name)
    return None if first is None or last is None else last - first
