"""Spans speak opentelemetry-api's vocabulary."""

from __future__ import annotations

from copy import deepcopy

import pytest
from opentelemetry.trace import SpanKind, StatusCode

from records import whole
from spanview.model.codes import CONSUMER, ERROR, KIND_NAMES, PRODUCER, STATUS_NAMES
from spanview.model.problems import Warnings
from spanview.model.span import Event, Resource, Span, Status


def span(kind: int | None = 0, start: int | None = 0, end: int | None = 0, service: object = "") -> Span:
    """Return a span with these values."""
    return Span(
        "0" * 31 + "1", "0" * 15 + "1", None, "s", kind, start, end, resource=Resource({"service.name": service})
    )


def test_kinds_and_statuses_are_those_of_the_api() -> None:
    """The small integers of the columns are the values of the enums, name by name."""
    assert {name: value for value, name in enumerate(KIND_NAMES)} == {kind.name: kind.value for kind in SpanKind}
    assert {name: value for value, name in enumerate(STATUS_NAMES)} == {code.name: code.value for code in StatusCode}
    assert (SpanKind.PRODUCER.value, SpanKind.CONSUMER.value, StatusCode.ERROR.value) == (PRODUCER, CONSUMER, ERROR)


@pytest.mark.parametrize("kind", SpanKind)
def test_kind(kind: SpanKind) -> None:
    """A span hands its kind out as the API has it."""
    assert span(kind=kind.value).kind is kind
    assert span(kind=kind.value).kind_name == kind.name


def test_unspecified_kind() -> None:
    """A span without a kind has none, and no other one instead."""
    assert (span(kind=None).kind, span(kind=None).kind_name) == (None, None)


@pytest.mark.parametrize("code", StatusCode)
def test_status(code: StatusCode) -> None:
    """A status is its name, as nodes and rows have it, and hands its code out as the API has it; so do copies."""
    status = Status(code.value, "why")
    assert (status, status.status_code, status.description) == (code.name, code, "why")
    copied = deepcopy(status)
    assert (copied, copied.status_code, copied.description) == (code.name, code, "why")


@pytest.mark.parametrize(
    ("start", "end", "duration"), [(1, 4, 3), (4, 1, -3), (0, 0, 0), (None, 1, None), (1, None, None)]
)
def test_duration(start: int | None, end: int | None, duration: int | None) -> None:
    """A duration is end less start, negative where the file says so, None where one of them is missing."""
    assert span(start=start, end=end).duration_ns == duration


@pytest.mark.parametrize(("value", "service"), [("a", "a"), ("", ""), (1, ""), (None, ""), (["a"], "")])
def test_service(value: object, service: str) -> None:
    """The service is the resource's name where that is text."""
    assert span(service=value).service == service
    assert Span(None, None, None, "s", 0, 0, 0).service == ""


def test_warnings_are_replaced() -> None:
    """A span with other warnings is a copy, with the same ones it is itself."""
    one = span()
    assert one.with_warnings(Warnings(0)) is one
    other = one.with_warnings(Warnings.CYCLE)
    assert (one.warnings, other.warnings) == (Warnings(0), Warnings.CYCLE)
    assert whole(other.with_warnings(Warnings(0))) == whole(one)


def test_exception_event() -> None:
    """An exception is told by the event's name alone."""
    assert Event("exception", 0).is_exception
    assert not Event("error", 0).is_exception
