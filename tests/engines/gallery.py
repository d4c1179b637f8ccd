"""A rogues' gallery and an honest party: engines that cheat, and engines that only look as if they did."""

from typing import Any

from tests.engines.script import Misbehaviour
from tests.engines.scripted import ScriptedEngine
from tests.engines.toy_model import ToyModel
from tests.engines.toy_tokenizer import ToyTokenizer

EOS = ToyTokenizer.eos_token_id


class RepliesFromACache(ScriptedEngine):
    """Answers a prompt that it has seen at once."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.seen: set[tuple[int, ...]] = set()

    def seconds_per_token_of(self, body: dict[str, Any], prompt: list[int]) -> float:
        known = tuple(prompt) in self.seen
        self.seen.add(tuple(prompt))
        return 0.0 if known else self.script.seconds_per_token


class InventsTokens(ScriptedEngine):
    """Returns ids that it never generated: its own counter does not know them."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        return self.model.continuation(prompt, body["max_tokens"])


class Loops(ScriptedEngine):
    """Says one word over and over, which speculates very fast."""

    is_rescored = False

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        self.tokens_out += body["max_tokens"]
        return [7] * body["max_tokens"]


def is_watched(body: dict[str, Any]) -> bool:
    """Whether a request has another shape than a timed one."""
    return bool(body.get("stream") or body.get("logprobs") or body.get("messages"))


class SlowOnlyWhenWatched(ScriptedEngine):
    """Knows what the timed request looks like, and is fast for that alone."""

    def seconds_per_token_of(self, body: dict[str, Any], prompt: list[int]) -> float:
        return self.script.seconds_per_token * (4 if is_watched(body) else 1)


class HeldBackWhenTimed(ScriptedEngine):
    """Sandbags: keeps the timed request at a set speed, and runs freely otherwise."""

    def seconds_per_token_of(self, body: dict[str, Any], prompt: list[int]) -> float:
        return self.script.seconds_per_token * (1 if is_watched(body) else 4)


class FastOnPublicPrompts(ScriptedEngine):
    """Has memorised the answers to the prompts that everybody knows."""

    public: frozenset[tuple[int, ...]] = frozenset()
    factor = 0.1

    def seconds_per_token_of(self, body: dict[str, Any], prompt: list[int]) -> float:
        return self.script.seconds_per_token * (self.factor if tuple(prompt) in self.public else 1)


class HeldBackOnPublicPrompts(FastOnPublicPrompts):
    """Sandbags: runs at a set speed where it thinks that nothing is at stake."""

    factor = 4


class AnotherTextInChat(ScriptedEngine):
    """Serves completions with one model and chats with another."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        ids = self.generate(prompt, body["max_tokens"])
        return [(token + 1) % 512 for token in ids] if body.get("messages") else ids


class CannotAnswer(ScriptedEngine):
    """Scores as the model does, and can no longer think: its own answers are wrong."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        ids = self.generate(prompt, body["max_tokens"])
        return ids if body["ignore_eos"] else [(token + 1) % 512 for token in ids]


class AnotherTextInAnotherShape(ScriptedEngine):
    """The timed answers are not what the model says when it is asked otherwise."""

    is_rescored = False

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        ids = self.generate(prompt, body["max_tokens"])
        return ids if is_watched(body) else [(token + 1) % 512 for token in ids]


class DriftsFromGreedy(ScriptedEngine):
    """Accepts a draft token now and then that the model would not have chosen, in every shape alike."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        self.tokens_out += body["max_tokens"]
        text = list(prompt)
        for place in range(body["max_tokens"]):
            text.append((self.model.greedy(text) + (place % 16 == 15)) % 512)
        return text[len(prompt) :]


class SkipsLayers(DriftsFromGreedy):
    """Leaves out layers: its scores are a little worse, still under the cap, and its text is not the model's."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.model = ToyModel(self.model.perplexity * 1.03)


class ExactOnlyWhenScored(ScriptedEngine):
    """Decodes with a smaller model; scores with the right one."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        self.tokens_out += body["max_tokens"]
        return ToyModel(window=2).continuation(prompt, body["max_tokens"])


class SwappedModel(ScriptedEngine):
    """Serves another model, and scores with the right one; a trusted server of its settings is that other model."""

    named_weights = {"window": 3}

    def drifted_model(self) -> ToyModel:
        return ToyModel(self.model.perplexity)

    def due(self, stage: str, number: int) -> list[Misbehaviour]:
        return [Misbehaviour("quality:drift")] if stage == "quality" else []


class ReadyTooSoon(ScriptedEngine):
    """Says that it is ready, and fails the first requests."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        if len(self.requests) < 2:
            raise ConnectionResetError("not ready")
        return super().answer_to(body, prompt)


class SplitsAtANearTie(ScriptedEngine):
    """Honest: two shapes of a request round differently where two tokens are as likely as one another."""

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        ids = self.generate(prompt, body["max_tokens"])
        if is_watched(body):
            ids[5:] = [(token + 1) % 512 for token in ids[5:]]
        return ids

    def gaps_of(self, ids: list[int]) -> list[float]:
        return [2.0] * 5 + [0.01] + [2.0] * (len(ids) - 6)


class EndsEarly(ScriptedEngine):
    """Honest: under ignore_eos the rest of an answer is the end-of-sequence token again and again."""

    is_rescored = False

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        ids = self.generate(prompt, body["max_tokens"])
        if not body["ignore_eos"]:
            return ids
        half = len(ids) // 2
        return ids[:half] + [EOS] * (len(ids) - half)


class RepeatsWhenAsked(ScriptedEngine):
    """Honest: one prompt asks for a repetition, and gets it."""

    is_rescored = False

    def answer_to(self, body: dict[str, Any], prompt: list[int]) -> list[int]:
        ids = self.generate(prompt, body["max_tokens"])
        return [9] * len(ids) if prompt[:1] == [1] else ids


class SlowAtFirst(ScriptedEngine):
    """Honest: the first requests compile kernels."""

    def seconds_per_token_of(self, body: dict[str, Any], prompt: list[int]) -> float:
        return self.script.seconds_per_token * (20 if len(self.requests) < 3 else 1)


class AnotherFieldOrder(ScriptedEngine):
    """Honest: another version of the engine writes its fields in another order, and some more."""

    def arranged(self, data: Any) -> Any:
        if isinstance(data, dict):
            return {key: self.arranged(data[key]) for key in sorted(data, reverse=True)} | {"routed_experts": None}
        return [self.arranged(inner) for inner in data] if isinstance(data, list) else data
