"""Another spanview that runs beside what is shown, and ends with it.

It runs in a process of its own: it has handlers of signals and an event loop, or libraries that write to a terminal
when they like and end their process, and the viewer would not survive that. What it says waits until nothing is shown.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from tempfile import TemporaryFile
from typing import IO, TYPE_CHECKING, Final, Self

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

_PROGRAM: Final = """
import sys
from spanview.cli import main
from spanview.commands.beside import end_when_closed
end_when_closed()
sys.exit(main())
"""
_LOOK_S: Final = 0.05
"""Seconds between two looks at how far it is."""
_END_S: Final = 10
"""Seconds that it has to end."""


class Beside:
    """Another process, in a context that ends it."""

    def __init__(self, words: Sequence[str], environment: Mapping[str, str]) -> None:
        self._notices: IO[bytes] = TemporaryFile()  # noqa: SIM115 - as long as the process
        self._process = subprocess.Popen(  # noqa: S603 - spanview itself
            [sys.executable, "-c", _PROGRAM, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=self._notices,
            env=environment,
            # Ctrl+C is meant for what shows it.
            start_new_session=True,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()
        self._notices.close()

    def wait(self, is_ready: Callable[[], bool]) -> int | None:
        """Wait until something is so, or until it has ended.

        Returns:
            Its exit status, None while it runs.
        """
        while self._process.poll() is None and not is_ready():
            time.sleep(_LOOK_S)
        return self._process.poll()

    def lines(self) -> list[str]:
        """Return what it has said, without spanview's name before it."""
        size = os.fstat(self._notices.fileno()).st_size
        # It appends where the file's one position is.
        text = os.pread(self._notices.fileno(), size, 0).decode("utf-8", "replace")
        return [line.removeprefix("spanview: ") for line in text.splitlines()]

    def end(self) -> None:
        """End it, and wait until it has ended."""
        assert self._process.stdin is not None  # noqa: S101 - for type checkers
        self._process.stdin.close()
        try:
            self._process.wait(_END_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def end_when_closed() -> None:
    """End this process once its standard input is closed, as it also is when what shows the spans was killed."""

    def wait() -> None:
        os.read(0, 1)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, daemon=True).start()
