"""A program at a real pseudo-terminal: when something appears, and how long a key takes to show."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import signal
import struct
import sys
import termios
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    import re
    from collections.abc import Mapping
    from types import TracebackType

LINES, COLUMNS = 40, 120
DOWN: Final = b"\x1b[B"
UP: Final = b"\x1b[A"
RIGHT: Final = b"\x1b[C"
LEFT: Final = b"\x1b[D"
PAGE_DOWN: Final = b"\x1b[6~"
PAGE_UP: Final = b"\x1b[5~"
ESCAPE: Final = b"\x1b"
_LONGEST: Final = 4096
"""Bytes that no text is longer than for which somebody waits."""
_PIECE: Final = 65536
_PATIENCE_S: Final = 30.0
_LOOK_S: Final = 0.02


class Terminal:
    """A process of this Python at a terminal of its own, ended when the context is left.

    Args:
        words: Python's arguments.
        environment: Variables to change.
    """

    def __init__(self, *words: str, environment: Mapping[str, str] | None = None) -> None:
        self._began = time.perf_counter()
        self._process, self._screen = pty.fork()
        if not self._process:
            _set_size(0, COLUMNS, LINES)
            os.environ.update(TERM="xterm-256color", COLORTERM="truecolor", **(environment or {}))
            os.execv(sys.executable, [sys.executable, *words])  # noqa: S606 - no shell is wanted

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, _type: type[BaseException] | None, _value: BaseException | None, _: TracebackType | None
    ) -> None:
        if self._process:
            os.kill(self._process, signal.SIGKILL)
            os.waitpid(self._process, 0)
        os.close(self._screen)

    @property
    def pid(self) -> int:
        """Of the process."""
        return self._process

    def read(self, seconds: float) -> bytes:
        """Return what is written within some seconds; empty where nothing is."""
        ready, _, _ = select.select([self._screen], [], [], seconds)
        return os.read(self._screen, _PIECE) if ready else b""

    def press(self, key: bytes) -> None:
        """Send a key."""
        os.write(self._screen, key)

    def resize(self, columns: int, lines: int) -> None:
        """Let it be as large, which the program is told by a signal."""
        _set_size(self._screen, columns, lines)

    def leave(self, key: bytes) -> None:
        """Send the key that ends the program, and wait until it has ended."""
        self.press(key)
        deadline = time.perf_counter() + _PATIENCE_S
        while not os.waitpid(self._process, os.WNOHANG)[0]:
            if time.perf_counter() > deadline:
                raise TimeoutError("the program didn't end")
            # What nobody reads would keep it from ending; when it has closed the terminal, reading fails.
            with suppress(OSError):
                self.read(_LOOK_S)
        self._process = 0

    def seconds_until(self, text: re.Pattern[bytes], patience: float = 60.0) -> float:
        """Return the seconds from the process's start until a text is on the screen."""
        written = b""
        while not text.search(written):
            piece = self.read(patience)
            if not piece:
                raise TimeoutError(f"{text.pattern!r} didn't appear; last came {written[-500:]!r}")
            written = written[-_LONGEST:] + piece
        return time.perf_counter() - self._began

    def wait_until_quiet(self, seconds: float) -> bytes:
        """Return what is written until nothing has been for some seconds."""
        return b"".join(iter(lambda: self.read(seconds), b""))

    def seconds_of_key(self, key: bytes, quiet_s: float = 0.1) -> float:
        """Return the seconds from a key to the first byte that it makes the program write."""
        began = time.perf_counter()
        self.press(key)
        if not self.read(_PATIENCE_S):
            raise TimeoutError("the key made no difference")
        taken = time.perf_counter() - began
        self.wait_until_quiet(quiet_s)
        return taken


def _set_size(descriptor: int, columns: int, lines: int) -> None:
    fcntl.ioctl(descriptor, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
