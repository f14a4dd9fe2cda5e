"""The figures of calls of language models: one table of their names, meanings and spellings.

Source: the registry of OpenTelemetry's semantic conventions, which has older names as deprecated ones;
`SpanAttributes` in vllm/tracing/utils.py for `gen_ai.latency` and `cached_tokens`; and OpenLLMetry for
`cache_read_input_tokens`. Times are written in seconds, as fractions.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.analysis.query.values import number_of, text_of
from spanview.model.times import NS_PER_SECOND

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX: Final = 2**63 - 1


class Measured(Enum):
    """What a figure is."""

    TEXT = "text"
    TOKENS = "tokens"
    TIME = "time"


class ModelField(NamedTuple):
    """A figure."""

    head: str
    meaning: str
    measured: Measured
    keys: tuple[str, ...]
    """Its spellings as an attribute, the one that counts first."""


FIELDS: Final[Mapping[str, ModelField]] = {
    "model": ModelField(
        "MODEL",
        "the model that answered, or that was asked",
        Measured.TEXT,
        ("gen_ai.response.model", "gen_ai.request.model"),
    ),
    "input_tokens": ModelField(
        "IN",
        "tokens of the prompts",
        Measured.TOKENS,
        ("gen_ai.usage.input_tokens", "gen_ai.usage.prompt_tokens"),
    ),
    "cached_tokens": ModelField(
        "CACHED",
        "tokens of the prompts that were in a cache",
        Measured.TOKENS,
        (
            "gen_ai.usage.cache_read.input_tokens",
            "gen_ai.usage.cache_read_input_tokens",
            "gen_ai.usage.cached_tokens",
        ),
    ),
    "output_tokens": ModelField(
        "OUT",
        "tokens of the answers",
        Measured.TOKENS,
        ("gen_ai.usage.output_tokens", "gen_ai.usage.completion_tokens"),
    ),
    "time_to_first_token_ns": ModelField(
        "TTFT",
        "the time to the first token",
        Measured.TIME,
        ("gen_ai.response.time_to_first_chunk", "gen_ai.latency.time_to_first_token"),
    ),
    "queue_ns": ModelField(
        "LLM QUEUE", "how long it was in the model's queue", Measured.TIME, ("gen_ai.latency.time_in_queue",)
    ),
    "prefill_ns": ModelField(
        "PREFILL", "how long the prompt was read", Measured.TIME, ("gen_ai.latency.time_in_model_prefill",)
    ),
    "decode_ns": ModelField(
        "DECODE",
        "how long the tokens after the first took",
        Measured.TIME,
        ("gen_ai.latency.time_in_model_decode",),
    ),
}
"""By the names of `ModelCall`."""
_SPELLINGS: Final = {key: field.keys for field in FIELDS.values() for key in field.keys}


def spellings(key: str) -> tuple[str, ...]:
    """Return an attribute's key, with what else means the same: the one that counts comes first."""
    return _SPELLINGS.get(key, (key,))


class ModelCall(NamedTuple):
    """What spans say of calls of language models; None for what they don't."""

    calls: int = 0

    model: str | None = None
    input_tokens: int | None = None
    cached_tokens: int | None = None
    output_tokens: int | None = None
    time_to_first_token_ns: int | None = None
    queue_ns: int | None = None
    prefill_ns: int | None = None
    decode_ns: int | None = None

    @property
    def output_tokens_per_second(self) -> float | None:
        """The rate of the tokens after the first, which comes with the prompt's reading."""
        if not self.decode_ns or self.output_tokens is None or self.output_tokens < self.calls:
            return None
        return (self.output_tokens - self.calls) * NS_PER_SECOND / self.decode_ns


NO_CALL: Final = ModelCall()


def model_call_of(attributes: Mapping[str, Any]) -> ModelCall:
    """Return what a span's attributes say."""
    return ModelCall(1, **{name: _value(field, attributes) for name, field in FIELDS.items()})


def _value(field: ModelField, attributes: Mapping[str, Any]) -> Any:
    """Return the first usable value among a field's spellings."""
    for key in field.keys:
        if key in attributes:
            value = _READ[field.measured](attributes[key])
            if value is not None:
                return value
    return None


def _text(value: Any) -> str | None:
    return text_of(value) or None


def _tokens(value: Any) -> int | None:
    number = number_of(value)
    return int(number) if number is not None and 0 <= number <= _MAX else None


def _time(value: Any) -> int | None:
    number = number_of(value)
    # What isn't finite is in no range.
    return round(number * NS_PER_SECOND) if number is not None and 0 <= number <= _MAX // NS_PER_SECOND else None


_READ: Final = {Measured.TEXT: _text, Measured.TOKENS: _tokens, Measured.TIME: _time}


def joined(calls: Sequence[ModelCall]) -> ModelCall:
    """Return several calls as one, the first of them first: it has the first token, all else is added up."""
    if len(calls) <= 1:
        return calls[0] if calls else NO_CALL

    def total(name: str) -> Any:
        known = [value for call in calls if (value := getattr(call, name)) is not None]
        if not known or FIELDS[name].measured is not Measured.TEXT:
            return sum(known) if known else None
        return ", ".join(dict.fromkeys(known))

    first_token = {"time_to_first_token_ns": calls[0].time_to_first_token_ns}
    return ModelCall(sum(call.calls for call in calls), **{name: total(name) for name in FIELDS} | first_token)
