"""OTLP over gRPC, as the specification has it.

what is sent                                        status
----                                                ------
spans, or nothing                                   OK, with what was refused
no request; nothing of it can be kept               INVALID_ARGUMENT
more than there may be, decompressed too            RESOURCE_EXHAUSTED
while there is no room                              UNAVAILABLE, and when to try again
"""

from __future__ import annotations

import gc
from typing import TYPE_CHECKING, Any, Final

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo
from google.rpc.status_pb2 import Status
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceResponse

from receivers import Receiver, request_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

MAX_BODY: Final = 1 << 20
TRACES: Final = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
METRICS: Final = "/opentelemetry.proto.collector.metrics.v1.MetricsService/Export"
LOGS: Final = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"


@pytest.fixture(name="receiver", scope="module")
def start_receiver(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Receiver]:
    """Give an endpoint that takes requests of up to a MiB."""
    with Receiver(tmp_path_factory.mktemp("received"), "--max-body", str(MAX_BODY)) as receiver:
        yield receiver


@pytest.fixture(name="export")
def open_channel(receiver: Receiver) -> Iterator[Callable[..., bytes]]:
    """Give what sends a body, and returns the answer's."""
    with grpc.insecure_channel(f"localhost:{receiver.port('gRPC')}") as channel:

        def export(body: bytes, method: str = TRACES, **how: Any) -> bytes:
            call: Any = channel.unary_unary(method)
            answer: bytes = call(body, timeout=30, **how)
            return answer

        yield export
    gc.collect()


@pytest.mark.parametrize("compression", [grpc.Compression.NoCompression, grpc.Compression.Gzip])
def test_spans_are_written_before_they_are_answered(
    receiver: Receiver, export: Callable[..., bytes], compression: grpc.Compression
) -> None:
    """Compressed or not: the answer is empty, and the spans are in the file."""
    before = len(receiver.written())
    assert export(request_of(1, 2).SerializeToString(), compression=compression) == b""
    assert len(receiver.written()) == before + 2


@pytest.mark.parametrize("method", [TRACES, METRICS, LOGS])
def test_an_empty_request_is_success(export: Callable[..., bytes], method: str) -> None:
    """Of any signal."""
    assert export(b"", method) == b""


def test_what_is_refused_is_said(export: Callable[..., bytes]) -> None:
    """The rest is kept, and the answer counts."""
    request = request_of(1)
    request.MergeFrom(request_of(2, trace_id=b""))
    partial = ExportTraceServiceResponse.FromString(export(request.SerializeToString())).partial_success
    assert partial.rejected_spans == 1
    assert "trace id" in partial.error_message


def bomb(size: int) -> bytes:
    """Return a body of one span with a name of so many bytes."""
    body: bytes = request_of(1, name="n" * size).SerializeToString()
    return body


@pytest.mark.parametrize(
    ("body", "how", "code"),
    [
        (b"\x0a\xff", {}, grpc.StatusCode.INVALID_ARGUMENT),
        (request_of(1, span_id=b"").SerializeToString(), {}, grpc.StatusCode.INVALID_ARGUMENT),
        (bomb(MAX_BODY), {}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (bomb(MAX_BODY), {"compression": grpc.Compression.Gzip}, grpc.StatusCode.RESOURCE_EXHAUSTED),
        (b"", {"method": "/opentelemetry.Nothing/Export"}, grpc.StatusCode.UNIMPLEMENTED),
    ],
    ids=["no request", "no span", "too large", "too large when decompressed", "another service"],
)
def test_what_is_declined_has_its_status(
    receiver: Receiver, export: Callable[..., bytes], body: bytes, how: dict[str, Any], code: grpc.StatusCode
) -> None:
    """Nothing is written of it, and senders don't try again."""
    before = len(receiver.written())
    with pytest.raises(grpc.RpcError) as raised:
        export(body, **how)
    assert raised.value.code() is code
    assert not any(key == "grpc-status-details-bin" for key, _ in raised.value.trailing_metadata() or ())
    assert len(receiver.written()) == before


def test_a_bomb_takes_little_memory(receiver: Receiver, export: Callable[..., bytes]) -> None:
    """What would decompress to 200 MiB is declined before it does."""
    with pytest.raises(grpc.RpcError):
        export(bomb(200 << 20), compression=grpc.Compression.Gzip)
    assert receiver.peak_bytes() < 150 << 20


def test_without_room_is_said_when_to_try_again(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A body that is taken alone, but not beside others."""
    folder = tmp_path_factory.mktemp("received")
    body = request_of(*range(1, 20_000)).SerializeToString()
    with (
        Receiver(folder, "--max-body", str(len(body))) as receiver,
        grpc.insecure_channel(f"localhost:{receiver.port('gRPC')}") as channel,
    ):
        call = channel.unary_unary(TRACES, request_serializer=None, response_deserializer=None)
        sent = [call.future(body, timeout=60) for _ in range(12)]
        errors = [error for each in sent if (error := each.exception()) is not None]
        taken = len(sent) - len(errors)
        assert taken * 19_999 == len(receiver.written())
        assert errors
        for error in errors:
            assert isinstance(error, grpc.Call)
            assert error.code() is grpc.StatusCode.UNAVAILABLE
            (details,) = (value for key, value in error.trailing_metadata() if key == "grpc-status-details-bin")
            (detail,) = Status.FromString(details).details
            info = RetryInfo()
            assert detail.Unpack(info)
            assert info.retry_delay.seconds == 1
    gc.collect()
