"""A5: is the text as likely under the plain reference model as that of honest configs?

Catches a model swap that A4 cannot see, because the trusted server of A4 runs the config's own settings.
"""

from collections.abc import Sequence

from judge.audits.finding import Evidence, Finding, Result
from judge.audits.rescore import Rescored


def audit_reference(rescored: Sequence[Rescored], nll_limit: float) -> Finding:
    """`nll_limit` is the highest mean negative log-likelihood (nats a token) of honest configs' texts."""
    tokens = sum(len(one.gaps) for one in rescored)
    mean = sum(one.nll for one in rescored) / tokens
    evidence: Evidence = {"tokens": tokens, "mean_nll": round(mean, 4), "limit": nll_limit}
    return Finding("A5", result_of(evidence), evidence)


def result_of(evidence: Evidence) -> Result:
    return Result.REVIEW if float(evidence["mean_nll"]) > float(evidence["limit"]) else Result.CLEAN
