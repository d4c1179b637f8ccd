import json
from pathlib import Path

import pytest

from judge import Config, Model, check_config, load_engine, plan_launch
from judge.config import RawVariable
from judge.engine import Engine, read_effects
from judge.errors import EngineFileError, PromptSetError
from tests import builders
from tests.conftest import SCRIPTED_TOML

MINIMAL = """
name = "toy"
version = "1"
executable = "toy"
arguments = ["serve", "$model"]
[variables.WINDOW]
type = "integer"
becomes.argument = "--window"
"""


@pytest.fixture
def vllm() -> Engine:
    return load_engine("vllm-cpu")


def config_of(engine: Engine, **values: object) -> Config:
    return check_config([RawVariable(name, value) for name, value in values.items()], engine.schema)


def test_the_exact_command_that_a_config_becomes(vllm: Engine, model: Model) -> None:
    config = config_of(
        vllm,
        MAX_MODEL_LEN=2048,
        SLIDING_WINDOW="188",
        ENFORCE_EAGER="1",
        SPECULATIVE_CONFIG={"num_speculative_tokens": 7, "method": "ngram"},
    )

    launch = plan_launch(vllm, config, model, "127.0.0.1", 8123)

    overrides = {"layer_types": ["sliding_attention"] * 3, "sliding_window": 188}
    assert (launch.executable, launch.url) == ("vllm", "http://127.0.0.1:8123")
    assert list(launch.arguments) == [
        *("serve", str(model.folder), "--served-model-name", "toy", "--host", "127.0.0.1", "--port", "8123"),
        *("--generation-config", "vllm", "--no-enable-prefix-caching", "--disable-uvicorn-access-log"),
        "--enforce-eager",
        *("--max-model-len", "2048"),
        *("--speculative-config", '{"method":"ngram","num_speculative_tokens":7}'),
        *("--hf-overrides", json.dumps(overrides)),
    ]
    assert "HF_HUB_OFFLINE" in launch.environment


def test_the_number_of_layers_is_read_from_a_nested_model_config_too(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"text_config": {"num_hidden_layers": 42}}')

    assert Model("nested", tmp_path).layers() == 42


@pytest.mark.parametrize(
    ("limits", "words"),
    [
        ('{"vocab_size": 5}', "speed-0: token id 12, the vocabulary ends at 5"),
        ('{"text_config": {"max_position_embeddings": 12}}', "speed-0: 12 tokens, the model reads 12 at most"),
    ],
)
def test_a_record_that_the_model_cannot_read_is_refused(tmp_path: Path, limits: str, words: str) -> None:
    (tmp_path / "config.json").write_text(limits)

    with pytest.raises(PromptSetError, match=words):
        Model("small", tmp_path).refuse_misfits(builders.speed_set())


def test_a_record_that_fits_passes(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text('{"vocab_size": 13, "max_position_embeddings": 13}')

    Model("small", tmp_path).refuse_misfits(builders.speed_set(1))


def test_a_false_flag_is_said_as_well(vllm: Engine, model: Model) -> None:
    launch = plan_launch(vllm, config_of(vllm, ENFORCE_EAGER=False), model, "h", 1)

    assert "--no-enforce-eager" in launch.arguments


def test_a_variable_can_become_an_environment_variable(engine_file: Engine, model: Model) -> None:
    launch = plan_launch(engine_file, config_of(engine_file, GPU_MEMORY_UTILIZATION="0.9"), model, "h", 1)

    assert launch.environment == {"TOY_MEMORY": "0.9"}


def test_every_variable_of_the_real_engine_is_mapped_explained_and_read_back(vllm: Engine) -> None:
    for variable in vllm.variables.values():
        assert set(variable.help) == {"en", "ru"}
        assert variable.effect


def effects(engine: Engine, config: Config, **shown: object) -> list[bool]:
    document = {
        "vllm_config": {
            "model_config": {"dtype": shown.get("dtype")},
            "cache_config": {"sliding_window": shown.get("window")},
            "speculative_config": shown.get("speculation"),
        }
    }
    return [effect.holds for effect in read_effects(engine, config, document)]


def test_a_variable_took_effect_when_the_server_shows_its_value(vllm: Engine) -> None:
    config = config_of(
        vllm, SLIDING_WINDOW=188, DTYPE="bfloat16", SPECULATIVE_CONFIG={"method": "ngram", "num_speculative_tokens": 2}
    )
    speculation = {"method": "ngram", "num_speculative_tokens": 2, "prompt_lookup_max": 5}

    assert all(effects(vllm, config, window=188, dtype="torch.bfloat16", speculation=speculation))


@pytest.mark.parametrize("window", [None, 187, "188", {}])
def test_a_variable_had_no_effect_when_the_server_shows_another_value(vllm: Engine, window: object) -> None:
    assert effects(vllm, config_of(vllm, SLIDING_WINDOW=188), window=window) == [False]


@pytest.mark.parametrize("document", [None, [], "text", {"vllm_config": None}])
def test_a_document_of_another_shape_shows_no_effect(vllm: Engine, document: object) -> None:
    [effect] = read_effects(vllm, config_of(vllm, SLIDING_WINDOW=188), document)

    assert not effect.holds


def test_a_variable_that_the_engine_does_not_map_is_refused(engine_file: Engine, model: Model) -> None:
    with pytest.raises(EngineFileError, match="does not map the variable NEW"):
        plan_launch(engine_file, Config((("NEW", 1),)), model, "h", 1)


BAD_FILES = [
    (MINIMAL + "nonsense = 1", "nonsense"),
    (MINIMAL.replace('name = "toy"', ""), "name"),
    (MINIMAL.replace('"integer"', '"whole"'), "variables.WINDOW.type"),
    (MINIMAL.replace('"integer"', '"choice"'), "choices"),
    (MINIMAL.replace('"integer"', '"integer"\nminimum = 5\nmaximum = 4'), "minimum 5 is above maximum 4"),
    (MINIMAL.replace("--window", "--trust-remote-code"), "no variable may become --trust-remote-code"),
    (MINIMAL.replace("--window", "--max-logprobs"), "no variable may become --max-logprobs"),
    (MINIMAL.replace("argument =", "environment =").replace("--window", "LD_PRELOAD"), "LD_PRELOAD"),
    (MINIMAL.replace("variables.WINDOW", "variables.window"), "window is no variable name"),
    (MINIMAL.replace("variables.WINDOW", "variables.LD_PRELOAD"), "LD_PRELOAD may be in no schema"),
    ("name = ", "Invalid value"),
]


@pytest.mark.parametrize(("text", "words"), BAD_FILES)
def test_a_bad_engine_file_is_refused_in_words(tmp_path: Path, text: str, words: str) -> None:
    path = tmp_path / "bad.toml"
    path.write_text(text)

    with pytest.raises(EngineFileError, match=words):
        load_engine(str(path))


def test_an_engine_that_is_not_there_is_named() -> None:
    with pytest.raises(EngineFileError, match="no engine file nothing"):
        load_engine("nothing")


def test_engine_files_load_by_name_and_by_path() -> None:
    assert load_engine("vllm-cpu").name == "vllm-cpu"
    assert load_engine(SCRIPTED_TOML).name == "scripted"
