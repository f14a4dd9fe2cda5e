"""Requests over gRPC, with the package grpcio, which is no dependency. Requests are bytes, and so are its answers."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from spanview.model.problems import PushError
from spanview.otlp.body import SERVICES, Signal
from spanview.otlp.over_http import USER_AGENT
from spanview.otlp.responses import Response, ResponseKind, response_of_code, response_of_message

if TYPE_CHECKING:
    from spanview.otlp.endpoint import Endpoint

_EXPORT: Final = f"/{SERVICES[Signal.TRACES]}/Export"
_STATUS_TRAILER: Final = "grpc-status-details-bin"
_NOT_SENT: Final = frozenset(("user-agent", "host", "te"))
"""Headers that are gRPC's own."""
_UNREACHABLE: Final = (
    # What the library says where it has reached nobody: `errors resolving nowhere.invalid:4317: […]`
    (re.compile("errors resolving|DNS resolution failed"), "unknown host {host}"),
    (
        re.compile("CERTIFICATE_VERIFY_FAILED"),
        "its certificate isn't trusted: OTEL_EXPORTER_OTLP_CERTIFICATE=FILE names the certificates to trust",
    ),
    (re.compile("SSL_ERROR|[Hh]andshake"), "TLS failed: does it take https there? http:// is without encryption"),
    (re.compile("Connection refused"), "nothing listens on port {port} of {host}"),
    (re.compile("Failed parsing HTTP/2|http1.x server"), "it speaks HTTP, not gRPC: try --protocol http/json"),
    (re.compile("[Ff]ailed to connect"), "it can't be reached on port {port} of {host}"),
)


class OverGrpc:
    """Asks an endpoint over gRPC.

    Raises:
        PushError: grpcio isn't installed, or a certificate or a key can't be read.
    """

    def __init__(self, endpoint: Endpoint) -> None:
        try:
            import grpc
        except ImportError:
            raise PushError(
                "gRPC needs the package grpcio: pip install 'spanview[otlp]', or send with --protocol http/json"
            ) from None
        self._grpc: Any = grpc
        self._endpoint = endpoint
        where = f"{f'[{endpoint.host}]' if ':' in endpoint.host else endpoint.host}:{endpoint.port}"
        # Sending again is the sender's.
        options = (("grpc.primary_user_agent", USER_AGENT), ("grpc.enable_retries", 0))
        if endpoint.is_secure:
            credentials = grpc.ssl_channel_credentials(
                _content(endpoint.certificate), _content(endpoint.client_key), _content(endpoint.client_certificate)
            )
            self._channel = grpc.secure_channel(where, credentials, options)
        else:
            self._channel = grpc.insecure_channel(where, options)
        self._export = self._channel.unary_unary(_EXPORT)
        self._headers = tuple((name, value) for name, value in endpoint.headers.items() if name not in _NOT_SENT)

    def request(self, body: bytes) -> Response:
        """Send a request and return what is answered, or that nothing is."""
        grpc = self._grpc
        try:
            content: bytes = self._export(
                body,
                timeout=self._endpoint.timeout_s,
                metadata=self._headers,
                compression=grpc.Compression.Gzip if self._endpoint.is_compressed else None,
            )
        except grpc.RpcError as error:
            return self._answer_of(error)
        return response_of_message(content)

    def _answer_of(self, error: Any) -> Response:
        code, details = error.code().name, error.details() or ""
        if code == "UNAVAILABLE":
            for pattern, reason in _UNREACHABLE:
                if pattern.search(details):
                    endpoint = self._endpoint
                    return Response(ResponseKind.UNREACHABLE, reason.format(host=endpoint.host, port=endpoint.port))
        if code == "DEADLINE_EXCEEDED":
            return Response(ResponseKind.RETRY, f"no answer within {self._endpoint.timeout_s:g} s")
        trailers = dict(error.trailing_metadata() or ())
        return response_of_code(code, details, trailers.get(_STATUS_TRAILER, b""))

    def close(self) -> None:
        """Close the connection."""
        self._channel.close()


def _content(path: str | None) -> bytes | None:
    if path is None:
        return None
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError as error:
        raise PushError(f"{path}: {error.strerror or error}") from None
