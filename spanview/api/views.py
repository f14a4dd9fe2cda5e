"""What the traces and nodes of a store share: their order, and details that are read ahead.

traces by start     | 1 | 2 | 3 |   4   | 5 | …
shares              |------------------|-------      walked at once, where numpy pays
chunks of spans     |-----|-----|-----|-----|--      read at once, once a second span of them is asked for
"""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Final
from weakref import proxy

from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.selftime import self_times
from spanview.index.memory import without_collector
from spanview.index.table import NUMPY_FROM_SPANS
from spanview.index.whole_spans import spans_at

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.index.known_attributes import KnownAttributes
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Span

_SHARE_SPANS: Final = 200_000
"""Spans that are walked at once; some hundred bytes each."""
_CHUNK_SPANS: Final = 16_384
"""Spans of a chunk: of many processes' files, each has some that are neighbours there."""
_MAX_CHUNKS: Final = 2
"""Chunks of details that are kept."""


class SharedTraces:
    """Some traces of a store that doesn't grow meanwhile.

    Args:
        traces: Their numbers, in the order in which they are likely asked for; None for all.
    """

    def __init__(self, store: Store, traces: Sequence[int] | None = None, known: KnownCalls | None = None) -> None:
        self.store = store
        self.is_whole = traces is None or len(traces) == len(store.trace_table)
        """Whether these are all."""
        if traces is not None:
            self.traces = traces
        self.known = KnownCalls(store) if known is None else known
        """What all spans show of calls."""
        self.is_walked_at_once = len(store.spans) >= NUMPY_FROM_SPANS
        self._share_of: dict[int, Sequence[int]] = {}
        self._share: _Share | None = None
        # A store holds files open, and in a circle it would be there until the garbage collector comes.
        these: SharedTraces = proxy(self)
        self._spans = _Ahead(these, lambda rows: dict(zip(rows, spans_at(store, rows), strict=True)))
        # A bound method would hold them itself.
        ahead = _Ahead(these, lambda rows: these._attributes_at(rows))  # noqa: PLW0108
        self.attributes: Callable[[int], Mapping[str, Any]] = ahead.of
        """Returns what a span's details have as its attributes, by row."""
        self._known_attributes: KnownAttributes | None = None

    @cached_property
    def traces(self) -> Sequence[int]:
        """Their numbers; put in order when they are first asked for, which takes room."""
        return self.store.traces_in_order()

    def _attributes_at(self, rows: Sequence[int]) -> Mapping[int, Any]:
        if len(rows) == 1:
            return {row: self.store.span(row).attributes for row in rows}
        if self._known_attributes is None:
            from spanview.index.known_attributes import KnownAttributes

            self._known_attributes = KnownAttributes(self.store)
        return self._known_attributes.at(rows)

    def __iter__(self) -> Iterator[TraceView]:
        return (TraceView(self, trace) for trace in self.traces)

    def share_of(self, trace: int) -> _Share:
        """Return what was found out of a trace together with others."""
        share = self._share
        if share is None or trace not in share.firsts:
            if not self._share_of:
                for traces in self.store.trace_table.shares(self.traces, _SHARE_SPANS):
                    self._share_of.update(dict.fromkeys(traces, traces))
            self._share = share = _Share(self.store, self._share_of[trace])
        return share

    def span(self, row: int) -> Span:
        """Return a span with all its details."""
        span: Span = self._spans.of(row)
        return span


class TraceView:
    """One trace, as what is handed out of it shares it: each part is found out when it is first asked for.

    The rows of placeholders are -1, -2, …: there are no such rows in the store.
    """

    __slots__ = ("_numbers", "_own_times", "_tree", "number", "store", "views")

    def __init__(self, views: SharedTraces, number: int) -> None:
        self.views = views
        self.store = views.store
        self.number = number
        self._tree: TraceTree | None = None
        self._numbers: dict[int, int] | None = None
        self._own_times: list[int | None] | None = None

    @property
    def tree(self) -> TraceTree:
        """The stitched trees, as numbers."""
        if self._tree is None:
            self._tree = self.store.tree(self.number)
        return self._tree

    def row_of(self, number: int) -> int:
        """Return the row of a node of the tree."""
        rows = self.tree.rows
        return rows[number] if number < len(rows) else len(rows) - number - 1

    def number_of(self, row: int) -> int:
        """Return the node of a row."""
        rows = self.tree.rows
        if self._numbers is None:
            self._numbers = dict(zip(rows, range(len(rows)), strict=True))
        return self._numbers[row] if row >= 0 else len(rows) - row - 1

    def self_time_ns(self, row: int) -> int | None:
        """Return the self time of a row."""
        if self._own_times is None:
            self._own_times = self_times(self.tree, self.store.spans)
        return self._own_times[self.number_of(row)]

    def walk(self) -> Iterator[tuple[int, int]]:
        """Yield the row of every node and its depth, parents before their children."""
        if self.views.is_walked_at_once and self._tree is None:
            count = self.store.trace_table.span_count[self.number]
            walked = self.views.share_of(self.number).walk(self.number, count)
            if walked is not None:
                return walked
        return ((self.row_of(number), depth) for number, depth in self.tree.walk())


class _Share:
    """Traces that are walked at once."""

    def __init__(self, store: Store, traces: Sequence[int]) -> None:
        import numpy as np

        from spanview.analysis.walk import walk

        walked = walk(store, np.array(traces, np.int64))
        self.firsts: dict[int, int] = dict(zip(traces, walked.firsts.tolist(), strict=True))
        """Where each trace begins."""
        self.rows: list[int] = walked.rows.tolist()
        self._depths: list[int] = walked.depths.tolist()
        self._irregular: Callable[[int], bool] = walked.irregular.__getitem__
        self._positions: dict[int, int] = {}

    def walk(self, trace: int, count: int) -> Iterator[tuple[int, int]] | None:
        """Return the rows of a trace with their depths; None where placeholders or circles are in it."""
        if self._irregular(trace):
            return None
        part = slice(self.firsts[trace], self.firsts[trace] + count)
        return zip(self.rows[part], self._depths[part], strict=True)

    def position(self, row: int) -> int:
        """Return where a row comes in the walk."""
        if not self._positions:
            self._positions = dict(zip(self.rows, range(len(self.rows)), strict=True))
        return self._positions[row]


class _Ahead:
    """Reads what belongs to spans: of one alone, or of all in its chunk once another one of these was asked for."""

    def __init__(self, views: SharedTraces, read: Callable[[Sequence[int]], Mapping[int, Any]]) -> None:
        self._views = views
        self._read = read
        self._known: dict[int, Any] = {}
        """What was read of the chunks that were used last, by row."""
        self._chunks: dict[tuple[int, int], Sequence[int]] = {}
        """The rows of these chunks."""
        self._last: tuple[int, int] = (-1, -1)
        """The chunk of which one was read alone."""

    def of(self, row: int) -> Any:
        """Return what belongs to a row."""
        known = self._known.get(row)
        if known is not None:
            return known
        views, spans = self._views, self._views.store.spans
        rows: Sequence[int]
        if views.is_walked_at_once:
            share = views.share_of(spans.trace[row])
            number, rows = id(share), share.rows
            index = share.position(row) // _CHUNK_SPANS
        else:
            # Few spans: all that was read is kept, in whatever order they are asked for.
            number, rows = 0, range(len(spans))
            index = row // _CHUNK_SPANS
        chunk = number, index
        if self._last[0] != number or index not in {self._last[1], self._last[1] + 1}:
            self._last = chunk
            return self._read([row])[row]
        self._last = chunk
        while len(self._chunks) >= _MAX_CHUNKS:
            for old in self._chunks.pop(next(iter(self._chunks))):
                del self._known[old]
        # As they are in files: neighbours are read with one look, and often end alike.
        self._chunks[chunk] = rows = sorted(rows[index * _CHUNK_SPANS : (index + 1) * _CHUNK_SPANS])
        # What it makes stays, and has no circles in it.
        with without_collector():
            self._known.update(self._read(rows))
        return self._known[row]
