"""Where prompt sets come from: ShareGPT JSON, JSON Lines of token ids, or anything that `datasets` reads."""

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from judge.errors import PromptSetError
from judge.prompts import AnswerKind, PromptItem, PromptSet, QualityRecord, SetKind, SpeedPrompt, question
from judge.tokenizer import Tokenizer, rendered_turn


@dataclass(frozen=True, slots=True)
class Encoder:
    """Turns texts into token ids, once, at import; as a user's turn where `chat` is set."""

    tokenizer: Tokenizer
    chat: bool = False

    def prompt(self, text: str) -> tuple[int, ...]:
        if not self.chat:
            return tuple(self.tokenizer.encode(text, add_special_tokens=True))
        return tuple(self.tokenizer.encode(rendered_turn(self.tokenizer, text), add_special_tokens=False))

    def continuation(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))


@dataclass(frozen=True, slots=True)
class Columns:
    """Which fields of a record hold what: `prompt` for speed, `context` and `target` for quality, `question`
    with `choice` (a letter) or `number` for accuracy.
    """

    prompt: str = ""
    context: str = ""
    target: str = ""
    question: str = ""
    choice: str = ""
    number: str = ""

    @property
    def kind(self) -> SetKind:
        """Raises PromptSetError unless the columns name exactly one kind of record."""
        named = sorted(field.name for field in fields(self) if getattr(self, field.name))
        kinds = {
            ("prompt",): SetKind.SPEED,
            ("context", "target"): SetKind.QUALITY,
            ("choice", "question"): SetKind.ACCURACY,
            ("number", "question"): SetKind.ACCURACY,
        }
        if kind := kinds.get(tuple(named)):
            return kind
        raise PromptSetError(
            "name either the prompt column, or the context and the target columns, or the question column with that "
            "of its choice or its number"
        )


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a model folder; nothing is fetched and no code of the folder runs."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # it warns that there is no PyTorch; none is needed
    from transformers import AutoTokenizer  # imports slowly, and only an import needs it

    try:
        tokenizer: Tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise PromptSetError(f"no tokenizer in {folder}: {error}") from None
    return tokenizer


def find_tokenizer(folder: Path) -> Tokenizer | None:
    """The tokenizer of a model folder, for the audits; None where the folder has none."""
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model")):
        return None
    return load_tokenizer(folder)


def read_token_file(path: Path) -> PromptSet:
    """A JSON Lines file of token ids. Raises PromptSetError with the line's number."""
    try:
        return PromptSet.from_jsonl(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError) as error:
        raise PromptSetError(f"cannot read {path.name}: {error}") from None


def read_sharegpt(path: Path, encoder: Encoder) -> PromptSet:
    """A ShareGPT JSON file: the first human turn of each conversation is a speed prompt.

    Raises PromptSetError with the conversation's number.
    """
    try:
        conversations = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise PromptSetError(f"cannot read {path.name}: {error}") from None
    if not isinstance(conversations, list):
        raise PromptSetError(f"{path.name} is not a list of conversations")
    prompts = [_sharegpt_prompt(number, entry, encoder) for number, entry in enumerate(conversations, start=1)]
    return PromptSet(SetKind.SPEED, tuple(prompts))


def _sharegpt_prompt(number: int, entry: Any, encoder: Encoder) -> SpeedPrompt:
    turns = entry.get("conversations") if isinstance(entry, dict) else None
    first = turns[0] if isinstance(turns, list) and turns and isinstance(turns[0], dict) else {}
    text = first.get("value")
    if first.get("from") not in ("human", "user") or not isinstance(text, str) or not text.strip():
        raise PromptSetError(f"conversation {number} does not begin with a human turn that holds text")
    return SpeedPrompt(str(entry.get("id") or f"conversation-{number}"), encoder.prompt(text))


def read_dataset(source: str, split: str, columns: Columns, encoder: Encoder) -> PromptSet:
    """A data set by its hub name, or a local file or folder that `datasets` reads.

    Raises PromptSetError for a data set, split or column that is not there.
    """
    columns.kind  # noqa: B018 - refused before anything is loaded
    with tempfile.TemporaryDirectory() as cache:  # a hidden set leaves no copy in the user's cache
        rows = _rows(source, split, cache)
        return PromptSet.of([_item_of_row(number, row, columns, encoder) for number, row in enumerate(rows, start=1)])


def _rows(source: str, split: str, cache: str) -> Iterable[Mapping[str, Any]]:
    import datasets  # imports slowly, and only an import needs it

    datasets.disable_progress_bars()
    builders = {".json": "json", ".jsonl": "json", ".csv": "csv", ".parquet": "parquet", ".txt": "text"}
    path = Path(source)
    where: dict[str, Any] = {"path": source}
    if path.is_file():
        if path.suffix not in builders:
            raise PromptSetError(f"{path.name}: expected one of {', '.join(builders)}")
        where = {"path": builders[path.suffix], "data_files": str(path)}
    try:
        rows: Iterable[Mapping[str, Any]] = datasets.load_dataset(**where, split=split, cache_dir=cache)
    except (OSError, ValueError, datasets.exceptions.DatasetsError) as error:
        raise PromptSetError(f"cannot load the data set {source}, split {split}: {error}") from None
    return rows


def _item_of_row(number: int, row: Mapping[str, Any], columns: Columns, encoder: Encoder) -> PromptItem:
    name = str(row.get("id") or f"row-{number}")
    if columns.kind == SetKind.SPEED:
        return SpeedPrompt(name, encoder.prompt(_text(row, columns.prompt, number)))
    if columns.kind == SetKind.QUALITY:
        context, target = _text(row, columns.context, number), _text(row, columns.target, number)
        return QualityRecord(name, encoder.prompt(context), encoder.continuation(target))
    kind, column = (AnswerKind.CHOICE, columns.choice) if columns.choice else (AnswerKind.NUMBER, columns.number)
    asked, answer = _text(row, columns.question, number), str(_field(row, column, number))
    return question(name, encoder.prompt(asked), kind, answer, f"row {number}")


def _text(row: Mapping[str, Any], column: str, number: int) -> str:
    text = _field(row, column, number)
    if not isinstance(text, str) or not text.strip():
        raise PromptSetError(f"row {number}: column {column} holds no text")
    return text


def _field(row: Mapping[str, Any], column: str, number: int) -> Any:
    if column not in row:
        raise PromptSetError(f"row {number} has no column {column}; it has {', '.join(row)}")
    return row[column]
