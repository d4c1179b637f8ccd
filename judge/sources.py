"""Where prompt sets come from: ShareGPT JSON, JSON Lines of token ids, or anything that `datasets` reads."""

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, cast

from judge.audits.text import Detokenizer
from judge.errors import PromptSetError
from judge.prompts import PromptSet, QualityRecord, SetKind, SpeedPrompt


class Tokenizer(Protocol):
    """The part of a Hugging Face tokenizer that is used here."""

    def encode(self, text: str, *, add_special_tokens: bool) -> list[int]: ...

    def apply_chat_template(self, conversation: list[dict[str, str]], **options: Any) -> str: ...


@dataclass(frozen=True, slots=True)
class Encoder:
    """Turns texts into token ids, once, at import; as a user's turn where `chat` is set."""

    tokenizer: Tokenizer
    chat: bool = False

    def prompt(self, text: str) -> tuple[int, ...]:
        if not self.chat:
            return tuple(self.tokenizer.encode(text, add_special_tokens=True))
        turn = [{"role": "user", "content": text}]
        rendered = self.tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        return tuple(self.tokenizer.encode(rendered, add_special_tokens=False))

    def continuation(self, text: str) -> tuple[int, ...]:
        return tuple(self.tokenizer.encode(text, add_special_tokens=False))


@dataclass(frozen=True, slots=True)
class Columns:
    """Which fields of a record hold what: `prompt` for speed, `context` and `target` for quality."""

    prompt: str = ""
    context: str = ""
    target: str = ""

    @property
    def kind(self) -> SetKind:
        """Raises PromptSetError unless the columns name exactly one kind of record."""
        if self.prompt and not (self.context or self.target):
            return SetKind.SPEED
        if self.context and self.target and not self.prompt:
            return SetKind.QUALITY
        raise PromptSetError("name either the prompt column, or the context and the target columns")


def load_tokenizer(folder: Path) -> Tokenizer:
    """The tokenizer of a model folder; nothing is fetched and no code of the folder runs."""
    os.environ.setdefault("TRANSFORMERS_VERBOSITY", "error")  # it warns that there is no PyTorch; none is needed
    from transformers import AutoTokenizer  # imports slowly, and only an import needs it

    try:
        tokenizer: Tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError) as error:
        raise PromptSetError(f"no tokenizer in {folder}: {error}") from None
    return tokenizer


def find_detokenizer(folder: Path) -> Detokenizer | None:
    """The tokenizer of a model folder for audit A2; None where the folder has none."""
    if not any((folder / name).is_file() for name in ("tokenizer.json", "tokenizer.model")):
        return None
    return cast(Detokenizer, load_tokenizer(folder))


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
    kind = columns.kind
    with tempfile.TemporaryDirectory() as cache:  # a hidden set leaves no copy in the user's cache
        rows = _rows(source, split, cache)
        items = [_item_of_row(number, row, columns, encoder) for number, row in enumerate(rows, start=1)]
    if kind == SetKind.SPEED:
        return PromptSet(kind, prompts=tuple(item for item in items if isinstance(item, SpeedPrompt)))
    return PromptSet(kind, records=tuple(item for item in items if isinstance(item, QualityRecord)))


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


def _item_of_row(
    number: int, row: Mapping[str, Any], columns: Columns, encoder: Encoder
) -> SpeedPrompt | QualityRecord:
    name = str(row.get("id") or f"row-{number}")
    if columns.kind == SetKind.SPEED:
        return SpeedPrompt(name, encoder.prompt(_text(row, columns.prompt, number)))
    context, target = _text(row, columns.context, number), _text(row, columns.target, number)
    return QualityRecord(name, encoder.prompt(context), encoder.continuation(target))


def _text(row: Mapping[str, Any], column: str, number: int) -> str:
    if column not in row:
        raise PromptSetError(f"row {number} has no column {column}; it has {', '.join(row)}")
    text = row[column]
    if not isinstance(text, str) or not text.strip():
        raise PromptSetError(f"row {number}: column {column} holds no text")
    return text
