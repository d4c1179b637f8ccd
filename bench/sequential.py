"""What the sequential rule costs, beside always measuring 3, 5 or 8 laps.

    make bench-rule

Simulated: pairs of configs whose true speeds differ by so much, with the noise between starts of the
real contest (1.03 % over 18 runs of one config), a lap of eight GPU minutes. Prints GPU minutes per
verdict and the share of pairs that end up in the wrong order.
"""

import math

import numpy as np

from judge.ranks import SequentialRule, Standing

NOISE = 0.0103
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


def main() -> None:
    rule, source = SequentialRule(start_noise=NOISE), np.random.default_rng(20260620)
    print("true difference   rule          GPU minutes   wrong order   tie")
    for difference in DIFFERENCES:
        own = np.exp(source.normal(math.log(500 * (1 + difference)), NOISE, (PAIRS, rule.max_laps))).tolist()
        rivals = np.exp(source.normal(math.log(500), NOISE, (PAIRS, RIVAL_LAPS))).tolist()
        ended = [sequential(mine, rival, rule) for mine, rival in zip(own, rivals, strict=True)]
        minutes = LAP_MINUTES * sum(laps for laps, _ in ended) / PAIRS
        called = [standing for _, standing in ended]
        wrong = called.count(Standing.BELOW) + (called.count(Standing.ABOVE) if difference == 0 else 0)
        ties = called.count(Standing.TIE) / PAIRS
        print(f"{difference:15.1%}   sequential {minutes:13.1f} {wrong / PAIRS:12.2%} {ties:6.1%}")
        for laps in (3, 5, 8):
            below = sum(np.mean(mine[:laps]) < np.mean(rival) for mine, rival in zip(own, rivals, strict=True))
            print(f"{'':15}   fixed {laps}    {LAP_MINUTES * laps:13.1f} {below / PAIRS:12.2%}   none")


if __name__ == "__main__":
    main()
