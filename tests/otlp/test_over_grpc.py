"""Requests to a gRPC server on this machine that answers as it likes."""

from __future__ import annotations

import socket
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import (
    ExportTracePartialSuccess,
    ExportTraceServiceResponse,
)

from endpoints import Failed, Silence, grpc_endpoint, http_endpoint
from spanview.model.problems import PushError
from spanview.otlp.endpoint import Endpoint, OtlpProtocol
from spanview.otlp.over_grpc import OverGrpc
from spanview.otlp.responses import Response, ResponseKind
from spanview.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

BODY: Final = b""


@contextmanager
def transport(url: str, **fields: Any) -> Iterator[OverGrpc]:
    """Open a transport and close it."""
    over_grpc = OverGrpc(replace(Endpoint(url, OtlpProtocol.GRPC, timeout_s=10.0), **fields))
    try:
        yield over_grpc
    finally:
        over_grpc.close()


def answers(url: str, count: int = 1, **fields: Any) -> list[Response]:
    """Return what is answered to some requests over one transport."""
    with transport(url, **fields) as over_grpc:
        return [over_grpc.request(BODY) for _ in range(count)]


@pytest.mark.parametrize("is_compressed", [False, True])
def test_request(is_compressed: bool) -> None:  # noqa: FBT001 - a parameter of the test
    """Method, headers and body are as they have to be."""
    with grpc_endpoint() as endpoint:
        found = answers(endpoint.url, 2, headers={"api-key": "a b", "te": "x"}, is_compressed=is_compressed)
    assert found == [Response(ResponseKind.ACCEPTED)] * 2
    assert endpoint.received[0].headers["api-key"] == "a b"
    assert endpoint.received[0].headers["user-agent"].startswith(f"spanview/{__version__} ")
    assert endpoint.received[0].body == BODY


def test_codes() -> None:
    """Codes, details and RetryInfo are read; so is partial success."""
    partial = ExportTraceServiceResponse(
        partial_success=ExportTracePartialSuccess(rejected_spans=2, error_message="too old")
    )
    script = [
        Failed("UNAVAILABLE", "come later", 0.5),
        Failed("UNAVAILABLE", "come later"),
        Failed("RESOURCE_EXHAUSTED", "slowly", 0.25),
        Failed("RESOURCE_EXHAUSTED", "message larger than max"),
        Failed("INVALID_ARGUMENT", "bad data"),
        Failed("UNAUTHENTICATED", "no key"),
        partial.SerializeToString(),
    ]
    with grpc_endpoint(script) as endpoint:
        found = answers(endpoint.url, 7)
    assert found[:5] == [
        Response(ResponseKind.RETRY, "UNAVAILABLE: come later", after_s=0.5),
        Response(ResponseKind.RETRY, "UNAVAILABLE: come later"),
        Response(ResponseKind.RETRY, "RESOURCE_EXHAUSTED: slowly", after_s=0.25),
        Response(ResponseKind.TOO_LARGE, "RESOURCE_EXHAUSTED: message larger than max"),
        Response(ResponseKind.MALFORMED, "INVALID_ARGUMENT: bad data"),
    ]
    assert found[5].kind is ResponseKind.HOPELESS
    assert found[5].reason.endswith("(UNAUTHENTICATED: no key)")
    assert found[6] == Response(ResponseKind.ACCEPTED, "too old", rejected=2)


def test_too_large() -> None:
    """A server's own limit is said as any other."""
    with grpc_endpoint() as endpoint, transport(endpoint.url) as over_grpc:
        assert over_grpc.request(b"x" * 5 * 1024 * 1024).kind is ResponseKind.TOO_LARGE


def test_silence() -> None:
    """Where no answer comes, that is said after the timeout."""
    with grpc_endpoint([Silence]) as endpoint:
        assert answers(endpoint.url, timeout_s=0.3) == [Response(ResponseKind.RETRY, "no answer within 0.3 s")]


def test_nobody_there() -> None:
    """Unknown hosts and ports where nothing listens are said to be so, and what speaks only HTTP is."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    assert answers(f"http://127.0.0.1:{port}") == [
        Response(ResponseKind.UNREACHABLE, f"nothing listens on port {port} of 127.0.0.1")
    ]
    (unknown,) = answers("http://nowhere.invalid:4317")
    assert unknown == Response(ResponseKind.UNREACHABLE, "unknown host nowhere.invalid")
    with http_endpoint() as endpoint:
        (answer,) = answers(endpoint.url)
    assert answer == Response(ResponseKind.UNREACHABLE, "it speaks HTTP, not gRPC: try --protocol http/json")


def test_tls(tmp_path: Path) -> None:
    """A certificate of one's own is trusted where it is named, and nowhere else."""
    key, own = tmp_path / "key.pem", tmp_path / "own.pem"
    words = "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost"
    names = ["-addext", "subjectAltName=DNS:localhost", "-keyout", str(key), "-out", str(own)]
    subprocess.run([*words.split(), *names], check=True, capture_output=True)
    with grpc_endpoint(tls=(key.read_bytes(), own.read_bytes())) as endpoint:
        assert answers(endpoint.url, certificate=str(own)) == [Response(ResponseKind.ACCEPTED)]
        (answer,) = answers(endpoint.url)
    assert answer.kind is ResponseKind.UNREACHABLE
    assert "certificate isn't trusted" in answer.reason
    with pytest.raises(PushError, match="No such file"):
        OverGrpc(Endpoint("https://localhost", OtlpProtocol.GRPC, certificate=str(tmp_path / "none.pem")))


def test_without_grpcio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without the package, a sentence says how to come by it."""
    monkeypatch.setitem(sys.modules, "grpc", None)
    with pytest.raises(PushError, match=r"pip install 'spanview\[otlp\]'"):
        OverGrpc(Endpoint("http://localhost:4317", OtlpProtocol.GRPC))
