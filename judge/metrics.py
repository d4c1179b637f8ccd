"""What an engine says of itself in Prometheus text: evidence to show, never a score."""

from dataclasses import dataclass

PREFIX = "vllm:spec_decode_num_"


@dataclass(frozen=True, slots=True)
class Speculation:
    """Speculative decoding over one server life: steps that drafted, tokens drafted, tokens accepted."""

    drafts: int
    draft_tokens: int
    accepted_tokens: int


def read_speculation(text: str) -> Speculation | None:
    """The speculative counters of `/metrics`, or None when nothing was drafted."""
    drafts = counter(text, PREFIX + "drafts_total")
    if not drafts:
        return None
    draft_tokens, accepted = (
        counter(text, PREFIX + "draft_tokens_total"),
        counter(text, PREFIX + "accepted_tokens_total"),
    )
    return Speculation(int(drafts), int(draft_tokens or 0), int(accepted or 0))


def counter(text: str, name: str) -> float | None:
    """The sum of a counter over its label sets; None when it is not there or not a number."""
    lines = (line for line in text.splitlines() if line.startswith((name + "{", name + " ")))
    values = [line.rsplit(" ", 1)[-1] for line in lines]
    try:
        return sum(float(value) for value in values) if values else None
    except ValueError:
        return None
