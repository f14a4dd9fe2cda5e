"""What is piped in, for each tab from its beginning on, and as it comes."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from threading import Condition, Thread
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import IO

_PIECE: Final = 64 * 1024


class SharedInput:
    """Keeps what a stream has in a temporary file without a name."""

    def __init__(self, stream: IO[bytes], say: Callable[[str], None]) -> None:
        self._stream = stream
        self._say = say
        self._kept = tempfile.TemporaryFile(prefix="spanview-", buffering=0)  # noqa: SIM115 - as long as the server
        self._length = 0
        self._is_whole = False
        self._grown = Condition()
        Thread(target=self._keep, name="spanview-input", daemon=True).start()

    def pipe(self) -> int:
        """Return the descriptor of a new pipe, which gets everything, and ends when the stream has ended."""
        reading, writing = os.pipe()
        Thread(target=self._fill, args=(writing,), name="spanview-pipe", daemon=True).start()
        return reading

    def _keep(self) -> None:
        try:
            while data := os.read(self._stream.fileno(), _PIECE):
                # Whoever reads does so elsewhere: the position is that of the writer alone.
                while data:
                    written = self._kept.write(data)
                    data = data[written:]
                    self._has_grown(written)
        except OSError as error:
            self._say(f"standard input can't be read any further: {error.strerror or error}")
        self._has_grown(0)

    def _has_grown(self, count: int) -> None:
        with self._grown:
            self._length += count
            self._is_whole = not count
            self._grown.notify_all()

    def _fill(self, writing: int) -> None:
        offset = 0
        # The tab may be closed before it has read everything.
        with os.fdopen(writing, "wb", buffering=0) as pipe, suppress(BrokenPipeError):
            while True:
                with self._grown:
                    while offset == self._length and not self._is_whole:
                        self._grown.wait()
                data = os.pread(self._kept.fileno(), _PIECE, offset)
                if not data:
                    return
                while data:
                    written = pipe.write(data)
                    offset, data = offset + written, data[written:]
