"""Spans as they are written, one by one: what is read is handed on and forgotten, but for ids and digests.

A span that is written when it starts is handed on then, without an end, and again when it has ended.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Final

from spanview.analysis.query.since import end_before_latest, runs_of_spans
from spanview.formats.decoder import DIGEST_SIZE, digest_of
from spanview.index.documents import DetailReader
from spanview.index.store import Store
from spanview.index.tallies import Tallies
from spanview.model.problems import NO_WARNINGS, QueryError, Warnings

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from spanview.analysis.query.selection import Selection
    from spanview.formats.rows import Batch
    from spanview.index.table import SpanTable
    from spanview.model.span import Span
    from spanview.sources.details import RecordReader

_MARK_SIZE: Final = 8
_ENTRY_SIZE: Final = DIGEST_SIZE + _MARK_SIZE


def settled(selection: Selection, read: Callable[[], SpanTable]) -> Selection:
    """Return what is asked for, as it can be told of one span after the other.

    Args:
        read: Reads all spans that are there already; called where the newest run is asked for.

    Raises:
        QueryError: It depends on more than a span.
    """
    if selection.query.needs_tree:
        raise QueryError(
            "with --follow, a span is printed before its trace is complete: leave out depth, self, trace.… "
            "terms, status=running and the like, > and >>, and give start a date"
        )
    return selection.settled(end_before_latest(runs_of_spans(read()))) if selection.needs_newest_run else selection


class NewSpans:
    """A sink that hands each batch on and forgets it, but for ids and digests, by which duplicates are recognised.

    Args:
        take: Is given the spans that are new and match, some at a time, each with what others say of it.
    """

    intake = None
    """Spans are wanted one by one."""

    def __init__(
        self, details: RecordReader, selection: Selection, take: Callable[[Sequence[tuple[Span, Warnings]]], None]
    ) -> None:
        self.tallies = Tallies()
        self._take = take
        self._details = details
        self._selection = selection
        self._sources: list[tuple[str, int]] = []
        self._known: dict[tuple[int, int], bytes] = {}
        """By ids, an entry for each record: its digest, and `_marked` of what records of one span have in common."""

    def add_source(self, path: str, generation: int = 0) -> int:
        """Take note of a file, or of its next generation, and return its number."""
        self.tallies.file(path)
        self._sources.append((path, generation))
        return len(self._sources) - 1

    def expect(self, spans: int) -> None:
        """Nothing is kept that would need room."""

    def add(self, source: int, batch: Batch) -> None:
        """Hand on the spans of a batch that are new and match."""
        self.tallies.take(self._sources[source][0], batch)
        if not batch.offsets:
            return
        store = Store(_OneSource(self._details, source))
        store.add(store.add_source(*self._sources[source]), batch)
        chosen = set(self._selection.traces(store)) if not self._selection.is_everything else None
        new = []
        for row in range(len(store.spans)):
            span = store.span(row)
            warnings = self._warnings_if_new(store, row, span)
            if warnings is None or (chosen is not None and store.spans.trace[row] not in chosen):
                continue
            if self._selection.query.keeps(store, row):
                new.append((span, warnings))
        self._take(new)

    def _warnings_if_new(self, store: Store, row: int, span: Span) -> Warnings | None:
        """Return None for a duplicate and for what began a span that ended, else what others say of this one."""
        record = store.record(row)
        digest = b"" if record is None else digest_of(record, span)
        key = store.trace_table.trace_id(store.spans.trace[row]), store.spans.span_id[row]
        entries = self._known.get(key, b"")
        known = [entries[first : first + _ENTRY_SIZE] for first in range(0, len(entries), _ENTRY_SIZE)]
        if any(entry.startswith(digest) for entry in known):
            self.tallies.duplicates += 1
            return None
        others = {entry[DIGEST_SIZE:] for entry in known}
        ended, begun = _marked(span, has_ended=True), _marked(span, has_ended=False)
        if span.end_ns is None and ended in others:
            return None
        self._known[key] = entries + digest.ljust(DIGEST_SIZE, b"\0") + (begun if span.end_ns is None else ended)
        return Warnings.DUPLICATE_ID if others - {begun} and 0 not in key else NO_WARNINGS


def _marked(span: Span, *, has_ended: bool) -> bytes:
    """Return what records of one span have in common besides its ids, and whether it has ended."""
    same = f"{span.parent_id} {span.start_ns} {span.kind_value} {has_ended}"
    return blake2b(same.encode(), digest_size=_MARK_SIZE).digest()


class _OneSource(DetailReader):
    """A reader for a store that knows only one source, by another number."""

    def __init__(self, details: RecordReader, source: int) -> None:
        self._details = details
        self._source = source

    def read(self, source: int, offset: int, length: int) -> bytes | None:  # noqa: ARG002 - the store's only one
        """Return the bytes at a place of the source, or None where they are gone."""
        return self._details.read(self._source, offset, length)
