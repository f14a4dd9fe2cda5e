"""Reading records again: from the spool where it has them, else from their files."""

from __future__ import annotations

import errno
import os
import stat
from collections import OrderedDict
from contextlib import contextmanager, suppress
from threading import Lock
from typing import TYPE_CHECKING, Final

from spanview.index.documents import DetailReader
from spanview.sources.descriptors import read_at, share_of_descriptors
from spanview.sources.spool import Spool

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.sources.discover import FoundFile

OPEN_FLAGS: Final = (
    os.O_RDONLY
    | getattr(os, "O_NONBLOCK", 0)
    | getattr(os, "O_NOFOLLOW", 0)
    | getattr(os, "O_CLOEXEC", 0)
    | getattr(os, "O_BINARY", 0)
)
"""A FIFO that was put in a file's place doesn't block, and a symbolic link isn't followed."""
_MAX_OPEN_FILES: Final = 32
TOO_MANY_OPEN: Final = (errno.EMFILE, errno.ENFILE)
"""The errors where no file can be opened, because too many are."""


class RecordReader(DetailReader):
    """The reader that a store is given.

    Descriptors of files that were looked at last are kept open, a bounded number of them.
    """

    def __init__(self) -> None:
        self.spool = Spool()
        self._files: dict[int, tuple[str, int, int]] = {}
        self._open: OrderedDict[int, int] = OrderedDict()
        self._max_open = share_of_descriptors(_MAX_OPEN_FILES)
        self._lock = Lock()

    def register(self, source: int, path: str, device: int, inode: int) -> None:
        """Note which file a source can be read from again."""
        with self._lock:
            self._files[source] = path, device, inode

    def take_numbers(self, numbers: Sequence[int]) -> None:
        """Renumber sources; `numbers` has the new number at each old one."""
        with self._lock:
            self._files = {numbers[source]: file for source, file in self._files.items()}
            self._open = OrderedDict((numbers[source], descriptor) for source, descriptor in self._open.items())
        self.spool.take_numbers(numbers)

    def retire(self, source: int) -> None:
        """Note that a source's file is gone, or holds something else now."""
        with self._lock:
            self._files.pop(source, None)
            self._close(source)

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they are gone."""
        data = self.spool.read(source, offset, length)
        if data is not None:
            return data
        with self._lock:
            try:
                descriptor = self._descriptor(source)
                data = None if descriptor is None else read_at(descriptor, length, offset)
            except OSError:
                return None
        return data if data is not None and len(data) == length else None

    def _descriptor(self, source: int) -> int | None:
        descriptor = self._open.get(source)
        if descriptor is not None:
            self._open.move_to_end(source)
            return descriptor
        if source not in self._files:
            return None
        try:
            descriptor = open_file(*self._files[source])
        except OSError as error:
            if error.errno not in TOO_MANY_OPEN or not self._open:
                raise
            for other in [*self._open]:
                self._close(other)
            descriptor = open_file(*self._files[source])
        self._open[source] = descriptor
        if len(self._open) > self._max_open:
            self._close(next(iter(self._open)))
        return descriptor

    def _close(self, source: int) -> None:
        descriptor = self._open.pop(source, None)
        if descriptor is not None:
            with suppress(OSError):
                os.close(descriptor)

    def close(self) -> None:
        """Release descriptors and disk space."""
        with self._lock:
            for source in list(self._open):
                self._close(source)
            self._files.clear()
        self.spool.close()

    def __del__(self) -> None:
        # Stores in notebooks aren't closed.
        self.close()


def open_file(path: str, device: int, inode: int) -> int:
    """Return a descriptor of a regular file.

    Raises:
        OSError: It can't be opened, or is another file by now.
    """
    # A file system gives the inode of a removed one to a FIFO, too.
    descriptor, status = open_regular(path, otherwise="the file was replaced while it was opened")
    if (status.st_dev, status.st_ino) != (device, inode):
        os.close(descriptor)
        raise FileNotFoundError(0, "the file was replaced while it was opened", path)
    return descriptor


def open_regular(
    path: str, *, otherwise: str = "not a regular file", by_links: bool = False
) -> tuple[int, os.stat_result]:
    """Return a descriptor of a regular file, and its status.

    Raises:
        OSError: It can't be opened, or is another kind of file, of which `otherwise` is said.
    """
    descriptor = os.open(path, OPEN_FLAGS & ~getattr(os, "O_NOFOLLOW", 0) if by_links else OPEN_FLAGS)
    status = os.fstat(descriptor)
    if not stat.S_ISREG(status.st_mode):
        os.close(descriptor)
        raise FileNotFoundError(0, otherwise, path)
    return descriptor, status


@contextmanager
def opened(file: FoundFile) -> Iterator[int]:
    """Hold a descriptor of a file that was found.

    Raises:
        OSError: It can't be opened, or is another file by now.
    """
    descriptor = open_file(file.real, *file.identity)
    try:
        yield descriptor
    finally:
        os.close(descriptor)


def reason_of(error: OSError) -> str:
    """Return in words why something failed."""
    return error.strerror or str(error)
