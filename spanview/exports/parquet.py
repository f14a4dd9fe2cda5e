"""Parquet: a row a span, traces by start, the spans of each as its tree is walked.

shares      batches of rows, as messages of Arrow, one after the other
row groups  of the rows of several batches, whatever shares they come from
file        each row group is written when it is full, and given away: no more than one is in memory
"""

from __future__ import annotations

from importlib import import_module
from io import BufferedReader, RawIOBase
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.analysis.walk import walk
from spanview.exports.arrow_spans import SIZE, ArrowSpans, arrow, schema
from spanview.exports.shares import shares_of_rows, written
from spanview.exports.tree_facts import TreeFacts
from spanview.formats.tags import ignore_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from typing import TypeAlias

    from spanview.index.store import Store

    _Buffer: TypeAlias = bytearray | memoryview

_MAX_GROUP_ROWS: Final = 65_536
_MAX_GROUP_BYTES: Final = 64 * 1024 * 1024
"""Of what differs in size, in the rows of a group, unless one alone has more."""
_READ_BYTES: Final = 256 * 1024
_REPEATED: Final = (
    *("trace_id", "name", "kind", "status_code", "status_message", "service_name", "trace_state"),
    *("exception_type", "exception_message"),
    *("resource_attributes", "resource_schema_url", "scope_name", "scope_version", "scope_schema_url"),
    *("scope_attributes", "source_file", "warnings.list.element"),
)
"""Columns with few values, which are written once for a row group."""


def parquet_chunks(store: Store, traces: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
    """Yield some traces in their order as a file, some of it at a time.

    Raises:
        ExportError: pyarrow isn't installed.
    """
    arrow()
    return file_of(messages_of(store, traces, lose))


def table_of(store: Store, traces: Sequence[int]) -> Any:
    """Return some traces in their order as one table of Arrow.

    Raises:
        ExportError: pyarrow isn't installed.
    """
    pa = arrow()
    kept = [name for name in schema().names if name != SIZE]
    walked = walk(store, np.array(traces, np.int64))
    facts = TreeFacts.of(store, traces)
    batches = ArrowSpans(store, facts, ignore_loss).batches(walked, 0, len(walked.rows))
    return pa.Table.from_batches(batches, schema()).select(kept)


def messages_of(
    store: Store, traces: Sequence[int], lose: Callable[[str], None], *, forks: bool = True
) -> Iterator[bytes]:
    """Yield some traces as messages of Arrow, in pieces, of which `file_of` makes a file."""
    walked, facts = walk(store, np.array(traces, np.int64)), TreeFacts.of(store, traces, forks=forks)
    # With its first array it imports pandas, where that is: here, rather than in each process.
    arrow().array([])

    def write(share: Sequence[int], lose: Callable[[str], None]) -> Iterator[bytes]:
        for batch in ArrowSpans(store, facts, lose).batches(walked, share[0], share[-1] + 1):
            yield batch.serialize().to_pybytes()

    return written(shares_of_rows(range(len(walked.rows))), write, lose, forks=forks)


def file_of(messages: Iterable[bytes]) -> Iterator[bytes]:
    """Yield the file of all rows in messages of Arrow, in pieces of any size."""
    pa, parquet = arrow(), import_module("pyarrow.parquet")
    kept = [name for name in schema().names if name != SIZE]
    sink = _Sink()
    stream = BufferedReader(_Pieces(chain([schema().serialize().to_pybytes()], messages)), _READ_BYTES)
    with parquet.ParquetWriter(
        sink, pa.schema([schema().field(name) for name in kept]), compression="zstd", use_dictionary=[*_REPEATED]
    ) as writer:
        for group in _row_groups(pa.ipc.open_stream(stream)):
            writer.write_table(group.select(kept), row_group_size=len(group))
            yield sink.take()
    yield sink.take()


def _row_groups(batches: Iterable[Any]) -> Iterator[Any]:
    """Yield tables, each as large as a row group may be, whatever batches there are."""
    pa, pending, rows, size = arrow(), list[Any](), 0, 0
    for batch in batches:
        ends = np.cumsum(batch.column(SIZE).to_numpy())
        first, before = 0, 0
        while first < len(batch):
            most = int(np.searchsorted(ends, before + _MAX_GROUP_BYTES - size, "right"))
            last = min(len(batch), first + _MAX_GROUP_ROWS - rows, max(most, first if rows else first + 1))
            pending.append(batch.slice(first, last - first))
            rows, size = rows + last - first, size + int(ends[last - 1] if last else 0) - before
            first, before = last, int(ends[last - 1] if last else 0)
            if first < len(batch):
                yield pa.Table.from_batches(pending).combine_chunks()
                pending, rows, size = [], 0, 0
    if rows:
        yield pa.Table.from_batches(pending).combine_chunks()


class _Sink:
    """A file whose bytes are taken out as they come."""

    closed = False

    def __init__(self) -> None:
        self._pieces: list[bytes] = []
        self._size = 0

    def write(self, data: Any) -> int:
        """Take some bytes."""
        self._pieces.append(bytes(data))
        self._size += len(self._pieces[-1])
        return len(self._pieces[-1])

    def tell(self) -> int:
        """Return how many bytes it has had."""
        return self._size

    def flush(self) -> None:
        """Do nothing: all is there."""

    def close(self) -> None:
        """End it."""
        self.closed = True

    def take(self) -> bytes:
        """Return what was written since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


class _Pieces(RawIOBase):
    """A file to read from, whose bytes come in pieces of any size."""

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = pieces
        self._rest = b""

    def readable(self) -> bool:
        """Tell that it can be read."""
        return True

    def readinto(self, target: _Buffer) -> int:  # type: ignore[override]
        """Fill some memory, and return how much of it was filled: nothing at the end."""
        while not self._rest and (piece := next(self._pieces, None)) is not None:
            self._rest = piece
        count = min(len(target), len(self._rest))
        target[:count] = self._rest[:count]
        self._rest = self._rest[count:]
        return count
