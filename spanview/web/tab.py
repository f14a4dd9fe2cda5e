"""The process of one tab: a viewer that paints into a socket, and ends with it.

A viewer and whoever shows it send each other packets: their kind, four bytes with the length of what follows, and that.
`D` has what a terminal would be sent, or sends, `M` has JSON. Before its first packet, and again where it begins anew
in the same process, the viewer greets. Source: `textual/drivers/web_driver.py`.

textual-serve has a class for this, which starts a shell, offers files to download, opens addresses, and waits for ever
where a process doesn't end.
"""

from __future__ import annotations

import asyncio
import os
import signal
import struct
import sys
from asyncio.subprocess import PIPE
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Self

import orjson

if TYPE_CHECKING:
    from asyncio import StreamReader, StreamWriter
    from asyncio.subprocess import Process
    from collections.abc import Awaitable, Callable, Mapping, Sequence

_HEAD: Final = struct.Struct(">cI")
_TERMINAL, _META = b"D", b"M"
_GREETING: Final = b"__GANGLION__\n"
_END_S: Final = 2.0
"""So long after it was asked to end, a process is killed."""
_MAX_COMPLAINT: Final = 4096
"""Bytes of the end of its standard error that are kept."""
_DEFAULT_SIZE: Final = (80, 24)
_MAX_SIZE: Final = (1000, 500)
_VARIABLES: Final = {
    "TEXTUAL_DRIVER": "textual.drivers.web_driver:WebDriver",
    "TEXTUAL_COLOR_SYSTEM": "truecolor",
    "TERM": "xterm-256color",
    # A browser shows every character, whatever the terminal does that this was started in.
    "PYTHONIOENCODING": "utf-8",
}
_THIS_TERMINALS: Final = frozenset(("TEXTUAL", "COLUMNS", "LINES", "ROWS", "COLORFGBG"))
"""Variables that say what the browser isn't."""


@dataclass(frozen=True, slots=True)
class TabSize:
    """Cells across and down, no more of them than any screen has."""

    width: int
    height: int

    @classmethod
    def of(cls, width: object, height: object) -> Self:
        """Return what a page says, as numbers or digits; the usual where that is no size."""
        sizes = []
        for value, default, most in zip((width, height), _DEFAULT_SIZE, _MAX_SIZE, strict=True):
            text = str(value)
            is_number = text.isascii() and text.isdigit() and int(text[:9]) > 0
            sizes.append(min(int(text[:9]), most) if is_number else default)
        return cls(*sizes)


class Tab:
    """A viewer in a process of its own."""

    def __init__(self, process: Process, size: TabSize) -> None:
        assert process.stdin is not None and process.stdout is not None and process.stderr is not None  # noqa: PT018, S101
        self._process = process
        self._size = size
        self._input: StreamWriter = process.stdin
        self._output: StreamReader = process.stdout
        self._errors: StreamReader = process.stderr
        self._complaint = b""

    @classmethod
    async def begin(
        cls, words: Sequence[str], environment: Mapping[str, str], size: TabSize, piped: int | None, *, is_light: bool
    ) -> Self:
        """Start a viewer by a program and its words; the descriptor of what is piped in is kept by it alone."""
        variables = {name: value for name, value in environment.items() if name not in _THIS_TERMINALS} | _VARIABLES
        variables |= {"COLUMNS": str(size.width), "ROWS": str(size.height)}
        variables |= {"COLORFGBG": "0;15" if is_light else "15;0"}
        try:
            process = await asyncio.create_subprocess_exec(
                *words,
                stdin=PIPE,
                stdout=PIPE,
                stderr=PIPE,
                env=variables,
                # Ctrl+C is for the server, which ends it; and whatever it has started ends with it.
                start_new_session=True,
                pass_fds=() if piped is None else (piped,),
            )
        finally:
            if piped is not None:
                os.close(piped)
        return cls(process, size)

    async def paint(self, send: Callable[[bytes], Awaitable[None]]) -> str:
        """Send what a terminal would be sent until the viewer ends, and return what it complained of if it failed."""
        listening = asyncio.create_task(self._listen())
        try:
            await self._greeted()
            while True:
                kind, length = _HEAD.unpack(await self._output.readexactly(_HEAD.size))
                payload = await self._output.readexactly(length)
                if kind == _TERMINAL:
                    # Where nobody looks any more, it is still to end and not to wait.
                    with suppress(ConnectionError):
                        await send(payload)
                elif kind == _META and orjson.loads(payload).get("type") == "exit":
                    # It ends, or begins anew: to follow what it shows.
                    await self._greeted()
        except asyncio.IncompleteReadError:
            status = await self._process.wait()
        await listening
        return self._complaint.decode("utf-8", "replace") if status else ""

    async def _greeted(self) -> None:
        await self._output.readuntil(_GREETING)
        # What was told while it began is not known to it.
        await self.resize(self._size)

    async def _listen(self) -> None:
        """Pass on to standard error what it complains of."""
        while data := await self._errors.read(_MAX_COMPLAINT):
            self._complaint = (self._complaint + data)[-_MAX_COMPLAINT:]
            sys.stderr.buffer.write(data)
            sys.stderr.flush()

    async def type(self, text: str) -> None:
        """Send what a terminal sends: keys, clicks, what is pasted."""
        await self._send(_TERMINAL, text.encode("utf-8", "replace"))

    async def resize(self, size: TabSize) -> None:
        """Tell it how large the terminal is now."""
        self._size = size
        await self.tell("resize", width=size.width, height=size.height)

    async def tell(self, kind: str, **more: int) -> None:
        """Tell it what no terminal says, as `focus`."""
        await self._send(_META, orjson.dumps({"type": kind, **more}))

    async def _send(self, kind: bytes, payload: bytes) -> None:
        # It may have ended a moment ago.
        with suppress(ConnectionError):
            self._input.write(_HEAD.pack(kind, len(payload)) + payload)
            await self._input.drain()

    async def end(self) -> None:
        """End it and what it has started, and wait for that."""
        process = self._process
        if process.returncode is None:
            with suppress(ProcessLookupError):
                process.terminate()
            with suppress(TimeoutError):
                await asyncio.wait_for(process.wait(), _END_S)
        with suppress(ProcessLookupError, PermissionError):
            if os.name == "posix":
                os.killpg(process.pid, signal.SIGKILL)
            elif process.returncode is None:
                process.kill()
        await process.wait()
