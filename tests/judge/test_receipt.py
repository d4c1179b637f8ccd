import json
from collections.abc import Callable, Iterator
from dataclasses import replace

import pytest
from nacl.signing import SigningKey

from judge import Config, Lap, decide
from judge.errors import Fault
from judge.receipt import (
    Measured,
    ReceiptError,
    describe_hardware,
    engine_sha256,
    make_receipt,
    read_receipt,
    sign,
    verify_receipt,
)
from tests import builders

LapOf = Callable[..., Lap]
KEY = SigningKey(b"k" * 32)
MEASURED = Measured("toy", "1", "e" * 64, None, "toy", describe_hardware())


def receipt_of(lap: Lap, config: Config | None = None) -> bytes:
    plan = builders.plan()
    sets = (plan.speed_set.sha256, plan.quality_set.sha256)
    verdict = decide(lap, plan.rules)
    return sign(make_receipt(config or Config((("SLIDING_WINDOW", 8),)), MEASURED, sets, plan.rules, lap, verdict), KEY)


@pytest.fixture
def signed(lap_of: LapOf) -> bytes:
    return receipt_of(lap_of())


def broken(content: bytes, public_key: str | None = None) -> list[str]:
    return [check.what for check in verify_receipt(content, public_key) if not check.holds]


def test_an_honest_receipt_holds_in_every_check(signed: bytes) -> None:
    checks = list(verify_receipt(signed, bytes(KEY.verify_key).hex()))

    assert [check.what for check in checks] == ["signature", "signer", "config hash", "tps", "ppl", "audits", "verdict"]
    assert all(check.holds for check in checks)


def test_receipts_of_lost_runs_hold_too(lap_of: LapOf) -> None:
    early = lap_of()
    early.timed, early.quality = [], []
    early.fault, early.fault_detail = Fault.ENGINE_EXITED, "exit code 1"

    assert broken(receipt_of(early)) == []


def test_the_same_rows_give_the_same_bytes(lap_of: LapOf) -> None:
    lap = lap_of()

    assert receipt_of(lap) == receipt_of(lap)
    assert receipt_of(replace(lap, log_tail="words")) == receipt_of(lap)


def leaves(value: object, path: tuple[object, ...] = ()) -> Iterator[tuple[object, ...]]:
    """The path to every value of a document that is neither object nor list."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from leaves(inner, (*path, key))
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from leaves(inner, (*path, index))
    else:
        yield path


def edited(value: object) -> object:
    """Something else of the same type."""
    if isinstance(value, bool) or value is None:
        return not value
    if isinstance(value, int | float):
        return value + 1
    digit = "1" if str(value)[:1] == "0" else "0"
    return digit + str(value)[1:]


def with_edit(document: object, path: tuple[object, ...], change: Callable[[object], object]) -> bytes:
    copy = json.loads(json.dumps(document))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = change(place[path[-1]])
    return json.dumps(copy).encode()


def is_caught(content: bytes) -> bool:
    try:
        return bool(broken(content))
    except ReceiptError:
        return True


def test_every_edit_of_every_single_field_is_caught(signed: bytes) -> None:
    document = json.loads(signed)
    paths = list(leaves(document))
    assert len(paths) > 100

    assert [path for path in paths if not is_caught(with_edit(document, path, edited))] == []


def test_a_field_more_or_less_is_caught(signed: bytes) -> None:
    document = json.loads(signed)

    for name in document:
        assert is_caught(json.dumps({k: v for k, v in document.items() if k != name}).encode()), name
    assert is_caught(json.dumps(document | {"note": "trust me"}).encode())
    assert is_caught(with_edit(document, ("lap", "timed"), lambda rows: rows[1:]))
    assert is_caught(with_edit(document, ("lap", "timed"), lambda rows: [*rows, rows[0]]))


def test_other_spacing_and_key_order_are_the_same_receipt(signed: bytes) -> None:
    document = json.loads(signed)

    assert broken(json.dumps(dict(reversed(document.items())), indent=4).encode()) == []


def test_numbers_that_do_not_follow_from_the_rows_are_caught_under_any_signature(lap_of: LapOf) -> None:
    receipt, _, _ = read_receipt(receipt_of(lap_of()))
    faster = replace(receipt, verdict=replace(receipt.verdict, tps=(receipt.verdict.tps or 0) * 1.001))
    other_config = replace(receipt, config={"SLIDING_WINDOW": 16})

    assert broken(sign(faster, KEY)) == ["tps", "verdict"]
    assert broken(sign(other_config, KEY)) == ["config hash"]


def test_a_finding_that_does_not_follow_from_its_evidence_is_caught(lap_of: LapOf) -> None:
    lap = lap_of()
    place = next(number for number, finding in enumerate(lap.findings) if finding.audit == "A1")
    evidence = lap.findings[place].evidence | {"tokens_generated": 1}
    lap.findings[place] = replace(lap.findings[place], evidence=evidence)

    assert broken(receipt_of(lap)) == ["audits"]


def test_another_signer_is_caught_when_the_key_is_known(signed: bytes) -> None:
    assert broken(signed, "0" * 64) == ["signer"]


NO_RECEIPTS = [
    (b"", "cut short"),
    (b'{"format": "fair', "cut short"),
    (b"[]", "no receipt"),
    (b"{}", "no receipt"),
    (b'{"signature": {}, "format": "fairlap-receipt/9"}', "format 'fairlap-receipt/9', this program reads"),
    (b'{"signature": {}, "format": "fairlap-receipt/1"}', "config: Field required"),
]


@pytest.mark.parametrize(("content", "words"), NO_RECEIPTS)
def test_what_is_no_receipt_is_named(content: bytes, words: str) -> None:
    with pytest.raises(ReceiptError, match=words):
        list(verify_receipt(content))


def test_a_receipt_that_was_cut_short_anywhere_is_named(signed: bytes) -> None:
    for end in range(1, len(signed), 97):
        with pytest.raises(ReceiptError):
            list(verify_receipt(signed[:end]))


def test_numbers_that_are_none_are_no_receipt(signed: bytes) -> None:
    with pytest.raises(ReceiptError):
        list(verify_receipt(signed.replace(b'"engine_gone":true', b'"engine_gone":NaN')))


def test_no_prompt_or_answer_is_in_it(signed: bytes) -> None:
    for prompt in builders.speed_set().prompts:
        assert ",".join(map(str, prompt.token_ids[:4])).encode() not in signed


def test_an_engine_is_hashed_by_what_its_file_says(engine_file) -> None:
    assert engine_sha256(engine_file) == engine_sha256(engine_file)
    assert engine_sha256(replace(engine_file, version="2")) != engine_sha256(engine_file)
