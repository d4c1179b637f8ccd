import json
from dataclasses import replace

import pytest

from judge import PromptSet, PromptSetError, Protocol
from judge.errors import PromptReused
from judge.prompts import QualityRecord, SentPrompts, SetKind, SpeedPrompt, seeded_order, warmup_prompts
from tests import builders


def test_a_set_is_named_by_its_content_alone() -> None:
    read_back = PromptSet.from_jsonl(builders.quality_set().as_jsonl())

    assert read_back == builders.quality_set()
    assert read_back.sha256 == builders.sha256(builders.quality_set().as_jsonl())
    assert read_back.sha256 != builders.quality_set(7).sha256


def test_jsonl_may_be_written_in_any_key_order_and_spacing() -> None:
    tidy = builders.speed_set()
    untidy = "\n\n".join(json.dumps(dict(reversed(prompt.as_dict().items()))) for prompt in tidy.prompts)

    assert PromptSet.from_jsonl(untidy).sha256 == tidy.sha256


BAD_LINES = [
    ("", "empty"),
    ("[1]", "line 1 is not a JSON object"),
    ('{"token_ids": [1]}\n{oops', "line 2 is not JSON"),
    ('{"token_ids": []}', "line 1: token_ids must be a non-empty list"),
    ('{"token_ids": "1 2"}', "line 1: token_ids"),
    ('{"token_ids": [1, -2]}', "line 1: token_ids"),
    ('{"token_ids": [1, true]}', "line 1: token_ids"),
    ('{"token_ids": [1.5]}', "line 1: token_ids"),
    ('{"context_token_ids": [1]}', "line 1: target_token_ids"),
    ('{"context_token_ids": [1], "target_token_ids": []}', "line 1: target_token_ids"),
    ('{"id": "a", "token_ids": [1]}\n{"id": "a", "token_ids": [2]}', "two records are named a"),
    ('{"id": "a", "token_ids": [1]}\n{"id": "b", "token_ids": [1]}', "a and b hold the same tokens"),
    ('{"token_ids": [1]}\n{"context_token_ids": [1], "target_token_ids": [2]}', "only items of its own kind"),
]


@pytest.mark.parametrize(("text", "words"), BAD_LINES)
def test_a_bad_file_is_refused_with_its_line(text: str, words: str) -> None:
    with pytest.raises(PromptSetError, match=words.replace("(", r"\(")):
        PromptSet.from_jsonl(text)


def test_the_order_depends_on_seed_and_purpose_and_loses_nothing() -> None:
    items = list(range(50))

    assert seeded_order(items, "a", "speed") == seeded_order(items, "a", "speed")
    assert seeded_order(items, "a", "speed") != seeded_order(items, "a", "quality")
    assert seeded_order(items, "a", "speed") != seeded_order(items, "b", "speed")
    assert sorted(seeded_order(items, "a", "speed")) == items


def test_a_seeds_order_is_the_same_on_every_machine() -> None:
    assert seeded_order(range(8), "fairlap", "speed") == [2, 4, 6, 1, 7, 3, 5, 0]


def test_a_text_is_sent_once_in_a_server_life() -> None:
    sent = SentPrompts()
    sent.spend((1, 2))

    with pytest.raises(PromptReused, match="2 tokens"):
        sent.spend((1, 2))


def test_there_are_enough_warm_up_prompts_for_the_protocol() -> None:
    assert len(set(warmup_prompts())) == Protocol().warmup_requests


def test_a_quality_record_that_begins_with_a_speed_prompt_is_refused() -> None:
    speed = PromptSet(SetKind.SPEED, (SpeedPrompt("s", (1, 2, 3)),))
    quality = PromptSet(SetKind.QUALITY, records=(QualityRecord("q", (1, 2), (3, 4)),))

    with pytest.raises(PromptSetError, match="quality record q begins with speed prompt s"):
        replace(builders.plan(), speed_set=speed, quality_set=quality)


def test_a_plan_needs_one_set_of_each_kind() -> None:
    with pytest.raises(PromptSetError, match="a speed set was expected, this is a quality set"):
        replace(builders.plan(), speed_set=builders.quality_set(), quality_set=builders.speed_set())
