"""What can't be read again is kept: an unlinked temporary file of compressed blocks.

Bytes come in pieces, source by source; small pieces wait in memory until a block is full.
"""

from __future__ import annotations

import sys
import tempfile
from bisect import bisect_right
from dataclasses import dataclass, field
from importlib import import_module
from threading import Lock
from typing import IO, TYPE_CHECKING, Any, Final

from spanview.sources.descriptors import read_at

if TYPE_CHECKING:
    from collections.abc import Sequence

_BLOCK_BYTES: Final = 128 * 1024
_COMPRESSION_LEVEL: Final = 1
"""Five times as quick as zlib's quickest, and half the size."""
_MAX_WAITING_BYTES: Final = 8 * 1024 * 1024
"""Bytes of all sources together that may wait in memory for their blocks to fill."""


@dataclass(slots=True)
class _Kept:
    """The bytes of one source: blocks on disk, followed by a tail in memory."""

    starts: list[int] = field(default_factory=list)
    """Offset in the source of each block."""
    places: list[tuple[int, int]] = field(default_factory=list)
    """Place and size in the temporary file of each block."""
    tail_start: int = 0
    tail: bytearray = field(default_factory=bytearray)


class Spool:
    """Bytes by source and offset.

    A full disk loses details, never spans: from then on `failed` says why, and reads of what was not kept give None.
    """

    def __init__(self) -> None:
        self._file: IO[bytes] | None = None
        self._end = 0
        self._kept: dict[int, _Kept] = {}
        self._block: tuple[int, bytes] = (-1, b"")
        self._waiting = 0
        self._lock = Lock()
        self.failed: str | None = None

    def write(self, source: int, offset: int, data: bytes) -> None:
        """Keep the bytes of a source from an offset on; pieces of one source come in their order."""
        with self._lock:
            kept = self._kept.setdefault(source, _Kept(tail_start=offset))
            # What came last can be read even where the disk is full.
            if self._waiting + len(data) > _MAX_WAITING_BYTES:
                for other in self._kept.values():
                    self._seal(other)
            elif len(kept.tail) >= _BLOCK_BYTES or kept.tail_start + len(kept.tail) != offset:
                self._seal(kept)
            if not kept.tail:
                kept.tail_start = offset
            kept.tail += data
            self._waiting += len(data)

    def _seal(self, kept: _Kept) -> None:
        if not kept.tail:
            return
        try:
            block = zstd_module().compress(kept.tail, _COMPRESSION_LEVEL)
            if self._file is None:
                # Without a buffer: what a full disk refuses must not stay in one, and fail every later read.
                self._file = tempfile.TemporaryFile(prefix="spanview-", buffering=0)  # noqa: SIM115 - it lives long
            self._file.seek(self._end)
            rest = memoryview(block)
            while rest:
                rest = rest[self._file.write(rest) :]
        except (ImportError, OSError) as error:
            self.failed = getattr(error, "strerror", None) or str(error)
        else:
            kept.starts.append(kept.tail_start)
            kept.places.append((self._end, len(block)))
            self._end += len(block)
        kept.tail_start += len(kept.tail)
        self._waiting -= len(kept.tail)
        kept.tail = bytearray()

    def take_numbers(self, numbers: Sequence[int]) -> None:
        """Renumber sources; `numbers` has the new number at each old one."""
        with self._lock:
            self._kept = {numbers[source]: kept for source, kept in self._kept.items()}

    def has(self, source: int) -> bool:
        """Tell whether anything of a source was kept."""
        with self._lock:
            return source in self._kept

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return kept bytes, or None where not all of them were kept."""
        with self._lock:
            kept = self._kept.get(source)
            if kept is None:
                return None
            parts = []
            while length:
                part = self._part(kept, offset, length)
                if not part:
                    return None
                parts.append(part)
                offset, length = offset + len(part), length - len(part)
            return b"".join(parts)

    def _part(self, kept: _Kept, offset: int, length: int) -> bytes:
        """Return the bytes at an offset as far as its block reaches."""
        if offset >= kept.tail_start:
            start = offset - kept.tail_start
            return bytes(kept.tail[start : start + length])
        number = bisect_right(kept.starts, offset) - 1
        if number < 0 or self._file is None:
            return b""
        position, size = kept.places[number]
        if self._block[0] != position:
            zstd = zstd_module()
            try:
                self._block = position, zstd.decompress(read_at(self._file.fileno(), size, position))
            except (OSError, zstd.ZstdError):
                return b""
        start = offset - kept.starts[number]
        return self._block[1][start : start + length]

    def close(self) -> None:
        """Release the disk space."""
        with self._lock:
            if self._file is not None:
                self._file.close()
            self._file, self._kept = None, {}


def zstd_module() -> Any:
    """Return the module for zstd: of the standard library from Python 3.14 on, before that its backport."""
    return import_module("compression.zstd" if sys.version_info >= (3, 14) else "backports.zstd")
