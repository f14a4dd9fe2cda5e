"""Files in a folder that are appended to: all of what belongs together, or nothing.

received-20261123T133005Z.jsonl      named after when it was begun
received-20261123T133005Z.2.jsonl    begun in the same second
received-20261123T134512Z.jsonl      begun because the one before was large enough

What is appended stays when the process is killed. A folder may have a limit: before it is exceeded, the files that were
written longest ago go, also those of earlier processes, but none that another process writes. What is appended at a
time may be more than a file, and more than the limit: then it is in several, of which the last ones stay. No name has a
PID in it: readers would take the process of that number for the one whose spans are in the file.
"""

from __future__ import annotations

import errno
import fcntl
import os
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.index.processes import RECEIVED_FILE
from spanview.ray.span_file import FLAGS, append

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

_BLOCK_BYTES: Final = 1024 * 1024
"""Bytes that are written together, if there are as many."""
_BLOCKS_PER_FILE: Final = 8
"""At least so many blocks fit into a file, and so often the size of a folder is looked at while one grows."""


@dataclass(frozen=True, slots=True)
class LogLimits:
    """How large files may become, and their folder."""

    file_bytes: int
    """A file that has so many is followed by a new one."""
    folder_bytes: int = 0
    """What all files may have together; 0 for any number."""
    fsync: bool = False
    """Whether what is appended has to be on the disk, not only in the system's memory."""


@dataclass(slots=True)
class _OpenFile:
    """A file that lines are appended to."""

    path: str
    descriptor: int
    size: int
    """Bytes that it had when the lines began."""


class ReceivedFiles:
    """Appends to files of one folder, for one thread.

    Args:
        folder: The folder; it is made with the first file.
        removed: Takes the path of a file that was removed, to keep to the limits.
    """

    def __init__(self, folder: str, limits: LogLimits, removed: Callable[[str], None]) -> None:
        self._folder, self._limits, self._removed = folder, limits, removed
        self._file: _OpenFile | None = None
        self._block_bytes = _BLOCK_BYTES
        if limits.folder_bytes:
            self._block_bytes = max(1, min(_BLOCK_BYTES, limits.file_bytes // _BLOCKS_PER_FILE))
        self._folder_size = 0
        """Bytes of the folder's files, as they were when that was looked at."""
        self._unseen = limits.folder_bytes
        """Bytes that were written since the folder's files were looked at."""
        self._last_name = ("", 0)
        """When the last file was begun, as its name says it, and its number."""
        self._begun = set[str]()
        """The paths of those that were begun and are there still."""
        self.removals = 0
        """How many were removed to keep to the limits, those of earlier processes included."""

    @property
    def files(self) -> int:
        """How many were begun, and have not been removed to keep to the limits."""
        return len(self._begun)

    def append(self, lines: Iterable[bytes]) -> int:
        """Append lines, all of them or none, and return how many bytes that were.

        Raises:
            OSError: The system doesn't take them.
        """
        written = 0
        begun: list[_OpenFile] = []
        try:
            # No file begins without a line.
            for block in _blocks(lines, self._block_bytes):
                self._append(block, begun)
                written += len(block)
            if self._limits.fsync:
                for file in begun:
                    os.fsync(file.descriptor)
            if begun:
                _check_is_there(begun[-1].descriptor)
        except BaseException:
            for file in begun:
                with suppress(OSError):
                    os.ftruncate(file.descriptor, file.size)
                    if file is not self._file and not file.size:
                        os.unlink(file.path)
                        self._begun.discard(file.path)
            raise
        finally:
            for file in begun:
                if file is not self._file:
                    os.close(file.descriptor)
        return written

    def _append(self, block: bytes, begun: list[_OpenFile]) -> None:
        """Append whole lines, with `begun` as `_current` has it."""
        file, size = self._current(begun)
        if self._limits.folder_bytes and not self._has_room(len(block)) and size:
            # All that could go is this file.
            self._let_go()
            file, size = self._current(begun)
            self._has_room(len(block))
        append(file.descriptor, block, size)
        self._unseen += len(block)

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            os.close(self._file.descriptor)
            self._file = None

    def _current(self, begun: list[_OpenFile]) -> tuple[_OpenFile, int]:
        """Return the file that is appended to, and its size: somebody may have removed or cut it.

        Args:
            begun: The files that the same lines are in; takes this one.
        """
        file = self._file
        if file is not None:
            status = os.fstat(file.descriptor)
            if file in begun:
                _check_is_there(file.descriptor)
            if status.st_nlink and status.st_size < self._limits.file_bytes:
                if file not in begun:
                    file.size = status.st_size
                    begun.append(file)
                return file, status.st_size
            if file in begun:
                self._let_go()
            else:
                self.close()
        file = self._file = self._begin()
        begun.append(file)
        return file, 0

    def _let_go(self) -> None:
        """Append no more to the file; from now on it may be removed."""
        if self._file is not None:
            with suppress(OSError):
                fcntl.flock(self._file.descriptor, fcntl.LOCK_UN)
            self._file = None

    def _begin(self) -> _OpenFile:
        os.makedirs(self._folder, exist_ok=True)
        stem = time.strftime("received-%Y%m%dT%H%M%SZ", time.gmtime())
        # The name of a file that was removed stands in messages.
        number = self._last_name[1] + 1 if self._last_name[0] == stem else 1
        descriptor = None
        while descriptor is None:
            path = os.path.join(self._folder, f"{stem}{'' if number == 1 else f'.{number}'}.jsonl")
            with suppress(FileExistsError):
                descriptor = os.open(path, FLAGS | os.O_EXCL, 0o666)
                self._last_name = stem, number
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
        self._begun.add(path)
        return _OpenFile(path, descriptor, 0)

    def _has_room(self, size: int) -> bool:
        """Remove what was written longest ago, until so many bytes fit in the folder; return whether they do."""
        limit, look_after = self._limits.folder_bytes, self._limits.file_bytes // _BLOCKS_PER_FILE
        if self._unseen < look_after and self._folder_size + self._unseen + size <= limit:
            return True
        with os.scandir(self._folder) as entries:
            files = [
                (entry.stat(follow_symlinks=False), entry.path)
                for entry in entries
                if RECEIVED_FILE.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)
            ]
        self._folder_size, self._unseen = sum(status.st_size for status, _ in files), 0
        for status, path in sorted(files, key=lambda file: (file[0].st_mtime_ns, file[1])):
            if self._folder_size + size <= limit:
                break
            if _is_written(path):
                continue
            with suppress(OSError):
                os.unlink(path)
                self._folder_size -= status.st_size
                self._begun.discard(path)
                self.removals += 1
                self._removed(path)
        return self._folder_size + size <= limit


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


def _blocks(lines: Iterable[bytes], least: int) -> Iterator[bytes]:
    """Yield lines together, so that few writes are needed, and not all of them in memory at a time."""
    waiting: list[bytes] = []
    size = 0
    for line in lines:
        waiting.append(line)
        size += len(line)
        if size >= least:
            yield b"".join(waiting)
            waiting, size = [], 0
    if waiting:
        yield b"".join(waiting)
