"""A5: is the text as likely under the plain reference model as that of honest configs?

Catches a model swap that A4 cannot see, because the trusted server of A4 runs the config's own settings.
"""

import math
from collections.abc import Sequence

from judge.audits.finding import Evidence, Finding, Result
from judge.audits.rescore import Rescored


def audit_reference(rescored: Sequence[Rescored], nll_limit: float) -> Finding:
    """`nll_limit` is the highest mean negative log-likelihood (nats a token) of honest configs' texts."""
    tokens = sum(one.tokens for one in rescored)
    mean = math.fsum(one.nll for one in rescored) / tokens
    evidence: Evidence = {"tokens": tokens, "mean_nll": round(mean, 4), "limit": nll_limit}
    return Finding("A5", Result.REVIEW if mean > nll_limit else Result.CLEAN, evidence)
