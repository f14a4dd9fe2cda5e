"""A file of lines that one process alone appends to.

8714-17.jsonl      the first `max_bytes`; then, of each that would be longer, the rest goes to the next
8714-17.2.jsonl
8714-17.3.jsonl    the one that is written; with `keep` 2 the first is removed when this one begins

Each line is one `write` to a file that is open for appending, so it is whole for whoever reads, and stays when the
process is killed. What the system takes only a part of, on a full disk, is cut off again.
"""

from __future__ import annotations

import contextlib
import os
import time
from typing import Final

_CHECK_INTERVAL_S: Final = 1.0
"""How often is looked whether somebody has removed the file."""
FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_NOFOLLOW", 0)
"""How a file is opened that is appended to."""


def append(descriptor: int, data: bytes, size: int) -> None:
    """Append data to a file, or cut off again what the system takes of it.

    Args:
        data: Whole lines.
        size: Bytes that the file has, and keeps if not all is taken.

    Raises:
        OSError: The system doesn't take it.
    """
    written = os.write(descriptor, data)
    while written < len(data):
        try:
            written += os.write(descriptor, data[written:])
        except OSError:
            os.ftruncate(descriptor, size)
            raise


class SpanFile:
    """Appends lines, to be called by one thread at a time.

    Args:
        stem: The path of the first file, without its suffix.
        max_bytes: How large a file may become, unless a single line is larger; 0 for any size.
        keep: How many files there may be; 0 for any number.
    """

    def __init__(self, stem: str, suffix: str, max_bytes: int = 0, keep: int = 0) -> None:
        self._stem, self._suffix = stem, suffix
        self._max_bytes, self._keep = max_bytes, keep
        self._number = 1
        self._descriptor: int | None = None
        self._identity = (0, 0)
        """Device and inode of what is open."""
        self._size = 0
        self._checked_at = 0.0

    @property
    def path(self) -> str:
        """The file that is written now."""
        return self._path(self._number)

    def write(self, line: bytes) -> None:
        """Append a line, or nothing.

        Raises:
            OSError: The system doesn't take it.
        """
        descriptor = self._descriptor
        if descriptor is None or not self._is_in_its_place(descriptor):
            descriptor = self._open()
        if self._max_bytes and self._size and self._size + len(line) > self._max_bytes:
            self._leave()
            descriptor = self._open()
        append(descriptor, line, self._size)
        self._size += len(line)

    def close(self) -> None:
        """Close the file; the next line opens it again."""
        if self._descriptor is not None:
            with contextlib.suppress(OSError):
                os.close(self._descriptor)
            self._descriptor = None

    def _path(self, number: int) -> str:
        return f"{self._stem}{'' if number == 1 else f'.{number}'}{self._suffix}"

    def _open(self) -> int:
        os.makedirs(os.path.dirname(self._stem), exist_ok=True)
        descriptor = self._descriptor = os.open(self.path, FLAGS, 0o666)
        status = os.fstat(descriptor)
        self._identity, self._size = (status.st_dev, status.st_ino), status.st_size
        self._checked_at = time.monotonic()
        return descriptor

    def _is_in_its_place(self, descriptor: int) -> bool:
        """Return whether the descriptor is still of a file that somebody can find, as far as seen a second ago.

        Whoever turns a process into a daemon closes all descriptors, and the number may be another file's by then.
        """
        now = time.monotonic()
        if now - self._checked_at < _CHECK_INTERVAL_S:
            return True
        self._checked_at = now
        try:
            status = os.fstat(descriptor)
        except OSError:
            return False
        if (status.st_dev, status.st_ino) != self._identity:
            return False
        if not status.st_nlink:
            self.close()
        return bool(status.st_nlink)

    def keep_up_with(self, other: SpanFile) -> None:
        """Go on in a file of the number that another kind has, so that an end isn't removed before its start."""
        if self._number < other._number:
            self._leave()

    def _leave(self) -> None:
        self.close()
        self._number += 1
        if self._keep and self._number > self._keep:
            with contextlib.suppress(OSError):
                os.unlink(self._path(self._number - self._keep))
