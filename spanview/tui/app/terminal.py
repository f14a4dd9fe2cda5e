"""What a terminal sends: keys are keys and what is pasted is text, whatever bytes are in it.

A shim for textual 8, whose driver ends with the program at bytes that are no UTF-8, takes escape sequences in what is
pasted for keys, and draws on standard error, whatever that is. It goes when textual reads a paste up to its end, and
draws on a terminal. Its driver for browsers goes on when the server is gone, and takes a moment's keys along when it
ends, though another one may have begun.
"""

from __future__ import annotations

import os
import re
import sys
from codecs import getincrementaldecoder
from collections import deque
from contextlib import suppress
from select import select
from typing import TYPE_CHECKING, Any, Final, TextIO

from textual.events import Paste

from spanview.tui.shims import BROWSER, TERMINAL

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.drivers.linux_driver import LinuxDriver

_MAX_PASTED_BYTES: Final = 65_536
"""Characters of one pasted text that are kept."""
_BEGIN, _END = "\x1b[200~", "\x1b[201~"
_MARK: Final = len(_BEGIN)
_PIECE: Final = 4096
_LAST_READ_S: Final = 0.5
"""So long the last read is waited for, which takes a tenth of a second."""
_POLL_INTERVAL_S: Final = 0.1
_ESCAPE: Final = "\x1b"
_ESCAPE_S: Final = 0.02
"""So long is waited for the rest of a key behind an escape, where nobody has set ESCDELAY: Esc is a key, too."""
_ESCAPE_KEY: Final = "\x1b[27u"
"""Esc as the kitty protocol has it: nothing behind it can be taken for a part of it."""
_BARE: Final = re.compile(r"\x1b(?![\[\]OPNX^_\\])")
"""An escape with which no sequence begins: Esc, and a key that came right behind it."""
_LONGER: Final = 1.1
_TEXTUALS_S: Final = 0.1
"""As long as textual waits."""


class Pastes:
    """Takes pasted texts out of what a terminal sends, and leaves the marks before and behind them."""

    def __init__(self) -> None:
        self.texts: deque[str] = deque()
        """The pasted texts whose marks were both handed on."""
        self._pasted: str | None = None
        """What was pasted so far; None where nothing is being pasted."""
        self._end = ""
        """The end of what was sent before: a mark may stand half in it."""

    def take(self, sent: str) -> str:
        """Return what of some more input, in pieces of any length, is no pasted text."""
        parts: list[str] = []
        while sent:
            whole = self._end + sent
            if self._pasted is None:
                keys, mark, sent = whole.partition(_BEGIN)
                parts.append((keys + mark)[len(self._end) :])
                self._end = "" if mark else keys[1 - _MARK :]
                self._pasted = "" if mark else None
            else:
                pasted, mark, sent = whole.partition(_END)
                self._end = "" if mark else pasted[1 - _MARK :]
                self._pasted = (self._pasted + pasted[: len(pasted) - len(self._end)])[:_MAX_PASTED_BYTES]
                if mark:
                    parts.append(mark)
                    self.texts.append(self._pasted)
                    self._pasted = None
        return "".join(parts)


def careful(kind: type[Driver]) -> type[Driver]:
    """Return the driver that reads a terminal, or a browser, carefully; one for something else as it is."""
    if kind.__name__ == "WebDriver":
        return _lasting_as_the_server(kind) if BROWSER.is_active else kind
    if os.name != "posix" or not TERMINAL.is_active:
        return kind
    from textual import constants
    from textual.drivers.linux_driver import LinuxDriver

    if constants.ESCAPE_DELAY == _TEXTUALS_S:
        constants.ESCAPE_DELAY = _ESCAPE_S  # type: ignore[misc]
    return _careful(LinuxDriver) if kind is LinuxDriver else kind


def _lasting_as_the_server(kind: type[Any]) -> type[Driver]:
    class CarefulWebDriver(kind):  # type: ignore[misc]
        """Reads what a server passes on, and ends with it."""

        def run_input_thread(self) -> None:
            """Hand on what the browser sends until the viewer ends, or the server."""
            super().run_input_thread()
            if not self.exit_event.is_set():
                self._app.call_later(self._app.exit)

        def on_meta(self, packet_type: str, payload: dict[str, object]) -> None:
            """Take in what the server says in its turn: a new size is not to be overtaken by the one it began with."""
            self._app.call_later(super().on_meta, packet_type, payload)

        def stop_application_mode(self) -> None:
            """Stop reading, and wait for that: what comes next is for the driver that begins next."""
            super().stop_application_mode()
            self._key_thread.join(_LAST_READ_S)

    return CarefulWebDriver


def drawn_on() -> TextIO:
    """Return what the viewer is drawn on: standard error, or standard output where that is no terminal."""
    streams = [stream for stream in (sys.__stderr__, sys.__stdout__) if stream is not None]
    return next((stream for stream in streams if stream.isatty()), streams[0])


class _Drawing:
    """What the viewer is drawn on, also when it is gone: what is written then is dropped.

    Else textual's writing thread would end at the first write that fails, and the viewer would wait for it for ever.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self.fileno = stream.fileno

    def write(self, text: str) -> None:
        """Write text."""
        with suppress(OSError):
            self._stream.write(text)

    def flush(self) -> None:
        """Hand on what was written."""
        with suppress(OSError):
            self._stream.flush()


def _careful(kind: type[LinuxDriver]) -> type[Driver]:  # noqa: C901 - it only holds the class
    from textual import constants
    from textual._xterm_parser import XTermParser

    class CarefulDriver(kind):  # type: ignore[misc, valid-type]
        """Reads a terminal, and draws on one."""

        def __init__(self, *args: Any, **options: Any) -> None:
            super().__init__(*args, **options)
            self._file = _Drawing(drawn_on())

        def run_input_thread(self) -> None:
            """Hand on what the terminal sends until the viewer ends."""
            pastes, decode = Pastes(), getincrementaldecoder("utf-8")("replace").decode
            self._parser = XTermParser(self._debug)
            wait_s, held = _POLL_INTERVAL_S, ""
            while not self.exit_event.is_set():
                if select([self.fileno], [], [], wait_s)[0]:
                    data = _read(self.fileno)
                    if not data:
                        # The terminal is gone: nobody can look any more.
                        self._app.call_later(self._app.exit)
                        return
                    sent = held + pastes.take(decode(data))
                    # Whether it is Esc, what comes behind it tells, or that nothing does.
                    held = _ESCAPE if sent.endswith(_ESCAPE) else ""
                    self._hand_on(_BARE.sub(lambda _: _ESCAPE_KEY, sent.removesuffix(held)), pastes.texts)
                    wait_s = _LONGER * constants.ESCAPE_DELAY if held else _POLL_INTERVAL_S
                else:
                    self._hand_on(_ESCAPE_KEY if held else "", pastes.texts)
                    wait_s, held = _POLL_INTERVAL_S, ""
                for event in self._parser.tick():
                    self.process_message(event)

        def _hand_on(self, sent: str, texts: deque[str]) -> None:
            if not sent:
                return
            try:
                for event in self._parser.feed(sent):
                    # It comes where the last mark of a pasted text stands.
                    self.process_message(Paste(texts.popleft()) if texts and isinstance(event, Paste) else event)
            except (ValueError, OverflowError):
                # A key with a number that no character has.
                self._parser = XTermParser(self._debug)

    return CarefulDriver


def _read(descriptor: int) -> bytes:
    """Return what a terminal sent; nothing where it is gone."""
    try:
        return os.read(descriptor, _PIECE)
    except OSError:
        return b""
