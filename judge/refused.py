"""What no config may set, whatever a schema says: it would let a config out of the judge's hands.

Each pattern has a reason code of `words.REFUSALS`.
"""

import re

REFUSED_NAMES = (
    (
        re.compile(
            r"LD_.*|PYTHON.*|BASH_ENV|ENV|IFS|SHELLOPTS|NODE_OPTIONS|PERL5.*|GCONV_PATH|.*PLUGINS?.*|TRUST_REMOTE_CODE"
        ),
        "loads-code",
    ),
    (re.compile(r"MODEL|TOKENIZER|.*LOAD_FORMAT|WEIGHTS.*|.*CHAT_TEMPLATE.*|.*_URL|.*_URI|.*_FILE"), "loads-files"),
    (
        re.compile(r"PATH|.*_PATH|HOME|.*_HOME|TMPDIR|TEMP|TMP|XDG_.*|.*CACHE_(ROOT|DIR|HOME|PATH)|DOWNLOAD_DIR"),
        "moves-files",
    ),
    (
        re.compile(r"HOST|PORT|UDS|API_KEY|SERVED_MODEL_NAME|.*_PROXY|NO_PROXY|.*TOKEN|CUDA_VISIBLE_DEVICES|USER"),
        "changes-identity",
    ),
    (re.compile(r".*REJECTION_SAMPLE.*|.*SYNTHETIC.*|.*TYPICAL_ACCEPTANCE.*"), "lossy-acceptance"),
    (re.compile(r".*LOGPROBS.*|DISABLE_LOG_STATS|.*KV_SHARING_FAST_PREFILL.*|.*SERVER_DEV_MODE"), "bends-evidence"),
)

REFUSED_ARGUMENTS = frozenset(
    {
        "--trust-remote-code",
        "--load-format",
        "--model",
        "--tokenizer",
        "--download-dir",
        "--chat-template",
        "--host",
        "--port",
        "--uds",
        "--api-key",
        "--served-model-name",
        "--logprobs-mode",
        "--max-logprobs",
        "--disable-log-stats",
        "--kv-sharing-fast-prefill",
        "--middleware",
        "--worker-cls",
        "--worker-extension-cls",
        "--logits-processors",
        "--allowed-local-media-path",
    }
)

REFUSED_KEYS = {
    "rejection_sample_method": "lossy-acceptance",
    "draft_sample_method": "lossy-acceptance",
    "typical_acceptance_sampler_posterior_threshold": "lossy-acceptance",
}
"""Keys of structured values; the one value that each may have all the same is `standard`."""


def refusal_of_name(name: str) -> str | None:
    """The reason code why this variable is always refused, or None."""
    return next((reason for pattern, reason in REFUSED_NAMES if pattern.fullmatch(name.upper())), None)


def refusal_of_key(key: str, value: object) -> str | None:
    """The reason code why this key of a structured value is always refused, or None."""
    return None if value == "standard" else REFUSED_KEYS.get(key.lower())
