import pytest
from pydantic import ValidationError

from judge import Protocol

OFFICIAL = {
    "output_tokens": 512,
    "warmup_requests": 64,
    "quality_sample": 32,
    "quality_repeats": 8,
    "repeat_tolerance_nats": 1e-3,
    "start_timeout_s": 900,
}


@pytest.mark.parametrize(("name", "value"), OFFICIAL.items())
def test_the_defaults_are_the_official_ones(name: str, value: float) -> None:
    assert getattr(Protocol(), name) == value


WRONG = [{"output_tokens": 0}, {"warmup_requests": -1}, {"request_timeout_s": 0}, {"compat_tolerance": 1}]


@pytest.mark.parametrize("setting", [*WRONG, {"output_token": 5}, {"start_timeout_s": "soon"}])
def test_a_setting_that_makes_no_sense_is_refused(setting: dict[str, object]) -> None:
    with pytest.raises(ValidationError, match=next(iter(setting))):
        Protocol(**setting)
