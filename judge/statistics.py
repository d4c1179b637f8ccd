"""Intervals around what was measured."""

from collections.abc import Sequence

import numpy as np

from judge.quality import QualityScore, bounded_exp

RESAMPLES = 10_000


def perplexity_interval(scores: Sequence[QualityScore], seed: str, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided percentile bootstrap interval of the perplexity, resampling whole records.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. The same seed gives
    the same interval. Raises ValueError without scores.
    """
    if not scores:
        raise ValueError("no records to resample")
    generator = np.random.default_rng(list(seed.encode()))
    nll = np.array([score.nll for score in scores])
    tokens = np.array([score.tokens for score in scores])
    drawn = generator.integers(0, len(scores), size=(RESAMPLES, len(scores)))
    mean_nll = nll[drawn].sum(axis=1) / tokens[drawn].sum(axis=1)
    tail = (1 - confidence) / 2
    low, high = np.quantile(mean_nll, [tail, 1 - tail])
    return bounded_exp(float(low)), bounded_exp(float(high))
