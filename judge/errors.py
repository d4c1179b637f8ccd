"""What can go wrong while judging, named for what a reader does about it."""

from dataclasses import dataclass, field
from enum import StrEnum


class Fault(StrEnum):
    """Why a lap does not count. The words for each code are in `words.py`, its verdict in `verdict.py`."""

    ENGINE_EXITED = "engine-exited"
    START_TIMEOUT = "start-timeout"
    VARIABLE_WITHOUT_EFFECT = "variable-without-effect"
    ENGINE_DIED = "engine-died"
    REQUEST_TIMEOUT = "request-timeout"
    HTTP_ERROR = "http-error"
    ERROR_ANSWER = "error-answer"
    MALFORMED_ANSWER = "malformed-answer"
    ANSWER_TOO_LARGE = "answer-too-large"
    MISSING_TOKEN_IDS = "missing-token-ids"
    SHORT_ANSWER = "short-answer"
    USAGE_MISMATCH = "usage-mismatch"
    WRONG_FINISH_REASON = "wrong-finish-reason"
    LOGPROB_MISSING = "logprob-missing"
    LOGPROB_NOT_FINITE = "logprob-not-finite"
    LOGPROB_POSITIVE = "logprob-positive"
    QUALITY_NOT_REPEATABLE = "quality-not-repeatable"
    DISTURBED_TIMING = "disturbed-timing"
    ENGINE_NOT_GONE = "engine-not-gone"
    INCOMPLETE_LAP = "incomplete-lap"
    WORKER_LOST = "worker-lost"
    JUDGE_ERROR = "judge-error"


class JudgeError(Exception):
    """Anything the judge raises on purpose."""


class LapFault(JudgeError):
    """The lap cannot go on: `fault` says why, `detail` where and with what numbers."""

    def __init__(self, fault: Fault, detail: str) -> None:
        super().__init__(f"{fault}: {detail}")
        self.fault = fault
        self.detail = detail


class PromptSetError(JudgeError):
    """A prompt set cannot be used; the message says which record and why."""


class PromptReused(JudgeError):
    """A scored prompt would have been sent twice in one server life: a bug in the judge, never a score."""


class EngineFileError(JudgeError):
    """An engine file does not say what an engine file must say."""


class LapStopped(JudgeError):
    """Whoever watches the lap asked it to stop: cancelled, or no longer the live attempt."""


@dataclass(frozen=True, slots=True)
class ConfigProblem:
    """One thing wrong with a config: a code of `words.PROBLEMS`, and what its sentence needs."""

    code: str
    variable: str | None = None
    line: int | None = None
    params: dict[str, object] = field(default_factory=dict)


class ConfigError(JudgeError):
    """A config was refused. `problems` holds everything that is wrong with it, not only the first thing."""

    def __init__(self, problems: list[ConfigProblem]) -> None:
        super().__init__(f"{len(problems)} problems in the config")
        self.problems = problems
