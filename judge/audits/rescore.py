"""A4: would a trusted server of the same checkpoint, without speculation, have said the same?

Catches lossy or synthetic acceptance, skipped layers and swapped models: every generated token must
be the likeliest one there, or within a near-tie of it (verification and plain decoding round differently).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from judge.audits.finding import Evidence, Finding, Result
from judge.errors import Fault, LapFault


@dataclass(frozen=True, slots=True)
class Rescored:
    """One timed answer under another server: its tokens, their negative log-likelihood (nats, summed), and of
    each token that is not the likeliest there the `gaps` (nats) to the one that is.
    """

    prompt_sha256: str
    tokens: int
    nll: float
    gaps: tuple[float, ...]


def rescore(
    prompt_sha256: str, prompt: Sequence[int], answer: Sequence[int], choice: dict[str, Any], where: str
) -> Rescored:
    """Read an answer's tokens in the `prompt_logprobs` of prompt and answer together. Raises LapFault."""
    positions = choice.get("prompt_logprobs")
    if not isinstance(positions, list) or len(positions) != len(prompt) + len(answer):
        raise LapFault(Fault.LOGPROB_MISSING, f"{where}: expected prompt_logprobs of prompt and answer")
    gaps, logprobs = [], []
    for token, position in zip(answer, positions[len(prompt) :], strict=True):
        values = {key: entry.get("logprob") for key, entry in (position or {}).items() if isinstance(entry, dict)}
        own = values.get(str(token))
        if not isinstance(own, float) or not math.isfinite(own):
            raise LapFault(Fault.LOGPROB_MISSING, f"{where}: a generated token has no log-probability")
        gaps.append(max(value for value in values.values() if isinstance(value, float)) - own)
        logprobs.append(own)
    return Rescored(prompt_sha256, len(logprobs), -math.fsum(logprobs), tuple(gap for gap in gaps if gap > 0))


def audit_rescore(rescored: Sequence[Rescored], near_tie_nats: float) -> Finding:
    """Broken when any generated token is beyond a near-tie of the trusted server's own choice."""
    gaps = [gap for one in rescored for gap in one.gaps]
    beyond = sum(gap > near_tie_nats for gap in gaps)
    evidence: Evidence = {
        "tokens": sum(one.tokens for one in rescored),
        "not_the_likeliest": len(gaps),
        "beyond_a_near_tie": beyond,
        "largest_gap": round(max(gaps, default=0.0), 4),
        "near_tie": near_tie_nats,
    }
    return Finding("A4", Result.BROKEN if beyond else Result.CLEAN, evidence)
