"""Spans and their parts, as OpenTelemetry names them.

Source: the OpenTelemetry trace specification, and `to_json()` of the Python SDK for what its console exporter keeps.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, Self

from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.problems import NO_WARNINGS, Warnings

if TYPE_CHECKING:
    from collections.abc import Mapping

    from opentelemetry.trace import SpanKind, StatusCode


class BytesText(str):
    """Bytes as an attribute's value, in base64, because JSON has no type for bytes."""

    __slots__ = ()


class Status(str):
    """The status that a span ended with: `UNSET`, `OK` or `ERROR`, as nodes have it; with its description."""

    __slots__ = ("code_value", "description")

    code_value: int
    description: str | None

    def __new__(cls, code_value: int = 0, description: str | None = None) -> Self:
        """Make a status of a value of `opentelemetry.trace.StatusCode`: 0 UNSET, 1 OK, 2 ERROR."""
        status = super().__new__(cls, STATUS_NAMES[code_value])
        status.code_value, status.description = code_value, description
        return status

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.code_value, self.description

    @property
    def status_code(self) -> StatusCode:
        """The status as opentelemetry-api has it."""
        from opentelemetry.trace import StatusCode

        return StatusCode(self.code_value)


STATUSES: Final = tuple(Status(value) for value in range(len(STATUS_NAMES)))
"""Statuses without a description, at the places of their values."""


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened at one moment of a span."""

    name: str
    timestamp_ns: int | None
    """Nanoseconds since 1970; None where the file has none."""
    attributes: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """As a `Span` has it."""

    @property
    def is_exception(self) -> bool:
        """Whether this is an exception as the semantic conventions record it."""
        return self.name == "exception"


@dataclass(frozen=True, slots=True)
class Link:
    """A pointer to a span of this or another trace."""

    trace_id: str | None
    span_id: str | None
    trace_state: Mapping[str, str] = field(default_factory=dict)
    attributes: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """As a `Span` has it."""


_INSTANCE: Final = "service.instance.id"
_PID: Final = "process.pid"
PROCESS_KEYS: Final = ("service.name", _INSTANCE, "host.name", _PID)
"""Attributes of a resource that tell its process from others, where they are texts or integers."""


@dataclass(frozen=True, slots=True)
class Resource:
    """What produced a span."""

    attributes: Mapping[str, Any] = field(default_factory=dict)
    schema_url: str = ""
    extra: Mapping[str, Any] = field(default_factory=dict)
    """As a `Span` has it."""

    @property
    def service(self) -> str:
        """The `service.name`, or an empty string."""
        name = self.attributes.get("service.name", "")
        return name if isinstance(name, str) else ""

    @property
    def process(self) -> str:
        """What tells its process from all others: `api 627cc493`, `api web-1 12`; empty where it doesn't say."""
        return process_text(self.attributes)


def process_text(attributes: Mapping[str, Any]) -> str:
    """Return what attributes of a resource say of its process, as `Resource.process` does."""
    known = {key: str(value) for key in PROCESS_KEYS if type(value := attributes.get(key)) in {str, int} and value}
    keys = (_INSTANCE,) if _INSTANCE in known else ("host.name", _PID) if _PID in known else ()
    return " ".join(known[key] for key in ("service.name", *keys) if key in known) if keys else ""


@dataclass(frozen=True, slots=True)
class Scope:
    """The instrumentation scope that made a span."""

    name: str
    version: str | None = None
    schema_url: str | None = None
    attributes: Mapping[str, Any] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    """As a `Span` has it."""


@dataclass(frozen=True, slots=True)
class Source:
    """Where a record is."""

    file: str
    """The PATH as given, joined with the file's path below it."""
    offset: int
    """Bytes from the start of the file."""
    length: int
    """Bytes."""


@dataclass(frozen=True, slots=True, eq=False)
class Span:
    """One span with all its details, as the file has it.

    Spans are equal, and have equal hashes, if their trace ids and span ids are, wherever they were read. Those that
    have none, or share theirs with others, are equal when their files, offsets, names and times are the same, too.
    """

    trace_id: str | None
    """32 lower-case hex digits, or None where the file's is unusable."""
    span_id: str | None
    """16 lower-case hex digits, or None where the file's is unusable."""
    parent_id: str | None
    name: str
    kind_value: int | None
    """The value of `opentelemetry.trace.SpanKind`; None where the file has none."""
    start_ns: int | None
    """Nanoseconds since 1970; None where the file has none."""
    end_ns: int | None
    """Nanoseconds since 1970; None where the file has none."""
    status: Status = STATUSES[0]
    attributes: Mapping[str, Any] = field(default_factory=dict)
    events: tuple[Event, ...] = ()
    links: tuple[Link, ...] = ()
    trace_state: Mapping[str, str] = field(default_factory=dict)
    resource: Resource = Resource()
    scope: Scope | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)
    """What some formats add, JSON values by the field's name in OTLP: `flags`, `dropped_attributes_count` …"""
    source: Source = Source("", 0, 0)
    warnings: Warnings = NO_WARNINGS

    @property
    def kind(self) -> SpanKind | None:
        """The kind as opentelemetry-api has it, or None where the file has none."""
        from opentelemetry.trace import SpanKind

        return None if self.kind_value is None else SpanKind(self.kind_value)

    @property
    def kind_name(self) -> str | None:
        """`INTERNAL`, `SERVER`, `CLIENT`, `PRODUCER` or `CONSUMER`, or None where the file has none."""
        return None if self.kind_value is None else KIND_NAMES[self.kind_value]

    @property
    def duration_ns(self) -> int | None:
        """Nanoseconds from start to end, negative where the file says so, None where one of them is missing."""
        return None if self.start_ns is None or self.end_ns is None else self.end_ns - self.start_ns

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Span) and self._identity == other._identity

    def __hash__(self) -> int:
        return hash(self._identity)

    @property
    def _identity(self) -> tuple[object, ...]:
        if self.trace_id is not None and self.span_id is not None and Warnings.DUPLICATE_ID not in self.warnings:
            return self.trace_id, self.span_id
        # Several spans of one document share an offset.
        place = self.source.file, self.source.offset
        return self.trace_id, self.span_id, *place, self.name, self.start_ns, self.end_ns

    def with_warnings(self, warnings: Warnings) -> Span:
        """Return this span with other warnings."""
        return self if warnings == self.warnings else replace(self, warnings=warnings)

    @property
    def service(self) -> str:
        """The resource's `service.name`, or an empty string."""
        return self.resource.service
