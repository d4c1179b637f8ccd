import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
from nacl.signing import SigningKey

from judge import Config, Lap, LapPlan, calibration_of, decide, load_engine, run_lap, trust
from judge.audits.counts import CounterRise
from judge.audits.degenerate import Texture
from judge.audits.state import Sample, StateRule
from judge.audits.unseen import speed_gap
from judge.errors import Fault
from judge.measurements import AuditRows
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
from tests.engines.scripted import ScriptedEngine
from tests.judge.conftest import RunningServer

KEY = SigningKey(b"k" * 32)
MEASURED = Measured("toy", "1", "e" * 64, None, "toy", describe_hardware())


STATE_RULES = (StateRule(quantity="busy_share", mean_maximum=0.2), StateRule(quantity="gpu_name", one_of=("A10G",)))
PLAN = replace(
    builders.full_plan(),
    engine=replace(load_engine(builders.SCRIPTED_TOML), readback=None),
    config=Config((("SLIDING_WINDOW", 8),)),
    state_rules=STATE_RULES,
)


@contextmanager
def quiet_machine(samples: list[Sample]) -> Iterator[None]:
    """An observer that has nothing to complain of."""
    samples.append({"busy_share": 0.1, "gpu_name": "A10G"})
    yield
    samples.append({"busy_share": 0.25})


def receipt_of(lap: Lap, plan: LapPlan = PLAN) -> bytes:
    return sign(make_receipt(MEASURED, plan, lap, decide(lap, plan.rules)), KEY)


@pytest.fixture
def lap(engine: ScriptedEngine) -> Lap:
    """A lap with rows of every kind."""
    trusted = trust(lambda config: lambda: RunningServer(engine), PLAN.engine, PLAN.config, Config())
    return run_lap(lambda: RunningServer(engine), PLAN, trusted=trusted, observe=quiet_machine)


@pytest.fixture
def signed(lap: Lap) -> bytes:
    return receipt_of(lap)


def broken(content: bytes, public_key: str | None = None) -> list[str]:
    return [check.what for check in verify_receipt(content, public_key) if not check.holds]


def test_an_honest_receipt_holds_in_every_check(signed: bytes) -> None:
    checks = list(verify_receipt(signed, bytes(KEY.verify_key).hex()))

    assert [check.what for check in checks] == ["signature", "signer", "config hash", "tps", "ppl", "audits", "verdict"]
    assert all(check.holds for check in checks)


def test_every_audit_is_in_it(signed: bytes) -> None:
    findings = read_receipt(signed)[0].verdict.findings

    assert [finding.audit for finding in findings] == [f"A{number}" for number in range(1, 10)]
    assert {finding.result for finding in findings} == {"clean"}


def test_receipts_of_lost_runs_hold_too(lap: Lap) -> None:
    lap.timed, lap.quality = [], []
    lap.fault, lap.fault_detail = Fault.ENGINE_EXITED, "exit code 1"

    assert broken(receipt_of(lap)) == []


def test_the_same_rows_give_the_same_bytes(lap: Lap) -> None:
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


def test_numbers_that_do_not_follow_from_the_rows_are_caught_under_any_signature(signed: bytes) -> None:
    receipt, _, _ = read_receipt(signed)
    faster = replace(receipt, verdict=replace(receipt.verdict, tps=(receipt.verdict.tps or 0) * 1.001))
    other_config = replace(receipt, config={"SLIDING_WINDOW": 16})

    assert broken(sign(faster, KEY)) == ["tps"]
    assert broken(sign(other_config, KEY)) == ["config hash"]


OTHER_EVIDENCE: dict[str, Callable[[AuditRows], None]] = {
    "A1": lambda rows: setattr(rows, "counters", CounterRise(1, 1)),
    "A2": lambda rows: rows.problems.append("the text is not what the ids say"),
    "A3": lambda rows: rows.textures.append(Texture(0.1, 0.9, 0.0)),
    "A4": lambda rows: rows.plain.append(replace(rows.plain[0], gaps=(5.0,))),
    "A5": lambda rows: rows.reference.append(replace(rows.reference[0], nll=1e6)),
    "A6": lambda rows: rows.replayed.append(replace(rows.replayed[0], parted_at=3)),
    "A7": lambda rows: rows.unseen.pop(),
    "A8": lambda rows: rows.repeated.append(replace(rows.repeated[0], durations_ns=(1,))),
    "A9": lambda rows: rows.state.append({"busy_share": 1.0}),
}


@pytest.mark.parametrize("audit", OTHER_EVIDENCE)
def test_evidence_that_gives_another_finding_is_caught_under_any_signature(signed: bytes, audit: str) -> None:
    receipt, _, _ = read_receipt(signed)
    OTHER_EVIDENCE[audit](receipt.lap.audits)

    checks = {check.what: check for check in verify_receipt(sign(receipt, KEY))}

    assert not checks["audits"].holds
    assert checks["audits"].detail == audit


def test_a_finding_left_out_is_caught_under_any_signature(signed: bytes) -> None:
    receipt, _, _ = read_receipt(signed)
    findings = tuple(finding for finding in receipt.verdict.findings if finding.audit != "A4")

    assert broken(sign(replace(receipt, verdict=replace(receipt.verdict, findings=findings)), KEY)) == ["audits"]


def test_a_calibrations_receipt_holds_what_everything_is_compared_with(signed: bytes, lap: Lap) -> None:
    receipt, _, _ = read_receipt(signed)

    assert calibration_of(receipt.lap).quality == tuple(lap.quality)
    assert calibration_of(receipt.lap).unseen_gap == pytest.approx(speed_gap(lap.audits.unseen, lap.timed))


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
    scored = (*PLAN.speed_set.items, *PLAN.quality_set.items, *PLAN.questions, *builders.public_set().items)
    assert len(scored) == 24
    for prompt in scored:
        assert ",".join(map(str, prompt.token_ids[:4])).encode() not in signed


def test_an_engine_is_hashed_by_what_its_file_says(engine_file) -> None:
    assert engine_sha256(engine_file) == engine_sha256(engine_file)
    assert engine_sha256(replace(engine_file, version="2")) != engine_sha256(engine_file)
