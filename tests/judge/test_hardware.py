from importlib import resources

import pytest

from judge.audits import Result
from judge.audits.state import audit_state
from judge.hardware import load_hardware_class

FILES = sorted(
    file.name.removesuffix(".toml") for file in resources.files("judge").joinpath("hardware_classes").iterdir()
)


@pytest.mark.parametrize("name", FILES)
def test_every_hardware_file_says_what_it_must(name: str) -> None:
    found = load_hardware_class(name)

    assert found is not None
    assert found.name == name
    assert found.rules


def test_a_class_without_a_file_has_no_rules() -> None:
    assert load_hardware_class("gpu.nobody-knows") is None


A10G = {
    "gpu_name": "NVIDIA A10G",
    "memory_total_bytes": 24_146_608_128,
    "mig_enabled": False,
    "persistence_enabled": True,
    "power_limit_watts": 300.0,
    "sm_clock_mhz": 1710,
    "hardware_slowdown": False,
    "thermal_slowdown": False,
    "temperature_celsius": 61,
    "foreign_processes": 0,
    "pcie_link_width": 16,
    "uncorrected_ecc_errors": 0,
    "xid_errors": 0,
}


def test_a_quiet_a10g_is_what_its_class_says() -> None:
    rules = load_hardware_class("gpu.a10g").rules

    assert audit_state([A10G], rules).result == Result.CLEAN


@pytest.mark.parametrize(
    ("quantity", "value"),
    [
        ("gpu_name", "NVIDIA L4"),
        ("mig_enabled", True),
        ("persistence_enabled", False),
        ("power_limit_watts", 250.0),
        ("sm_clock_mhz", 900),
        ("hardware_slowdown", True),
        ("thermal_slowdown", True),
        ("temperature_celsius", 92),
        ("foreign_processes", 1),
        ("pcie_link_width", 4),
        ("uncorrected_ecc_errors", 2),
        ("xid_errors", 1),
        ("memory_total_bytes", 16_000_000_000),
    ],
)
def test_another_or_a_disturbed_card_is_not(quantity: str, value: object) -> None:
    finding = audit_state(
        [A10G, A10G | {quantity: value}, A10G | {quantity: value}], load_hardware_class("gpu.a10g").rules
    )

    assert finding.result == Result.BROKEN
    assert quantity in finding.evidence
