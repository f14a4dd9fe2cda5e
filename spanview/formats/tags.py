"""What Jaeger and Zipkin have in common: times in microseconds, and tags for parts of a span.

Source: "OpenTelemetry Transformation to non-OTLP Formats" for the names of the tags; `w3c.tracestate` is what the
OpenTelemetry collector adds to them.
"""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.jsontext import dumps_strict, non_finite_name
from spanview.model.span import Scope
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterable, Mapping

    from spanview.model.span import Span

NS_PER_MICROSECOND: Final = 1_000
_MAX_NS: Final = 2**63 - 1
KIND: Final = "span.kind"
STATUS_CODE: Final = "otel.status_code"
STATUS_DESCRIPTION: Final = "otel.status_description"
ERROR_TAG: Final = "error"
_TRACE_STATE: Final = "w3c.tracestate"
_SCOPE: Final = ("otel.scope.name", "otel.scope.version")
_LIBRARY: Final = ("otel.library.name", "otel.library.version")
DROPPED: Final = {f"dropped_{part}_count": f"otel.dropped_{part}_count" for part in ("attributes", "events", "links")}
"""Tags for what a span has dropped, by the field's name in OTLP."""
RESERVED: Final = frozenset(
    (KIND, STATUS_CODE, STATUS_DESCRIPTION, _TRACE_STATE, *_SCOPE, *_LIBRARY, *DROPPED.values())
)
"""Names of tags for parts of a span."""
_DROPPED_LIMIT: Final = 2**32
EVENTS_AT_ZERO: Final = "wrote {event} without a time as of 1970"
_LONG_CODE: Final = "STATUS_CODE_"


def ignore_loss(_sentence: str) -> None:
    """Ignore what a format can't represent."""


def ns_of_micros(value: object) -> int | None:
    """Return the nanoseconds of a JSON number of microseconds, fractions included; None where it is no such number."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if isinstance(value, float):
        if not isfinite(value):
            return None
        whole = int(value)
        ns = whole * NS_PER_MICROSECOND + round((value - whole) * NS_PER_MICROSECOND)
    else:
        ns = value * NS_PER_MICROSECOND
    return ns if NO_TIME < ns <= _MAX_NS else None


def time_of_micros(value: object) -> tuple[int, bool]:
    """Return a time in microseconds since 1970 as nanoseconds, and whether it is unusable; 0 and null are no time."""
    if value is None or (value == 0 and not isinstance(value, bool)):
        return NO_TIME, False
    ns = ns_of_micros(value)
    return (NO_TIME, True) if ns is None else (ns, False)


def times_of(start: object, duration: object) -> tuple[int, int, bool]:
    """Return start and end in nanoseconds since 1970 or `NO_TIME`, and whether one of the values is unusable.

    Args:
        start: Microseconds since 1970; 0 and null are no time.
        duration: Microseconds.
    """
    start_ns, is_malformed = time_of_micros(start)
    duration_ns = None if duration is None else ns_of_micros(duration)
    is_malformed |= duration_ns is None and duration is not None
    if duration_ns is None or start_ns == NO_TIME:
        return start_ns, NO_TIME, is_malformed
    end_ns = start_ns + duration_ns
    return (start_ns, end_ns, is_malformed) if NO_TIME < end_ns <= _MAX_NS else (start_ns, NO_TIME, True)


def micros_of(ns: int | None, lose: Callable[[str], None]) -> int:
    """Return a time in whole microseconds; 0 for None."""
    if ns is None:
        return 0
    if ns % NS_PER_MICROSECOND:
        lose("rounded {time} down to microseconds")
    return ns // NS_PER_MICROSECOND


def short_trace_id(trace_id: str) -> str:
    """Return a trace id with 16 digits where the upper half is zero, as both write it."""
    middle = len(trace_id) // 2
    return trace_id if trace_id[:middle].strip("0") else trace_id[middle:]


def text_of(value: Any) -> str:
    """Return an attribute's value as the text of a tag: texts as they are, all else as JSON."""
    if isinstance(value, str):
        return value
    if isinstance(value, float) and not isfinite(value):
        return non_finite_name(value)
    return dumps_strict(value).decode()


def parse_state(header: str) -> dict[str, str]:
    """Return the entries of a trace state as the W3C's header has it; {} where it isn't written so."""
    entries = dict(entry.split("=", 1) for entry in header.split(",") if "=" in entry)
    return entries if format_state(entries) == header else {}


def format_state(state: Mapping[str, str]) -> str:
    """Return a trace state as the W3C's header has it."""
    return ",".join(f"{key}={value}" for key, value in state.items())


class Tags:
    """Tags, from which those for parts of the span are taken; of several with one key, the first usable."""

    __slots__ = ("_keys", "pairs")

    def __init__(self, pairs: Iterable[tuple[str, Any]]) -> None:
        self.pairs = [*pairs]
        """What is left."""
        self._keys = {key for key, _ in self.pairs}

    def take(self, key: str, read: Callable[[Any], Any]) -> Any:
        """Return what `read` makes of a tag's value and remove the tag; None if it makes None of each."""
        for index, (name, value) in enumerate(self.pairs) if key in self._keys else ():
            if name == key:
                result = read(value)
                if result is not None:
                    del self.pairs[index]
                    return result
        return None

    def take_text(self, key: str) -> str | None:
        """Return the text of a tag and remove it; None if there is none."""
        text: str | None = self.take(key, lambda value: value if isinstance(value, str) else None)
        return text


def take_shared(tags: Tags) -> tuple[Scope | None, Mapping[str, str], dict[str, Any]]:
    """Take the tags for the scope, for the trace state and for what was dropped, which both formats have."""
    name, version = map(tags.take_text, _SCOPE)
    if name is None and version is None:
        name, version = map(tags.take_text, _LIBRARY)
    scope = None if name is None and version is None else Scope(name or "", version)
    state = tags.take(_TRACE_STATE, lambda value: parse_state(value) or None if isinstance(value, str) else None)
    extra = {field: tags.take(key, _dropped) for field, key in DROPPED.items()}
    return scope, state or {}, {field: count for field, count in extra.items() if count is not None}


def _dropped(value: Any) -> int | None:
    """Return how many were dropped, from a number or its digits."""
    if isinstance(value, str):
        value = int(value) if value.isascii() and value.isdigit() and value[0] != "0" and len(value) <= 10 else None  # noqa: PLR2004 - digits of 32 bits
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < _DROPPED_LIMIT else None


def dropped_in(extra: Mapping[str, Any], field: str) -> int | None:
    """Return how many of a field's items were dropped, by its name in OTLP."""
    return None if isinstance(extra.get(field), str) else _dropped(extra.get(field))


def status_named(text: object) -> int | None:
    """Return the value of a status code by its name, in any case; None where it is no such name."""
    names = {"OK": 1, "ERROR": 2}
    return names.get(text.upper().removeprefix(_LONG_CODE)) if isinstance(text, str) else None


def shared_tags(span: Span, lose: Callable[[str], None]) -> list[tuple[str, Any]]:
    """Return the tags for the scope, for the trace state and for what was dropped."""
    pairs: list[tuple[str, Any]] = []
    if span.scope is not None:
        pairs += [
            (key, text)
            for key, text in zip(_SCOPE, (span.scope.name or None, span.scope.version), strict=True)
            if text is not None
        ]
    if span.trace_state:
        header = format_state(span.trace_state)
        if parse_state(header) == span.trace_state:
            pairs.append((_TRACE_STATE, header))
        else:
            lose("dropped {trace state} unfit for a header")
    for field, key in DROPPED.items() if span.extra else ():
        count = dropped_in(span.extra, field)
        if count is not None:
            pairs.append((key, count))
    return pairs


def lose_reserved(
    own: Iterable[tuple[str, Any]], attributes: Mapping[str, Any], kinds: Container[str], lose: Callable[[str], None]
) -> None:
    """Report attributes that readers will take for parts of the span, because of their names.

    Args:
        own: The tags for parts of the span, which come first.
        kinds: Names of kinds that the format's tag can have.
    """
    if not RESERVED.isdisjoint(attributes):
        reserved = {key: value for key, value in attributes.items() if key in RESERVED}
        tags = Tags((*own, *reserved.items()))
        take_shared(tags)
        tags.take(KIND, lambda value: value if isinstance(value, str) and value in kinds else None)
        tags.take(STATUS_CODE, status_named)
        tags.take_text(STATUS_DESCRIPTION)
        for _ in reserved.keys() - dict(tags.pairs):
            lose("wrote {attribute} with names that readers take for parts of the span")


def lose_unsupported(span: Span, own: str, lose: Callable[[str], None]) -> None:
    """Report what neither of the formats can represent.

    Args:
        own: The format's name, under which `Span.extra` has what only that format has.
    """
    if span.resource.schema_url:
        lose("dropped {resource schema URL}")
    if span.scope is not None:
        if span.scope.schema_url:
            lose("dropped {scope schema URL}")
        for _ in span.scope.attributes:
            lose("dropped {scope attribute}")
        lose_extra(span.scope.extra, own, lose)
    if span.extra:
        lose_extra({key: part for key, part in span.extra.items() if key not in DROPPED}, own, lose)
    lose_extra(span.resource.extra, own, lose)


def lose_extra(extra: Mapping[str, Any], own: str, lose: Callable[[str], None], *known: str) -> None:
    """Report the fields of an `extra` that aren't written."""
    for key in extra:
        if key != own and key not in known:
            lose("dropped {field} that only other formats have")
