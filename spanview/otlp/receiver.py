"""Receiving from start to end: ports, what is said, and the end by a signal."""

from __future__ import annotations

import asyncio
import errno
import os
import signal
import socket
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.display.units import count
from spanview.model.problems import ReceiveError
from spanview.otlp.body import Signal
from spanview.otlp.grpc_service import GrpcServer
from spanview.otlp.http import HttpLimits, HttpServer
from spanview.otlp.intake import BodyQueue, Room
from spanview.otlp.span_log import LogLimits, ReceivedFiles

if TYPE_CHECKING:
    from collections.abc import Callable, Collection

_ROOM: Final = 2
"""How many of the largest bodies may be in hand at a time."""
_DECODED_BYTES: Final = 192 * 1024 * 1024
_DECODED_PER_BODY: Final = 3
"""How much memory one body may take while it is decoded: so much, or so many times the largest one."""
_BACKLOG: Final = 256


@dataclass(frozen=True, slots=True)
class ReceiveOptions:
    """What is received where, and where it goes."""

    folder: str
    host: str
    """A name or an address of this host."""
    http_port: int | None
    """0 for any that is free, None for no HTTP."""
    grpc_port: int | None
    """0 for any that is free, None for no gRPC."""
    limits: LogLimits
    http_limits: HttpLimits
    keep: Collection[Signal] = ()
    """What is kept besides traces, in hidden folders."""


def receive(options: ReceiveOptions, say: Callable[[str], None], ready: Callable[[str], None]) -> None:
    """Receive until SIGINT or SIGTERM.

    Args:
        ready: Takes where is received, and into what, once that is so.

    Raises:
        ReceiveError: The folder can't be written to, or a port is taken.
    """
    made = _made(options.folder)
    try:
        asyncio.run(_receive(options, say, ready))
    except ReceiveError:
        # Nothing was received.
        for folder in made:
            with suppress(OSError):
                os.rmdir(folder)
        raise


async def _receive(options: ReceiveOptions, say: Callable[[str], None], ready: Callable[[str], None]) -> None:
    stop = asyncio.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        asyncio.get_running_loop().add_signal_handler(number, stop.set)
    logs = {
        kind: ReceivedFiles(folder, options.limits, lambda path: say(f"removed {path}, to stay within --max-bytes"))
        for kind, folder in _folders(options).items()
    }
    addresses = _addresses_of(options.host)
    room = Room(_ROOM * options.http_limits.max_body)
    sockets = [] if options.http_port is None else _bound(addresses, options.http_port)
    intake = BodyQueue(logs, say, max(_DECODED_BYTES, _DECODED_PER_BODY * options.http_limits.max_body))
    try:
        http = HttpServer(intake, room, options.http_limits, say)
        grpc = GrpcServer(intake, room, options.http_limits.max_body)
        places = []
        if options.grpc_port is not None:
            port = await grpc.start(addresses, options.grpc_port)
            places.append(f"http://{_shown(options.host)}:{port} (gRPC)")
        if sockets:
            await http.start(sockets)
            places.insert(0, f"http://{_shown(options.host)}:{sockets[0].getsockname()[1]} (HTTP)")
        ready(f"{' and '.join(places)}, into {options.folder}")
        await stop.wait()
        await asyncio.gather(http.stop(), grpc.stop())
    finally:
        # What is in hand is written, and this thread has nothing else to do.
        intake.close()
    say(_summary(intake, logs[Signal.TRACES], options.folder))


def _made(folder: str) -> list[str]:
    """Make the folder where it isn't there, and return what was made for that, innermost first.

    Raises:
        ReceiveError: It can't be made, or written to.
    """
    missing = list[str]()
    try:
        path = os.path.abspath(folder)
        while not os.path.lexists(path):
            missing.append(path)
            path = os.path.dirname(path)
        os.makedirs(folder, exist_ok=True)
    except FileNotFoundError:
        raise ReceiveError(f"{folder}: the folder that this is in has been removed: go to another one") from None
    except OSError as error:
        raise ReceiveError(f"{folder}: {error.strerror}; give another folder with --dir") from None
    if not os.access(folder, os.W_OK | os.X_OK):
        raise ReceiveError(f"{folder}: no permission to write; give another folder with --dir")
    return missing


def _folders(options: ReceiveOptions) -> dict[Signal, str]:
    """Return where each signal is kept; hidden folders aren't searched for spans."""
    others = {kind: os.path.join(options.folder, f".{kind}") for kind in Signal if kind in options.keep}
    return {Signal.TRACES: options.folder} | others


def _addresses_of(host: str) -> list[str]:
    """Return the addresses of a host that can be listened at: `localhost` has two, mostly.

    Raises:
        ReceiveError: There is none.
    """
    addresses, reason = list[str](), ""
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise ReceiveError(f"--host {host}: {error.strerror}") from None
    for address in dict.fromkeys(str(address[0]) for *_, address in found):
        try:
            _listening(address, 0).close()
        except OSError as error:
            reason = str(error.strerror)
        else:
            addresses.append(address)
    if not addresses:
        raise ReceiveError(f"--host {host}: {reason}")
    return addresses


def _bound(addresses: list[str], port: int) -> list[socket.socket]:
    """Return sockets that are bound to a port of each address.

    Raises:
        ReceiveError: It is taken.
    """
    sockets: list[socket.socket] = []
    for address in addresses:
        try:
            # Those that follow get the one that the system has chosen.
            sockets.append(_listening(address, sockets[0].getsockname()[1] if sockets else port))
        except OSError as error:
            for other in sockets:
                other.close()
            reason = "is in use" if error.errno == errno.EADDRINUSE else f"can't be opened ({error.strerror})"
            raise ReceiveError(f"{address}:{port} {reason}: give another port with --http, or off") from None
    return sockets


def _listening(address: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    return socket.create_server((address, port), family=family, backlog=_BACKLOG)


def _shown(host: str) -> str:
    return f"[{host}]" if ":" in host else host


def _summary(intake: BodyQueue, log: ReceivedFiles, folder: str) -> str:
    """Return what there was, as `received 1,204 spans in 3 requests, in 1 file of spans; refused 2 spans: …`."""
    received = intake.received
    text = (
        f"received {count(received.spans, 'span')} in {count(received.requests, 'request')}, "
        f"in {count(log.files, 'file')} of {folder}"
    )
    if log.removals:
        text += f"; removed {count(log.removals, 'file')}, to stay within --max-bytes"
    for kind in (Signal.METRICS, Signal.LOGS):
        if kept := received.kept[kind]:
            text += f"; kept {count(kept, 'request')} of {kind}"
        if dropped := received.dropped[kind]:
            text += f"; dropped {count(dropped, 'request')} of {kind}"
    for reason, spans in received.refused.most_common():
        text += f"; refused {count(spans, 'span')}: {reason}"
    return text
