"""A9: was the machine what the competition names, and left alone over the timed window?

The rules are data, one file a hardware class (judge/hardware_classes); whoever runs the lap observes the machine.
A broken rule makes the lap void, and is looked at before the score: nobody may pick the laps that suit him.
"""

from collections.abc import Sequence
from statistics import fmean
from typing import Annotated

from pydantic import ConfigDict, Field, model_validator
from pydantic.dataclasses import dataclass

from judge.audits.finding import Evidence, Finding, Result

Quantity = float | int | bool | str
Sample = dict[str, Quantity]
"""What was observed at one moment, by the quantity's name, which ends in its unit (`temperature_celsius`)."""


@dataclass(frozen=True, slots=True, kw_only=True, config=ConfigDict(extra="forbid"))
class StateRule:
    """What one quantity must be in every sample, or on average. Bounds are inclusive.

    Raises ValueError for a rule that asks for nothing.
    """

    quantity: Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$")]
    minimum: float | None = None
    maximum: float | None = None
    mean_minimum: float | None = None
    mean_maximum: float | None = None
    one_of: tuple[Quantity, ...] = ()

    @model_validator(mode="after")
    def _asks_for_something(self) -> "StateRule":
        if not self.one_of and {self.minimum, self.maximum, self.mean_minimum, self.mean_maximum} == {None}:
            raise ValueError(f"the rule for {self.quantity} asks for nothing")
        return self

    def problem(self, samples: Sequence[Sample]) -> str:
        """How the samples break the rule, or nothing. What was never observed breaks it."""
        values = [sample[self.quantity] for sample in samples if self.quantity in sample]
        if not values:
            return "not observed"
        if self.one_of:
            return next(
                (f"{value}, expected {_words(self.one_of)}" for value in values if value not in self.one_of), ""
            )
        numbers = [float(value) for value in values if not isinstance(value, str)]
        if len(numbers) != len(values):
            return "not a number"
        return self._out_of_bounds(numbers)

    def _out_of_bounds(self, numbers: Sequence[float]) -> str:
        if self.minimum is not None and not min(numbers) >= self.minimum:
            return f"{min(numbers):g}, at least {self.minimum:g} is expected"
        if self.maximum is not None and not max(numbers) <= self.maximum:
            return f"{max(numbers):g}, at most {self.maximum:g} is allowed"
        if self.mean_minimum is not None and not fmean(numbers) >= self.mean_minimum:
            return f"{fmean(numbers):g} on average, at least {self.mean_minimum:g} is expected"
        if self.mean_maximum is not None and not fmean(numbers) <= self.mean_maximum:
            return f"{fmean(numbers):g} on average, at most {self.mean_maximum:g} is allowed"
        return ""


def audit_state(samples: Sequence[Sample], rules: Sequence[StateRule]) -> Finding:
    """Broken when any rule is; without rules the state is noted."""
    problems = {rule.quantity: problem for rule in rules if (problem := rule.problem(samples))}
    evidence: Evidence = {"samples": len(samples), "rules": len(rules), **problems}
    return Finding("A9", Result.BROKEN if problems else Result.CLEAN if rules else Result.NOTED, evidence)


def _words(values: Sequence[Quantity]) -> str:
    return " or ".join(map(str, values))
