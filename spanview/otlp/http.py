"""The server for OTLP over HTTP: `POST /v1/traces` with protobuf or JSON, and the same for logs and metrics.

what is sent                                        status
--------------------------------------------------  ------
spans, or nothing                                   200
not what it says it is; nothing of it can be kept   400
from a web page that isn't allowed to               403
to another path, by another method                  404, 405
not whole in time                                   408
larger than allowed, compressed, decompressed, or   413
decoded
of another type or compression                      415
while there is no room, or the disk is full         503, with Retry-After

Source: "OTLP/HTTP" in the OTLP specification.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError
from grpc import StatusCode

from spanview.otlp.body import Body, Encoding, MalformedError, Signal, TooLargeError
from spanview.otlp.intake import END_S, BusyError
from spanview.otlp.replies import RETRY_S, failure, success

if TYPE_CHECKING:
    import socket
    from collections.abc import Awaitable, Callable, Iterator, Sequence

    from spanview.otlp.intake import BodyQueue, Room

_FIRST_REQUEST_S: Final = 15.0
"""So long a connection may take until its first request has come, up to the body."""
_BODY_S: Final = 30.0
"""So long a body may take."""
_IDLE_S: Final = 75.0
_LINGER_S: Final = 5.0
"""So long is read and dropped what is left of a body, so that its sender sees why it was declined."""
_MAX_CONNECTIONS: Final = 1000
_PIECE_BYTES: Final = 256 * 1024
"""Bytes that are decompressed at a time."""
_MAX_MEMBERS: Final = 1000
"""Parts of a body that are compressed on their own: each takes as long as a longer one."""
_ZLIB_OR_GZIP: Final = 32 + zlib.MAX_WBITS
_COMPRESSED: Final = frozenset(("gzip", "deflate"))
_DECLINED: Final = (
    b"HTTP/1.1 503 Service Unavailable\r\nRetry-After: %d\r\nConnection: close\r\nContent-Length: 0\r\n\r\n" % RETRY_S
)
_CODES: Final = {
    HTTPStatus.BAD_REQUEST: StatusCode.INVALID_ARGUMENT,
    HTTPStatus.FORBIDDEN: StatusCode.PERMISSION_DENIED,
    HTTPStatus.NOT_FOUND: StatusCode.NOT_FOUND,
    HTTPStatus.METHOD_NOT_ALLOWED: StatusCode.UNIMPLEMENTED,
    HTTPStatus.REQUEST_TIMEOUT: StatusCode.DEADLINE_EXCEEDED,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE: StatusCode.RESOURCE_EXHAUSTED,
    HTTPStatus.UNSUPPORTED_MEDIA_TYPE: StatusCode.INVALID_ARGUMENT,
    HTTPStatus.SERVICE_UNAVAILABLE: StatusCode.UNAVAILABLE,
}


class _DeclinedError(Exception):
    """A request isn't taken.

    Args:
        closes: Whether some of it may not have been read, so that no other can follow.
    """

    def __init__(self, status: HTTPStatus, text: str, *, closes: bool = False) -> None:
        super().__init__(text)
        self.status, self.closes = status, closes


@dataclass(frozen=True, slots=True)
class HttpLimits:
    """What is taken from whom."""

    max_body: int
    """Bytes of a body, before it is decompressed and after."""
    origins: frozenset[str] = frozenset()
    """Where web pages come from that may send; `*` stands for any."""


class HttpServer:
    """Serves on some sockets."""

    def __init__(self, intake: BodyQueue, room: Room, limits: HttpLimits, say: Callable[[str], None]) -> None:
        self._intake, self._room, self._limits = intake, room, limits
        self._beginning: dict[object, asyncio.TimerHandle] = {}
        """Connections that no request has come by yet, and what ends them."""
        application = web.Application(middlewares=[self._answered])
        for signal in Signal:
            application.router.add_route("*", f"/v1/{signal}", self._export)
        # What isn't HTTP is answered, and of no concern to whoever runs this; what spanview does wrong is.
        logger = logging.getLogger("spanview.otlp.http")
        logger.propagate = False
        logger.handlers = [_Failures(say)]
        self._runner = web.AppRunner(
            application,
            access_log=None,
            logger=logger,
            auto_decompress=False,
            keepalive_timeout=_IDLE_S,
            lingering_time=_LINGER_S,
            shutdown_timeout=END_S,
            handle_signals=False,
        )
        self._servers: list[asyncio.Server] = []
        self._requests = 0
        """In hand."""
        self._is_ending = False
        self._is_idle = asyncio.Event()

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Begin to serve."""
        await self._runner.setup()
        loop = asyncio.get_running_loop()
        self._servers = [await loop.create_server(self._connection, sock=each) for each in sockets]

    async def stop(self) -> None:
        """Take no more requests, and answer those that are in hand."""
        for server in self._servers:
            server.close()
        self._is_ending = True
        # Those that haven't come whole get nothing more once the runner ends.
        with suppress(TimeoutError):
            async with asyncio.timeout(END_S):
                while self._requests:
                    self._is_idle.clear()
                    await self._is_idle.wait()
        for timer in self._beginning.values():
            timer.cancel()
        await self._runner.cleanup()

    def _connection(self) -> asyncio.BaseProtocol:
        """Return what serves a new connection."""
        server = self._runner.server
        assert server is not None  # noqa: S101 - for type checkers
        if len(server.connections) >= _MAX_CONNECTIONS:
            return _Full()
        handler = server()

        def end() -> None:
            del self._beginning[handler]
            if handler.transport is not None:
                handler.transport.abort()

        self._beginning[handler] = asyncio.get_running_loop().call_later(_FIRST_REQUEST_S, end)
        return handler

    @web.middleware
    async def _answered(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """Answer as it was asked, whatever happens."""
        if timer := self._beginning.pop(request.protocol, None):
            timer.cancel()
        encoding = Encoding.PROTOBUF if request.content_type == Encoding.PROTOBUF else Encoding.JSON
        closes, headers = False, self._cross_origin(request)
        self._requests += 1
        try:
            return await handler(request)
        except _DeclinedError as declined:
            status, text, closes = declined.status, str(declined), declined.closes
        except TooLargeError as error:
            status, text = HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)
        except MalformedError as error:
            status, text = HTTPStatus.BAD_REQUEST, str(error)
        except BusyError as error:
            status, text, closes = HTTPStatus.SERVICE_UNAVAILABLE, str(error), not request.content.at_eof()
            headers["Retry-After"] = str(RETRY_S)
        except web.HTTPException as error:
            status, text = HTTPStatus(error.status), error.reason
            if status is HTTPStatus.NOT_FOUND:
                text = f"{request.path}: there are /v1/traces, /v1/metrics and /v1/logs"
        finally:
            self._requests -= 1
            self._is_idle.set()
        code: int = _CODES.get(status, StatusCode.UNKNOWN).value[0]
        answer = web.Response(
            status=status, body=failure(code, text, encoding), content_type=encoding.value, headers=headers
        )
        if status is HTTPStatus.METHOD_NOT_ALLOWED:
            answer.headers["Allow"] = "POST"
        if closes:
            answer.force_close()
        return answer

    async def _export(self, request: web.Request) -> web.StreamResponse:
        origin = request.headers.get("Origin")
        if origin is not None and not self._limits.origins & {origin, "*"}:
            raise _DeclinedError(HTTPStatus.FORBIDDEN, f"web pages from {origin} may not send: see --cors", closes=True)
        if request.method == "OPTIONS" and origin is not None:
            return web.Response(status=HTTPStatus.NO_CONTENT, headers=self._preflight(request))
        if request.method != "POST":
            raise _DeclinedError(HTTPStatus.METHOD_NOT_ALLOWED, f"{request.method}: expected POST", closes=True)
        try:
            encoding = Encoding(request.content_type)
        except ValueError:
            text = f"{request.content_type}: expected {Encoding.PROTOBUF} or {Encoding.JSON}"
            raise _DeclinedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text, closes=True) from None
        if self._is_ending:
            raise BusyError("spanview is ending")
        async with _Reading(request, self._room, self._limits.max_body) as data:
            outcome = await self._intake.take(Body(data, encoding, Signal(request.path.rpartition("/")[2])))
        return web.Response(
            body=success(outcome, encoding), content_type=encoding.value, headers=self._cross_origin(request)
        )

    def _cross_origin(self, request: web.Request) -> dict[str, str]:
        origin = request.headers.get("Origin")
        if origin is None or not self._limits.origins & {origin, "*"}:
            return {}
        return {"Access-Control-Allow-Origin": origin, "Vary": "Origin"}

    def _preflight(self, request: web.Request) -> dict[str, str]:
        return self._cross_origin(request) | {
            "Access-Control-Allow-Methods": "POST",
            "Access-Control-Allow-Headers": request.headers.get("Access-Control-Request-Headers", "content-type"),
            "Access-Control-Max-Age": "7200",
        }


class _Failures(logging.Handler):
    """Tells of errors that are spanview's own, of what the server reports."""

    def __init__(self, say: Callable[[str], None]) -> None:
        super().__init__(logging.ERROR)
        self._say = say

    def emit(self, record: logging.LogRecord) -> None:
        """Tell of one."""
        error = record.exc_info[1] if record.exc_info else None
        if not isinstance(error, HttpProcessingError):
            self._say(f"a request failed: {error!r}")


class _Full(asyncio.Protocol):
    """Declines a connection."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Answer, whatever is asked."""
        assert isinstance(transport, asyncio.WriteTransport)  # noqa: S101 - for type checkers
        transport.write(_DECLINED)
        transport.close()


class _Reading:
    """A body that is read and decompressed, and takes room as long as it is used."""

    def __init__(self, request: web.Request, room: Room, max_body: int) -> None:
        self._request, self._room, self._max_body = request, room, max_body
        self._taken = 0

    async def __aenter__(self) -> bytearray:
        try:
            async with asyncio.timeout(_BODY_S):
                return await self._read()
        except TimeoutError:
            self._release()
            raise _DeclinedError(HTTPStatus.REQUEST_TIMEOUT, "the body didn't come in time", closes=True) from None
        except BaseException:
            self._release()
            raise

    async def __aexit__(self, *_: object) -> None:
        self._release()

    def _release(self) -> None:
        self._room.give(self._taken)
        self._taken = 0

    def _take(self, number: int) -> None:
        if self._taken + number > self._max_body:
            raise self._too_large()
        self._room.take(number)
        self._taken += number

    def _too_large(self) -> _DeclinedError:
        text = f"more than {self._max_body:,} bytes: see --max-body"
        return _DeclinedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, text, closes=True)

    async def _read(self) -> bytearray:
        coding = self._request.headers.get("Content-Encoding", "identity").lower()
        inflate = None if coding == "identity" else _Inflating(coding)
        if (self._request.content_length or 0) > self._max_body:
            raise self._too_large()
        # Parts that are joined in the end would take twice the room for a moment.
        received, body = 0, bytearray()
        try:
            async for data in self._request.content.iter_any():
                received += len(data)
                if received > self._max_body:
                    raise self._too_large()
                for part in (data,) if inflate is None else inflate.feed(data):
                    self._take(len(part))
                    body += part
        except (HttpProcessingError, ConnectionError) as error:
            raise _DeclinedError(HTTPStatus.BAD_REQUEST, f"the body can't be read: {error}", closes=True) from None
        if inflate is not None and not inflate.is_whole:
            raise _DeclinedError(HTTPStatus.BAD_REQUEST, f"a body that isn't whole in {coding}")
        return body


class _Inflating:
    """Decompresses, a piece at a time."""

    def __init__(self, coding: str) -> None:
        if coding not in _COMPRESSED:
            text = f"{coding}: expected gzip, deflate, or no compression"
            raise _DeclinedError(HTTPStatus.UNSUPPORTED_MEDIA_TYPE, text, closes=True)
        self._coding = coding
        self._inflate = zlib.decompressobj(_ZLIB_OR_GZIP)
        self._members = 1
        self.is_whole = True
        """Whether what was fed ends where what was compressed does."""

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what more compressed bytes hold."""
        try:
            is_full = False
            while data or is_full:
                if self._inflate.eof:
                    self._begin_member()
                piece = self._inflate.decompress(data, _PIECE_BYTES)
                yield piece
                self.is_whole = self._inflate.eof
                data = self._inflate.unconsumed_tail or self._inflate.unused_data
                is_full = len(piece) == _PIECE_BYTES and not self.is_whole
        except zlib.error:
            raise _DeclinedError(
                HTTPStatus.BAD_REQUEST, f"a body that isn't {self._coding}, as it says", closes=True
            ) from None

    def _begin_member(self) -> None:
        """Begin anew: several compressed parts may follow each other."""
        self._members += 1
        if self._members > _MAX_MEMBERS:
            raise zlib.error("too many members")
        self._inflate = zlib.decompressobj(_ZLIB_OR_GZIP)
