"""What the sequential rule costs, beside always measuring 3, 5 or 8 laps.

    make bench-rule

Simulated: pairs of configs whose true speeds differ by so much. A lap is one of 18 real runs of one config on
an A10G, drawn again, so that its noise is the measured one, not a bell curve; it takes eight GPU minutes.
Prints GPU minutes per verdict, beside a fixed number of laps, and the share of pairs in the wrong order.
"""

import numpy as np

from judge.ranks import SequentialRule, Standing
from judge.speed import tps
from tests.real_runs import timed_passes

LAP_MINUTES = 8
PAIRS = 4000
DIFFERENCES = (0.0, 0.01, 0.02, 0.05, 0.1)
RIVAL_LAPS = 5


def sequential(own: list[float], rival: list[float], rule: SequentialRule) -> tuple[int, Standing]:
    for laps in range(1, rule.max_laps + 1):
        standing = rule.standing(own[:laps], rival)
        if standing != Standing.OPEN:
            return laps, standing
    return rule.max_laps, Standing.TIE


def measured_noise() -> np.ndarray:
    """How far each real run of the one config was from their mean, as a logarithm."""
    speeds = np.log([tps(requests) for requests in timed_passes("config-04").values()])
    deviations: np.ndarray = speeds - speeds.mean()
    return deviations


def main() -> None:
    noise = measured_noise()
    rule, source = SequentialRule(start_noise=float(noise.std(ddof=1))), np.random.default_rng(20260620)
    print(f"noise between server starts: {noise.std(ddof=1):.2%} over {len(noise)} real runs")
    print("true difference   rule          GPU minutes   wrong order   tie")
    for difference in DIFFERENCES:
        own = (500 * (1 + difference) * np.exp(source.choice(noise, (PAIRS, rule.max_laps)))).tolist()
        rivals = (500 * np.exp(source.choice(noise, (PAIRS, RIVAL_LAPS)))).tolist()
        ended = [sequential(mine, rival, rule) for mine, rival in zip(own, rivals, strict=True)]
        minutes = LAP_MINUTES * sum(laps for laps, _ in ended) / PAIRS
        called = [standing for _, standing in ended]
        wrong = called.count(Standing.BELOW) + (called.count(Standing.ABOVE) if difference == 0 else 0)
        ties = called.count(Standing.TIE) / PAIRS
        print(f"{difference:15.1%}   sequential {minutes:13.1f} {wrong / PAIRS:12.2%} {ties:6.1%}")
        for laps in (3, 5, 8):
            below = sum(np.mean(mine[:laps]) < np.mean(rival) for mine, rival in zip(own, rivals, strict=True))
            cost = LAP_MINUTES * laps
            print(f"{'':15}   fixed {laps}    {cost:13.1f} {below / PAIRS:12.2%}   none {cost / minutes:7.2f} times")


if __name__ == "__main__":
    main()
