"""OTLP over HTTP, as the specification has it: one request a row, and what must be answered.

Source: "OTLP/HTTP" in the OTLP specification.
"""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import zlib
from contextlib import asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

import pytest
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from receivers import JSON, PROTOBUF, Receiver, document, request_of, span, written_in
from spanview.otlp import http, intake
from spanview.otlp.body import Signal
from spanview.otlp.http import HttpLimits, HttpServer
from spanview.otlp.intake import BodyQueue, Room
from spanview.otlp.span_log import LogLimits, ReceivedFiles

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

MAX_BODY: Final = 1 << 20
ORIGIN: Final = "http://localhost:3000"


@pytest.fixture(name="receiver", scope="module")
def start_receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """Give an endpoint that takes requests of up to a MiB."""
    folder = tmp_path_factory.mktemp("received")
    with Receiver(folder, "--max-body", str(MAX_BODY), "--cors", ORIGIN) as receiver:
        yield receiver


def json_of(*spans: Any) -> bytes:
    """Return a request of JSON."""
    return json.dumps(document(*spans)).encode()


@pytest.mark.parametrize(
    ("content_type", "body"),
    [
        (PROTOBUF, request_of(1).SerializeToString()),
        (JSON, json_of(span(2))),
        (JSON + "; charset=utf-8", json_of(span(3))),
        ("Application/JSON", json_of(span(4))),
    ],
    ids=["protobuf", "JSON", "with a charset", "in capitals"],
)
@pytest.mark.parametrize("coding", [None, "gzip", "GZIP", "deflate"])
def test_spans_are_written_before_they_are_answered(
    receiver: Receiver, content_type: str, body: bytes, coding: str | None
) -> None:
    """Both encodings, compressed or not: the answer is empty, and the span is in the file."""
    before = len(receiver.written())
    compressed = {None: body, "deflate": zlib.compress(body)}.get(coding, gzip.compress(body))
    answer = receiver.post(compressed, content_type, **({"Content_Encoding": coding} if coding else {}))
    expected = JSON if "json" in content_type.lower() else PROTOBUF
    assert (answer.status, answer.headers["Content-Type"]) == (200, expected)
    assert answer.body == (b"{}" if expected == JSON else b"")
    assert len(receiver.written()) == before + 1


@pytest.mark.parametrize("content_type", [PROTOBUF, JSON])
@pytest.mark.parametrize("signal", ["traces", "metrics", "logs"])
def test_an_empty_request_is_success(receiver: Receiver, content_type: str, signal: str) -> None:
    """Of any signal, without a word about what is refused."""
    answer = receiver.post(b"", content_type, path=f"/v1/{signal}")
    assert (answer.status, answer.body) == (200, b"{}" if content_type == JSON else b"")


def test_what_is_refused_is_said(receiver: Receiver) -> None:
    """The rest is kept, and the answer counts, in the encoding of the request."""
    before = len(receiver.written())
    answer = receiver.post(json_of(span(1), span(2, traceId="?"), span(3, spanId="")), JSON)
    refused = answer.json()["partialSuccess"]
    assert (answer.status, refused["rejectedSpans"]) == (200, "2")
    assert "traceId" in refused["errorMessage"]
    request = request_of(1)
    request.MergeFrom(request_of(2, span_id=b"?"))
    answer = receiver.post(request.SerializeToString())
    partial = ExportTraceServiceResponse.FromString(answer.body).partial_success
    assert (answer.status, partial.rejected_spans) == (200, 1)
    assert "span id" in partial.error_message
    assert len(receiver.written()) == before + 2


@pytest.mark.parametrize(
    ("content_type", "body", "headers", "status", "code", "says"),
    [
        (JSON, b"{", {}, 400, 3, "isn't JSON"),
        (JSON, json_of(span(1, traceId="?")), {}, 400, 3, "traceId"),
        (PROTOBUF, b"\x0a\xff", {}, 400, 3, "incomplete"),
        (PROTOBUF, request_of(1, trace_id=b"?").SerializeToString(), {}, 400, 3, "trace id"),
        (JSON, b"no gzip", {"Content_Encoding": "gzip"}, 400, 3, "isn't gzip"),
        (PROTOBUF, gzip.compress(b"{}", mtime=0)[:-1], {"Content_Encoding": "gzip"}, 400, 3, "isn't whole"),
        (PROTOBUF, gzip.compress(b"", mtime=0) + b"tail", {"Content_Encoding": "gzip"}, 400, 3, "isn't gzip"),
        (PROTOBUF, gzip.compress(b"", mtime=0) * 1001, {"Content_Encoding": "gzip"}, 400, 3, "isn't gzip"),
        (JSON, json_of(span()), {"Origin": "http://evil"}, 403, 7, "http://evil may not send"),
        (JSON, b"", {"path": "/v1/profiles"}, 404, 5, "/v1/traces"),
        (PROTOBUF, b"", {"path": "/"}, 404, 5, "/v1/traces"),
        (JSON, b"", {"method": "GET"}, 405, 12, "expected POST"),
        (PROTOBUF, b"", {"method": "PUT"}, 405, 12, "expected POST"),
        (JSON, b"", {"method": "OPTIONS"}, 405, 12, "expected POST"),
        (PROTOBUF, bytes(MAX_BODY + 1), {}, 413, 8, "1,048,576 bytes"),
        (JSON, gzip.compress(bytes(MAX_BODY + 1), mtime=0), {"Content_Encoding": "gzip"}, 413, 8, "1,048,576 bytes"),
        (JSON, gzip.compress(bytes(100 << 20), 1, mtime=0), {"Content_Encoding": "gzip"}, 413, 8, "1,048,576 bytes"),
        ("text/plain", json_of(span()), {}, 415, 3, "application/x-protobuf"),
        ("", json_of(span()), {}, 415, 3, "application/x-protobuf"),
        (JSON, json_of(span()), {"Content_Encoding": "br"}, 415, 3, "expected gzip"),
    ],
)  # fmt: skip
def test_what_is_declined_says_why(  # noqa: PLR0917 - a table
    receiver: Receiver, content_type: str, body: bytes, headers: dict[str, str], status: int, code: int, says: str
) -> None:
    """A `google.rpc.Status` in the encoding of the request, and nothing is written."""
    before = len(receiver.written())
    answer = receiver.post(body, content_type, **headers)
    assert answer.status == status
    if content_type == PROTOBUF:
        assert answer.headers["Content-Type"] == PROTOBUF
        decoded = Status.FromString(answer.body)
        said, number = decoded.message, decoded.code
    else:
        assert answer.headers["Content-Type"] == JSON
        said, number = answer.json()["message"], answer.json()["code"]
    assert number == code
    assert says in said
    assert len(receiver.written()) == before


def test_several_members_of_gzip_are_one_body(receiver: Receiver) -> None:
    """As gzip has it, one may follow the other."""
    body = json_of(span(1))
    joined = gzip.compress(body[:50]) + gzip.compress(body[50:])
    assert receiver.post(joined, JSON, Content_Encoding="gzip").status == 200


def test_web_pages_may_send_from_where_they_are_let(receiver: Receiver) -> None:
    """They ask first; what is answered names the origin, which nobody else gets."""
    asked = {"Access_Control_Request_Method": "POST", "Access_Control_Request_Headers": "content-type,x-a"}
    answer = receiver.post(b"", "", method="OPTIONS", Origin=ORIGIN, **asked)
    assert answer.status == 204
    assert answer.headers["Access-Control-Allow-Origin"] == ORIGIN
    assert answer.headers["Access-Control-Allow-Headers"] == "content-type,x-a"
    assert answer.headers["Access-Control-Allow-Methods"] == "POST"
    assert receiver.post(json_of(span()), JSON, Origin=ORIGIN).headers["Access-Control-Allow-Origin"] == ORIGIN
    assert receiver.post(b"{", JSON, Origin=ORIGIN).headers["Access-Control-Allow-Origin"] == ORIGIN
    declined = receiver.post(b"", "", method="OPTIONS", Origin="http://evil", **asked)
    assert declined.status == 403
    assert "Access-Control-Allow-Origin" not in declined.headers


def test_what_is_no_http_gets_no_traceback(receiver: Receiver) -> None:
    """It is answered or hung up on, and others go on."""
    for sent in (b"\x00\x01\x02\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"POST /v1/traces HTTP/1.1\r\nA" + b"a" * 100_000):
        with socket.create_connection(("localhost", receiver.port())) as connection, suppress(ConnectionError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            connection.settimeout(10)
            while connection.recv(65536):
                pass
    assert receiver.post(json_of(span()), JSON).status == 200
    assert not [notice for notice in receiver.process.notices if "Traceback" in notice]


# -- time and room -----------------------------------------------------------------------------------------------------


@asynccontextmanager
async def serving(
    folder: Path, *, room: int = 1 << 26, log: ReceivedFiles | None = None, said: list[str] | None = None
) -> AsyncIterator[int]:
    """Serve in this process, and give the port."""
    log = log or ReceivedFiles(str(folder), LogLimits(1 << 30), lambda _: None)
    said = [] if said is None else said
    taking = BodyQueue({Signal.TRACES: log}, said.append, 1 << 30)
    server = HttpServer(taking, Room(room), HttpLimits(MAX_BODY), said.append)
    listening = socket.create_server(("127.0.0.1", 0))
    port: int = listening.getsockname()[1]
    await server.start([listening])
    try:
        yield port
    finally:
        await server.stop()
        taking.close()


async def answered(port: int, sent: bytes, *, ends: bool = False) -> bytes:
    """Send bytes, and return what is answered until the other side hangs up."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(sent)
        if ends:
            writer.write_eof()
        return await asyncio.wait_for(reader.read(), 20)
    finally:
        writer.close()


def raw(body: bytes, *headers: str, length: int | None = None) -> bytes:
    """Return a request as it goes over the wire; the connection closes behind it."""
    lines = ("POST /v1/traces HTTP/1.1", "Host: here", f"Content-Type: {JSON}", "Connection: close", *headers)
    return "\r\n".join([*lines, f"Content-Length: {len(body) if length is None else length}", "", ""]).encode() + body


async def test_who_never_ends_a_request_is_hung_up_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A head that doesn't end, a body that doesn't come: 200 of each take no room from others."""
    monkeypatch.setattr(http, "_FIRST_REQUEST_S", 0.6)
    monkeypatch.setattr(http, "_BODY_S", 0.6)
    monkeypatch.setattr(http, "_LINGER_S", 0.6)
    async with serving(tmp_path) as port:
        slow = [asyncio.create_task(answered(port, b"POST /v1/traces HTTP/1.1\r\nX-A")) for _ in range(200)]
        slow += [asyncio.create_task(answered(port, raw(b"{", length=500_000))) for _ in range(200)]
        assert (await answered(port, raw(json_of(span())))).startswith(b"HTTP/1.1 200 ")
        answers = await asyncio.gather(*slow, return_exceptions=True)
    assert all(answer == b"" or isinstance(answer, ConnectionError) for answer in answers[:200])
    assert all(isinstance(answer, bytes) and answer.startswith(b"HTTP/1.1 408 ") for answer in answers[200:])


async def test_more_connections_than_there_may_be_are_declined(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They may try again; those that were there first go on."""
    monkeypatch.setattr(http, "_MAX_CONNECTIONS", 3)
    async with serving(tmp_path) as port:
        held = [await asyncio.open_connection("127.0.0.1", port) for _ in range(3)]
        declined = await answered(port, raw(json_of(span())))
        assert declined.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in declined
        reader, writer = held[0]
        writer.write(raw(json_of(span())))
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        for _, each in held:
            each.close()


async def test_what_finds_no_room_is_declined(tmp_path: Path) -> None:
    """So are further ones while a body is in hand, and none once it is written; all may try again."""
    body = json_of(*(span(number) for number in range(1, 1001)))
    async with serving(tmp_path, room=len(body) + 100) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw(body)[:-10])
        await asyncio.sleep(0.2)
        declined = await answered(port, raw(body))
        assert declined.startswith(b"HTTP/1.1 503 ")
        assert b"Retry-After: 1\r\n" in declined
        writer.write(body[-10:])
        assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
        writer.close()
        for _ in range(3):
            assert (await answered(port, raw(body))).startswith(b"HTTP/1.1 200 ")


async def test_a_slow_disk_declines_what_waits_too_long(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is being written is answered when it is; what waits isn't written after it was declined."""
    monkeypatch.setattr(intake, "_WAIT_S", 0.5)
    go_on = asyncio.Event()
    loop = asyncio.get_running_loop()

    class Slow(ReceivedFiles):
        """Waits before it writes."""

        def append(self, lines: Any) -> int:
            asyncio.run_coroutine_threadsafe(go_on.wait(), loop).result()
            return super().append(lines)

    log = Slow(str(tmp_path), LogLimits(1 << 30), lambda _: None)
    async with serving(tmp_path, log=log) as port:
        first = asyncio.create_task(answered(port, raw(json_of(span(1)))))
        await asyncio.sleep(0.2)
        declined = await answered(port, raw(json_of(span(2))))
        assert declined.startswith(b"HTTP/1.1 503 ")
        go_on.set()
        assert (await first).startswith(b"HTTP/1.1 200 ")
        assert (await answered(port, raw(json_of(span(3))))).startswith(b"HTTP/1.1 200 ")
    assert [found["name"] for found in written_in(tmp_path)] == ["span 1", "span 3"]


async def test_an_error_of_ours_is_answered_and_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While it is answered, and while it is written: the sender hears of it, others go on, and it takes one line."""

    def fail(*_: object) -> None:
        raise RuntimeError("a mistake")

    said: list[str] = []
    async with serving(tmp_path, said=said) as port:
        with monkeypatch.context() as patch:
            patch.setattr(http, "success", fail)
            assert (await answered(port, raw(json_of(span(1))))).startswith(b"HTTP/1.1 500 ")
        with monkeypatch.context() as patch:
            patch.setattr(intake, "lines_of_json", fail)
            assert (await answered(port, raw(json_of(span(2))))).startswith(b"HTTP/1.1 503 ")
        await answered(port, b"no HTTP\r\n\r\n")
        assert (await answered(port, raw(json_of(span(3))))).startswith(b"HTTP/1.1 200 ")
    assert [found["name"] for found in written_in(tmp_path)] == ["span 1", "span 3"]
    assert said == [
        "a request failed: RuntimeError('a mistake')",
        "a request can't be accepted: RuntimeError('a mistake')",
    ]


async def test_what_is_in_hand_at_the_end_is_answered(tmp_path: Path) -> None:
    """A body that is still coming when the server ends is waited for."""
    body = json_of(span())
    async with serving(tmp_path) as port:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(raw(body)[:-10])
        await asyncio.sleep(0.2)
        asyncio.get_running_loop().call_later(0.5, writer.write, body[-10:])
    assert (await reader.read()).startswith(b"HTTP/1.1 200 ")
    writer.close()
    assert len(written_in(tmp_path)) == 1
