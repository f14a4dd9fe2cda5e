"""The columns of many spans side by side in one buffer, which may be memory that processes share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from spanview.index.arrays import Places

_COLUMNS: Final = {
    "trace_high": np.uint64,
    "trace_low": np.uint64,
    "span_id": np.uint64,
    "parent_id": np.uint64,
    "start_ns": np.int64,
    "end_ns": np.int64,
    "offset": np.uint64,
    "length": np.uint32,
    "name": np.uint32,
    "service": np.uint32,
    "process": np.uint32,
    "source": np.uint32,
    "kind": np.uint8,
    "status": np.uint8,
    "is_scanned": np.uint8,
}
"""In an order that leaves no gaps."""
ROW_BYTES: Final = sum(np.dtype(kind).itemsize for kind in _COLUMNS.values())


class ScannedRows:
    """Some spans, a column an array; ids, times and offsets as the span table has them.

    Args:
        buffer: `ROW_BYTES` for each row, or more.
    """

    __slots__ = ("_columns", "capacity", "count")

    def __init__(self, buffer: bytearray | memoryview, capacity: int) -> None:
        self.capacity, self.count = capacity, 0
        self._columns: dict[str, NDArray[Any]] = {}
        offset = 0
        for name, kind in _COLUMNS.items():
            self._columns[name] = np.frombuffer(buffer, kind, capacity, offset)
            offset += capacity * np.dtype(kind).itemsize

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._columns[name][: self.count]

    def append(self, columns: dict[str, NDArray[Any]], indexes: Places | None = None) -> None:
        """Add spans, those at some indexes of columns, or all. `capacity` must not be exceeded."""
        end = self.count + len(columns["span_id"] if indexes is None else indexes)
        for name, values in columns.items():
            self._columns[name][self.count : end] = values if indexes is None else values[indexes]
        self.count = end
