import json
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import PreTrainedTokenizerFast

from judge.prompts import SetRole
from submissions.competition_file import CompetitionFileError, load_competition, read_competition
from submissions.models import Competition, PromptSet
from tests import builders
from tests.conftest import ROOT, SCRIPTED_TOML

pytestmark = pytest.mark.django_db
DEMO = ROOT / "deploy" / "demo"


def run(*arguments: str, **options: object) -> str:
    out = StringIO()
    call_command(*arguments, stdout=out, stderr=StringIO(), **options)
    return out.getvalue()


def test_the_demo_competition_loads() -> None:
    assert "schema version 1" in run("load_competition", str(DEMO / "competition.toml"))

    demo = Competition.objects.get(slug="smollm2-demo")
    assert demo.reference_config == '{"ENFORCE_EAGER":true,"MAX_MODEL_LEN":2048,"MAX_NUM_SEQS":1}'
    assert demo.ppl_cap is None
    assert demo.load_protocol().output_tokens == 32


def test_loading_again_makes_the_next_schema_version_until_something_was_sent() -> None:
    file = read_competition(DEMO / "competition.toml")
    load_competition(file)
    demo = load_competition(file)
    assert demo.schema.version == 2

    Competition.objects.filter(pk=demo.pk).update(ppl_cap=5.0, accuracy_floor=None)
    for prompts in (builders.speed_set(), builders.quality_set()):
        builders.services.store_prompts(demo, prompts, SetRole.HIDDEN)
    demo.refresh_from_db()
    builders.submission(demo)
    with pytest.raises(CompetitionFileError, match="has submissions"):
        load_competition(file)


GOOD = (DEMO / "competition.toml").read_text()
BAD = [
    ("slug", "cannot read"),
    (GOOD.replace('slug = "smollm2-demo"', 'slug = "Not A Slug"'), "slug"),
    (GOOD.replace('engine = "vllm-cpu"', 'engine = "nothing"'), "no engine file nothing"),
    (GOOD + "\nWINDOW = 5", "reference_config does not fit the schema: WINDOW .unknown-variable."),
    (GOOD.replace("MAX_MODEL_LEN = 2048", "MAX_MODEL_LEN = 1"), "MAX_MODEL_LEN .out-of-range."),
    (GOOD.replace("output_tokens = 32", "output_tokens = 0"), "protocol.output_tokens"),
    (GOOD.replace("cap_ratio = 1.05", "cap_ratio = 0.9"), "cap_ratio"),
    (GOOD.replace("cap_ratio", "cap_ration"), "cap_ration"),
    (GOOD.replace("[protocol]", 'variables = ["NOPE"]\n[protocol]'), "has no variable NOPE"),
]


@pytest.mark.parametrize(("text", "words"), BAD)
def test_a_bad_competition_file_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)

    with pytest.raises(CommandError, match=words):
        run("load_competition", str(path))
    assert not Competition.objects.exists()


def test_a_schema_may_hold_some_of_the_engines_variables(tmp_path: Path) -> None:
    path = tmp_path / "narrow.toml"
    path.write_text(
        f'slug = "narrow"\nname = "Narrow"\nengine = "{SCRIPTED_TOML}"\nmodel = "toy"\nhardware_class = "cpu"\n'
        'variables = ["SLIDING_WINDOW"]\n'
    )

    run("load_competition", str(path))

    assert list(Competition.objects.get().schema.load().variables) == ["SLIDING_WINDOW"]


@pytest.fixture
def contest(settings, tmp_path: Path) -> Competition:
    """A competition whose model folder has a small real tokenizer with a chat template."""
    words = {word: number for number, word in enumerate(["[UNK]", "<user>", "Why", "How", "because", "it", "is"])}
    tokenizer = Tokenizer(models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer)
    fast.chat_template = "{% for m in messages %}<user> {{ m.content }}{% endfor %}"
    fast.save_pretrained(tmp_path / "toy")
    settings.MODELS_DIR = tmp_path
    return builders.competition(ppl_cap=None)


def content_of(contest: Competition, kind: str) -> list[dict[str, object]]:
    contest.refresh_from_db()
    return [json.loads(line) for line in getattr(contest, f"{kind}_set").content.splitlines()]


def test_sharegpt_is_tokenised_once_with_the_models_own_tokenizer(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "s.json"
    path.write_text(json.dumps([{"id": "a", "conversations": [{"from": "human", "value": "Why is it"}]}]))

    printed = run("import_prompts", contest.slug, str(path))
    assert content_of(contest, "speed") == [{"id": "a", "token_ids": [2, 6, 5]}]
    assert printed.strip() == f"hidden speed set of 1: {contest.speed_set.sha256}"
    run("import_prompts", contest.slug, str(path), "--chat")

    assert content_of(contest, "speed") == [{"id": "a", "token_ids": [1, 2, 6, 5]}]


def test_public_prompts_are_kept_apart_from_the_scored_ones(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(builders.public_set().as_jsonl())
    scored = contest.speed_set

    run("import_prompts", contest.slug, str(path), "--role", "public")

    contest.refresh_from_db()
    assert contest.speed_set == scored
    assert contest.public_speed_set.role == "public"


def test_a_new_set_makes_the_competition_wait_for_its_calibration(contest: Competition, tmp_path: Path) -> None:
    calibration = builders.services.calibrate(contest)
    contest.calibration, contest.reference_ppl, contest.ppl_cap = calibration, 4.0, 4.2
    contest.save()
    path = tmp_path / "ids.jsonl"
    path.write_text(contest.quality_set.content)

    run("import_prompts", contest.slug, str(path))
    contest.refresh_from_db()
    assert contest.ppl_cap == 4.2

    path.write_text(builders.quality_set(3).as_jsonl())
    run("import_prompts", contest.slug, str(path))
    contest.refresh_from_db()
    assert (contest.calibration, contest.ppl_cap) == (None, None)
    with pytest.raises(builders.services.NotOpen):
        builders.submission(contest)


def test_an_accuracy_floor_waits_for_the_references_answers(contest: Competition) -> None:
    contest.ppl_cap, contest.accuracy_floor = 4.2, 0.9
    contest.save()

    with pytest.raises(builders.services.NotOpen):
        builders.submission(contest)


def test_a_public_set_that_nothing_would_use_is_refused(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(builders.quality_set(3).as_jsonl())

    with pytest.raises(CommandError, match="a public quality set has no use"):
        run("import_prompts", contest.slug, str(path), "--role", "public")


@pytest.mark.parametrize(("column", "answer"), [("--choice-column", "B"), ("--number-column", 42)])
def test_columns_of_a_data_set_become_questions(
    contest: Competition, tmp_path: Path, column: str, answer: object
) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"id": "a", "q": "Why is it", "right": answer}))

    run("import_prompts", contest.slug, str(path), "--question-column", "q", column, "right", "--chat")

    kind = column.removeprefix("--").removesuffix("-column")
    assert content_of(contest, "accuracy") == [{"id": "a", "token_ids": [1, 2, 6, 5], kind: str(answer)}]


def test_questions_without_checkable_answers_are_refused(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"q": "Why is it", "right": "because"}))

    with pytest.raises(CommandError, match="row 1: the answer 'because' is not a number"):
        run("import_prompts", contest.slug, str(path), "--question-column", "q", "--number-column", "right")


def test_columns_of_a_data_set_become_quality_records(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps({"id": "a", "q": "Why is it", "a": "because it is"}))

    run("import_prompts", contest.slug, str(path), "--context-column", "q", "--target-column", "a")

    assert content_of(contest, "quality") == [
        {"id": "a", "context_token_ids": [2, 6, 5], "target_token_ids": [4, 5, 6]}
    ]


def test_token_ids_are_taken_as_they_are(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(builders.quality_set(3).as_jsonl())

    run("import_prompts", contest.slug, str(path))

    contest.refresh_from_db()
    assert contest.quality_set.sha256 == builders.quality_set(3).sha256


def test_importing_the_same_set_again_stores_it_once(contest: Competition, tmp_path: Path) -> None:
    path = tmp_path / "ids.jsonl"
    path.write_text(builders.quality_set(3).as_jsonl())
    before = PromptSet.objects.count()

    for _ in range(2):
        run("import_prompts", contest.slug, str(path))

    assert PromptSet.objects.count() == before + 1


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("nothing.jsonl", "cannot read nothing.jsonl"),
        ("some/dataset", "a data set needs the names of its columns"),
        ("nothing.json", "cannot read nothing.json"),
    ],
)
def test_a_bad_source_is_refused_in_words(contest: Competition, source: str, words: str) -> None:
    with pytest.raises(CommandError, match=words):
        run("import_prompts", contest.slug, source)


@pytest.mark.parametrize("command", [["import_prompts", "nothing", "x.jsonl"], ["calibrate", "nothing"]])
def test_an_unknown_competition_is_named(command: list[str]) -> None:
    with pytest.raises(CommandError, match="no competition nothing"):
        run(*command)


def answered(verdict: str, tps: float | None, ppl: float | None):
    """Stands in for a worker: the queued evaluation is decided at once."""

    def calibrate(competition: Competition):
        evaluation = CALIBRATE(competition)
        decided = builders.decided(evaluation.submission, verdict, tps=tps, ppl=ppl)
        decided.refresh_from_db()
        return decided

    return calibrate


CALIBRATE = builders.services.calibrate


def test_calibrate_sets_the_reference_and_the_cap(contest: Competition, monkeypatch) -> None:
    monkeypatch.setattr("submissions.services.calibrate", answered("verified", 59.5, 10.0))

    printed = run("calibrate", contest.slug)

    contest.refresh_from_db()
    assert (contest.reference_ppl, contest.ppl_cap) == (10.0, pytest.approx(10.5))
    assert printed.strip() == "reference: 59.50 tokens/s, reference_ppl 10.0000, ppl_cap 10.5000"


def test_a_reference_that_fails_sets_nothing(contest: Competition, monkeypatch) -> None:
    monkeypatch.setattr("submissions.services.calibrate", answered("failed", None, None))

    with pytest.raises(CommandError, match="the reference is failed"):
        run("calibrate", contest.slug)

    contest.refresh_from_db()
    assert contest.ppl_cap is None


def test_calibrate_gives_up_when_no_worker_comes(contest: Competition) -> None:
    with pytest.raises(CommandError, match="no verdict within 0 s: is a worker running"):
        run("calibrate", contest.slug, "--timeout", "0")


def test_calibrate_needs_both_prompt_sets(contest: Competition) -> None:
    Competition.objects.update(quality_set=None)

    with pytest.raises(CommandError, match="needs a speed set and a quality set"):
        run("calibrate", contest.slug)


def test_only_a_verified_calibration_is_accepted() -> None:
    official = builders.decided(builders.submission(builders.competition()))

    with pytest.raises(ValueError, match="no verified calibration"):
        builders.services.accept_calibration(official)
