"""A receipt: one canonical JSON document of everything that decided, signed, and recomputable by anyone.

Canonical form: RFC 8785. Signature: Ed25519 (RFC 8032) over the whole document without the
signature's value. Hidden text is never in it, only hashes.
"""

import hashlib
import json
import platform
import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal

import rfc8785
from nacl.exceptions import BadSignatureError
from nacl.signing import SigningKey, VerifyKey
from pydantic import Field, TypeAdapter, ValidationError

from judge.config import Config
from judge.engine import Engine
from judge.errors import JudgeError
from judge.measurements import Lap
from judge.plan import LapPlan, Rules
from judge.speed import TimedRequest, tps
from judge.verdict import Verdict, decide

FORMAT: Literal["fairlap-receipt/1"] = "fairlap-receipt/1"
Hex = Annotated[str, Field(pattern=r"^[0-9a-f]+$")]


class ReceiptError(JudgeError):
    """This is no receipt that can be read; the message says where it stops being one."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What was measured by which engine on which machine; `engine_sha256` is that of its mapping."""

    engine: str
    engine_version: str
    engine_sha256: str
    image_digest: str | None
    model: str
    hardware: dict[str, str]


@dataclass(frozen=True, slots=True)
class PromptSets:
    """The SHA-256 of each prompt set, None where there was none. `public` is the one of audit A7."""

    speed: Hex
    quality: Hex
    accuracy: Hex | None
    public: Hex | None


@dataclass(frozen=True, slots=True)
class Receipt:
    """Everything that decided over one lap. Times in nanoseconds since the first timed request began; `sets`
    names the prompt sets by their SHA-256.
    """

    format: Literal["fairlap-receipt/1"]
    config: dict[str, Any]
    config_sha256: Hex
    measured: Measured
    rules: Rules
    sets: PromptSets
    lap: Lap
    verdict: Verdict


@dataclass(frozen=True, slots=True)
class Signature:
    """Who signed: the public key and the signature in hexadecimal."""

    algorithm: Literal["Ed25519"]
    public_key: Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]
    value: Annotated[str, Field(pattern=r"^[0-9a-f]{128}$")]


RECEIPT = TypeAdapter(Receipt)
SIGNATURE = TypeAdapter(Signature)
ENGINE = TypeAdapter(Engine)


def describe_hardware() -> dict[str, str]:
    """What this machine says of itself, without its name."""
    return {"system": platform.system(), "machine": platform.machine(), "python": sys.version.split()[0]}


def engine_sha256(engine: Engine) -> str:
    """The hash of what the engine's file says, whatever its comments and spacing."""
    return hashlib.sha256(rfc8785.dumps(ENGINE.dump_python(engine, mode="json"))).hexdigest()


def make_receipt(measured: Measured, plan: LapPlan, lap: Lap, verdict: Verdict) -> Receipt:
    """The receipt of a lap by this plan; of its prompts it holds hashes only."""
    return Receipt(
        format=FORMAT,
        config=dict(plan.config.values),
        config_sha256=plan.config.sha256,
        measured=measured,
        rules=plan.rules,
        sets=PromptSets(
            plan.speed_set.sha256,
            plan.quality_set.sha256,
            plan.question_set.sha256 if plan.question_set else None,
            plan.public_set.sha256 if plan.public_set else None,
        ),
        lap=_from_zero(lap),
        verdict=verdict,
    )


def _from_zero(lap: Lap) -> Lap:
    """The lap without its log, its clock set to 0 at the first timed request: JSON numbers end at 2**53."""
    start = min((request.started_ns for request in lap.timed), default=0)

    def moved(requests: list[TimedRequest]) -> list[TimedRequest]:
        return [replace(r, started_ns=r.started_ns - start, ended_ns=r.ended_ns - start) for r in requests]

    audits = replace(lap.audits, unseen=moved(lap.audits.unseen))
    return replace(lap, timed=moved(lap.timed), audits=audits, log_tail="")


def sign(receipt: Receipt, key: SigningKey) -> bytes:
    """The signed document, in canonical form."""
    document = RECEIPT.dump_python(receipt, mode="json")
    document["signature"] = {"algorithm": "Ed25519", "public_key": bytes(key.verify_key).hex()}
    document["signature"]["value"] = key.sign(rfc8785.dumps(document)).signature.hex()
    return rfc8785.dumps(document)


def read_receipt(content: bytes) -> tuple[Receipt, Signature, bytes]:
    """The receipt, its signature, and the bytes that were signed. Raises ReceiptError."""
    try:
        document = json.loads(content)
    except ValueError as error:
        raise ReceiptError(f"not JSON, or cut short: {error}") from None
    if not isinstance(document, dict) or not isinstance(document.get("signature"), dict):
        raise ReceiptError("no receipt: it is not an object with a signature")
    if document.get("format") != FORMAT:
        raise ReceiptError(f"format {document.get('format')!r}, this program reads {FORMAT}")
    body = {name: value for name, value in document.items() if name != "signature"}
    unsigned = body | {"signature": {k: v for k, v in document["signature"].items() if k != "value"}}
    try:
        receipt = RECEIPT.validate_json(json.dumps(body))
        return receipt, SIGNATURE.validate_python(document["signature"]), rfc8785.dumps(unsigned)
    except ValidationError as error:
        first = error.errors()[0]
        raise ReceiptError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None
    except rfc8785.CanonicalizationError as error:
        raise ReceiptError(f"a value that no receipt holds: {error}") from None


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was verified: what, whether it holds, and with what numbers."""

    what: str
    holds: bool
    detail: str = ""


def verify_receipt(content: bytes, public_key: str | None = None) -> Iterator[Check]:
    """Check the signature and recompute the numbers and the verdict from the rows.

    `public_key` (hexadecimal) is the key that must have signed; without it any key may have. Raises
    ReceiptError for what is no receipt.
    """
    receipt, signature, signed = read_receipt(content)
    yield Check("signature", _is_signed(signature, signed), f"by {signature.public_key}")
    if public_key is not None:
        yield Check("signer", signature.public_key == public_key, f"expected {public_key}")
    config = Config(tuple(sorted(receipt.config.items())))
    yield Check("config hash", config.sha256 == receipt.config_sha256, config.sha256)
    try:
        again = decide(receipt.lap, receipt.rules)
    except (ArithmeticError, LookupError, ValueError) as error:
        yield Check("verdict", False, f"the rows contradict each other: {error}")
        return
    yield Check("tps", _close(again.tps, receipt.verdict.tps), _tps_words(receipt.lap))
    yield Check("ppl", _close(again.ppl, receipt.verdict.ppl), "none" if again.ppl is None else f"{again.ppl:.6f}")
    stated = {finding.audit: finding for finding in receipt.verdict.findings}
    odd = [finding.audit for finding in again.findings if stated.pop(finding.audit, None) != finding] + list(stated)
    yield Check("audits", not odd, ", ".join(odd) or f"{len(again.findings)} findings")
    yield Check("verdict", _agree(again, receipt.verdict), f"{again.outcome} {again.reason}".strip())


def _agree(one: Verdict, other: Verdict) -> bool:
    """The same in everything but the numbers and the findings, which have checks of their own."""
    return replace(one, tps=None, ppl=None, findings=()) == replace(other, tps=None, ppl=None, findings=())


def _is_signed(signature: Signature, signed: bytes) -> bool:
    try:
        VerifyKey(bytes.fromhex(signature.public_key)).verify(signed, bytes.fromhex(signature.value))
    except (BadSignatureError, ValueError):
        return False
    return True


def _close(one: float | None, other: float | None) -> bool:
    """Equal but for the last digits, in which two machines' logarithms may differ."""
    if one is None or other is None:
        return one is other
    return abs(one - other) <= 1e-9 * max(abs(one), abs(other))


def _tps_words(lap: Lap) -> str:
    return f"{tps(lap.timed):.6f} from {len(lap.timed)} requests" if lap.timed else "nothing was timed"
