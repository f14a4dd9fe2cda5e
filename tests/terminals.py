"""A real program at a real pseudo-terminal: what it is sent, and every byte that it writes."""

from __future__ import annotations

import fcntl
import os
import pty
import re
import struct
import subprocess
import sys
import termios
import threading
import time
from typing import TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from types import TracebackType

DEADLINE_S: Final = 30.0
ESCAPE: Final = b"\x1b[27u"
"""The Escape key as the kitty protocol writes it: no byte behind it can be taken for a part of it."""
_OWN: Final = re.compile(
    r"\x1b\[(?:\d+;\d+H|[\d;]+m|\?\d+[hl]|\?\d+\$p|>25u|<u)"  # the cursor's place, colours, modes, the keyboard
    r"|\x1b\]22;[\w-]+\x07"  # the pointer's shape
    r"|\r\n(?=\x1b\[\d+;\d+H)"  # between lines that are painted together
)
"""What the terminal library writes itself."""


class Terminal:
    """A program whose standard streams are a pseudo-terminal.

    Args:
        arguments: The words behind `spanview`.
        size: Cells across and down.
    """

    def __init__(self, *arguments: str, size: tuple[int, int] = (110, 36)) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        environment = os.environ | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        self._process = subprocess.Popen(
            [sys.executable, "-m", "spanview", "view", *arguments],
            stdin=slave,
            stdout=slave,
            stderr=slave,
            env=environment,
            start_new_session=True,
        )
        os.close(slave)
        self.output = b""
        """Everything that was written so far."""
        self._seen = 0
        self._grown = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reader.join()
        os.close(self._master)

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self._master, 65536)
            except OSError:
                # Nobody holds the other end any more.
                return
            if not data:
                return
            with self._grown:
                self.output += data
                self._grown.notify_all()

    @property
    def is_running(self) -> bool:
        """Whether the program runs."""
        return self._process.poll() is None

    def send(self, *parts: bytes) -> None:
        """Send keys; what is waited for next has to be written after this."""
        self._seen = len(self.output)
        for part in parts:
            os.write(self._master, part)

    def until(self, *texts: str) -> None:
        """Wait until all these texts were written since the last keys were sent, each in one piece."""
        for text in texts:
            assert self.shows(text), f"{text!r} not in {self.output[self._seen :][-3000:]!r}"

    def shows(self, text: str, seconds: float = DEADLINE_S) -> bool:
        """Tell whether a text is written within some seconds after the last keys were sent."""
        deadline = time.monotonic() + seconds
        with self._grown:
            while text.encode() not in self.output[self._seen :]:
                left = deadline - time.monotonic()
                if left <= 0:
                    return False
                assert self.is_running, f"ended with {self._process.returncode}: {self.output[-6000:]!r}"
                self._grown.wait(min(left, 0.2))
        return True

    def wait(self) -> int:
        """Wait until the program ends; return its exit status."""
        status = self._process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        return status


def click(column: int, row: int) -> bytes:
    """Return the bytes of a press and a release of the first mouse button, cells counted from 1."""
    return f"\x1b[<0;{column};{row}M\x1b[<0;{column};{row}m".encode()


def paste(text: str) -> bytes:
    """Return the bytes of a text that is pasted, by a terminal that leaves nothing out of it."""
    return b"\x1b[200~" + text.encode("utf-8", "surrogatepass") + b"\x1b[201~"


def unprintable(output: bytes) -> list[str]:
    """Return what a terminal would act on in some output, with what is round it.

    The sequences of the terminal library itself are left out.
    """
    text = _OWN.sub("", output.decode("utf-8", "surrogateescape"))
    return [text[max(0, at - 60) : at + 20] for at, each in enumerate(text) if not each.isprintable()]
