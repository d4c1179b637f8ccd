import pytest

from judge.metrics import Speculation, counter, read_speculation

TEXT = """# HELP vllm:generation_tokens_total Number of generation tokens processed.
vllm:generation_tokens_total{engine="0",model_name="m"} 79.0
vllm:generation_tokens_created{engine="0",model_name="m"} 1.79e+09
vllm:request_success_total{finished_reason="stop"} 1.0
vllm:request_success_total{finished_reason="length"} 4.0
vllm:spec_decode_num_drafts_total{engine="0"} 10.0
vllm:spec_decode_num_draft_tokens_total{engine="0"} 30.0
vllm:spec_decode_num_accepted_tokens_total{engine="0"} 21.0
vllm:spec_decode_num_accepted_tokens_per_pos_total{position="0"} 10.0
plain 3
broken{x="1"} many
"""


@pytest.mark.parametrize(
    ("name", "value"),
    [("vllm:generation_tokens_total", 79.0), ("vllm:request_success_total", 5.0), ("plain", 3.0), ("absent", None)],
)
def test_a_counter_is_summed_over_its_labels(name: str, value: float | None) -> None:
    assert counter(TEXT, name) == value


def test_a_counter_that_is_no_number_is_as_good_as_none() -> None:
    assert counter(TEXT, "broken") is None


def test_speculation_is_read_from_its_three_counters() -> None:
    assert read_speculation(TEXT) == Speculation(drafts=10, draft_tokens=30, accepted_tokens=21)


@pytest.mark.parametrize("text", ["", "vllm:spec_decode_num_drafts_total 0.0"])
def test_without_drafts_there_was_no_speculation(text: str) -> None:
    assert read_speculation(text) is None
