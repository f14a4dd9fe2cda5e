"""A real program at a real pseudo-terminal: what it is sent, and every byte that it writes.

Where nothing about its start is asked for but words and a size, it is forked by a server that has its imports.
"""

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

from rich.cells import get_character_cell_size

import zygote
from zygote import Forked

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
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
        arguments: The words behind `spanview` and the command.
        size: Cells across and down.
        command: The command, and options that come first.
        environment: Variables to change.
        folder: Where it runs.
        redirection: What a shell is told to do with its streams.
        given: The descriptor of its standard input, where that isn't the terminal.
        python: What runs it.
    """

    def __init__(
        self,
        *arguments: str,
        size: tuple[int, int] = (110, 36),
        command: tuple[str, ...] = ("view",),
        environment: Mapping[str, str] | None = None,
        folder: str | Path | None = None,
        redirection: str = "",
        given: int | None = None,
        python: str = sys.executable,
    ) -> None:
        self._master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", size[1], size[0], 0, 0))
        # Whoever runs the tests may say how large its own terminal is.
        inherited = {name: value for name, value in os.environ.items() if name not in {"COLUMNS", "LINES"}}
        variables = inherited | {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LANG": "C.UTF-8"}
        # Or the terminal itself would write what is sent to nobody any more.
        attributes = termios.tcgetattr(slave)
        attributes[3] &= ~termios.ECHO
        termios.tcsetattr(slave, termios.TCSANOW, attributes)
        # The first terminal that the leader of a session opens is its own: what /dev/tty stands for.
        opening = f': <"{os.ttyname(slave)}"; exec "$0" "$@" {redirection}'
        shell = ["/bin/sh", "-c", opening]
        self._process: subprocess.Popen[bytes] | Forked
        if not (environment or redirection or given is not None or python != sys.executable) and zygote.can_run({}):
            words = (*command, *arguments)
            self._process = Forked(words, slave, os.fspath(folder or os.getcwd()), variables, has_terminal=True)
        else:
            self._process = subprocess.Popen(
                [*shell, python, "-m", "spanview", *command, *arguments],
                stdin=slave if given is None else given,
                stdout=slave,
                stderr=slave,
                env=variables | dict(environment or {}),
                start_new_session=True,
                cwd=folder,
            )
        os.close(slave)
        self.output = b""
        """Everything that was written so far."""
        self._picture = Picture(size)
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
                self.output = self._kept(self.output + data)
                self._grown.notify_all()

    def _kept(self, output: bytes) -> bytes:
        """Return what is kept of everything that was written."""
        return output

    @property
    def is_running(self) -> bool:
        """Whether the program runs."""
        return self._process.poll() is None

    @property
    def _is_read(self) -> bool:
        """Whether the program has ended, and all is here that it wrote."""
        return not (self.is_running or self._reader.is_alive())

    @property
    def pid(self) -> int:
        """The number of the process."""
        return self._process.pid

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
                assert not self._is_read, f"ended with {self._process.poll()}: {self.output[-6000:]!r}"
                self._grown.wait(min(left, 0.2))
        return True

    @property
    def lines(self) -> list[str]:
        """What is on the screen by now, line by line."""
        self._picture.draw(self.output)
        return self._picture.lines

    def places_of(self, text: str) -> list[tuple[int, int]]:
        """Return where a text stands on the screen: column and row of its first cell, counted from 1."""
        self._picture.draw(self.output)
        return self._picture.places_of(text)

    def is_soon(self, condition: Callable[[list[str]], object], seconds: float = DEADLINE_S) -> bool:
        """Wait until the lines of the screen are as they should be; tell whether they are."""
        deadline = time.monotonic() + seconds
        while not condition(self.lines):
            left, length = deadline - time.monotonic(), len(self.output)
            if left <= 0 or self._is_read:
                return bool(condition(self.lines))
            self._wait_for_more(length, min(left, 0.2))
        return True

    def _wait_for_more(self, length: int, seconds: float) -> bool:
        """Wait until more was written than so many bytes; tell whether it was."""
        with self._grown:
            return self._grown.wait_for(lambda: len(self.output) > length, seconds)

    def rest(self, seconds: float = 0.05) -> None:
        """Wait until nothing has been written for some seconds."""
        while self.is_running and self._wait_for_more(len(self.output), seconds):
            pass

    def has_soon(self, *texts: str, seconds: float = DEADLINE_S) -> bool:
        """Wait until texts are on the screen, each within a line; tell whether they are."""
        return self.is_soon(lambda lines: all(any(text in line for line in lines) for text in texts), seconds)

    def wait(self) -> int:
        """Wait until the program ends; return its exit status."""
        status = self._process.wait(DEADLINE_S)
        self._reader.join(DEADLINE_S)
        return status


_PIECES: Final = re.compile(rf"\x1b\[(\d+);(\d+)H|(\r\n)|(?:{_OWN.pattern})|([^\x1b\r\n]+)|(.)", re.DOTALL)
"""The cursor's place, the end of a line, what changes no cell, text, and anything else."""


class Picture:
    """The cells of a screen on which the terminal library paints; what others write is no business of it.

    Args:
        size: Cells across and down.
    """

    def __init__(self, size: tuple[int, int]) -> None:
        self._cells = [[" "] * size[0] for _ in range(size[1])]
        self._row = self._column = self._drawn = 0

    def draw(self, output: bytes) -> None:
        """Draw what was written since the last time.

        Args:
            output: Everything that was written; what was drawn before isn't drawn again.
        """
        # What was written last may not be whole yet.
        whole = max(output.rfind(b"\x1b"), self._drawn)
        text = output[self._drawn : whole].decode("utf-8", "surrogateescape")
        self._drawn = whole
        for match in _PIECES.finditer(text):
            row, column, end, written, _ = match.groups()
            if row:
                self._row, self._column = int(row) - 1, int(column) - 1
            elif end:
                self._row, self._column = self._row + 1, 0
            elif written:
                self._write(written)

    def _write(self, text: str) -> None:
        if not 0 <= self._row < len(self._cells):
            return
        cells = self._cells[self._row]
        for each in text:
            width = get_character_cell_size(each)
            if width and self._column + width <= len(cells):
                cells[self._column : self._column + width] = [each, *[""] * (width - 1)]
            elif not width and 0 < self._column <= len(cells):
                cells[self._column - 1] += each
            self._column += width

    @property
    def lines(self) -> list[str]:
        """The lines, without the blanks at their ends."""
        return ["".join(cells).rstrip() for cells in self._cells]

    def places_of(self, text: str) -> list[tuple[int, int]]:
        """Return column and row of the first cell of each occurrence of a text, counted from 1."""
        found = []
        for row, cells in enumerate(self._cells, 1):
            # The cell in which each character of the line stands.
            places = [column for column, cell in enumerate(cells, 1) for _ in cell]
            found += [(places[match.start()], row) for match in re.finditer(re.escape(text), "".join(cells))]
        return found


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
