"""Compressed files, known by their first bytes: read to their end, and kept in the spool for whoever looks.

What changes is read again from its start; spans that were there are doubles then, and dropped.
"""

from __future__ import annotations

import gzip
import io
import os
import re
import sys
import zlib
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Final, cast

from spanview.sources.details import open_file, reason_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = b"\x28\xb5\x2f\xfd"
MAGIC: Final = 4
"""First bytes that tell what is compressed, and how."""
_PIECE: Final = 192 * 1024
_OF_RAY: Final = re.compile(r"(?:^|[/\\])(?:[0-9]+\.(?:txt|json)|[^/\\]*_tracing\.json)$")
"""Names under which nothing is ever compressed: of a thousand files, none has to be opened for that."""


class _Counted(io.RawIOBase):
    """A stream that counts what is read of it, of which the first bytes were read already."""

    def __init__(self, stream: IO[bytes], head: bytes) -> None:
        super().__init__()
        self._stream, self._head = stream, head
        self.count = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        data = self._head[: len(buffer)]
        self._head = self._head[len(data) :]
        # A pipe gives what is there.
        data = data or os.read(self._stream.fileno(), len(buffer))
        buffer[: len(data)] = data
        self.count += len(data)
        return len(data)


def is_packed(head: bytes) -> bool:
    """Tell whether something that begins so is compressed."""
    return head.startswith((_GZIP, _ZSTD))


class Unpacked:
    """The content of a compressed stream, in pieces.

    Args:
        stream: Where it comes from, with a descriptor.
        head: Its first bytes, which were read already, `MAGIC` of them.
    """

    def __init__(self, stream: IO[bytes], head: bytes) -> None:
        self._counted = _Counted(stream, head)
        self._told = 0
        self.failure = ""
        """Why its rest can't be had, in words."""
        buffered = io.BufferedReader(self._counted, _PIECE)
        self._failures: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error)
        if head.startswith(_GZIP):
            self._reader: IO[bytes] = cast("IO[bytes]", gzip.GzipFile(fileobj=buffered))
        else:
            zstd = zstd_module()
            self._failures = (*self._failures, zstd.ZstdError)
            self._reader = zstd.ZstdFile(buffered)

    def pieces(self) -> Iterator[tuple[bytes, int]]:
        """Yield what was compressed, and how many bytes of the stream were read for it."""
        while True:
            try:
                data = self._reader.read(_PIECE)
            except self._failures as error:
                self.failure = reason_of(error) if isinstance(error, OSError) else str(error)
                return
            if not data:
                return
            count, self._told = self._counted.count - self._told, self._counted.count
            yield data, count


def zstd_module() -> Any:
    """Return what reads zstd: the standard library from Python 3.14 on, before that the same for older ones."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


class PackedFiles:
    """The compressed files among those that are read.

    Args:
        reading: Takes what is in them.
        follow: Whether one that breaks off may still be written.
    """

    def __init__(self, reading: Reading, *, follow: bool) -> None:
        self._reading = reading
        self._follow = follow
        self._read: dict[str, tuple[int, ...]] = {}
        """What each was like when it was read."""
        self._plain: set[tuple[int, int]] = set()
        """Files that are known not to be compressed."""

    @property
    def are_there(self) -> bool:
        """Whether there are any."""
        return bool(self._read)

    def among(self, files: Iterable[FoundFile]) -> tuple[list[FoundFile], list[FoundFile]]:
        """Return which files are compressed, and which are not."""
        found = [(each, self._is_packed(each)) for each in files]
        return [each for each, packed in found if packed], [each for each, packed in found if not packed]

    def _is_packed(self, found: FoundFile) -> bool:
        if _OF_RAY.search(found.real) or found.identity in self._plain:
            return False
        if found.real in self._read:
            return True
        try:
            descriptor = open_file(found.real, found.device, found.inode)
        except OSError:
            # Whoever reads it will say why it can't be.
            return False
        try:
            head = os.read(descriptor, MAGIC)
        except OSError:
            return False
        finally:
            os.close(descriptor)
        if len(head) == MAGIC and not is_packed(head):
            self._plain.add(found.identity)
        return is_packed(head)

    def read(self, files: Iterable[FoundFile]) -> Iterator[int]:
        """Read those that are new or have changed; yield the bytes of each piece."""
        for found in files:
            stamp = (*found.identity, found.size, found.modified_ns, found.changed_ns)
            if self._read.get(found.real) != stamp:
                self._read[found.real] = stamp
                yield from self._read_one(found)

    def _read_one(self, found: FoundFile) -> Iterator[int]:
        reading = self._reading
        try:
            stream = os.fdopen(open_file(found.real, found.device, found.inode), "rb", buffering=0)
        except OSError as error:
            reading.report_unreadable(found.shown, reason_of(error))
            return
        with stream:
            unpacked = Unpacked(stream, os.read(stream.fileno(), MAGIC))
            yield from reading.read_pieces(found.shown, unpacked.pieces())
            if unpacked.failure and not self._follow:
                reading.report_unreadable(found.shown, f"the compressed data breaks off: {unpacked.failure}")
