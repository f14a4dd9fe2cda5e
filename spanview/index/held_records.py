"""Records that are in memory: of spans that no file holds, or that were taken to another process."""

from __future__ import annotations

import zlib
from array import array
from bisect import bisect_right
from typing import TYPE_CHECKING, Final

from spanview.index.documents import DetailReader

if TYPE_CHECKING:
    from collections.abc import Iterable

_COMPRESSION_LEVEL: Final = 1


class HeldRecords(DetailReader):
    """Stretches of sources.

    Args:
        stretches: Source, offset and bytes of each; those of a source don't overlap.
    """

    def __init__(self, stretches: Iterable[tuple[int, int, bytes]]) -> None:
        self._data: dict[int, bytes] = {}
        """The stretches of each source, one after the other."""
        self._offsets: dict[int, array[int]] = {}
        """Where each begins in the source."""
        self._begins: dict[int, array[int]] = {}
        """Where each begins in the data, and behind them its size."""
        parts: dict[int, list[bytes]] = {}
        for source, offset, data in sorted(stretches):
            parts.setdefault(source, []).append(data)
            self._offsets.setdefault(source, array("Q")).append(offset)
            begins = self._begins.setdefault(source, array("Q", [0]))
            begins.append(begins[-1] + len(data))
        self._data = {source: b"".join(of_source) for source, of_source in parts.items()}

    def read(self, source: int, offset: int, length: int) -> bytes | None:
        """Return the bytes at a place of a source, or None where they aren't held."""
        offsets = self._offsets.get(source, ())
        index = bisect_right(offsets, offset) - 1
        if index < 0:
            return None
        begins = self._begins[source]
        begin = begins[index] + offset - offsets[index]
        return self._data[source][begin : begin + length] if begin + length <= begins[index + 1] else None

    def __getstate__(self) -> dict[str, object]:
        packed = {source: zlib.compress(data, _COMPRESSION_LEVEL) for source, data in self._data.items()}
        return self.__dict__ | {"_data": packed}

    def __setstate__(self, state: dict[str, object]) -> None:
        self.__dict__.update(state)
        self._data = {source: zlib.decompress(data) for source, data in self._data.items()}
