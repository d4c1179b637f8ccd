"""The quality pass: log-probabilities of hidden continuations, and the perplexity they make."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judge.client import Exchange, parse_object
from judge.errors import Fault, LapFault
from judge.prompts import QualityRecord
from judge.speed import only_choice

LOGPROB_ROUNDING = 1e-6
"""A log-probability may stand this far above 0: rounding, not a claim of more than certainty."""


@dataclass(frozen=True, slots=True)
class QualityScore:
    """One quality record: the negative log-likelihood (nats) of its target tokens, summed."""

    record_sha256: str
    tokens: int
    nll: float


def score_quality(record: QualityRecord, exchange: Exchange, where: str) -> QualityScore:
    """Score one record from its `prompt_logprobs`.

    Raises LapFault when any target token has no log-probability, or one that is not finite or
    above 0: such a record is never a pass.
    """
    choice = only_choice(parse_object(exchange.body, where), where)
    positions = choice.get("prompt_logprobs")
    token_ids = record.token_ids
    if not isinstance(positions, list) or len(positions) != len(token_ids):
        raise LapFault(Fault.LOGPROB_MISSING, f"{where}: expected prompt_logprobs for {len(token_ids)} positions")
    first_target = len(record.context_token_ids)
    logprobs = [
        _logprob(positions[i], token_ids[i], f"{where}, position {i}") for i in range(first_target, len(token_ids))
    ]
    return QualityScore(record.sha256, len(logprobs), -math.fsum(logprobs))


def check_rare_text(exchange: Exchange, where: str) -> int:
    """The rare-token probe: every token of a text must have a log-probability. How many there were.

    A pruned output head has none for the tokens that it lost. Raises LapFault as score_quality does.
    """
    choice = only_choice(parse_object(exchange.body, where), where)
    positions, token_ids = choice.get("prompt_logprobs"), choice.get("prompt_token_ids")
    if not isinstance(positions, list) or not isinstance(token_ids, list) or len(positions) != len(token_ids):
        raise LapFault(Fault.LOGPROB_MISSING, f"{where}: expected prompt_logprobs and prompt_token_ids")
    for place in range(1, len(token_ids)):
        _logprob(positions[place], token_ids[place], f"{where}, position {place}")
    return len(token_ids)


def _logprob(position: Any, token_id: int, where: str) -> float:
    entry = position.get(str(token_id)) if isinstance(position, dict) else None
    logprob = entry.get("logprob") if isinstance(entry, dict) else None
    if isinstance(logprob, bool) or not isinstance(logprob, int | float):
        raise LapFault(Fault.LOGPROB_MISSING, f"{where}: the token has no log-probability")
    if not math.isfinite(logprob):
        raise LapFault(Fault.LOGPROB_NOT_FINITE, f"{where}: log-probability {logprob}")
    if logprob > LOGPROB_ROUNDING:
        raise LapFault(Fault.LOGPROB_POSITIVE, f"{where}: log-probability {logprob:g} is above 0")
    return float(logprob)


def perplexity(scores: Sequence[QualityScore]) -> float:
    """PPL = exp(Σ NLL / Σ tokens), token-weighted over all records.

    Raises ValueError when there is no token. A perplexity too large for a float is the largest
    float: over every cap, and still a number in JSON.
    """
    tokens = sum(score.tokens for score in scores)
    if tokens <= 0:
        raise ValueError("no tokens were scored")
    return bounded_exp(math.fsum(score.nll for score in scores) / tokens)


def bounded_exp(mean_nll: float) -> float:
    try:
        return math.exp(mean_nll)
    except OverflowError:
        return sys.float_info.max


def check_repeat(first: QualityScore, again: QualityScore, tolerance_nats: float, where: str) -> None:
    """Raise LapFault when one record, asked twice, differs by more than the tolerance (mean nats a token)."""
    difference = abs(first.nll - again.nll) / first.tokens
    if difference > tolerance_nats:
        detail = f"{where}: two answers differ by {difference:.2g} nats a token, at most {tolerance_nats:g} is allowed"
        raise LapFault(Fault.QUALITY_NOT_REPEATABLE, detail)
