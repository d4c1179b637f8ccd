"""How codes and numbers of the judge look on a page."""

from django import template

from submissions.reasons import reason_words, stage_words

register = template.Library()

register.filter("reason_words", reason_words)
register.filter("stage_words", stage_words)


@register.filter
def speed(value: float | None) -> str:
    """Tokens a second, to a hundredth."""
    return "–" if value is None else f"{value:,.2f}"


@register.filter
def ppl(value: float | None) -> str:
    """A perplexity, to four significant digits at least."""
    if value is None:
        return "–"
    return f"{value:,.3f}" if value < 1000 else f"{value:,.0f}" if value < 1e9 else f"{value:.3g}"


@register.filter
def seconds(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f} s" if value < 10 else f"{value:.0f} s"


@register.filter
def evidence_words(evidence: dict[str, object]) -> str:
    """The numbers of an audit in one line."""
    return ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in evidence.items())


@register.filter
def over_cap(value: float | None, cap: float | None) -> str:
    """How far a perplexity is from the cap, as a signed share of the cap."""
    return "" if value is None or not cap else f"{100 * (value / cap - 1):+,.1f} %".replace("-", "−")
