"""P18, the receiving half: processor time of a span from the network to its file, and of one that the SDK writes."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from http.client import HTTPConnection
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import psutil
from opentelemetry.exporter.otlp.proto.common.trace_encoder import encode_spans
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from spanview.otlp.body import Acceptance, Encoding
from spanview.otlp.to_json import lines_of_protobuf

from .figures import Figure, in_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from opentelemetry.sdk.trace import ReadableSpan

_BATCH: Final = 512
"""Spans of a request, as exporters batch them."""
_BATCHES: Final = 40
_MOST_US: Final = 50.0
"""Microseconds of processor time a span, which is 20,000 spans a second on one core."""
_FILE_EXPORTER: Final = "opentelemetry.exporter.otlp.json.file"


def receive(rounds: int) -> list[Figure]:
    """P18: processor time of `spanview receive` a span over HTTP, against that of the SDK's exporter to JSON files."""
    spans = _spans()
    body = encode_spans(spans).SerializeToString()
    bodies = {Encoding.PROTOBUF: body, Encoding.JSON: _as_json(body)}
    with tempfile.TemporaryDirectory() as folder, _receiver(Path(folder)) as (port, process):

        def measure(encoding: Encoding) -> Callable[[], float]:
            def run() -> float:
                began = _seconds(process)
                connection = HTTPConnection("127.0.0.1", port)
                for _ in range(_BATCHES):
                    connection.request("POST", "/v1/traces", bodies[encoding], {"Content-Type": encoding})
                    answer = connection.getresponse()
                    answer.read()
                    if answer.status != 200:
                        raise RuntimeError(f"answered with {answer.status}")
                connection.close()
                return (_seconds(process) - began) / _BATCHES / _BATCH * 1e6

            return run

        measures = [measure(Encoding.PROTOBUF), measure(Encoding.JSON)]
        exports = _file_exporter(Path(folder) / "exported.jsonl", spans)
        values = in_turns([*measures, *exports], rounds)
    base = values[2] if exports else None
    return [
        Figure("P18", f"a span received over HTTP with {name}", value, "µs", base, 1.0 if base else _MOST_US)
        for name, value in zip(("protobuf", "JSON"), values, strict=False)
    ]


def _spans() -> Sequence[ReadableSpan]:
    memory = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(memory))
    tracer = provider.get_tracer("benchmark", "1.0")
    for number in range(_BATCH):
        values: dict[str, Any] = {
            "http.request.method": "GET",
            "url.full": f"http://example.com/users/{number}",
            "http.response.status_code": 200,
            "server.address": "example.com",
            "network.protocol.version": "1.1",
            "share": number / _BATCH,
        }
        with tracer.start_as_current_span("GET /users/{id}", attributes=values) as span:
            if not number % 8:
                span.add_event("retried", {"attempt": 1})
    return memory.get_finished_spans()


def _as_json(body: bytes) -> bytes:
    """Return the same request in JSON: its spans under one resource, as exporters write it."""
    import orjson

    documents = [*map(orjson.loads, lines_of_protobuf(body, Acceptance()))]
    (first, *others) = (document["resourceSpans"][0]["scopeSpans"][0]["spans"] for document in documents)
    for other in others:
        first += other
    return orjson.dumps(documents[0])


@contextmanager
def _receiver(folder: Path) -> Iterator[tuple[int, psutil.Process]]:
    words = ("receive", "--dir", str(folder / "received"), "--host", "127.0.0.1", "--http", "0", "--grpc", "off")
    with subprocess.Popen([sys.executable, "-m", "spanview", *words], stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        match = re.search(r":(\d+) \(HTTP\)", process.stderr.readline())
        if match is None:
            raise RuntimeError("spanview receive doesn't start")
        yield int(match[1]), psutil.Process(process.pid)
        process.terminate()


def _seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _file_exporter(path: Path, spans: Sequence[ReadableSpan]) -> list[Callable[[], float]]:
    """Return what measures the SDK's exporter to JSON files, if it is installed."""
    try:
        module: Any = import_module(f"{_FILE_EXPORTER}.trace_exporter")
    except ModuleNotFoundError:
        sys.stderr.write("opentelemetry-exporter-otlp-json-file isn't installed, so P18 is held against its limit\n")
        return []
    exporter = module.FileSpanExporter(os.fspath(path))

    def run() -> float:
        began = time.process_time()
        for _ in range(_BATCHES):
            if exporter.export(spans) is not SpanExportResult.SUCCESS:
                raise RuntimeError("the SDK's exporter has failed")
        return (time.process_time() - began) / _BATCHES / _BATCH * 1e6

    return [run]
