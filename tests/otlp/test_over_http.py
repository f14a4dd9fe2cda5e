"""Requests to a server on this machine that answers as it likes."""

from __future__ import annotations

import gzip
import socket
import subprocess
import threading
from contextlib import contextmanager, suppress
from dataclasses import replace
from http.client import HTTPConnection
from typing import TYPE_CHECKING, Final

import pytest

from endpoints import JSON, PROTOBUF, Reset, Said, Silence, grpc_endpoint, http_endpoint
from spanview.model.problems import PushError
from spanview.otlp.endpoint import Endpoint, OtlpProtocol
from spanview.otlp.over_http import OverHttp
from spanview.otlp.responses import Response, ResponseKind
from spanview.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY: Final = b'{"resourceSpans":[]}'


@contextmanager
def transport(endpoint: Endpoint) -> Iterator[OverHttp]:
    """Open a transport and close it."""
    over_http = OverHttp(endpoint)
    try:
        yield over_http
    finally:
        over_http.close()


def answers(url: str, count: int = 1, **fields: object) -> list[Response]:
    """Return what is answered to some requests over one transport."""
    with transport(replace(Endpoint(f"{url}/v1/traces", timeout_s=5.0), **fields)) as over_http:  # type: ignore[arg-type]
        return [over_http.request(BODY) for _ in range(count)]


def test_request() -> None:
    """Path, query, headers and body are as they have to be."""
    with http_endpoint() as endpoint:
        where = Endpoint(f"{endpoint.url}/v1/traces?key=1", headers={"api-key": "a b"})
        with transport(where) as over_http:
            assert [over_http.request(BODY) for _ in range(3)] == [Response(ResponseKind.ACCEPTED)] * 3
    first = endpoint.received[0]
    assert first.path == "/v1/traces?key=1"
    assert first.body == BODY
    assert first.headers.items() >= {
        ("content-type", JSON),
        ("api-key", "a b"),
        ("user-agent", f"spanview/{__version__}"),
        ("content-length", str(len(BODY))),
    }
    assert "content-encoding" not in first.headers


def test_one_connection() -> None:
    """A connection is kept from request to request."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        connections = []

        def serve() -> None:
            connection, _ = server.accept()
            connections.append(connection)
            with connection, connection.makefile("rb") as lines:
                for _ in range(3):
                    while (line := lines.readline()).strip():
                        size = int(line.split()[1]) if line.lower().startswith(b"content-length") else 0
                        length = size or locals().get("length", 0)
                    lines.read(length)
                    connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}")

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        found = answers(f"http://127.0.0.1:{server.getsockname()[1]}", 3)
        thread.join(10)
    assert [answer.kind for answer in found] == [ResponseKind.ACCEPTED] * 3
    assert len(connections) == 1


def test_protobuf_and_gzip() -> None:
    """The content's type and encoding are said."""
    with http_endpoint() as endpoint:
        answers(endpoint.url, protocol=OtlpProtocol.HTTP_PROTOBUF, is_compressed=True)
    (request,) = endpoint.received
    assert (request.headers["content-type"], request.headers["content-encoding"]) == (PROTOBUF, "gzip")
    assert gzip.decompress(request.body) == BODY


def test_statuses_and_headers() -> None:
    """Status, Retry-After and the body's message are read."""
    script = [
        Said(503, headers={"Retry-After": "7"}),
        Said(400, b'{"message": "bad data"}'),
        Said(413),
        Said(200, b'{"partialSuccess": {"rejectedSpans": "1", "errorMessage": "old"}}'),
    ]
    with http_endpoint(script) as endpoint:
        found = answers(endpoint.url, 4)
    assert found == [
        Response(ResponseKind.RETRY, "HTTP status 503", after_s=7.0),
        Response(ResponseKind.MALFORMED, "HTTP status 400: bad data"),
        Response(ResponseKind.TOO_LARGE, "HTTP status 413"),
        Response(ResponseKind.ACCEPTED, "old", rejected=1),
    ]


def test_redirect_is_not_followed() -> None:
    """Headers with keys go to nobody who wasn't named."""
    with http_endpoint() as other:
        where = f"{other.url}/elsewhere"
        with http_endpoint([Said(307, headers={"Location": where})]) as endpoint:
            (answer,) = answers(endpoint.url)
    assert answer.kind is ResponseKind.HOPELESS
    assert where in answer.reason
    assert not other.received


def test_reset_and_silence() -> None:
    """Neither is an error here: the one is told at once, the other after the timeout, and the next request arrives."""
    with http_endpoint([Reset, Silence]) as endpoint:
        found = answers(endpoint.url, 3, timeout_s=0.3)
    assert found[0] == Response(ResponseKind.RETRY, "the connection was lost")
    assert found[1] == Response(ResponseKind.RETRY, "no answer within 0.3 s")
    assert found[2] == Response(ResponseKind.ACCEPTED)


def test_kept_connection_that_was_closed() -> None:
    """An endpoint may close a connection that rests: the request goes over a new one, and nobody hears of it."""
    with http_endpoint([Said(), Reset, Said(200, headers={"Connection": "close"})]) as endpoint:
        found = answers(endpoint.url, 3)
    assert found == [Response(ResponseKind.ACCEPTED)] * 3
    assert len(endpoint.received) == 4


def test_kept_connection_without_an_answer() -> None:
    """A request that isn't answered in time isn't sent a second time by the way."""
    with http_endpoint([Said(), Silence]) as endpoint:
        found = answers(endpoint.url, 2, timeout_s=0.3)
    assert found[1].kind is ResponseKind.RETRY
    assert len(endpoint.received) == 2


def _end(connection: socket.socket) -> None:
    """Say that no more comes, and read what was asked: a close before that would take back what was said."""
    with suppress(OSError):
        connection.shutdown(socket.SHUT_WR)
        while connection.recv(65536):
            pass


@contextmanager
def saying(*pieces: bytes, pause_s: float = 0.0) -> Iterator[str]:
    """Serve connections that are told something, whatever they ask."""
    ending = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while not ending.is_set():
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(10)
                    connection.recv(1000)
                    for piece in pieces:
                        try:
                            connection.sendall(piece)
                        except OSError:
                            break
                        if ending.wait(pause_s):
                            return
                    _end(connection)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{server.getsockname()[1]}"
        ending.set()
        server.shutdown(socket.SHUT_RDWR)
        thread.join(10)


def test_no_http() -> None:
    """What answers may be anything, or end before it does; then the status counts."""
    head = b"HTTP/1.1 200 OK\r\n"
    for piece, kind in (
        (b"", ResponseKind.RETRY),
        (b"\x00\x00\x06\x04\x00\n", ResponseKind.UNREACHABLE),
        (b"SSH-2.0-OpenSSH_9.6\r\n", ResponseKind.UNREACHABLE),
        (head + b"Content-Length: 9\r\n\r\n{", ResponseKind.ACCEPTED),
        (head + b"X-Hop: a gateway\r\n" * 500 + b"Content-Length: 0\r\n\r\n", ResponseKind.ACCEPTED),
        (head + b"X-Hop: a gateway\r\n" * 500 + b"Content-Type: text/html\r\n\r\n", ResponseKind.HOPELESS),
        (head + b"Transfer-Encoding: chunked\r\n\r\n9\r\n{", ResponseKind.ACCEPTED),
    ):
        with saying(piece) as url:
            assert answers(url)[0].kind is kind
    with grpc_endpoint() as endpoint:
        assert answers(endpoint.url)[0].reason.startswith("what answers there speaks no HTTP")


def test_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """An address that nothing comes back from is as wrong as one that nobody is at."""

    def connect(_: HTTPConnection) -> None:
        raise TimeoutError

    monkeypatch.setattr(HTTPConnection, "connect", connect)
    expected = Response(ResponseKind.UNREACHABLE, "no connection to port 80 of localhost within 5 s")
    assert answers("http://localhost") == [expected]


def test_answers_that_drip() -> None:
    """An answer that comes byte by byte has no more time than any other."""
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 99\r\n\r\n", *[b"x"] * 99, pause_s=0.05) as url:
        assert answers(url, timeout_s=0.4) == [Response(ResponseKind.RETRY, "no answer within 0.4 s")]


def test_endless_answer() -> None:
    """No more of an answer is read than is needed."""
    with saying(b"HTTP/1.1 200 OK\r\nContent-Length: 999999999\r\n\r\n", *[b" " * 1024 * 1024] * 64) as url:
        assert answers(url) == [Response(ResponseKind.ACCEPTED)]


def test_early_answer() -> None:
    """An answer that comes before all was sent is read, though the connection breaks."""
    with saying(b"HTTP/1.1 413 Too Large\r\nContent-Length: 0\r\nConnection: close\r\n\r\n") as url:
        over_http = OverHttp(Endpoint(url, timeout_s=5.0))
        kinds = {over_http.request(b"x" * 8 * 1024 * 1024).kind for _ in range(3)}
        over_http.close()
    # Where the reset overtakes the answer, there is none.
    assert kinds <= {ResponseKind.TOO_LARGE, ResponseKind.RETRY}


def test_nobody_there() -> None:
    """Unknown hosts and ports where nothing listens are said to be so."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert answers(f"http://127.0.0.1:{port}") == [
        Response(ResponseKind.UNREACHABLE, f"nothing listens on port {port} of 127.0.0.1")
    ]
    assert answers("http://nowhere.invalid") == [Response(ResponseKind.UNREACHABLE, "unknown host nowhere.invalid")]


@pytest.fixture(scope="module")
def certificate(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A certificate of localhost that signs itself, with its key."""
    folder = tmp_path_factory.mktemp("tls")
    key, own, both = folder / "key.pem", folder / "own.pem", folder / "both.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", key, "-out", own]
    subprocess.run([*words.split(), *map(str, names)], check=True, capture_output=True)
    both.write_bytes(key.read_bytes() + own.read_bytes())
    return both


def test_tls(certificate: Path, tmp_path: Path) -> None:
    """A certificate of one's own is trusted where it is named, and nowhere else; names are checked."""
    with http_endpoint(tls=certificate) as endpoint:
        (accepted,) = answers(endpoint.url, certificate=str(certificate))
        (refused,) = answers(endpoint.url)
        (misnamed,) = answers(endpoint.url.replace("localhost", "127.0.0.1"), certificate=str(certificate))
        (plain,) = answers(endpoint.url.replace("https", "http"))
    assert accepted == Response(ResponseKind.ACCEPTED)
    for answer in (refused, misnamed):
        assert answer.kind is ResponseKind.HOPELESS
        assert "OTEL_EXPORTER_OTLP_CERTIFICATE" in answer.reason
    assert plain.kind is ResponseKind.RETRY
    with http_endpoint() as endpoint:
        (answer,) = answers(endpoint.url.replace("http", "https"))
    assert answer.kind is ResponseKind.UNREACHABLE
    assert "http:// is without encryption" in answer.reason
    empty = tmp_path / "empty.pem"
    empty.touch()
    for fields in ({"certificate": str(empty)}, {"client_certificate": str(empty)}):
        with pytest.raises(PushError, match="no certificate can be read"):
            OverHttp(replace(Endpoint("https://localhost"), **fields))  # type: ignore[arg-type]
