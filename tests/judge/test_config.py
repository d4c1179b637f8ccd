import contextlib
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge import Config, ConfigError, Schema, check_config, load_engine, read_config
from judge.config import CONFIG_LIMIT_BYTES, RawVariable
from judge.errors import ConfigProblem
from judge.words import problem_sentence
from tests import builders
from tests.conftest import SCRIPTED_TOML

SCHEMA: Schema = load_engine(SCRIPTED_TOML).schema


def problems_of(content: str | bytes) -> list[ConfigProblem]:
    with pytest.raises(ConfigError) as raised:
        check_config(read_config(content), SCHEMA)
    return raised.value.problems


ENV = 'SLIDING_WINDOW=188\n# a comment\nSPECULATIVE_CONFIG={"method":"mtp","num_speculative_tokens":7}\n'
SAME = [
    ENV,
    'export SPECULATIVE_CONFIG=\'{"num_speculative_tokens": 7, "method": "mtp"}\'\r\n\r\nSLIDING_WINDOW = "188"',
    '{"SLIDING_WINDOW": 188, "SPECULATIVE_CONFIG": {"num_speculative_tokens": 7, "method": "mtp"}}',
    json.dumps({"SPECULATIVE_CONFIG": '{"method": "mtp", "num_speculative_tokens": "7"}', "SLIDING_WINDOW": "188"}),
    ENV + "ENFORCE_EAGER=0\nDTYPE=auto\n",
    "\ufeff" + ENV,
]


@pytest.mark.parametrize("text", SAME)
def test_every_way_to_write_a_config_has_one_canonical_form(text: str) -> None:
    config = check_config(read_config(text.encode()), SCHEMA)

    assert config.canonical == (
        '{"SLIDING_WINDOW":188,"SPECULATIVE_CONFIG":{"method":"mtp","num_speculative_tokens":7}}'
    )
    assert config.sha256 == builders.sha256(config.canonical)


def test_pairs_read_like_a_file() -> None:
    pairs = [RawVariable("SLIDING_WINDOW", "188"), RawVariable("GPU_MEMORY_UTILIZATION", "0.90")]

    assert check_config(pairs, SCHEMA).canonical == '{"GPU_MEMORY_UTILIZATION":0.9,"SLIDING_WINDOW":188}'


REFUSED = [
    ("SLIDING_WINDOWS=188", "unknown-variable", "SLIDING_WINDOWS", 1),
    ("\nSLIDING_WINDOW=wide", "not-a-whole-number", "SLIDING_WINDOW", 2),
    ("SLIDING_WINDOW=188.0", "not-a-whole-number", "SLIDING_WINDOW", 1),
    ("SLIDING_WINDOW=", "not-a-whole-number", "SLIDING_WINDOW", 1),
    ("SLIDING_WINDOW=" + "9" * 5000, "not-a-whole-number", "SLIDING_WINDOW", 1),
    ("SLIDING_WINDOW=١٨٨", "not-a-whole-number", "SLIDING_WINDOW", 1),
    ('{"SLIDING_WINDOW": true}', "not-a-whole-number", "SLIDING_WINDOW", None),
    ('{"SLIDING_WINDOW": null}', "not-a-whole-number", "SLIDING_WINDOW", None),
    ("SLIDING_WINDOW=0", "out-of-range", "SLIDING_WINDOW", 1),
    ("SLIDING_WINDOW=513", "out-of-range", "SLIDING_WINDOW", 1),
    ("GPU_MEMORY_UTILIZATION=nan", "not-a-number", "GPU_MEMORY_UTILIZATION", 1),
    ("GPU_MEMORY_UTILIZATION=1e400", "not-a-number", "GPU_MEMORY_UTILIZATION", 1),
    ("GPU_MEMORY_UTILIZATION=0.99", "out-of-range", "GPU_MEMORY_UTILIZATION", 1),
    ("ENFORCE_EAGER=maybe", "not-true-or-false", "ENFORCE_EAGER", 1),
    ("DTYPE=float8", "not-a-choice", "DTYPE", 1),
    ("SLIDING_WINDOW=8\nSLIDING_WINDOW=8", "duplicate-variable", "SLIDING_WINDOW", 2),
    ('{"SLIDING_WINDOW": 8, "SLIDING_WINDOW": 9}', "duplicate-variable", "SLIDING_WINDOW", None),
    ('SPECULATIVE_CONFIG={"method": ', "invalid-json", "SPECULATIVE_CONFIG", 1),
    ("SPECULATIVE_CONFIG=[1]", "not-an-object", "SPECULATIVE_CONFIG", 1),
    ('{"SPECULATIVE_CONFIG": {}}', "missing-key", "SPECULATIVE_CONFIG", None),
    ('SPECULATIVE_CONFIG={"method":"mtp","model":"/etc"}', "unknown-key", "SPECULATIVE_CONFIG", 1),
    ('SPECULATIVE_CONFIG={"method":"mtp","method":"mtp"}', "duplicate-key", "SPECULATIVE_CONFIG", 1),
    ('{"SPECULATIVE_CONFIG": {"method": "mtp", "method": "mtp"}}', "duplicate-key", "SPECULATIVE_CONFIG", None),
    ('SPECULATIVE_CONFIG={"method":"mtp","num_speculative_tokens":99}', "out-of-range", "SPECULATIVE_CONFIG", 1),
    (
        'SPECULATIVE_CONFIG={"method":"mtp","rejection_sample_method":"synthetic"}',
        "refused-key",
        "SPECULATIVE_CONFIG",
        1,
    ),
    ("LD_PRELOAD=/tmp/evil.so", "refused-variable", "LD_PRELOAD", 1),
    ("ld_preload=/tmp/evil.so", "refused-variable", "ld_preload", 1),
    ("PYTHONPATH=.", "refused-variable", "PYTHONPATH", 1),
    ("VLLM_CACHE_ROOT=/x", "refused-variable", "VLLM_CACHE_ROOT", 1),
    ("LOGPROBS_MODE=processed_logits", "refused-variable", "LOGPROBS_MODE", 1),
    ("SLIDING_WINDOW=$(rm -rf /)", "not-a-whole-number", "SLIDING_WINDOW", 1),
    ("rm -rf / ; curl evil | sh", "bad-line", None, 1),
    ("SLIDING_WINDOW", "bad-line", None, 1),
    ("=5", "bad-line", None, 1),
    ("", "empty-file", None, None),
    (" \n\t\n", "empty-file", None, None),
    ("A=1\0", "control-character", None, None),
    ("A=\x1b[31m", "control-character", None, None),
    (b"\xff\xfe\x00binary", "not-text", None, None),
    ("\ud800", "not-text", None, None),
    (b"x" * 1_000_000, "too-large", None, None),
    ('{"SLIDING_WINDOW": 8', "invalid-json", None, 1),
    ('{"SLIDING_WINDOW":' + "[" * 30_000, "invalid-json", None, None),
]


@pytest.mark.parametrize(("content", "code", "variable", "line"), REFUSED)
def test_a_bad_config_is_refused_with_its_variable_and_line(
    content: str | bytes, code: str, variable: str | None, line: int | None
) -> None:
    [problem] = problems_of(content)

    assert (problem.code, problem.variable, problem.line) == (code, variable, line)
    assert len(problem_sentence(problem)) < 300


def test_all_problems_are_told_at_once() -> None:
    problems = problems_of("SLIDING_WINDOW=x\nNOPE=1\nDTYPE=int3")

    assert [problem.variable for problem in problems] == ["SLIDING_WINDOW", "NOPE", "DTYPE"]


def test_a_wrong_key_is_named_in_the_sentence() -> None:
    [problem] = problems_of('SPECULATIVE_CONFIG={"method":"mtp","num_speculative_tokens":99}')

    assert problem_sentence(problem) == "num_speculative_tokens: Must be from 1 to 16, not 99."


def test_the_size_limit_is_the_last_size_that_is_read() -> None:
    line = "SLIDING_WINDOW=8\n"
    padded = line + "#" * (CONFIG_LIMIT_BYTES - len(line))

    assert check_config(read_config(padded), SCHEMA).values == (("SLIDING_WINDOW", 8),)
    assert problems_of(padded + "#")[0].code == "too-large"


@given(st.one_of(st.text(), st.binary(), st.text("{}[]\":,=\n\\'#A1 e")))
def test_no_input_raises_anything_but_a_config_error(content: str | bytes) -> None:
    with contextlib.suppress(ConfigError):
        config = check_config(read_config(content), SCHEMA)
        assert json.loads(config.canonical) == dict(config.values)


values = st.fixed_dictionaries(
    {},
    optional={
        "SLIDING_WINDOW": st.integers(1, 512),
        "GPU_MEMORY_UTILIZATION": st.floats(0.1, 0.95),
        "ENFORCE_EAGER": st.booleans(),
        "DTYPE": st.sampled_from(["auto", "bfloat16", "float32"]),
        "SPECULATIVE_CONFIG": st.fixed_dictionaries(
            {"method": st.sampled_from(["ngram", "mtp"])}, optional={"num_speculative_tokens": st.integers(1, 16)}
        ),
    },
)


@given(values, st.randoms(use_true_random=False))
def test_order_and_notation_never_change_the_hash(variables: dict[str, object], random) -> None:
    shuffled = list(variables.items())
    random.shuffle(shuffled)
    config = check_config([RawVariable(name, value) for name, value in variables.items()], SCHEMA)
    from_json = check_config(read_config(json.dumps(dict(shuffled))), SCHEMA)

    assert from_json.sha256 == config.sha256
    assert Config.from_canonical(config.canonical) == config
    if config.values:
        assert check_config(read_config(config.as_env()), SCHEMA).sha256 == config.sha256
