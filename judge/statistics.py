"""Intervals around what was measured. Seeded: the same rows and seed give the same interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from scipy import stats

from judge.accuracy import AnsweredQuestion
from judge.quality import QualityScore, bounded_exp
from judge.speed import NS_PER_S, TimedRequest, tps

RESAMPLES = 10_000
NOISE_LAPS = 8
"""How many laps the calibrated noise between server starts is worth beside the laps of the config itself."""

Lap = Sequence[TimedRequest]


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with its two-sided bounds."""

    estimate: float
    low: float
    high: float

    def contains(self, value: float) -> bool:
        return self.low <= value <= self.high


def perplexity_interval(scores: Sequence[QualityScore], seed: str, confidence: float = 0.95) -> tuple[float, float]:
    """Two-sided percentile bootstrap interval of the perplexity, resampling whole records.

    Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 13. Raises ValueError
    without scores.
    """
    if not scores:
        raise ValueError("no records to resample")
    nll = np.array([score.nll for score in scores])
    tokens = np.array([score.tokens for score in scores])
    drawn = _draws(len(scores), seed)
    low, high = _quantiles(nll[drawn].sum(axis=1) / tokens[drawn].sum(axis=1), confidence)
    return bounded_exp(low), bounded_exp(high)


def perplexity_ratio(
    scores: Sequence[QualityScore], reference: Sequence[QualityScore], seed: str, confidence: float = 0.95
) -> Interval:
    """The perplexity as a ratio to the reference's, paired by record, with its bootstrap interval.

    Pairing takes out what the records have in common: a tenth of the plain perplexity's error is left.
    Raises ValueError unless both scored the same records.
    """
    theirs = {score.record_sha256: score for score in reference}
    if not scores or {score.record_sha256 for score in scores} != set(theirs) or len(scores) != len(reference):
        raise ValueError("the reference was measured on other records")
    tokens = np.array([score.tokens for score in scores])
    difference = np.array([score.nll - theirs[score.record_sha256].nll for score in scores])
    drawn = _draws(len(scores), seed)
    low, high = _quantiles(difference[drawn].sum(axis=1) / tokens[drawn].sum(axis=1), confidence)
    return Interval(bounded_exp(float(difference.sum() / tokens.sum())), bounded_exp(low), bounded_exp(high))


def accuracy_ratio(
    answered: Sequence[AnsweredQuestion],
    reference: Sequence[AnsweredQuestion],
    seed: str,
    confidence: float = 0.95,
) -> Interval:
    """Right answers over the reference's right answers, paired by question, with its bootstrap interval.

    Without a right answer of the reference the ratio is infinite: nothing can be said against it. Raises
    ValueError unless both answered the same questions.
    """
    theirs = {one.question_sha256: one.correct for one in reference}
    if not answered or {one.question_sha256 for one in answered} != set(theirs) or len(answered) != len(theirs):
        raise ValueError("the reference answered other questions")
    ours = np.array([one.correct for one in answered], dtype=float)
    paired = np.array([theirs[one.question_sha256] for one in answered], dtype=float)
    drawn = _draws(len(ours), seed)
    low, high = _quantiles(_ratio(ours[drawn].sum(axis=1), paired[drawn].sum(axis=1)), confidence)
    return Interval(float(_ratio(ours.sum(), paired.sum())), low, high)


def _ratio(ours: np.ndarray, theirs: np.ndarray) -> np.ndarray:
    ratio: np.ndarray = np.divide(ours, theirs, out=np.full(np.shape(ours), np.inf), where=theirs > 0)
    return ratio


def mean_tps(laps: Sequence[Lap]) -> float:
    """The score of a config: the mean of all its laps, never the best. Raises ValueError without laps."""
    if not laps:
        raise ValueError("no laps")
    return float(np.mean([tps(lap) for lap in laps]))


def fixed_set_interval(laps: Sequence[Lap], start_noise: float, confidence: float = 0.95) -> Interval:
    """Where the mean would be on the same prompts over ever more server starts.

    A t interval whose variance pools that of the laps with the calibrated noise between starts
    (`start_noise`, relative), which counts as NOISE_LAPS laps: two laps alone say too little.
    """
    speeds = np.array([tps(lap) for lap in laps])
    mean, count = mean_tps(laps), len(laps)
    spread = float(((speeds - mean) ** 2).sum())
    freedom = NOISE_LAPS + count - 1
    variance = (NOISE_LAPS * (start_noise * mean) ** 2 + spread) / freedom
    radius = float(stats.t.ppf(0.5 + confidence / 2, freedom)) * (variance / count) ** 0.5
    return Interval(mean, mean - radius, mean + radius)


def population_interval(laps: Sequence[Lap], seed: str, confidence: float = 0.95) -> Interval:
    """Where the mean would be on other prompts of the same kind: bootstrap over prompts."""
    seconds, tokens = _seconds_by_prompt(laps)
    drawn = _draws(len(seconds), seed)
    matrix = np.array(list(seconds.values()))
    low, high = _quantiles(tokens * len(seconds) / matrix[drawn].sum(axis=1), confidence)
    return Interval(mean_tps(laps), low, high)


def tps_difference(
    laps: Sequence[Lap], others: Sequence[Lap], start_noise: float, seed: str, confidence: float = 0.95
) -> Interval:
    """How much faster the first config is, as a share (0.01 is 1 %), paired by prompt.

    Bootstrap over prompts, with the noise between server starts added to each draw: runs of one
    config with the same text differ by more than their prompts alone tell. Raises ValueError unless
    both ran the same prompts.
    """
    ours, _ = _seconds_by_prompt(laps)
    theirs, _ = _seconds_by_prompt(others)
    if set(ours) != set(theirs):
        raise ValueError("the two were timed on other prompts")
    mine, rival = np.array(list(ours.values())), np.array([theirs[prompt] for prompt in ours])
    drawn = _draws(len(mine), seed)
    noise = _generator(f"{seed}/noise").normal(0, start_noise * (1 / len(laps) + 1 / len(others)) ** 0.5, RESAMPLES)
    ratios = np.log(rival[drawn].sum(axis=1) / mine[drawn].sum(axis=1)) + noise
    low, high = _quantiles(ratios, confidence)
    return Interval(float(rival.sum() / mine.sum()) - 1, float(np.expm1(low)), float(np.expm1(high)))


def holm(p_values: Sequence[float]) -> list[float]:
    """Adjusted p-values for several comparisons at once (Holm, Scandinavian Journal of Statistics 6, 1979)."""
    order = np.argsort(p_values, kind="stable")
    adjusted = [0.0] * len(p_values)
    running = 0.0
    for place, index in enumerate(order):
        running = max(running, min(1.0, (len(p_values) - place) * p_values[index]))
        adjusted[index] = running
    return adjusted


def _seconds_by_prompt(laps: Sequence[Lap]) -> tuple[Mapping[str, float], int]:
    """Mean seconds of each prompt over the laps, and the tokens of one answer."""
    if not laps or not all(laps):
        raise ValueError("no laps")
    by_prompt: dict[str, list[float]] = {}
    for request in (request for lap in laps for request in lap):
        by_prompt.setdefault(request.prompt_sha256, []).append(request.duration_ns / NS_PER_S)
    return {prompt: float(np.mean(seconds)) for prompt, seconds in sorted(by_prompt.items())}, laps[0][0].tokens


def _generator(seed: str) -> np.random.Generator:
    return np.random.default_rng(list(seed.encode()))


def _draws(count: int, seed: str) -> np.ndarray:
    """Indices of RESAMPLES bootstrap samples, shape (RESAMPLES, count)."""
    return _generator(seed).integers(0, count, size=(RESAMPLES, count))


def _quantiles(values: np.ndarray, confidence: float) -> tuple[float, float]:
    tail = (1 - confidence) / 2
    low, high = np.quantile(values, [tail, 1 - tail], method="inverted_cdf" if np.isinf(values).any() else "linear")
    return float(low), float(high)
