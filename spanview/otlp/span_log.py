"""Files in a folder that are appended to: all of what belongs together, or nothing.

received-20261123T133005Z.jsonl      named after when it was begun
received-20261123T133005Z.2.jsonl    begun in the same second
received-20261123T134512Z.jsonl      begun because the one before was large enough

What is appended stays when the process is killed. A folder may have a limit: the files that were written longest ago go
first, also those of earlier processes, but none that is being written. No name has a PID in it: readers would take the
process of that number for the one whose spans are in the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import re
import time
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Final

from spanview.ray.span_file import FLAGS, append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BLOCK_BYTES: Final = 1024 * 1024
"""Bytes that are written together, if there are as many."""
_LOOKS_PER_FILE: Final = 8
"""How often the size of a folder is looked at while a file grows to its size."""
_NAME: Final = re.compile(r"received-\d{8}T\d{6}Z(?:\.\d+)?\.jsonl")


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How large files may become, and their folder."""

    file_bytes: int
    """A file that has so many is followed by a new one."""
    folder_bytes: int = 0
    """What all files may have together; 0 for any number."""
    fsync: bool = False
    """Whether what is appended has to be on the disk, not only in the system's memory."""


class ReceivedFiles:
    """Appends to files of one folder, for one thread.

    Args:
        folder: The folder; it is made with the first file.
        limits: How large it all may become.
        removed: Takes the path of a file that was removed, to keep to the limits.
    """

    def __init__(self, folder: str, limits: LogLimits, removed: Callable[[str], None]) -> None:
        self._folder, self._limits, self._removed = folder, limits, removed
        self._descriptor: int | None = None
        self._unseen = limits.folder_bytes
        """Bytes that were written since the size of the folder was looked at."""
        self.files = 0
        """How many were begun."""

    def append(self, lines: Iterable[bytes]) -> int:
        """Append lines, all of them or none, and return how many bytes that were.

        Raises:
            OSError: The system doesn't take them.
        """
        blocks = _blocks(lines)
        # No file begins without a line.
        first = next(blocks, None)
        if first is None:
            return 0
        descriptor, size = self._current()
        before = size
        try:
            for block in chain((first,), blocks):
                append(descriptor, block, size)
                size += len(block)
            if self._limits.fsync:
                os.fsync(descriptor)
            _check_is_there(descriptor)
        except BaseException:
            with suppress(OSError):
                os.ftruncate(descriptor, before)
            raise
        self._unseen += size - before
        if self._limits.folder_bytes and self._unseen >= self._limits.file_bytes // _LOOKS_PER_FILE:
            self._unseen = 0
            self._keep_to_limit()
        return size - before

    def close(self) -> None:
        """Close the file."""
        if self._descriptor is not None:
            os.close(self._descriptor)
            self._descriptor = None

    def _current(self) -> tuple[int, int]:
        """Return the file that is appended to, and its size: somebody may have removed or cut it."""
        if self._descriptor is not None:
            status = os.fstat(self._descriptor)
            if status.st_nlink and status.st_size < self._limits.file_bytes:
                return self._descriptor, status.st_size
            self.close()
        descriptor = self._descriptor = self._begin()
        return descriptor, 0

    def _begin(self) -> int:
        os.makedirs(self._folder, exist_ok=True)
        stem = os.path.join(self._folder, time.strftime("received-%Y%m%dT%H%M%SZ", time.gmtime()))
        number, descriptor = 1, None
        while descriptor is None:
            path = f"{stem}{'' if number == 1 else f'.{number}'}.jsonl"
            with suppress(FileExistsError):
                descriptor = os.open(path, FLAGS | os.O_EXCL, 0o666)
            number += 1
        with suppress(OSError):
            # Whoever keeps to a limit leaves it alone; not every file system has locks.
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if self._limits.fsync:
            # Its name has to be on the disk, too.
            folder = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        self.files += 1
        return descriptor

    def _keep_to_limit(self) -> None:
        """Remove what was written longest ago, until the folder keeps to its limit."""
        with os.scandir(self._folder) as entries:
            files = [
                (entry.stat(follow_symlinks=False), entry.path)
                for entry in entries
                if _NAME.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]
        excess = sum(status.st_size for status, _ in files) - self._limits.folder_bytes
        for status, path in sorted(files, key=lambda file: (file[0].st_mtime_ns, file[1])):
            if excess <= 0:
                break
            if _is_written(path):
                continue
            with suppress(OSError):
                os.unlink(path)
                excess -= status.st_size
                self._removed(path)


def _check_is_there(descriptor: int) -> None:
    if not os.fstat(descriptor).st_nlink:
        raise FileNotFoundError(errno.ENOENT, "the file was removed")


def _is_written(path: str) -> bool:
    """Return whether a process has a file locked, as each does while it appends to it."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    except OSError:
        return True
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        return error.errno in {errno.EWOULDBLOCK, errno.EAGAIN}
    finally:
        os.close(descriptor)
    return False


def _blocks(lines: Iterable[bytes]) -> Iterator[bytes]:
    """Yield lines together, so that few writes are needed, and not all of them in memory at a time."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= _BLOCK_BYTES:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
