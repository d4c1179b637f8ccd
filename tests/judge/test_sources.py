import json
from pathlib import Path
from typing import Any

import pytest

from judge import PromptSetError
from judge.prompts import SetKind
from judge.sources import Columns, Encoder, load_tokenizer, read_dataset, read_sharegpt, read_token_file
from tests import builders


class LetterTokenizer:
    """One token a letter; a special token in front where it is asked for."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]:
        return [1] * add_special_tokens + [ord(letter) for letter in text]

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str:
        return f"<{conversation[0]['role']}>{conversation[0]['content']}</>"


PLAIN, CHAT = Encoder(LetterTokenizer()), Encoder(LetterTokenizer(), chat=True)


def letters(text: str) -> tuple[int, ...]:
    return tuple(map(ord, text))


def written(path: Path, data: object) -> Path:
    path.write_text(data if isinstance(data, str) else json.dumps(data))
    return path


def test_sharegpt_gives_the_first_human_turn(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "Hi"}, {"from": "gpt", "value": "Hello"}]
    path = written(
        tmp_path / "s.json", [{"id": "a", "conversations": turns}, {"conversations": [turns[0] | {"value": "Yo"}]}]
    )

    plain, chat = read_sharegpt(path, PLAIN), read_sharegpt(path, CHAT)

    assert [(p.name, p.token_ids) for p in plain.prompts] == [
        ("a", (1, *letters("Hi"))),
        ("conversation-2", (1, *letters("Yo"))),
    ]
    assert chat.prompts[0].token_ids == letters("<user>Hi</>")


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ("{", "cannot read s.json"),
        ({}, "not a list of conversations"),
        ([], "empty"),
        ([{}], "conversation 1 does not begin"),
        ([{"conversations": [{"from": "gpt", "value": "x"}]}], "conversation 1"),
        ([{"conversations": [{"from": "human", "value": " "}]}], "conversation 1"),
        ([{"conversations": [{"from": "human", "value": "x"}]}] * 2, "hold the same tokens"),
    ],
)
def test_a_bad_sharegpt_file_is_refused_with_its_conversation(tmp_path: Path, data: object, words: str) -> None:
    with pytest.raises(PromptSetError, match=words):
        read_sharegpt(written(tmp_path / "s.json", data), PLAIN)


ROWS = [{"id": "r1", "q": "Why?", "c": "ab", "t": "cd"}, {"id": "r2", "q": "How?", "c": "ef", "t": "gh"}]


def test_a_local_jsonl_data_set_becomes_quality_records(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.jsonl", "\n".join(map(json.dumps, ROWS)))

    read = read_dataset(str(path), "train", Columns(context="c", target="t"), PLAIN)

    assert read.kind == SetKind.QUALITY
    assert read.records[1].context_token_ids == (1, *letters("ef"))
    assert read.records[1].target_token_ids == letters("gh")


def test_a_local_csv_data_set_becomes_speed_prompts(tmp_path: Path) -> None:
    path = written(tmp_path / "rows.csv", "id,q\nr1,Why?\nr2,How?\n")

    read = read_dataset(str(path), "train", Columns(prompt="q"), PLAIN)

    assert [prompt.name for prompt in read.prompts] == ["r1", "r2"]


@pytest.mark.parametrize(
    ("columns", "split", "words"),
    [
        (Columns(prompt="nope"), "train", "row 1 has no column nope; it has id, q, c, t"),
        (Columns(prompt="q"), "validation", "split validation"),
        (Columns(), "train", "name either the prompt column"),
        (Columns(prompt="q", target="t"), "train", "name either the prompt column"),
        (Columns(context="c"), "train", "name either the prompt column"),
    ],
)
def test_a_wrong_column_or_split_is_named(tmp_path: Path, columns: Columns, split: str, words: str) -> None:
    path = written(tmp_path / "rows.jsonl", "\n".join(map(json.dumps, ROWS)))

    with pytest.raises(PromptSetError, match=words):
        read_dataset(str(path), split, columns, PLAIN)


@pytest.mark.parametrize(
    ("name", "words"), [("rows.xml", "rows.xml: expected one of"), ("gone", "cannot load the data")]
)
def test_a_data_set_that_cannot_be_read_is_named(tmp_path: Path, monkeypatch, name: str, words: str) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    written(tmp_path / "rows.xml", "<a/>")

    with pytest.raises(PromptSetError, match=words):
        read_dataset(str(tmp_path / name), "train", Columns(prompt="q"), PLAIN)


def test_token_files_are_read_as_they_are(tmp_path: Path) -> None:
    path = written(tmp_path / "ids.jsonl", builders.quality_set().as_jsonl())

    assert read_token_file(path).sha256 == builders.quality_set().sha256


def test_a_file_that_is_not_there_or_no_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary").write_bytes(b"\xff\xfe")

    for name in ("nothing", "binary"):
        with pytest.raises(PromptSetError, match=f"cannot read {name}"):
            read_token_file(tmp_path / name)


def test_a_folder_without_a_tokenizer_is_named(tmp_path: Path) -> None:
    with pytest.raises(PromptSetError, match="no tokenizer in"):
        load_tokenizer(tmp_path)
