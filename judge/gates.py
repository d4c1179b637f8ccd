"""The gates that a fast run has to pass: the perplexity cap and the accuracy floor."""

from collections.abc import Sequence

from judge.accuracy import AnsweredQuestion
from judge.plan import Rules
from judge.quality import QualityScore, perplexity
from judge.statistics import Interval, accuracy_ratio, perplexity_interval, perplexity_ratio


def is_over_cap(scores: Sequence[QualityScore], rules: Rules) -> bool:
    """Whether the perplexity is over the cap; never without scores or without a cap."""
    return bool(scores) and rules.ppl_cap is not None and not perplexity(scores) <= rules.ppl_cap


def sample_is_over_cap(scores: Sequence[QualityScore], rules: Rules) -> bool:
    """Whether even the lower 95 % bound of the sample's perplexity is over the cap."""
    if not scores or rules.ppl_cap is None:
        return False
    return perplexity_interval(scores, rules.seed)[0] > rules.ppl_cap


def ratio_to_reference(scores: Sequence[QualityScore], rules: Rules) -> Interval | None:
    """The perplexity over the reference's, paired by record; None where the reference lacks one of them."""
    mine = {score.record_sha256 for score in scores}
    theirs = [score for score in rules.calibration.quality if score.record_sha256 in mine] if rules.calibration else []
    return perplexity_ratio(scores, theirs, rules.seed) if scores and len(theirs) == len(mine) else None


def accuracy_to_reference(answered: Sequence[AnsweredQuestion], rules: Rules) -> Interval | None:
    """The share of right answers over the reference's, paired by question; None where either answered nothing."""
    theirs = rules.calibration.answered if rules.calibration else ()
    return accuracy_ratio(answered, theirs, rules.seed) if answered and theirs else None


def is_below_floor(answered: Sequence[AnsweredQuestion], rules: Rules) -> bool:
    """Whether even the upper 95 % bound of the accuracy, as a ratio to the reference's, is below the floor."""
    ratio = accuracy_to_reference(answered, rules) if rules.accuracy_floor is not None else None
    return ratio is not None and rules.accuracy_floor is not None and ratio.high < rules.accuracy_floor
