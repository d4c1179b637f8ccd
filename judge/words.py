"""Every code of the judge in words, in one place. The site translates these sentences."""

from collections.abc import Callable

from judge.errors import ConfigProblem, Fault
from judge.protocol import Stage


def gettext_noop(text: str) -> str:
    """Marks a sentence for Django's makemessages; the judge itself knows no Django."""
    return text


PROBLEMS = {
    "empty-file": gettext_noop("The file is empty. Write one NAME=value a line, or a JSON object."),
    "too-large": gettext_noop("The config is larger than {limit} KiB."),
    "not-text": gettext_noop("This is not UTF-8 text. Send a .env or JSON file."),
    "control-character": gettext_noop("The text holds a NUL or another control character."),
    "bad-line": gettext_noop("Expected NAME=value, found: {text}"),
    "invalid-json": gettext_noop("This is not valid JSON: {detail}"),
    "duplicate-variable": gettext_noop("This variable is set more than once."),
    "duplicate-key": gettext_noop("The key {key} stands more than once."),
    "unknown-variable": gettext_noop("This competition has no such variable."),
    "refused-variable": gettext_noop("This variable is always refused: {refusal}."),
    "not-a-whole-number": gettext_noop("Must be a whole number, not {value}."),
    "not-a-number": gettext_noop("Must be a number, not {value}."),
    "not-true-or-false": gettext_noop("Must be 1 or 0, not {value}."),
    "not-a-choice": gettext_noop("Must be one of {choices}, not {value}."),
    "out-of-range": gettext_noop("Must be from {minimum} to {maximum}, not {value}."),
    "below-minimum": gettext_noop("Must be at least {minimum}, not {value}."),
    "above-maximum": gettext_noop("Must be at most {maximum}, not {value}."),
    "not-an-object": gettext_noop("Must be a JSON object, not {value}."),
    "unknown-key": gettext_noop("The key {key} is not allowed; allowed are {keys}."),
    "missing-key": gettext_noop("The key {key} is missing."),
    "refused-key": gettext_noop("The key {key} is always refused: {refusal}."),
}

REFUSALS = {
    "loads-code": gettext_noop("it loads code"),
    "loads-files": gettext_noop("it names files or a model, which the competition fixes"),
    "moves-files": gettext_noop("it moves files or caches"),
    "changes-identity": gettext_noop("it changes who the server is or whom it talks to"),
    "lossy-acceptance": gettext_noop("it accepts tokens that the model would not have chosen"),
    "bends-evidence": gettext_noop("it changes the evidence that the judge reads"),
}

REASONS = {
    "over-ppl-cap": gettext_noop("The perplexity is over the cap."),
    "speculation-changes-scores": gettext_noop("The perplexity is over the cap only with speculation on."),
    "below-accuracy-floor": gettext_noop("Too few questions are answered right, beside the reference."),
    "speculation-changes-answers": gettext_noop("Too few questions are answered right only with speculation on."),
    "audit-a1": gettext_noop("The engine's own counters disagree with what was timed, or are not shown."),
    "audit-a2": gettext_noop("The prompt, the token ids and the text of an answer do not belong together."),
    "audit-a3": gettext_noop("Too many answers are loops."),
    "audit-a4": gettext_noop("A trusted server of the same model would not have said what was timed."),
    "audit-a5": gettext_noop("The text is less likely under the reference model than that of honest configs."),
    "audit-a6": gettext_noop("The engine answers otherwise, or slower, when the request has another shape."),
    "audit-a7": gettext_noop("The speed on public prompts is too far from that on hidden ones."),
    "audit-a8": gettext_noop("The engine answers a prompt that it has seen faster than it can be decoded."),
    "audit-a9": gettext_noop("The machine was not in the state that its class asks for."),
    Fault.ENGINE_EXITED: gettext_noop("The engine exited before it was ready."),
    Fault.START_TIMEOUT: gettext_noop("The engine was not ready in time."),
    Fault.VARIABLE_WITHOUT_EFFECT: gettext_noop("A variable was set but did not take effect in the running engine."),
    Fault.ENGINE_DIED: gettext_noop("The engine died or broke the connection."),
    Fault.REQUEST_TIMEOUT: gettext_noop("The engine did not answer a request in time."),
    Fault.HTTP_ERROR: gettext_noop("The engine answered a request with an HTTP error."),
    Fault.ERROR_ANSWER: gettext_noop("The engine answered a request with an error."),
    Fault.MALFORMED_ANSWER: gettext_noop("The engine answered with something that is no completion."),
    Fault.ANSWER_TOO_LARGE: gettext_noop("The engine sent a larger answer than the judge reads."),
    Fault.MISSING_TOKEN_IDS: gettext_noop("The engine returned no token ids, so nothing could be counted."),
    Fault.SHORT_ANSWER: gettext_noop("The engine returned another number of tokens than was asked for."),
    Fault.USAGE_MISMATCH: gettext_noop("The engine claimed another number of tokens than it returned."),
    Fault.WRONG_FINISH_REASON: gettext_noop("The engine ended an answer before its length was reached."),
    Fault.LOGPROB_MISSING: gettext_noop("The engine gave no log-probability for a scored token."),
    Fault.LOGPROB_NOT_FINITE: gettext_noop("The engine gave a log-probability that is not a finite number."),
    Fault.LOGPROB_POSITIVE: gettext_noop("The engine gave a log-probability above 0."),
    Fault.QUALITY_NOT_REPEATABLE: gettext_noop("The same record was scored differently when asked twice."),
    Fault.DISTURBED_TIMING: gettext_noop("The timing was disturbed: the wall clock and the requests disagree."),
    Fault.ENGINE_NOT_GONE: gettext_noop("The engine could not be stopped completely."),
    Fault.INCOMPLETE_LAP: gettext_noop("The lap is incomplete."),
    Fault.WORKER_LOST: gettext_noop("The worker was lost."),
    Fault.JUDGE_ERROR: gettext_noop("The judge itself failed."),
}

STAGES = {
    Stage.START: gettext_noop("start"),
    Stage.WARM_UP: gettext_noop("warm-up"),
    Stage.QUALITY_SAMPLE: gettext_noop("quality sample"),
    Stage.TIMED_PASS: gettext_noop("timed pass"),
    Stage.QUALITY_PASS: gettext_noop("quality pass"),
    Stage.ACCURACY_PASS: gettext_noop("accuracy pass"),
    Stage.STREAM_PASS: gettext_noop("streamed pass"),
    Stage.AUDITS: gettext_noop("audits"),
    Stage.STOP: gettext_noop("stop"),
    Stage.RESCORE: gettext_noop("re-scoring on a trusted server"),
}


def problem_sentence(problem: ConfigProblem, translate: Callable[[str], str] = str) -> str:
    """A problem as one sentence, in English or in what `translate` makes of each text."""
    params = dict(problem.params)
    if "refusal" in params:
        params["refusal"] = translate(REFUSALS[str(params["refusal"])])
    sentence = translate(PROBLEMS[problem.code]).format(**params)
    inside_key = "key" in params and "key" not in problem.code
    return f"{params['key']}: {sentence}" if inside_key else sentence
