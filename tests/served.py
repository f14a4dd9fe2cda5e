"""`spanview --web` in the background, what it answers, and tabs that are opened without a browser."""

from __future__ import annotations

import http.client
import json
import time
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self
from urllib.parse import urlsplit

import aiohttp
import psutil

from programs import DEADLINE_S, Following
from terminals import Picture

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping, Sequence
    from pathlib import Path
    from types import TracebackType

_SIZE: Final = (110, 36)


@dataclass(frozen=True, slots=True)
class Answer:
    """What a server has answered."""

    status: int
    headers: Mapping[str, str]
    text: str


class Served:
    """A server of viewers, in a context that ends it.

    Args:
        words: PATHs and options.
        program: What runs, where it isn't this interpreter.
        folder: Where it runs.
    """

    def __init__(self, *words: str | Path, program: Sequence[str] | None = None, folder: Path | None = None) -> None:
        self.process = Following("--web", *words, program=program, folder=folder)

    def __enter__(self) -> Self:
        self.process.wait_for(lambda: bool(self.process.lines))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.__exit__(kind, error, trace)

    @property
    def address(self) -> str:
        """What it has printed."""
        return self.process.lines[0]

    @property
    def port(self) -> int:
        """Where it is."""
        port = urlsplit(self.address).port
        assert port is not None
        return port

    @property
    def path(self) -> str:
        """The path of its page, which ends with a slash."""
        return urlsplit(self.address).path

    @property
    def viewers(self) -> list[psutil.Process]:
        """The processes of its tabs."""
        there = psutil.Process(self.process.pid).children()
        return [process for process in there if process.status() != psutil.STATUS_ZOMBIE]

    def ask(self, path: str, method: str = "GET", **headers: str) -> Answer:
        """Return what is answered.

        Args:
            path: What is asked for.
            method: How.
            headers: What comes with it, with `_` for `-`; a `Host` takes the place of the right one.
        """
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=DEADLINE_S)
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        response = connection.getresponse()
        is_socket = response.status == http.client.SWITCHING_PROTOCOLS
        answer = Answer(response.status, dict(response.headers), "" if is_socket else response.read().decode())
        connection.close()
        return answer

    def ask_for_socket(self, **headers: str) -> Answer:
        """Return what is answered to whoever opens a tab, and leave it at once."""
        handshake = {"Upgrade": "websocket", "Connection": "Upgrade", "Sec_WebSocket_Version": "13"}
        return self.ask(f"{self.path}socket/dark", Sec_WebSocket_Key="c3BhbnZpZXctc3BhbnZpZQ==", **handshake, **headers)


class OpenTab:
    """A tab, as its page has it."""

    def __init__(self, socket: aiohttp.ClientWebSocketResponse) -> None:
        self._socket = socket
        self._output = b""
        self._picture = Picture(_SIZE)

    @property
    def lines(self) -> list[str]:
        """What is on its screen."""
        self._picture.draw(self._output)
        return self._picture.lines

    async def send(self, *message: object) -> None:
        """Send a message."""
        await self._socket.send_str(json.dumps(message))

    async def press(self, keys: str) -> None:
        """Send keys, as a terminal does."""
        await self.send("stdin", keys)

    async def until(self, *texts: str) -> None:
        """Wait until texts are on the screen, each within a line."""
        until = time.monotonic() + DEADLINE_S
        while not all(any(text in line for line in self.lines) for text in texts):
            try:
                message = await self._socket.receive(max(0.0, until - time.monotonic()))
            except TimeoutError:
                raise AssertionError(f"{texts} not in {self.lines}") from None
            assert message.type in {aiohttp.WSMsgType.BINARY, aiohttp.WSMsgType.TEXT}, (message, self.lines)
            self._output += message.data if isinstance(message.data, bytes) else b""

    async def ends(self) -> str:
        """Wait until it is closed, and return what was sent until then."""
        while True:
            message = await self._socket.receive(DEADLINE_S)
            if message.type is not aiohttp.WSMsgType.BINARY:
                return self._output.decode("utf-8", "replace")
            self._output += message.data


@asynccontextmanager
async def open_tab(address: str) -> AsyncIterator[OpenTab]:
    """Open a tab at the address that a server has printed; it is closed behind the context."""
    socket_address = f"{address.replace('http', 'ws', 1)}socket/dark?width={_SIZE[0]}&height={_SIZE[1]}"
    origin = f"http://{urlsplit(address).netloc}"
    async with aiohttp.ClientSession() as session, session.ws_connect(socket_address, origin=origin) as socket:
        yield OpenTab(socket)


def are_gone_soon(processes: Sequence[psutil.Process]) -> bool:
    """Wait until processes have ended; tell whether they have."""
    until = time.monotonic() + DEADLINE_S
    while any(_runs(process) for process in processes):
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def _runs(process: psutil.Process) -> bool:
    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
