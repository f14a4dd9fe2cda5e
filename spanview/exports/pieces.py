"""Many short texts put into one buffer at once, each at its own place.

texts      ab|c|def
places     9  0  4
buffer     c...def..ab
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import orjson

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from spanview.index.bulk import Places
    from spanview.index.gather import Bytes

_MOST_WIDTHS: Final = 64
"""Texts of one width are put together; where there are more widths, texts are put one by one."""
_COMMA: Final = ord(",")


@dataclass(frozen=True, slots=True)
class Texts:
    """Texts of any widths, one behind the other or not."""

    data: Bytes
    starts: Places
    widths: Places

    def __getitem__(self, chosen: Places | slice) -> Texts:
        """Return some of them, in that order."""
        return Texts(self.data, self.starts[chosen], self.widths[chosen])


def texts_of(parts: Iterable[bytes]) -> Texts:
    """Return texts that are there as objects."""
    parts = [*parts]
    widths = [*map(len, parts)]
    starts = [0, *accumulate(widths)][: len(parts)]
    return Texts(np.frombuffer(b"".join(parts), np.uint8), np.array(starts, np.int64), np.array(widths, np.int64))


def numbers(values: NDArray[Any]) -> Texts:
    """Return integers in digits."""
    data = np.frombuffer(orjson.dumps(np.ascontiguousarray(values), option=orjson.OPT_SERIALIZE_NUMPY), np.uint8)
    if not len(values):
        return texts_of([])
    ends = np.append(np.flatnonzero(data == _COMMA), len(data) - 1)
    starts = np.append(0, ends[:-1]) + 1
    return Texts(data, starts, ends - starts)


def row_of(text: bytes) -> Bytes:
    """Return a text as 1 x width bytes."""
    return np.frombuffer(text, np.uint8).reshape(1, -1)


def put_rows(buffer: Bytes, places: Places, rows: Bytes) -> None:
    """Put rows of one width, N x width or 1 x width for all the same, at N places of a buffer."""
    width = rows.shape[1]
    if width and len(places):
        _windows(buffer, width)[places] = np.ascontiguousarray(rows).view(f"V{width}").ravel()


def put(buffer: Bytes, places: Places, texts: Texts) -> None:
    """Put texts at places of a buffer."""
    if not len(places):
        return
    widths = np.flatnonzero(np.bincount(texts.widths))
    if len(widths) > _MOST_WIDTHS:
        target, source = buffer.data, texts.data.data
        for place, start, width in zip(places.tolist(), texts.starts.tolist(), texts.widths.tolist(), strict=True):
            target[place : place + width] = source[start : start + width]
        return
    for width in widths.tolist():
        some = np.flatnonzero(texts.widths == width) if len(widths) > 1 else slice(None)
        if width:
            _windows(buffer, width)[places[some]] = _windows(texts.data, width)[texts.starts[some]]


def _windows(buffer: Bytes, width: int) -> NDArray[np.void]:
    """Return what begins at each place of a buffer, without a copy."""
    return np.ndarray((len(buffer) - width + 1,), f"V{width}", buffer, strides=(1,))
