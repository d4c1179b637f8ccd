"""A1: did the engine itself generate as many tokens, for as many requests, as were timed?

Catches invented usage and replies from a cache. An engine without `/metrics` is noted, not accused.
"""

from judge.audits.finding import Evidence, Finding, Result
from judge.metrics import counter

GENERATED = "vllm:generation_tokens_total"
SUCCEEDED = "vllm:request_success_total"


def audit_counts(before: str, after: str, tokens: int, requests: int) -> Finding:
    """`before` and `after` are the Prometheus texts around the timed pass of so many tokens and requests."""
    generated, succeeded = _rise(before, after, GENERATED), _rise(before, after, SUCCEEDED)
    evidence: Evidence = {"metrics": "absent"}
    if generated is not None and succeeded is not None:
        evidence = {
            "tokens_counted": tokens,
            "tokens_generated": int(generated),
            "requests_sent": requests,
            "requests_succeeded": int(succeeded),
        }
    return Finding("A1", result_of(evidence), evidence)


def result_of(evidence: Evidence) -> Result:
    if "metrics" in evidence:
        return Result.NOTED
    tokens_agree = evidence["tokens_counted"] == evidence["tokens_generated"]
    requests_agree = evidence["requests_sent"] == evidence["requests_succeeded"]
    return Result.CLEAN if tokens_agree and requests_agree else Result.BROKEN


def _rise(before: str, after: str, name: str) -> float | None:
    first, last = counter(before, name), counter(after, name)
    return None if first is None or last is None else last - first
