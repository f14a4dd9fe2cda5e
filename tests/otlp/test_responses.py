"""What follows from answers, held against messages that protobuf's own library makes."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import BadRequest, RetryInfo
from google.rpc.status_pb2 import Status
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from spanview.otlp.responses import Response, ResponseKind, response_of_code, response_of_message, response_of_status

NOW_S: Final = 946_684_799.0
"""Fri, 31 Dec 1999 23:59:59 GMT."""
JSON, PROTOBUF = "application/json", "application/x-protobuf"


def asked(status: int, body: bytes = b"", kind: str = JSON, **headers: str) -> Response:
    """Return what follows from an answer over HTTP."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return response_of_status(status, {"content-type": kind, **named}, body, NOW_S)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((status, "ACCEPTED") for status in (200, 202)),
        *((status, "RETRY") for status in (429, 502, 503, 504)),
        *((status, "TOO_LARGE") for status in (413,)),
        (400, "MALFORMED"),
        *((status, "REFUSED") for status in (408, 422, 500, 501, 599)),
        *((status, "HOPELESS") for status in (301, 308, 401, 403, 404, 405, 415)),
    ],
)
def test_statuses(status: int, kind: str) -> None:
    """Exactly what the specification lists is retried."""
    assert asked(status).kind.name == kind


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        *((code, "RETRY") for code in ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED")),
        *((code, "RETRY") for code in ("OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS")),
        *((code, "REFUSED") for code in ["UNKNOWN", "NOT_FOUND", "ALREADY_EXISTS", "INTERNAL"]),
        *((code, "HOPELESS") for code in ["PERMISSION_DENIED", "UNAUTHENTICATED", "UNIMPLEMENTED"]),
        ("FAILED_PRECONDITION", "REFUSED"),
        ("RESOURCE_EXHAUSTED", "TOO_LARGE"),
    ],
)
def test_codes(code: str, kind: str) -> None:
    """Exactly what the specification lists is retried."""
    assert response_of_code(code, "", b"").kind.name == kind


@pytest.mark.parametrize(
    ("value", "after_s"),
    [
        ("0", 0.0),
        ("120", 120.0),
        (" 7 ", 7.0),
        ("Sat, 01 Jan 2000 00:00:29 GMT", 30.0),
        ("Fri, 31 Dec 1999 23:00:00 GMT", 0.0),
        *((text, None) for text in ("", "-1", "1.5", "soon", "²", "Fri, 99 Dec 1999 23:00:00 GMT")),
    ],
)
def test_retry_after(value: str, after_s: float | None) -> None:
    """Both forms are read: seconds and a date; a date that has passed is now."""
    for status in (429, 503):
        assert asked(status, retry_after=value).after_s == after_s


def status_with(*details: Any) -> bytes:
    """Return a status with some details."""
    status = Status(code=8, message="too much")
    for detail in details:
        status.details.add().Pack(detail)
    return bytes(status.SerializeToString())


def test_retry_info() -> None:
    """With it, RESOURCE_EXHAUSTED is retried; UNAVAILABLE is retried after it."""
    info = RetryInfo(retry_delay=Duration(seconds=2, nanos=500_000_000))
    body = status_with(BadRequest(), info)
    assert response_of_code("RESOURCE_EXHAUSTED", "", body) == Response(
        ResponseKind.RETRY, "RESOURCE_EXHAUSTED", after_s=2.5
    )
    assert response_of_code("UNAVAILABLE", "", body).after_s == 2.5
    assert response_of_code("RESOURCE_EXHAUSTED", "", status_with(BadRequest())).kind is ResponseKind.TOO_LARGE
    assert response_of_code("UNAVAILABLE", "", status_with(RetryInfo())).after_s == 0
    assert response_of_code("UNAVAILABLE", "", status_with(AnyMessage())).after_s is None


def test_partial_success() -> None:
    """How many spans were left out, and why, is read in both forms; unset, empty and odd ones are success."""
    partial = ExportTracePartialSuccess(rejected_spans=300, error_message="too old")
    message = ExportTraceServiceResponse(partial_success=partial)
    expected = Response(ResponseKind.ACCEPTED, "too old", rejected=300)
    assert asked(200, message.SerializeToString(), PROTOBUF) == expected
    assert response_of_message(message.SerializeToString()) == expected
    for count in (300, "300"):
        text = json.dumps({"partialSuccess": {"rejectedSpans": count, "errorMessage": "too old"}})
        assert asked(200, text.encode()) == expected
    warning = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(error_message="old client"))
    assert response_of_message(warning.SerializeToString()) == Response(ResponseKind.ACCEPTED, "old client")
    negative = ExportTraceServiceResponse(partial_success=ExportTracePartialSuccess(rejected_spans=-1))
    for body in (b"", b"{}", b'{"partialSuccess":{}}', b'{"partialSuccess":null}', b"ok", b"[]", b"\xff"):
        assert asked(200, body) == asked(200, body, PROTOBUF) == Response(ResponseKind.ACCEPTED)
    assert response_of_message(negative.SerializeToString()) == Response(ResponseKind.ACCEPTED)


def test_reasons() -> None:
    """The endpoint's own words are in the reason, in one line and not for ever."""
    status = Status(code=3, message="no\nsuch field" + "x" * 1000).SerializeToString()
    for answer in (
        asked(400, status, PROTOBUF),
        asked(400, json.dumps({"code": 3, "message": "no\nsuch field" + "x" * 1000}).encode()),
        asked(400, b"no\nsuch field" + b"x" * 1000, "text/plain; charset=utf-8"),
    ):
        assert answer.reason.startswith("HTTP status 400: no such fieldxxx")
        assert len(answer.reason) < 250
    assert asked(500, b"<html>", "text/html").reason == "HTTP status 500"
    assert "web page" in asked(200, b"<html>", "text/html").reason
    assert "https://other/" in asked(301, location="https://other/").reason


@given(st.integers(100, 999), st.binary(max_size=60), st.sampled_from([JSON, PROTOBUF, "text/plain", ""]))
def test_any_answer(status: int, body: bytes, kind: str) -> None:
    """Nothing that an endpoint answers is an error here."""
    answers = asked(status, body, kind), response_of_code("UNAVAILABLE", "", body), response_of_message(body)
    assert all(isinstance(answer, Response) and answer.rejected >= 0 for answer in answers)
