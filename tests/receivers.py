"""`spanview receive` in the background, bodies to send it, and what it has written."""

from __future__ import annotations

import http.client
import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Self

import psutil
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from programs import SPANVIEW, Following

if TYPE_CHECKING:
    import signal
    from collections.abc import Iterable, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

PROTOBUF, JSON = "application/x-protobuf", "application/json"
_PORT: Final = r"http://[^/ ]*:(\d+) \({}\)"


@dataclass(frozen=True, slots=True)
class Answer:
    """What an endpoint has answered."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        """Return the body decoded."""
        return json.loads(self.body)


class Receiver:
    """An endpoint, in a context that ends it.

    Args:
        folder: Where it writes.
        words: Further options.
        program: What runs.
    """

    def __init__(self, folder: Path, *words: str, program: Sequence[str] = SPANVIEW) -> None:
        self.folder = folder
        ports = [word for name in ("--http", "--grpc") if name not in words for word in (name, "0")]
        self.process = Following("receive", "--dir", folder, *ports, *words, program=program)

    def __enter__(self) -> Self:
        self.process.wait_for_notice("receiving at")
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.__exit__(kind, error, trace)

    def port(self, protocol: str = "HTTP") -> int:
        """Return the port that was chosen, for `HTTP` or for `gRPC`."""
        match = re.search(_PORT.format(protocol), self.process.notices[0])
        assert match is not None, self.process.notices
        return int(match[1])

    def post(self, body: bytes, content_type: str = PROTOBUF, **how: str) -> Answer:
        """Send a request, as `post` does, and return what is answered."""
        return post(self.port(), body, content_type, **how)

    def peak_bytes(self) -> int:
        """Return the most memory that it has had at a time; what it has now where that isn't known."""
        try:
            with open(f"/proc/{self.process.pid}/status", encoding="utf-8") as file:
                return next(int(line.split()[1]) * 1024 for line in file if line.startswith("VmHWM:"))
        except FileNotFoundError:
            return int(psutil.Process(self.process.pid).memory_info().rss)

    def stop(self, number: signal.Signals) -> str:
        """End it by a signal, and return the last line that it says."""
        assert self.process.stop(number) == 0
        return self.process.notices[-1]

    def written(self) -> list[dict[str, Any]]:
        """Return the spans in its files; each line has to be whole."""
        return written_in(self.folder)


def post(
    port: int,
    body: bytes,
    content_type: str = PROTOBUF,
    *,
    path: str = "/v1/traces",
    method: str = "POST",
    **headers: str,
) -> Answer:
    """Send a request, and return what is answered.

    Args:
        port: Where to on this host.
        body: What is sent.
        content_type: What it says it is; empty for nothing.
        path: Where to.
        method: How.
        headers: More headers, with underscores for hyphens.
    """
    connection = http.client.HTTPConnection("localhost", port, timeout=120)
    try:
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        if content_type:
            named["Content-Type"] = content_type
        connection.request(method, path, body, named)
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.headers), answer.read())
    finally:
        connection.close()


def written_in(folder: Path) -> list[dict[str, Any]]:
    """Return the spans in the files of a folder; each line has to be whole."""
    return spans_in(line for path in sorted(folder.glob("*.jsonl")) for line in path.read_bytes().splitlines())


def spans_in(lines: Iterable[bytes]) -> list[dict[str, Any]]:
    """Return the spans in lines."""
    return [
        span
        for line in lines
        for of_resource in json.loads(line)["resourceSpans"]
        for of_scope in of_resource["scopeSpans"]
        for span in of_scope["spans"]
    ]


def span(number: int = 1, **fields: Any) -> dict[str, Any]:
    """Return a span of JSON."""
    return {
        "traceId": f"{number:032x}",
        "spanId": f"{number:016x}",
        "name": f"span {number}",
        "kind": 1,
        "startTimeUnixNano": "1700000000000000000",
        "endTimeUnixNano": "1700000000001000000",
    } | fields


def document(*spans: Any) -> dict[str, Any]:
    """Return the request of some spans, of one resource and scope."""
    resource = {"attributes": [{"key": "service.name", "value": {"stringValue": "shop"}}]}
    return {"resourceSpans": [{"resource": resource, "scopeSpans": [{"scope": {"name": "s"}, "spans": [*spans]}]}]}


def request_of(*numbers: int, **fields: Any) -> ExportTraceServiceRequest:
    """Return the message of a request with one span for each number.

    Args:
        numbers: What the ids are made of.
        fields: Fields of each span, by their names in protobuf.
    """
    request = ExportTraceServiceRequest()
    of_resource = request.resource_spans.add()
    of_resource.resource.attributes.add(key="service.name").value.string_value = "shop"
    of_scope = of_resource.scope_spans.add()
    of_scope.scope.name = "s"
    for number in numbers:
        of_scope.spans.add(
            **(
                {
                    "trace_id": number.to_bytes(16, "big"),
                    "span_id": number.to_bytes(8, "big"),
                    "name": f"span {number}",
                    "kind": 1,
                    "start_time_unix_nano": 1_700_000_000_000_000_000,
                    "end_time_unix_nano": 1_700_000_000_001_000_000,
                }
                | fields
            )
        )
    return request
