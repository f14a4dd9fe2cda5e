"""What is compressed, by gzip or zstd: known by its first bytes, and unpacked as it comes, in pieces."""

from __future__ import annotations

import os
import zlib
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any, Final

from spanview.sources.details import reason_of
from spanview.sources.spool import zstd_module

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

_GZIP: Final = b"\x1f\x8b"
_ZSTD: Final = (b"\x28\xb5\x2f\xfd", *(b"%c\x2a\x4d\x18" % first for first in range(0x50, 0x60)))
"""Of a frame, and of those that are passed over; pzstd begins with one of these."""
MAGIC_BYTES: Final = 4
"""Bytes by which compressed files are recognised."""
_GZIP_WINDOW: Final = 31
"""zlib's `wbits` for data with gzip's header."""
_PIECE_BYTES: Final = 192 * 1024
"""Bytes that are handed on at once, of a stream or unpacked."""
_SLICE_BYTES: Final = 1024
"""Bytes that are unpacked at once; zstd gives nothing of a slice in which the data breaks off."""
_MAX_RATIO: Final = 1000
"""A file that unpacks to more than so many times its size isn't read to its end: spans don't, and gzip hardly can."""
_ALWAYS_UNPACKED_BYTES: Final = 1024**3
"""So many bytes of a file are unpacked in any case."""
TOO_DENSE: Final = f"it unpacks to more than {_MAX_RATIO:,} times its size"
CUT_OFF: Final = "it ends before the compressed data does"


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
        """What follows its end."""
        return self._stream.unused_data

    @property
    def needs_input(self) -> bool:
        """Whether everything that it could give so far was given."""
        return not self._stream.unconsumed_tail and self._failed is None

    def decompress(self, data: bytes, max_length: int) -> bytes:
        """Return what more bytes give, at most `max_length`."""
        if self._failed is not None:
            raise self._failed
        copy = self._stream.copy()
        data = self._stream.unconsumed_tail + data
        try:
            return self._stream.decompress(data, max_length)
        except zlib.error as error:
            self._failed = error
        # It gives nothing of a piece in which it fails.
        given = bytearray()
        with suppress(zlib.error):
            for offset in range(len(data)):
                given += copy.decompress(data[offset : offset + 1])
        return bytes(given)


class Unpacker:
    """What is compressed, in pieces; several streams may follow one another, with zeros between them.

    Args:
        head: Its first bytes, `MAGIC_BYTES` of them, which say how it is compressed; `feed` gets them too.
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
        """Whether every stream that began has ended."""
        return self._stream is None and not self.failure

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next bytes give, in pieces."""
        pieces, size = list[bytes](), 0
        self._taken += len(data)
        for offset in range(0, len(data), _SLICE_BYTES):
            for piece in self._unpack(data[offset : offset + _SLICE_BYTES]):
                pieces.append(piece)
                size += len(piece)
                if size >= _PIECE_BYTES:
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
            if self._given > max(_ALWAYS_UNPACKED_BYTES, _MAX_RATIO * self._taken):
                self.failure = TOO_DENSE
                return
            try:
                piece = stream.decompress(data, _PIECE_BYTES)
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


def unpacked(stream: IO[bytes], head: bytes, unpacker: Unpacker) -> Iterator[tuple[bytes, int]]:
    """Yield what a compressed stream gives in pieces, and how many bytes of it were read for each."""
    data = head
    try:
        while data:
            count = len(data)
            for piece in unpacker.feed(data):
                yield piece, count
                count = 0
            # A pipe gives what is there.
            data = os.read(stream.fileno(), _PIECE_BYTES)
    except OSError as error:
        unpacker.failure = reason_of(error)
