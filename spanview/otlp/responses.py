"""What an endpoint answers, and what follows from it.

answer                                                    what follows
------                                                    ------------
200, OK                                                   accepted; `partial_success` says how many spans weren't
429 502 503 504, no answer, connection lost               retried, after `Retry-After` where it says when
CANCELLED DEADLINE_EXCEEDED ABORTED OUT_OF_RANGE          retried, after `RetryInfo` where it says when
  UNAVAILABLE DATA_LOSS
RESOURCE_EXHAUSTED with RetryInfo                         retried
RESOURCE_EXHAUSTED without it, 413                        too large: sent again in halves
400, INVALID_ARGUMENT                                     malformed: sent again in halves, to find the bad spans
401 403 404 405 415, redirects, an untrusted certificate  hopeless: nothing that is sent there would be taken
  UNAUTHENTICATED PERMISSION_DENIED UNIMPLEMENTED
any other                                                 refused

Source: "OTLP/gRPC Response", "OTLP/HTTP Response" and "Failures" of the OTLP specification 1.11, status.proto and
error_details.proto of google.rpc.
"""

from __future__ import annotations

from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from enum import Enum, auto
from typing import Any, Final

import orjson

from spanview.otlp.body import Encoding
from spanview.otlp.wire import fields_of, signed

_MAX_REASON: Final = 200
"""Characters of what an endpoint says."""
_RETRIED_STATUSES: Final = frozenset((429, 502, 503, 504))
_OK: Final = range(200, 300)
_REDIRECTS: Final = range(300, 400)
_RETRIED_CODES: Final = frozenset(
    ("CANCELLED", "DEADLINE_EXCEEDED", "ABORTED", "OUT_OF_RANGE", "UNAVAILABLE", "DATA_LOSS")
)
_HOPELESS_STATUSES: Final = {
    401: "asks for credentials, or refuses these: give them as in --header 'Authorization=Bearer TOKEN'",
    403: "refuses these credentials: give others with --header",
    404: "knows no such path: give the whole URL, which mostly ends in /v1/traces",
    405: "takes no spans at this path: give the whole URL, which mostly ends in /v1/traces",
    415: "doesn't take this form: try another --protocol",
}
_HOPELESS_CODES: Final = {
    "UNAUTHENTICATED": _HOPELESS_STATUSES[401],
    "PERMISSION_DENIED": _HOPELESS_STATUSES[403],
    "UNIMPLEMENTED": "is a gRPC server, but takes no OTLP traces",
}
_RETRY_INFO: Final = "google.rpc.RetryInfo"


class ResponseKind(Enum):
    """What follows from an answer."""

    ACCEPTED = auto()
    RETRY = auto()
    UNREACHABLE = auto()
    """Retried too; but if nothing has ever answered there, the address may be wrong."""
    TOO_LARGE = auto()
    MALFORMED = auto()
    """Something that was sent isn't what the endpoint takes; the other spans may be."""
    REFUSED = auto()
    HOPELESS = auto()


_SPLIT_STATUSES: Final = {400: ResponseKind.MALFORMED, 413: ResponseKind.TOO_LARGE}
_SPLIT_CODES: Final = {
    "INVALID_ARGUMENT": ResponseKind.MALFORMED,
    "RESOURCE_EXHAUSTED": ResponseKind.TOO_LARGE,
}


@dataclass(frozen=True, slots=True)
class Response:
    """What an endpoint has answered to a request, or that it hasn't."""

    kind: ResponseKind
    reason: str = ""
    """In a few words; of the endpoint's own, and so to be sanitised."""
    rejected: int = 0
    """Spans that an endpoint has left out of what it accepted."""
    after_s: float | None = None
    """Seconds after which it is to be tried again; None where it doesn't say."""


def response_of_status(status: int, headers: dict[str, str], body: bytes, now_s: float) -> Response:
    """Return what follows from an answer over HTTP, with headers by their names in lower case."""
    kind = headers.get("content-type", "").partition(";")[0].strip().lower()
    if status in _OK:
        if kind == "text/html":
            return Response(
                ResponseKind.HOPELESS, "answers with a web page, so it is no OTLP endpoint: port 4318 mostly is"
            )
        return _accepted(body, is_json=kind == Encoding.JSON)
    if status in _REDIRECTS:
        where = headers.get("location", "")
        return Response(
            ResponseKind.HOPELESS, f"redirects to {where[:_MAX_REASON]}: if you trust that, give it as --endpoint"
        )
    said = f"HTTP status {status}{_behind(_message_of(body, kind))}"
    if status in _HOPELESS_STATUSES:
        return Response(ResponseKind.HOPELESS, f"{_HOPELESS_STATUSES[status]} ({said})")
    if status in _RETRIED_STATUSES:
        return Response(ResponseKind.RETRY, said, after_s=_retry_after(headers.get("retry-after", ""), now_s))
    return Response(_SPLIT_STATUSES.get(status, ResponseKind.REFUSED), said)


def response_of_message(body: bytes) -> Response:
    """Return what follows from gRPC's answer to a request that it has accepted."""
    return _accepted(body, is_json=False)


def response_of_code(code: str, details: str, status: bytes) -> Response:
    """Return what follows from a failure over gRPC.

    Args:
        status: A `google.rpc.Status`, from the trailers; empty where none came.
    """
    said, after_s = f"{code}{_behind(details)}", _retry_delay(status)
    if code in _HOPELESS_CODES:
        return Response(ResponseKind.HOPELESS, f"{_HOPELESS_CODES[code]} ({said})")
    if code in _RETRIED_CODES or (code == "RESOURCE_EXHAUSTED" and after_s is not None):
        return Response(ResponseKind.RETRY, said, after_s=after_s)
    return Response(_SPLIT_CODES.get(code, ResponseKind.REFUSED), said)


def _accepted(body: bytes, *, is_json: bool) -> Response:
    """Return an answer of success, with what `partial_success` says; some endpoints answer with anything."""
    rejected, message = 0, ""
    try:
        if is_json:
            partial = _object(_object(orjson.loads(body or b"{}")).get("partialSuccess"))
            rejected, message = int(partial.get("rejectedSpans") or 0), str(partial.get("errorMessage") or "")
        else:
            for field in _contents(body, 1):
                numbers = dict(fields_of(field))
                rejected = signed(_integer(numbers.get(1)))
                message = _text(numbers.get(2))
    except (ValueError, TypeError):
        rejected, message = 0, ""
    return Response(ResponseKind.ACCEPTED, message[:_MAX_REASON], rejected=max(0, rejected))


def _message_of(body: bytes, kind: str) -> str:
    """Return the message of a `google.rpc.Status`, or what a body says in plain text."""
    try:
        if kind == Encoding.JSON:
            value = _object(orjson.loads(body))
            return str(value.get("message") or value.get("error") or "")
        if kind == Encoding.PROTOBUF:
            return next((content.decode(errors="replace") for content in _contents(body, 2)), "")
    except ValueError:
        return ""
    return body.decode(errors="replace").strip() if kind == "text/plain" else ""


def _behind(message: str) -> str:
    """Return a message to be put behind what it explains, in one line."""
    line = " ".join(message.split())
    return f": {line[:_MAX_REASON]}" if line else ""


def _retry_after(value: str, now_s: float) -> float | None:
    """Return the seconds of a `Retry-After`: `120`, or `Fri, 31 Dec 1999 23:59:59 GMT`; None where it is none."""
    value = value.strip()
    if value.isascii() and value.isdigit():
        return float(value)
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - now_s)
    except (ValueError, OverflowError):
        return None


def _retry_delay(status: bytes) -> float | None:
    """Return the seconds of a `RetryInfo` among the details of a `google.rpc.Status`; None where there is none."""
    try:
        for detail in _contents(status, 3):
            parts = dict(fields_of(detail))
            if _text(parts.get(1)).endswith(_RETRY_INFO):
                # google.protobuf.Duration: seconds, nanoseconds
                delays = [dict(fields_of(delay)) for delay in _contents(_bytes(parts.get(2)), 1)]
                return sum(
                    max(0.0, signed(_integer(delay.get(1))) + signed(_integer(delay.get(2))) / 1e9) for delay in delays
                )
    except ValueError:
        return None
    return None


def _contents(message: bytes, number: int) -> list[bytes]:
    return [value for field, value in fields_of(message) if field == number and isinstance(value, bytes)]


def _integer(value: int | bytes | None) -> int:
    return value if isinstance(value, int) else 0


def _bytes(value: int | bytes | None) -> bytes:
    return value if isinstance(value, bytes) else b""


def _text(value: int | bytes | None) -> str:
    return _bytes(value).decode(errors="replace")


def _object(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}
