import pytest

from judge.client import EngineClient, parse_object, without_token_ids
from judge.errors import Fault, LapFault
from tests.engines.scripted import SERVED, ScriptedEngine


def test_an_engine_is_ready_when_it_is_healthy_and_names_the_model(
    engine: ScriptedEngine, client: EngineClient
) -> None:
    assert client.is_ready()

    engine.served = "another"
    assert not client.is_ready()

    engine.served, engine.script.never_ready = SERVED, True
    assert not client.is_ready()


def test_nobody_at_the_address_is_not_ready() -> None:
    with EngineClient("http://127.0.0.1:1", SERVED, request_timeout_s=1, answer_limit_bytes=1000) as client:
        assert not client.is_ready()
        assert client.metrics() == ""
        with pytest.raises(LapFault) as raised:
            client.complete((1, 2), 4, "request 1")

    assert raised.value.fault == Fault.ENGINE_DIED


def test_the_clock_brackets_the_request_and_the_answer(engine: ScriptedEngine, client: EngineClient) -> None:
    engine.script.seconds_per_token = 0.005

    exchange = client.complete((1, 2, 3), 16, "request 1")

    assert exchange.ended_ns - exchange.started_ns >= 16 * 5_000_000


def test_all_requests_travel_on_one_connection(engine: ScriptedEngine, client: EngineClient) -> None:
    accepted = []
    accept = engine.get_request
    engine.get_request = lambda: (accepted.append(1), accept())[1]  # type: ignore[method-assign]

    for number in range(5):
        client.complete((number, 2, 3), 16, f"request {number}")

    assert len(accepted) == 1


def test_a_stream_is_counted_by_ids(client: EngineClient) -> None:
    answer = client.stream("hello", 7, "stream 1")

    assert (len(answer.token_ids), answer.chunks) == (7, 7)
    assert answer.started_ns < answer.first_token_ns <= answer.ended_ns


@pytest.mark.parametrize(
    ("body", "fault"),
    [
        (b"", Fault.MALFORMED_ANSWER),
        (b"null", Fault.MALFORMED_ANSWER),
        (b"[]", Fault.MALFORMED_ANSWER),
        (b"\xff", Fault.MALFORMED_ANSWER),
        (b'{"error": {"message": "no"}}', Fault.ERROR_ANSWER),
    ],
)
def test_what_is_no_answer_has_a_name(body: bytes, fault: Fault) -> None:
    with pytest.raises(LapFault, match="request 3") as raised:
        parse_object(body, "request 3")

    assert raised.value.fault == fault


def test_an_engines_error_never_repeats_a_prompt(engine: ScriptedEngine, client: EngineClient) -> None:
    engine.misbehaves("timed:http_500")

    with pytest.raises(LapFault, match="HTTP 500.*token ids left out") as raised:
        client.complete((1, 2, 3, 4), 16, "request 1")

    assert "3, 4" not in raised.value.detail


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("prompt: [1, 22, 333, 4444] end", "prompt: [token ids left out] end"),
        ("ids=(5,6,7,8)", "ids=[token ids left out]"),
        ("3 of 4, 2 errors", "3 of 4, 2 errors"),
        ("version 0.32.0", "version 0.32.0"),
    ],
)
def test_lists_of_ids_are_taken_out_and_other_numbers_stay(text: str, left: str) -> None:
    assert without_token_ids(text) == left
