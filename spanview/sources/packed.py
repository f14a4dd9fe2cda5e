"""Compressed files, known by their first bytes: read as they grow, and kept in the spool for whoever looks.

What is written anew is read again from its start; spans that were there are doubles then, and dropped.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from contextlib import suppress
from dataclasses import dataclass
from importlib import import_module
from typing import IO, TYPE_CHECKING, Any, Final

from spanview.sources.details import open_file, read_at, reason_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

    from spanview.sources.content import Content
    from spanview.sources.discover import FoundFile
    from spanview.sources.reading import Reading

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = (b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % first for first in range(0x50, 0x60)))
"""Of a frame, and of those that are passed over; pzstd begins with one of these."""
MAGIC: Final = 4
"""First bytes that tell what is compressed, and how."""
_GZIP_WINDOW: Final = 31
"""What zlib calls gzip's header around deflated data."""
_PIECE: Final = 192 * 1024
"""Bytes that are handed on at once, of a stream or unpacked."""
_PACKED_PIECE: Final = 16 * 1024
"""Bytes of a file that are read at once: what unpacks to a thousand times its size tells how far it is, too."""
_SLICE: Final = 1024
"""Bytes that are unpacked at once; of those in which the data breaks off zstd gives nothing."""
_EDGE: Final = 64
"""Bytes at its front, and before where it was read last, by which a file is recognised."""
_MOST_TIMES: Final = 1000
"""A file that unpacks to more than so many times its size isn't read to its end: spans don't, and gzip hardly can;"""
_ALWAYS: Final = 1024**3
"""this many bytes are unpacked in any case."""
TOO_DENSE: Final = f"it unpacks to more than {_MOST_TIMES:,} times its size"
_CUT: Final = "it ends before the compressed data does"
_OF_RAY: Final = re.compile(r"(?:^|[/\\])(?:[0-9]+\.(?:txt|json)|[^/\\]*_tracing\.json)$")
"""Names under which nothing is ever compressed: of a thousand files, none has to be opened for that."""


def is_packed(head: bytes) -> bool:
    """Tell whether something that begins so is compressed."""
    return head.startswith((_GZIP, *_ZSTD))


class _Inflater:
    """One member of a gzip file, with the methods that zstd's decompressor has."""

    def __init__(self) -> None:
        self._stream = zlib.decompressobj(_GZIP_WINDOW)
        self._failed: zlib.error | None = None

    @property
    def eof(self) -> bool:
        """Whether its end was read."""
        return self._stream.eof

    @property
    def unused_data(self) -> bytes:
        """What stands behind its end."""
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        """Whether all was given that can be had of what was taken."""
        return not self._stream.unconsumed_tail and self._failed is None

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return what more bytes give, at most so many of it."""
        if self._failed is not None:
            raise self._failed
        before = self._stream.copy()
        data = self._stream.unconsumed_tail + data
        try:
            return self._stream.decompress(data, max_length)
        except zlib.error as error:
            self._failed = error
        # It gives nothing of a piece in which it fails.
        given = bytearray()
        with suppress(zlib.error):
            for at in range(len(data)):
                given += before.decompress(data[at : at + 1])
        return bytes(given)


class Unpacker:
    """What is compressed, in pieces; several streams may follow one another, with zeros between them.

    Args:
        head: Its first bytes, `MAGIC` of them, which tell how it is compressed; `feed` gets them too.
    """

    def __init__(self, head: bytes) -> None:
        self.failure = ""
        """Why nothing more can be had, in words."""
        self._taken, self._given = 0, 0
        """Bytes before and after unpacking."""
        self._stream: Any = None
        self._new_stream: Callable[[], Any] = _Inflater
        self._failures: tuple[type[Exception], ...] = (zlib.error, EOFError)
        if head.startswith(_ZSTD):
            zstd = zstd_module()
            self._new_stream, self._failures = zstd.ZstdDecompressor, (zstd.ZstdError, EOFError)

    @property
    def is_whole(self) -> bool:
        """Whether nothing has begun that hasn't ended."""
        return self._stream is None and not self.failure

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes give, in pieces."""
        pieces, size = list[bytes](), 0
        self._taken += len(data)
        for at in range(0, len(data), _SLICE):
            for piece in self._unpack(data[at : at + _SLICE]):
                pieces.append(piece)
                size += len(piece)
                if size >= _PIECE:
                    yield b"".join(pieces)
                    pieces, size = [], 0
        yield b"".join(pieces)

    def _unpack(self, data: bytes) -> Iterator[bytes]:
        while not self.failure:
            if self._stream is None:
                data = data.lstrip(b"\0")
                if not data:
                    return
                self._stream = self._new_stream()
            stream = self._stream
            if self._given > max(_ALWAYS, _MOST_TIMES * self._taken):
                self.failure = TOO_DENSE
                return
            try:
                piece = stream.decompress(data, _PIECE)
            except self._failures as error:
                self.failure = str(error)
                return
            self._given += len(piece)
            yield piece
            data = b""
            if stream.eof:
                data, self._stream = stream.unused_data, None
            elif stream.needs_input:
                return


class Unpacked:
    """The content of a compressed stream, in pieces.

    Args:
        stream: Where it comes from, with a descriptor.
        head: Its first bytes, which were read already, `MAGIC` of them at the least.
    """

    def __init__(self, stream: IO[bytes], head: bytes) -> None:
        self._stream, self._head = stream, head
        self._unpacker = Unpacker(head)
        self.failure = ""
        """Why its rest can't be had, in words."""

    def pieces(self) -> Iterator[tuple[bytes, int]]:
        """Yield what was compressed, and how many bytes of the stream were read for it."""
        try:
            # A pipe gives what is there.
            while data := self._head or os.read(self._stream.fileno(), _PIECE):
                self._head, count = b"", len(data)
                for piece in self._unpacker.feed(data):
                    yield piece, count
                    count = 0
        except OSError as error:
            self.failure = reason_of(error)
        else:
            self.failure = self._unpacker.failure or ("" if self._unpacker.is_whole else _CUT)


def zstd_module() -> Any:
    """Return what reads zstd: the standard library from Python 3.14 on, before that the same for older ones."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")


@dataclass(slots=True)
class _Packed:
    """A compressed file, and how far it was read."""

    shown: str
    identity: tuple[int, int]
    content: Content
    unpacker: Unpacker
    stamp: tuple[int, ...] = ()
    """What it was like when it was read last."""
    size: int = 0
    """Bytes that were read."""
    head: bytes = b""
    """The first ones of them."""
    last: bytes = b""

    def note(self, data: bytes) -> None:
        """Take note of bytes that were read."""
        self.size += len(data)
        self.head = self.head or data[:_EDGE]
        self.last = (self.last + data[-_EDGE:])[-_EDGE:]

    def is_in(self, descriptor: int) -> bool:
        """Tell whether a file has what was read, and perhaps more."""
        last_at = self.size - len(self.last)
        head, last = read_at(descriptor, len(self.head), 0), read_at(descriptor, len(self.last), last_at)
        return (head, last) == (self.head, self.last)


class PackedFiles:
    """The compressed files among those that are read.

    Args:
        reading: Takes what is in them.
        follow: Whether one that breaks off may still be written.
    """

    def __init__(self, reading: Reading, *, follow: bool) -> None:
        self._reading = reading
        self._follow = follow
        self._read: dict[str, _Packed] = {}
        """By real path."""
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
        if found.real in self._read and self._read[found.real].identity == found.identity:
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
        """Read those that are new or have changed, as far as they can be unpacked; yield the bytes of each piece."""
        for found in files:
            stamp = (*found.identity, found.size, found.modified_ns, found.changed_ns)
            known = self._read.get(found.real)
            if known is None or known.stamp != stamp:
                try:
                    descriptor = open_file(found.real, found.device, found.inode)
                except OSError as error:
                    self._reading.report_unreadable(found.shown, reason_of(error))
                    continue
                try:
                    yield from self._read_on(found, stamp, descriptor)
                except OSError as error:
                    self._reading.report_unreadable(found.shown, reason_of(error))
                finally:
                    os.close(descriptor)

    def _read_on(self, found: FoundFile, stamp: tuple[int, ...], descriptor: int) -> Iterator[int]:
        packed = self._read.get(found.real)
        if packed is None or packed.identity != found.identity or not packed.is_in(descriptor):
            if packed is not None:
                packed.content.close()
            content = self._reading.open_content(found.shown)
            packed = _Packed(found.shown, found.identity, content, Unpacker(read_at(descriptor, MAGIC, 0)))
            self._read[found.real] = packed
        packed.stamp = stamp
        while data := read_at(descriptor, _PACKED_PIECE, packed.size):
            packed.note(data)
            count = len(data)
            for piece in packed.unpacker.feed(data):
                packed.content.take(piece, count)
                yield count
                count = 0
        self._settle(packed, may_grow=self._follow)

    def _settle(self, packed: _Packed, *, may_grow: bool) -> None:
        unpacker = packed.unpacker
        if may_grow and not (unpacker.is_whole or unpacker.failure):
            packed.content.settle()
            return
        packed.content.close()
        if not unpacker.is_whole:
            self._reading.report_broken(packed.shown, packed.content, unpacker.failure or _CUT)

    def close(self) -> None:
        """Settle the ends of all files."""
        for packed in self._read.values():
            self._settle(packed, may_grow=False)
