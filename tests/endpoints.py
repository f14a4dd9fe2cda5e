"""Endpoints for tests: servers on this machine that keep what they are sent, and answer as they are told.

A script is what is answered to the requests, one after the other; after its end, everything is accepted.
"""

from __future__ import annotations

import gzip
import json
import socket
import ssl
import struct
import threading
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from otlp_messages import message_of, parts_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

JSON: Final = "application/json"
PROTOBUF: Final = "application/x-protobuf"
EXPORT_METHOD: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"


@dataclass(frozen=True, slots=True)
class Said:
    """An answer over HTTP."""

    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


class Reset:
    """In place of an answer: the connection is reset."""


class Silence:
    """In place of an answer: nothing, until the test ends."""


Script: TypeAlias = "Sequence[Said | type[Reset | Silence]]"


@dataclass(slots=True)
class Received:
    """A request."""

    path: str
    headers: dict[str, str]
    """By their names in lower case."""
    body: bytes
    """As it was sent."""

    @property
    def message(self) -> Any:
        """The request's message, as protobuf's own library reads it."""
        body = gzip.decompress(self.body) if self.headers.get("content-encoding") == "gzip" else self.body
        if self.headers.get("content-type") == JSON:
            return message_of(json.loads(body))
        return ExportTraceServiceRequest.FromString(body)


@dataclass(slots=True)
class Endpoint:
    """A server and what it has received."""

    url: str
    received: list[Received] = field(default_factory=list)
    accepted: list[Received] = field(default_factory=list)
    """Those of the requests that were answered with success."""

    @property
    def spans(self) -> list[str]:
        """All spans that were accepted, with resource and scope, in one order."""
        return parts_of(*(request.message for request in self.accepted))


def counts_of(request: Received) -> int:
    """Return how many spans a request has."""
    return sum(len(scope.spans) for resource in request.message.resource_spans for scope in resource.scope_spans)


def _request_of(handler: BaseHTTPRequestHandler) -> Received:
    """Return what a client sends.

    Raises:
        ConnectionError: It was killed in the midst.
    """
    length = int(handler.headers["content-length"])
    body = handler.rfile.read(length)
    if len(body) < length:
        raise ConnectionError("the body is cut")
    return Received(handler.path, {name.lower(): value for name, value in handler.headers.items()}, body)


@contextmanager
def http_endpoint(
    script: Script = (), answer: Callable[[Received], Said | None] | None = None, tls: Path | None = None
) -> Iterator[Endpoint]:
    """Serve HTTP on a free port of the loopback interface.

    Args:
        script: What is answered.
        answer: Answers what the script leaves, several requests at a time; None from it is success.
        tls: A file with a certificate and its key, to serve HTTPS.
    """
    answers, ending = iter(script), threading.Event()
    lock = threading.Lock()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            request = _request_of(self)
            with lock:
                endpoint.received.append(request)
                said: Any = next(answers, None)
            said = said or (answer and answer(request)) or Said()
            if said is Silence:
                ending.wait(60)
                self.close_connection = True
            elif said is Reset:
                # Closed with a linger time of zero, the other side is told of an error.
                self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                self.connection.close()
                self.close_connection = True
            else:
                self._say(said, request)

        def _say(self, said: Said, request: Received) -> None:
            if said.status == 200:
                endpoint.accepted.append(request)
            self.send_response(said.status)
            for name, value in {"Content-Type": request.headers["content-type"], **said.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(said.body)))
            self.end_headers()
            self.wfile.write(said.body)

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """Clients that have gone are what is tested."""

    server = Server(("127.0.0.1", 0), Handler)
    scheme = "http"
    if tls is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(tls)
        server.socket = context.wrap_socket(server.socket, server_side=True)
        scheme = "https"
    endpoint = Endpoint(f"{scheme}://localhost:{server.server_port}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield endpoint
    finally:
        ending.set()
        server.shutdown()
        thread.join()
        with suppress(OSError):
            server.server_close()


@dataclass(frozen=True, slots=True)
class Failed:
    """A failure over gRPC."""

    code: str
    """The name of its code."""
    details: str = ""
    retry_after_s: float | None = None
    """Of a `RetryInfo` among the status's details; None for no details."""


@contextmanager
def grpc_endpoint(
    script: Sequence[Failed | type[Silence] | bytes] = (), tls: tuple[bytes, bytes] | None = None, port: int = 0
) -> Iterator[Endpoint]:
    """Serve gRPC on a free port of the loopback interface.

    Args:
        script: What is answered: failures, or a response's bytes.
        tls: Key and certificate, to serve over TLS.
        port: A port that is to be taken instead.
    """
    from concurrent.futures import ThreadPoolExecutor

    import grpc
    from google.protobuf.duration_pb2 import Duration
    from google.rpc.error_details_pb2 import RetryInfo
    from google.rpc.status_pb2 import Status

    answers, ending = iter(script), threading.Event()

    def export(body: bytes, context: Any) -> bytes:
        headers = {name: value for name, value in context.invocation_metadata() if isinstance(value, str)}
        request = Received(EXPORT_METHOD, headers, body)
        endpoint.received.append(request)
        said: Any = next(answers, b"")
        if said is Silence:
            ending.wait(60)
            said = b""
        if isinstance(said, Failed):
            if said.retry_after_s is not None:
                status = Status(code=grpc.StatusCode[said.code].value[0], message=said.details)
                status.details.add().Pack(RetryInfo(retry_delay=Duration(nanos=int(said.retry_after_s * 1e9))))
                context.set_trailing_metadata((("grpc-status-details-bin", status.SerializeToString()),))
            context.abort(grpc.StatusCode[said.code], said.details)
        endpoint.accepted.append(request)
        return bytes(said)

    class Traces(grpc.GenericRpcHandler):  # type: ignore[misc]
        def service(self, call: Any) -> Any:
            return grpc.unary_unary_rpc_method_handler(export) if call.method == EXPORT_METHOD else None

    with ThreadPoolExecutor(4) as threads:
        server = grpc.server(threads, (Traces(),), options=(("grpc.so_reuseport", 0),))
        where = f"localhost:{port}"
        if tls is None:
            port = server.add_insecure_port(where)
        else:
            port = server.add_secure_port(where, grpc.ssl_server_credentials([tls]))
        endpoint = Endpoint(f"{'http' if tls is None else 'https'}://localhost:{port}")
        server.start()
        try:
            yield endpoint
        finally:
            ending.set()
            server.stop(None).wait()
