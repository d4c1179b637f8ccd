"""The config form: what a contestant types, and what comes of it."""

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

import judge
from submissions.models import Competition, Evaluation, Submission
from tests import builders

pytestmark = pytest.mark.django_db


@pytest.fixture
def contest() -> Competition:
    return builders.competition()


@pytest.fixture
def member(client: Client):
    user = builders.user("ada")
    builders.team("Ducks", user)
    client.force_login(user)
    return user


def post(client: Client, contest: Competition, **fields: object):
    return client.post(f"/c/{contest.slug}/submit/", fields)


def errors_of(page) -> dict[str, list[str]]:
    return {name: list(errors) for name, errors in page.context["form"].errors.items()}


def text_errors(page) -> list[str]:
    return [error for errors in page.context["text_form"].errors.values() for error in errors]


def test_the_form_has_a_field_for_each_variable_with_its_bounds(client: Client, contest, member) -> None:
    text = client.get(f"/c/{contest.slug}/submit/").content.decode()

    places = [text.index(f'name="{variable}"') for variable in judge.load_engine("vllm-cpu").variables]
    assert places == sorted(places)
    assert "Whole number from 16 to 8192." in text
    assert "One of auto, bfloat16, float32, default auto." in text


def test_a_good_config_is_stored_canonical_and_queued(client: Client, contest, member) -> None:
    page = post(client, contest, SLIDING_WINDOW=" 188 ", ENFORCE_EAGER="1", DTYPE="auto")

    submission = Submission.objects.get()
    assert (page.status_code, page["location"]) == (302, f"/submissions/{submission.pk}/")
    assert submission.config == '{"ENFORCE_EAGER":true,"SLIDING_WINDOW":188}'
    assert (submission.team.name, submission.submitted_by) == ("Ducks", member)
    evaluation = submission.evaluations.get()
    assert (evaluation.kind, evaluation.verdict, evaluation.ppl_cap) == ("official", "", contest.ppl_cap)
    assert evaluation.seed_sha256 == builders.sha256(evaluation.seed)
    assert builders.attempt(submission).state == "queued"


def test_an_empty_form_is_the_engines_own_defaults(client: Client, contest, member) -> None:
    post(client, contest)

    assert Submission.objects.get().config == "{}"


WRONG = [
    ("SLIDING_WINDOW", "wide", "Must be a whole number, not wide."),
    ("SLIDING_WINDOW", "15", "Must be from 16 to 8192, not 15."),
    ("SLIDING_WINDOW", "$(reboot)", "Must be a whole number, not $(reboot)."),
    ("SLIDING_WINDOW", "1" * 2000, "Must be a whole number"),
    ("ENFORCE_EAGER", "2", "Must be 1 or 0, not 2."),
    ("DTYPE", "float8", "Must be one of auto, bfloat16, float32, not float8."),
    ("SPECULATIVE_CONFIG", "{'method': 'ngram'}", "This is not valid JSON"),
    ("SPECULATIVE_CONFIG", '{"method": "ngram", "num_speculative_tokens": 2, "model": "x"}', "The key model is not"),
    (
        "SPECULATIVE_CONFIG",
        '{"method": "ngram", "num_speculative_tokens": 2, "rejection_sample_method": "synthetic"}',
        "The key rejection_sample_method is always refused",
    ),
]


@pytest.mark.parametrize(("name", "value", "words"), WRONG)
def test_a_wrong_value_is_told_beside_its_field_and_nothing_is_lost(
    client: Client, contest, member, name: str, value: str, words: str
) -> None:
    other = "1024" if name != "MAX_MODEL_LEN" else "16"
    page = post(client, contest, **{name: value, "MAX_MODEL_LEN": other})

    assert page.status_code == 422
    assert list(errors_of(page)) == [name]
    assert words in errors_of(page)[name][0]
    assert page.context["form"][name].value() == value
    assert page.context["form"]["MAX_MODEL_LEN"].value() == other
    assert not Submission.objects.exists()


def test_nul_in_a_field_is_refused_beside_it(client: Client, contest, member) -> None:
    page = post(client, contest, SLIDING_WINDOW="18\08")

    assert page.status_code == 422
    assert "SLIDING_WINDOW" in errors_of(page)


def test_pasted_text_fills_the_fields_and_waits_for_a_look(client: Client, contest, member) -> None:
    text = 'SLIDING_WINDOW=188\nSPECULATIVE_CONFIG={"method":"ngram","num_speculative_tokens":7}'

    page = post(client, contest, text=text, MAX_MODEL_LEN="1024", action="submit")

    form = page.context["form"]
    assert page.status_code == 200
    assert form["SLIDING_WINDOW"].value() == "188"
    assert form["SPECULATIVE_CONFIG"].value() == '{"method":"ngram","num_speculative_tokens":7}'
    assert form["MAX_MODEL_LEN"].value() == "1024"
    assert "Filled in: SLIDING_WINDOW, SPECULATIVE_CONFIG" in page.content.decode()
    assert not Submission.objects.exists()
    sent_again = {name: form[name].value() for name in form.fields} | {
        "text": page.context["text_form"]["text"].value()
    }
    post(client, contest, **{name: value or "" for name, value in sent_again.items()})
    assert Submission.objects.get().load_config().as_env().startswith("MAX_MODEL_LEN=1024\nSLIDING_WINDOW=188\n")


def test_an_uploaded_json_file_fills_the_fields_too(client: Client, contest, member) -> None:
    upload = SimpleUploadedFile("c.json", b'{"SLIDING_WINDOW": 99, "ENFORCE_EAGER": true}')

    page = post(client, contest, file=upload, action="fill")

    assert page.context["form"]["SLIDING_WINDOW"].value() == "99"
    assert page.context["form"]["ENFORCE_EAGER"].value() == "1"


def test_a_wrong_value_in_a_file_is_shown_in_its_own_field(client: Client, contest, member) -> None:
    page = post(client, contest, text="SLIDING_WINDOW=3", action="fill")

    assert errors_of(page) == {"SLIDING_WINDOW": ["Must be from 16 to 8192, not 3."]}


TEXTS = [
    ("NOPE=1", "Line 1: NOPE: This competition has no such variable."),
    ("LD_PRELOAD=/tmp/x.so", "Line 1: LD_PRELOAD: This variable is always refused: it loads code."),
    ("SLIDING_WINDOW=20\nSLIDING_WINDOW=30", "Line 2: SLIDING_WINDOW: This variable is set more than once."),
    ("echo hi | sh", "Line 1: Expected NAME=value, found: echo hi | sh"),
    ('{"SLIDING_WINDOW": ', "Line 1: This is not valid JSON"),
]


@pytest.mark.parametrize(("text", "words"), TEXTS)
def test_what_fits_no_field_is_told_beside_the_text_which_stays(
    client: Client, contest, member, text: str, words: str
) -> None:
    page = post(client, contest, text=text, SLIDING_WINDOW="188", action="submit")

    assert page.status_code == 422
    assert text_errors(page)[0].startswith(words)
    assert page.context["text_form"]["text"].value() == text
    assert not Submission.objects.exists()


FILES = [
    (b"", "The file is empty."),
    (b"x" * 1_000_000, "The config is larger than 64 KiB."),
    (b"\x89PNG\r\n\x1a\n\xff", "This is not UTF-8 text."),
    (b"SLIDING_WINDOW=1\x00", "The text holds a NUL"),
]


@pytest.mark.parametrize(("content", "words"), FILES)
def test_a_file_that_is_no_config_is_told_beside_the_upload(
    client: Client, contest, member, content: bytes, words: str
) -> None:
    page = post(client, contest, file=SimpleUploadedFile("c.env", content), SLIDING_WINDOW="188", action="fill")

    assert text_errors(page)[0].startswith(words)
    assert page.context["form"]["SLIDING_WINDOW"].value() == "188"


def test_before_the_calibration_nothing_can_be_sent(client: Client, member) -> None:
    contest = builders.competition(ppl_cap=None)

    page = post(client, contest, SLIDING_WINDOW="188")

    assert page.status_code == 422
    assert "its reference has not been measured" in page.content.decode()
    assert not Evaluation.objects.exists()


def test_signing_in_comes_first_and_leads_back(client: Client, contest) -> None:
    page = client.get(f"/c/{contest.slug}/submit/")

    assert page["location"] == f"/accounts/login/?next=/c/{contest.slug}/submit/"


def test_a_user_without_a_team_makes_one_and_comes_back(client: Client, contest) -> None:
    client.force_login(builders.user())
    place = client.get(f"/c/{contest.slug}/submit/")["location"]

    page = client.post(place.split("?")[0], {"name": "Geese", "next": contest.slug})

    assert place == f"/team/?next={contest.slug}"
    assert page["location"] == f"/c/{contest.slug}/submit/"
    assert client.get(page["location"]).status_code == 200


def test_one_team_a_user(client: Client, member) -> None:
    client.post("/team/", {"name": "Second"})

    assert member.membership.team.name == "Ducks"


GOOD_NAMES = ["Ducks", "🦆", "عرب", "Équipe e\u0301", "x" * 80, "<b>bold</b>", "=SUM(A1)"]
BAD_NAMES = ["", "   ", "\u200b\u200d", "\u202e", "a\x07b", "x" * 200]


@pytest.mark.parametrize("name", GOOD_NAMES)
def test_a_team_name_may_hold_any_script(client: Client, name: str) -> None:
    client.force_login(builders.user())

    assert client.post("/team/", {"name": name}).status_code == 302


@pytest.mark.parametrize("name", BAD_NAMES)
def test_a_team_name_that_cannot_be_seen_is_refused_with_a_reason(client: Client, name: str) -> None:
    client.force_login(builders.user())

    page = client.post("/team/", {"name": name})

    assert page.status_code == 200
    assert page.context["form"].errors["name"]
