"""Requests over HTTP, with connections that are kept, one for each request at a time. Redirects aren't followed."""

from __future__ import annotations

import gzip
import http.client
import socket
import ssl
import time
from contextlib import suppress
from http.client import HTTPConnection, HTTPException, HTTPSConnection, IncompleteRead
from typing import TYPE_CHECKING, Final

from spanview.model.problems import PushError
from spanview.otlp.body import Encoding
from spanview.otlp.endpoint import OtlpProtocol
from spanview.otlp.responses import Response, ResponseKind, response_of_status
from spanview.version import __version__

if TYPE_CHECKING:
    from http.client import HTTPResponse

    from spanview.otlp.endpoint import Endpoint

USER_AGENT: Final = f"spanview/{__version__}"
_CONTENT_TYPES: Final = {
    OtlpProtocol.HTTP_JSON: Encoding.JSON.value,
    OtlpProtocol.HTTP_PROTOBUF: Encoding.PROTOBUF.value,
}
_GZIP_LEVEL: Final = 1
"""3 µs a span for a tenth of its bytes; the next levels take twice as long for a fiftieth less."""
_MAX_ANSWER_BYTES: Final = 4 * 1024 * 1024
_BLOCK_BYTES: Final = 64 * 1024
_MAX_HEADERS: Final = 10_000
"""Headers of an answer. Gateways add many, and Python takes 100, which can be said of one connection from 3.15 on."""
http.client._MAXHEADERS = _MAX_HEADERS  # type: ignore[attr-defined]  # noqa: SLF001


class OverHttp:
    """Asks an endpoint over HTTP; several threads may do so at a time.

    Raises:
        PushError: A certificate or a key can't be used.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._context = _tls_context(endpoint) if endpoint.is_secure else None
        self._idle: list[HTTPConnection] = []
        self._headers = {
            "user-agent": USER_AGENT,
            **endpoint.headers,
            "content-type": _CONTENT_TYPES[endpoint.protocol],
        }
        if endpoint.is_compressed:
            self._headers["content-encoding"] = "gzip"

    def request(self, body: bytes) -> Response:
        """Send a request and return what is answered, or that nothing is."""
        if self._endpoint.is_compressed:
            body = gzip.compress(body, _GZIP_LEVEL)
        try:
            while self._idle:
                # One that was kept may have been closed by the other side meanwhile, which is no failure.
                with suppress(ConnectionError, HTTPException, ssl.SSLError, IndexError):
                    return self._exchange(self._idle.pop(), body)
            return self._exchange(self._connected(), body)
        except (OSError, HTTPException) as error:
            return self._answer_of(error)

    def _connected(self) -> HTTPConnection:
        where = self._endpoint.host, self._endpoint.port
        timeout_s = self._endpoint.timeout_s
        connection = (
            HTTPConnection(*where, timeout=timeout_s)
            if self._context is None
            else HTTPSConnection(*where, timeout=timeout_s, context=self._context)
        )
        try:
            connection.connect()
        except TimeoutError:
            raise _NotConnectedError(f"no connection to port {where[1]} of {where[0]} within {timeout_s:g} s") from None
        except (ConnectionRefusedError, ConnectionResetError):
            raise _NotConnectedError(f"nothing listens on port {where[1]} of {where[0]}") from None
        return connection

    def _exchange(self, connection: HTTPConnection, body: bytes) -> Response:
        """Send a request by a connection, which is kept if it can be used again, and closed otherwise."""
        try:
            answer, is_kept = self._answer_by(connection, body)
        except BaseException:
            connection.close()
            raise
        if is_kept:
            self._idle.append(connection)
        else:
            connection.close()
        return answer

    def _answer_by(self, connection: HTTPConnection, body: bytes) -> tuple[Response, bool]:
        """Return the answer to a request, and whether another request can follow."""
        deadline_s = time.monotonic() + self._endpoint.timeout_s
        # What is too large, or refused, may be answered before all of it was sent.
        with suppress(BrokenPipeError, ConnectionResetError):
            connection.request("POST", self._endpoint.path, body, self._headers)
        with connection.getresponse() as response:
            content = _content(response, deadline_s)
            headers = {name.lower(): value for name, value in response.getheaders()}
            # What is left of an answer would be taken for the next one.
            is_whole = response.isclosed() or response.length == 0
            answer = response_of_status(response.status, headers, content, time.time())
            return answer, is_whole and not response.will_close

    def _answer_of(self, error: OSError | HTTPException) -> Response:
        """Return what follows from having no answer."""
        endpoint = self._endpoint
        if isinstance(error, ssl.SSLCertVerificationError):
            advice = "OTEL_EXPORTER_OTLP_CERTIFICATE=FILE names the certificates to trust"
            return Response(ResponseKind.HOPELESS, f"its certificate isn't trusted ({error.verify_message}): {advice}")
        if isinstance(error, ssl.SSLError):
            reason = str(error.reason or error)
            advice = "does it take https there? http:// is without encryption"
            return Response(ResponseKind.UNREACHABLE, f"TLS failed ({reason}): {advice}")
        if isinstance(error, socket.gaierror):
            return Response(ResponseKind.UNREACHABLE, f"unknown host {endpoint.host}")
        if isinstance(error, TimeoutError):
            return Response(ResponseKind.RETRY, f"no answer within {endpoint.timeout_s:g} s")
        if isinstance(error, ConnectionError):
            return Response(ResponseKind.RETRY, f"the connection was lost{_advice(endpoint)}")
        if isinstance(error, HTTPException):
            return Response(
                ResponseKind.UNREACHABLE, "what answers there speaks no HTTP; gRPC, perhaps: try --protocol grpc"
            )
        return Response(ResponseKind.UNREACHABLE, error.strerror or str(error))

    def close(self) -> None:
        """Close the connections that wait; the next request opens another one."""
        while self._idle:
            self._idle.pop().close()


class _NotConnectedError(OSError):
    """There is no connection; the text says why."""


def _advice(endpoint: Endpoint) -> str:
    return "; port 4317 is mostly gRPC's: try --protocol grpc, or port 4318" if endpoint.port == 4317 else ""  # noqa: PLR2004


def _content(response: HTTPResponse, deadline_s: float) -> bytes:
    """Return the body of an answer, or as much of it as is wanted.

    Raises:
        TimeoutError: It doesn't come in time, though something comes all the time.
    """
    content = bytearray()
    # The status has come: what breaks off behind it is as good as nothing.
    with suppress(IncompleteRead):
        while len(content) < _MAX_ANSWER_BYTES and (block := response.read1(_BLOCK_BYTES)):
            content += block
            if time.monotonic() > deadline_s:
                raise TimeoutError
    return bytes(content)


def _tls_context(endpoint: Endpoint) -> ssl.SSLContext:
    try:
        context = ssl.create_default_context(cafile=endpoint.certificate)
    except (OSError, ValueError) as error:
        raise PushError(f"OTEL_EXPORTER_OTLP_CERTIFICATE={endpoint.certificate}: {_why(error)}") from None
    if endpoint.client_certificate is not None:
        try:
            context.load_cert_chain(endpoint.client_certificate, endpoint.client_key)
        except (OSError, ValueError) as error:
            name = "OTEL_EXPORTER_OTLP_CLIENT_CERTIFICATE"
            raise PushError(f"{name}={endpoint.client_certificate}: {_why(error)}") from None
    return context


def _why(error: OSError | ValueError) -> str:
    return f"no certificate can be read ({getattr(error, 'reason', None) or getattr(error, 'strerror', None) or error})"
