"""The forms: a team's name, and a config that grows from its schema."""

import unicodedata
from collections.abc import Mapping

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.utils.translation import get_language, gettext_lazy
from django.utils.translation import gettext as _

import judge
from judge.config import CONFIG_LIMIT_BYTES, RawVariable, env_value
from judge.errors import ConfigProblem
from judge.schema import Variable
from submissions.reasons import problem_words

FILE_FIELD = "file"
TEXT_FIELD = "text"


class TeamForm(forms.Form):
    """A team's name: any script, but something that can be seen."""

    name = forms.CharField(label=gettext_lazy("Team name"), max_length=80)

    def clean_name(self) -> str:
        name = unicodedata.normalize("NFC", self.cleaned_data["name"]).strip()
        if any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") for c in name):
            raise forms.ValidationError(_("The name holds a control character."))
        if not any(unicodedata.category(c)[0] in "LNSP" for c in name):
            raise forms.ValidationError(_("The name needs at least one letter, number or symbol."))
        return name


class ConfigTextForm(forms.Form):
    """A `.env` or JSON text, pasted or uploaded, that fills the fields of the config form."""

    text = forms.CharField(
        label=gettext_lazy("Paste .env or JSON"),
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 6, "spellcheck": "false", "placeholder": "SLIDING_WINDOW=188"}),
    )
    file = forms.FileField(label=gettext_lazy("or upload a file"), required=False, allow_empty_file=True)

    @property
    def is_used(self) -> bool:
        """Whether anything was pasted or uploaded."""
        return bool(self.files.get(FILE_FIELD)) or bool(str(self.data.get(TEXT_FIELD, "")).strip())

    def read(self) -> list[RawVariable]:
        """The variables of the upload, or else of the pasted text; problems become errors of their field.

        Raises judge.ConfigError.
        """
        upload = self.files.get(FILE_FIELD)
        name = FILE_FIELD if upload else TEXT_FIELD
        try:
            return judge.read_config(_bounded(upload) if upload else str(self.data.get(TEXT_FIELD, "")))
        except judge.ConfigError as error:
            self.add_problems(name, error.problems)
            raise

    def add_problems(self, name: str, problems: list[ConfigProblem]) -> None:
        self.is_valid()
        for problem in problems:
            self.add_error(name, _located(problem))

    @property
    def source(self) -> str:
        return FILE_FIELD if self.files.get(FILE_FIELD) else TEXT_FIELD


def _bounded(upload: UploadedFile) -> bytes:
    """No more than the judge reads, and one byte to tell that there was more."""
    return upload.read(CONFIG_LIMIT_BYTES + 1)


def _located(problem: ConfigProblem) -> str:
    words = problem_words(problem)
    if problem.variable:
        words = f"{problem.variable}: {words}"
    return _("Line %(line)d: %(words)s") % {"line": problem.line, "words": words} if problem.line else words


class ConfigForm(forms.Form):
    """One field per variable of the schema. An empty field leaves the variable unset.

    The judge checks the values, so that the form, the API and the command line say the same.
    """

    def __init__(self, schema: judge.Schema, *args: object, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)
        self.schema = schema
        self.config: judge.Config | None = None
        for name, variable in schema.variables.items():
            self.fields[name] = config_field(name, variable)

    def raw_variables(self) -> list[RawVariable]:
        values = ((name, str(self.cleaned_data.get(name, ""))) for name in self.fields)
        return [RawVariable(name, value) for name, value in values if value.strip()]

    def clean(self) -> None:
        try:
            self.config = judge.check_config(self.raw_variables(), self.schema)
        except judge.ConfigError as error:
            for problem in error.problems:
                self.add_error(problem.variable, problem_words(problem))


def fill_values(raw: list[RawVariable], schema: judge.Schema) -> tuple[dict[str, str], list[ConfigProblem]]:
    """What a file puts into the fields, and what fits no field: unknown, refused or repeated variables."""
    values: dict[str, str] = {}
    problems: list[ConfigProblem] = []
    for variable in raw:
        try:
            judge.check_config([variable], schema)
        except judge.ConfigError as error:
            if variable.name not in schema.variables:
                problems += error.problems
                continue
        if variable.name in values:
            problems.append(ConfigProblem("duplicate-variable", variable.name, variable.line))
        values.setdefault(variable.name, _as_text(variable.value))
    return values, problems


def _as_text(value: object) -> str:
    return value if isinstance(value, str) else env_value(value)  # type: ignore[arg-type]


def config_field(name: str, variable: Variable) -> forms.CharField | forms.ChoiceField:
    """A field for one variable: its widget by type, its help with range and default."""
    options = {"label": name, "required": False, "help_text": field_help(variable)}
    match variable.type:
        case "integer" | "number":
            return forms.CharField(widget=_number_input(variable), **options)
        case "boolean":
            return _OpenChoiceField(choices=[("", _("not set")), ("1", "1"), ("0", "0")], **options)
        case "choice":
            choices = [("", _("not set")), *((choice, choice) for choice in variable.choices)]
            return _OpenChoiceField(choices=choices, **options)
        case _:
            example = {key: _example(inner) for key, inner in variable.keys.items() if inner.required}
            attrs = {"rows": 3, "spellcheck": "false", "placeholder": env_value(example)}
            return forms.CharField(widget=forms.Textarea(attrs=attrs), **options)


class _OpenChoiceField(forms.ChoiceField):
    """A select whose value the judge checks; a wrong one stays visible instead of vanishing."""

    def valid_value(self, value: object) -> bool:
        return True


def _number_input(variable: Variable) -> forms.TextInput:
    """A text field with a numeric keyboard: a number field would throw away what it cannot read."""
    attrs = {"inputmode": "numeric" if variable.type == "integer" else "decimal", "autocomplete": "off"}
    return forms.TextInput(attrs=attrs)


def _example(variable: Variable) -> object:
    return variable.choices[0] if variable.choices else int(variable.minimum or 1)


def field_help(variable: Variable) -> str:
    """The variable's help in the reader's language, then its type, range and default."""
    language = (get_language() or "en").split("-")[0]
    words = variable.help.get(language) or variable.help.get("en", "")
    return " ".join(part for part in (words, bounds_words(variable)) if part)


def bounds_words(variable: Variable) -> str:
    """Type, range and default of a variable in one sentence."""
    low, high = variable.minimum, variable.maximum
    kinds = {
        "integer": _("Whole number"),
        "number": _("Number"),
        "boolean": _("1 or 0"),
        "choice": _("One of %(choices)s") % {"choices": ", ".join(variable.choices)},
        "object": _("JSON object with %(keys)s") % {"keys": ", ".join(_key_words(variable.keys))},
    }
    words = kinds[variable.type]
    if low is not None and high is not None:
        words += _(" from %(low)s to %(high)s") % {"low": f"{low:g}", "high": f"{high:.15g}"}
    if variable.default is not None:
        words += _(", default %(default)s") % {"default": env_value(variable.default)}
    return f"{words}."


def _key_words(keys: Mapping[str, Variable]) -> list[str]:
    return [
        f"{key} ({', '.join(inner.choices)})"
        if inner.choices
        else f"{key} ({inner.minimum:g}-{inner.maximum:g})"
        if inner.minimum is not None and inner.maximum is not None
        else key
        for key, inner in keys.items()
    ]
