"""What senders were told stays true, whatever fails: what was acknowledged is there, as often as it was.

fault                                    told                  in the files
-----                                    ----                  ------------
killed by SIGKILL, again and again       nothing, or success   each acknowledged span once, others once or never
a disk that is full, then isn't          try again             each acknowledged span once, and whole lines alone
200 connections at a time                success               each span once
bodies of 64 MiB, of the worst content   success, or why not   what was taken; memory stays within its limit
"""

from __future__ import annotations

import json
import logging
import random
import signal
import tempfile
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPException
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter as GrpcExporter
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter as HttpExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor, SpanExportResult
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from forked import apart, no_disk_of_its_own
from programs import SPANVIEW
from receivers import JSON, Receiver, document, post, request_of, span, spans_in
from seeds import THOROUGH

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_BATCH: Final = 25
_SPANS_PER_SECOND: Final = 2000
_SENDERS: Final = 8


def ids_in(folder: Path) -> Counter[str]:
    """Return how often each span is in the files; the last line of a file may be torn."""
    found = Counter[str]()
    for path in folder.glob("*.jsonl"):
        *lines, rest = path.read_bytes().split(b"\n")
        assert path.stat().st_size == sum(map(len, lines)) + len(lines) + len(rest)
        found.update(each["spanId"] for each in spans_in(lines))
    return found


class Sender:
    """Sends batches until it is told to stop, each as often as it takes.

    Args:
        number: A part of the ids.
        ports: Those of the endpoint.
    """

    def __init__(self, number: int, ports: tuple[int, int]) -> None:
        self._number = number
        self.attempts: Counter[str] = Counter()
        """How often each span was sent; 0 for one that an exporter may have sent repeatedly."""
        self.acknowledged: list[str] = []
        self._http, self._grpc = ports

    def run(self, stop: threading.Event) -> None:
        """Send at an eighth of the rate of all."""
        exports = self._exporter()
        batch = 0
        began = time.monotonic()
        while not stop.wait(max(0.0, began + batch * _BATCH * _SENDERS / _SPANS_PER_SECOND - time.monotonic())):
            batch += 1
            exports(batch)

    def _exporter(self) -> Callable[[int], None]:
        if self._number % 2:
            return self._post
        endpoint = f"http://localhost:{self._grpc}"
        exporter = (
            GrpcExporter(endpoint=endpoint, insecure=True, timeout=2)
            if self._number % 4
            else HttpExporter(endpoint=f"http://localhost:{self._http}/v1/traces", timeout=2)
        )
        memory = InMemorySpanExporter()
        provider = TracerProvider(shutdown_on_exit=False)
        provider.add_span_processor(SimpleSpanProcessor(memory))
        tracer = provider.get_tracer("sender")

        def export(_: int) -> None:
            for _ in range(_BATCH):
                tracer.start_span("exported").end()
            spans = memory.get_finished_spans()
            memory.clear()
            ids = [f"{each.context.span_id:016x}" for each in spans]
            self.attempts.update(dict.fromkeys(ids, 0))
            if exporter.export(spans) is SpanExportResult.SUCCESS:
                self.acknowledged += ids

        return export

    def _post(self, batch: int) -> None:
        numbers = [self._number << 40 | batch << 10 | index + 1 for index in range(_BATCH)]
        body = request_of(*numbers).SerializeToString()
        ids = [f"{number:016x}" for number in numbers]
        self.attempts.update(ids)
        try:
            status = post(self._http, body).status
        except (OSError, HTTPException):
            return
        if status == 200:
            self.acknowledged += ids


@pytest.mark.timeout(120)
def test_nothing_acknowledged_is_lost_to_kills(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """Eight senders, half of them OpenTelemetry's exporters, send 2,000 spans a second over HTTP and gRPC."""
    caplog.set_level(logging.CRITICAL + 1)
    chance = random.Random(7)
    kills = 20 if THOROUGH else 4
    with Receiver(tmp_path) as first:
        ports = first.port("HTTP"), first.port("gRPC")
    words = ("--http", str(ports[0]), "--grpc", str(ports[1]))
    senders = [Sender(number, ports) for number in range(1, _SENDERS + 1)]
    stop = threading.Event()
    threads = [threading.Thread(target=sender.run, args=(stop,)) for sender in senders]
    for index in range(kills + 1):
        with Receiver(tmp_path, *words) as receiver:
            if not index:
                for thread in threads:
                    thread.start()
            time.sleep(chance.uniform(0.3, 1.0))
            if index == kills:
                stop.set()
                for thread in threads:
                    thread.join(30)
                receiver.stop(signal.SIGTERM)
            # The context kills it.
    found = ids_in(tmp_path)
    for sender in senders:
        assert len(sender.acknowledged) > 100
        for each in sender.acknowledged:
            assert found[each] == sender.attempts[each] or (found[each] and not sender.attempts[each])
        for each, attempts in sender.attempts.items():
            assert found[each] <= attempts or not attempts
    assert not found.keys() - {each for sender in senders for each in sender.attempts}


@pytest.mark.skipif(bool(no_disk_of_its_own()), reason=no_disk_of_its_own() or "")
def test_a_full_disk_declines_until_there_is_room() -> None:
    """503 and UNAVAILABLE, one sentence, whole lines; once there is room, everything goes on."""
    with tempfile.TemporaryDirectory() as scratch:
        mount = 'mount -t tmpfs -o size=1m none "$0" && exec "$@"'
        program = (*apart(), "sh", "-c", mount, scratch, *SPANVIEW)
        with Receiver(Path(scratch), program=program) as receiver:
            disk = Path(f"/proc/{receiver.process.pid}/root{scratch}")
            ballast = disk / "ballast"
            ballast.write_bytes(b"x" * 600_000)
            acknowledged = set[str]()
            statuses = list[int]()

            def send(numbers: Iterable[int]) -> None:
                for number in numbers:
                    answer = receiver.post(request_of(number, name="n" * 20_000).SerializeToString())
                    statuses.append(answer.status)
                    if answer.status == 200:
                        acknowledged.add(f"{number:016x}")
                    else:
                        assert (answer.status, answer.headers["Retry-After"]) == (503, "1")
                        assert b"No space left" in answer.body

            send(range(1, 41))
            assert 503 in statuses
            assert 200 in statuses
            ballast.unlink()
            statuses.clear()
            send(range(41, 51))
            assert {*statuses} == {200}
            (path,) = disk.glob("*.jsonl")
            content = path.read_bytes()
            receiver.stop(signal.SIGTERM)
        assert content.endswith(b"\n")
        found = Counter(each["spanId"] for each in spans_in(content.splitlines()))
        assert found == Counter(acknowledged)
        assert [notice for notice in receiver.process.notices if "write" in notice] == [
            "spanview: can't write, so requests are declined: No space left on device",
            "spanview: can write again",
        ]


def test_two_hundred_connections_at_a_time(tmp_path: Path) -> None:
    """All are answered, each span is there once, and no more than a few MiB are needed for them."""
    with Receiver(tmp_path) as receiver:

        def send(number: int) -> int:
            return receiver.post(request_of(*range(number * 100 + 1, number * 100 + 101)).SerializeToString()).status

        with ThreadPoolExecutor(200) as senders:
            statuses = [*senders.map(send, range(400))]
        assert {*statuses} == {200}
        found = ids_in(tmp_path)
        assert len(found) == 40_000
        assert {*found.values()} == {1}
        assert receiver.peak_bytes() < 200 << 20


def large(kind: str, size: int) -> tuple[bytes, str]:
    """Return a body of about so many bytes, and its content type."""
    one = request_of(1, name="n" * 300).SerializeToString()
    if kind == "spans":
        return one * (size // len(one)), "application/x-protobuf"
    if kind == "events":
        return request_of(1).SerializeToString() + one + _nested(
            b"\x5a\x00" * (size // 2 - 500)
        ), "application/x-protobuf"
    if kind == "JSON":
        whole = json.dumps(document(span(name="n" * 300))["resourceSpans"][0])
        return f'{{"resourceSpans":[{",".join([whole] * (size // (len(whole) + 1)))}]}}'.encode(), JSON
    return b'{"resourceSpans":[],"other":[' + b"{}," * (size // 3 - 20) + b"{}]}", JSON


def _nested(content: bytes) -> bytes:
    """Return a request of one span with some content."""
    for tag in (b"\x12", b"\x12", b"\x0a"):
        length, size = b"", len(content)
        while size > 127:
            length += bytes([size & 127 | 128])
            size >>= 7
        content = tag + length + bytes([size]) + content
    return content


@pytest.mark.timeout(280)
@pytest.mark.shortened
@pytest.mark.parametrize("kind", ["spans", "events", "JSON", "objects"])
def test_the_largest_bodies_stay_within_memory(tmp_path: Path, kind: str) -> None:
    """Of 64 MiB, four at a time: all of it stays below 400 MiB, whatever is in them."""
    size = (64 if THOROUGH else 8) << 20
    body, content_type = large(kind, size)
    assert len(body) <= size
    with Receiver(tmp_path, "--max-body", str(size)) as receiver:
        with ThreadPoolExecutor(4) as senders:
            statuses = [*senders.map(lambda _: receiver.post(body, content_type).status, range(4))]
        assert {*statuses} <= {200, 413, 503}
        assert (413 in statuses) == (kind == "objects" or (kind == "JSON" and THOROUGH))
        assert receiver.peak_bytes() < (400 << 20 if THOROUGH else 280 << 20)
        # The last one may still be looked at whose sender has heard that it takes too long.
        while receiver.post(b"{}", JSON).status != 200:
            pass
