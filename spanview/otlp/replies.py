"""What is answered, as the protocol has it: how much of a request was refused and why, or a status.

Source: "OTLP/HTTP Response" and "Partial Success" in the OTLP specification, and google/rpc/status.proto.
"""

from __future__ import annotations

from typing import Final

import orjson
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from spanview.otlp.body import Acceptance, Encoding

RETRY_S: Final = 1
"""Seconds after which somebody who was declined may try again."""


def success(outcome: Acceptance, encoding: Encoding) -> bytes:
    """Return the answer to a request of which something was kept, or that was empty."""
    if encoding is Encoding.JSON:
        refused = {"rejectedSpans": str(outcome.refused), "errorMessage": outcome.reason}
        return orjson.dumps({"partialSuccess": refused} if outcome.refused else {})
    answer = ExportTraceServiceResponse()
    if outcome.refused:
        answer.partial_success.rejected_spans = outcome.refused
        answer.partial_success.error_message = outcome.reason
    serialized: bytes = answer.SerializeToString()
    return serialized


def failure(code: int, text: str, encoding: Encoding) -> bytes:
    """Return a `google.rpc.Status` with one of gRPC's codes."""
    if encoding is Encoding.JSON:
        return orjson.dumps({"code": code, "message": text})
    serialized: bytes = Status(code=code, message=text).SerializeToString()
    return serialized
