"""What a scripted engine does, as data."""

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Misbehaviour:
    """One thing that goes wrong: at the n-th scored request of its kind (from 1), or at every one.

    `what` is a kind of misbehaviour.py; `stage`, or a prefix as in `quality:hang`, is `timed` or
    `quality` where both can go wrong in that way. `tokens` is the length of a short answer, `value`
    the log-probability that stands in for the right one, `seconds` the pause of a dripping answer.
    """

    what: str
    at_request: int | None = None
    tokens: int = 0
    value: float = 0.0
    seconds: float = 0.05
    stage: str | None = None


@dataclass(slots=True)
class Script:
    """How the engine behaves. A timed request is a plain completion of `output_tokens` tokens.

    Not frozen, so that a test can change a running engine. `exit_after_s` or `exit_at_start` (its
    exit code) ends an engine that runs as an executable, with `exit_message` on standard error.
    `ignored_variables` are accepted as arguments and take no effect: MAX_MODEL_LEN, SLIDING_WINDOW,
    SPECULATIVE_CONFIG, MAX_NUM_SEQS.
    """

    perplexity: float = 4.0
    window: int = 8
    seed: int = 0
    seconds_per_token: float = 0.0
    output_tokens: int = 16
    has_metrics: bool = True
    never_ready: bool = False
    ready_after_s: float = 0.0
    exit_at_start: int | None = None
    exit_after_s: float | None = None
    exit_code: int = 1
    exit_message: str = "ValueError: the engine cannot start with this\0 token ids [5, 6, 7, 8, 9]"
    stubborn_child: bool = False
    ignored_variables: list[str] = field(default_factory=list)
    misbehaviours: list[Misbehaviour] = field(default_factory=list)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "Script":
        """A script from its JSON. Raises TypeError for a setting that it does not have."""
        misbehaviours = [Misbehaviour(**one) for one in data.get("misbehaviours", [])]
        return cls(**(data | {"misbehaviours": misbehaviours}))
