"""Logs and metrics as lines of OTLP's JSON, one a line for each resource."""

from __future__ import annotations

from base64 import b64decode
from typing import TYPE_CHECKING, Any, Final

import orjson
from google.protobuf.json_format import MessageToDict
from google.protobuf.message import DecodeError, Message
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest

from spanview.otlp.body import Encoding, MalformedError, Signal
from spanview.otlp.from_json import document_of, lists_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.otlp.body import Body

_REQUESTS: Final[dict[Signal, tuple[type[Message], str]]] = {
    Signal.LOGS: (ExportLogsServiceRequest, "resourceLogs"),
    Signal.METRICS: (ExportMetricsServiceRequest, "resourceMetrics"),
}
_IDS: Final = frozenset(("traceId", "spanId"))


def other_lines_of(body: Body) -> Iterator[bytes]:
    """Yield the lines of a body of logs or metrics.

    Raises:
        MalformedError: It isn't one; then no line was yielded.
    """
    request, name = _REQUESTS[body.signal]
    if body.encoding is Encoding.JSON:
        document = document_of(body.data)
    else:
        try:
            message = request.FromString(bytes(body.data))
        except DecodeError:
            raise MalformedError(f"a body that isn't protobuf of {body.signal}") from None
        document = _with_hex_ids(MessageToDict(message, use_integers_for_enums=True))
    try:
        lines = [orjson.dumps({name: [part]}, option=orjson.OPT_APPEND_NEWLINE) for part in lists_in(document, (name,))]
    except orjson.JSONEncodeError:
        raise MalformedError("values that nest too deep") from None
    yield from lines


def _with_hex_ids(value: Any) -> Any:
    """Return a value with ids in hex digits, which protobuf's own JSON has in base64."""
    if isinstance(value, list):
        return [*map(_with_hex_ids, value)]
    if not isinstance(value, dict):
        return value
    return {
        name: b64decode(part).hex() if name in _IDS and isinstance(part, str) else _with_hex_ids(part)
        for name, part in value.items()
    }
