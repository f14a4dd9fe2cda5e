"""The server for OTLP over gRPC: the three services, each with its method `Export`.

what is sent                                 status
-------------------------------------------  ---------------------------------
spans, or nothing                            OK
not a request; nothing of it can be kept     INVALID_ARGUMENT
larger than allowed                          RESOURCE_EXHAUSTED
while there is no room, or the disk is full  UNAVAILABLE, with a `RetryInfo`

Source: "OTLP/gRPC" in the OTLP specification.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import grpc
from google.protobuf.any_pb2 import Any as AnyMessage
from google.protobuf.duration_pb2 import Duration
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from grpc import aio

from spanview.model.problems import ReceiveError
from spanview.otlp.body import SERVICES, Body, Encoding, MalformedError
from spanview.otlp.intake import END_S, BusyError
from spanview.otlp.replies import RETRY_S, success

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Sequence

    from spanview.otlp.body import Signal
    from spanview.otlp.intake import BodyQueue, Room

_STREAMS: Final = 16
"""Requests of one connection at a time; others wait at the sender's."""


class GrpcServer:
    """Serves at some addresses."""

    def __init__(self, intake: BodyQueue, room: Room, max_body: int) -> None:
        self._intake, self._room = intake, room
        self._server = aio.server(
            options=(
                ("grpc.so_reuseport", 0),
                ("grpc.max_receive_message_length", max_body),
                ("grpc.max_concurrent_streams", _STREAMS),
            )
        )
        for signal, service in SERVICES.items():
            method = grpc.unary_unary_rpc_method_handler(self._export_of(signal))
            self._server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(service, {"Export": method}),))

    async def start(self, addresses: Sequence[str], port: int) -> int:
        """Begin to serve, and return the port.

        Raises:
            ReceiveError: It is taken.
        """
        for address in addresses:
            host = f"[{address}]" if ":" in address else address
            try:
                bound = self._server.add_insecure_port(f"{host}:{port}")
            except RuntimeError:
                bound = 0
            if not bound:
                raise ReceiveError(f"{host}:{port} is in use: give another port with --grpc, or off")
            # The others get the one that the system has chosen.
            port = bound
        await self._server.start()
        return port

    async def stop(self) -> None:
        """Take no more requests, and answer those that are in hand."""
        await self._server.stop(END_S)

    def _export_of(self, signal: Signal) -> Callable[[bytes, aio.ServicerContext[Any, Any]], Awaitable[bytes]]:
        async def export(data: bytes, context: aio.ServicerContext[Any, Any]) -> bytes:
            try:
                self._room.take(len(data))
                try:
                    outcome = await self._intake.take(Body(data, Encoding.PROTOBUF, signal))
                finally:
                    self._room.give(len(data))
            except MalformedError as error:
                await context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))
            except BusyError as error:
                context.set_trailing_metadata((("grpc-status-details-bin", _retry(str(error))),))
                await context.abort(grpc.StatusCode.UNAVAILABLE, str(error))
            return success(outcome, Encoding.PROTOBUF)

        return export


def _retry(text: str) -> bytes:
    """Return the details of a status that says when to try again."""
    info = AnyMessage()
    info.Pack(RetryInfo(retry_delay=Duration(seconds=RETRY_S)))
    code: int = grpc.StatusCode.UNAVAILABLE.value[0]
    serialized: bytes = Status(code=code, message=text, details=[info]).SerializeToString()
    return serialized
