"""Which spans and traces match a query: by columns with numpy, by attributes in the bytes of the records.

Only records that these leave undecided are decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np

from spanview.analysis.query.base import OfAttribute, OfBelow, OfNumber, OfParts, OfState, OfText, OfTexts, rests_of
from spanview.analysis.query.bytesearch import NO, UNKNOWN, YES, ByteSearch, TextSearch
from spanview.analysis.query.query import Query
from spanview.analysis.query.subject import QueryFacts, Subject
from spanview.analysis.query.terms import KINDS
from spanview.analysis.query.timetext import Clock
from spanview.index.arrays import copy_of
from spanview.index.blocks import blocks, in_file_order
from spanview.index.forest import forest_of
from spanview.index.room import are_scanned
from spanview.index.table import NO_ROW
from spanview.model.codes import STATUS_NAMES
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Generator, Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.query.base import Term
    from spanview.analysis.query.bytesearch import Verdicts
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_Sought: TypeAlias = OfAttribute | OfTexts | OfBelow
"""What is decided apart from the term that rests on it."""
_ROWS_PER_BATCH: Final = 4096
"""Rows that are tested before matches are yielded."""
_MAX_EXACT_NS: Final = 2**62
"""Times below this have differences that fit 64 bits."""


def matching_rows(store: Store, query: Query, rows: Places) -> Iterator[tuple[Places, int]]:
    """Yield the rows of spans that match, in traces for which the trace terms hold.

    Args:
        rows: The rows to search; in the order of the records in their files, the first matches come sooner.

    Yields:
        Some rows, by source and offset, and how many are still to be searched.
    """
    traces = copy_of(store.spans.trace)[rows]
    rows = rows[_traces_passing(store, query, np.unique(traces))[traces]]
    undecided: list[Term] = []
    above: dict[OfBelow, Flags] = {}
    for term in query.span_terms:
        for below in rests_of(term):
            if isinstance(below, OfBelow):
                above[below] = yield from _are_above(store, below, rows)
        verdicts = _verdicts(store, term, rows, _verdicts_above(above, rows), are_traces=False)
        if verdicts is None:
            undecided.append(term)
            continue
        rows = rows[verdicts != NO]
        if (verdicts == UNKNOWN).any():
            undecided.append(term)
    facts = QueryFacts()
    searches = {
        sought: ByteSearch(sought) if isinstance(sought, OfAttribute) else TextSearch(sought)
        for term in undecided
        for sought in rests_of(term)
        if isinstance(sought, OfAttribute | OfTexts)
    }
    in_bytes = [term for term in undecided if any(isinstance(rest, OfAttribute | OfTexts) for rest in rests_of(term))]
    others = [term for term in undecided if term not in in_bytes]
    rows, waiting = in_file_order(store, rows), len(rows)
    if not searches:
        for first in range(0, len(rows), _ROWS_PER_BATCH):
            batch = rows[first : first + _ROWS_PER_BATCH]
            waiting -= len(batch)
            yield _rows_passing(store, facts, others, batch), waiting
        return
    scanned = are_scanned(store.intake)
    for block in blocks(store, rows):
        known = _verdicts_above(above, block.rows)
        known |= {sought: search.verdicts(block, scanned[block.rows]) for sought, search in searches.items()}
        verdicts_of = (_verdicts(store, term, block.rows, known, are_traces=False) for term in in_bytes)
        block_verdicts = _together([verdicts for verdicts in verdicts_of if verdicts is not None], NO)
        candidates = block.rows[block_verdicts != NO]
        are_decided = block_verdicts[block_verdicts != NO] == YES
        decoded = _rows_passing(store, facts, undecided, candidates[~are_decided])
        waiting -= len(block.rows)
        yield np.sort(np.append(_rows_passing(store, facts, others, candidates[are_decided]), decoded)), waiting


def _are_above(store: Store, below: OfBelow, rows: Places) -> Generator[tuple[Places, int], None, Flags]:
    """Return for each row of the store whether it is above one that matches, at least in the traces of some rows.

    Args:
        rows: Some rows, which are searched afterwards.

    Yields:
        No rows, and how many are still to be searched, so that whoever waits can end it.
    """
    forest = forest_of(store, np.unique(copy_of(store.spans.trace)[rows]).tolist())
    matching = np.zeros(len(forest), np.int64)
    for batch, waiting in matching_rows(store, Query("", (below.term,)), forest.rows):
        matching[np.searchsorted(forest.rows, batch)] = 1
        yield rows[:0], len(rows) + waiting
    if below.is_child:
        above = forest.parents[np.flatnonzero(matching)]
        above = above[above >= 0]
    else:
        above = np.flatnonzero(forest.sums_below(matching) > matching)
    flags = np.zeros(forest.size, np.bool_)
    flags[forest.rows[above]] = True
    return flags


def _verdicts_above(above: Mapping[OfBelow, Flags], rows: Places) -> dict[_Sought, Verdicts]:
    return {below: np.where(flags[rows], YES, NO).astype(np.uint8) for below, flags in above.items()}


def rows_that_match(store: Store, query: Query, rows: Sequence[int]) -> list[int]:
    """Return the rows that match, in their order."""
    row_array = np.array(rows, np.int64)
    matching = np.zeros(len(store.spans), np.bool_)
    for batch, _ in matching_rows(store, query, row_array):
        matching[batch] = True
    kept: list[int] = row_array[matching[row_array]].tolist()
    return kept


def matching_traces(store: Store, query: Query, traces: Sequence[int]) -> Iterator[tuple[set[int], int]]:
    """Yield the traces that match; a trace may come more than once.

    Yields:
        Some traces, and how many spans are still to be searched.
    """
    numbers = np.asarray(traces, np.int64)
    if not query.span_terms:
        yield {*np.flatnonzero(_traces_passing(store, query, numbers)).tolist()}, 0
        return
    # The length of the column that is filled last is the number of complete rows.
    count = len(store.spans.next_row)
    yield from _traces_of(store, query, np.flatnonzero(np.isin(copy_of(store.spans.trace)[:count], numbers)))


def matching_traces_from(
    store: Store, query: Query, first: int, end: int, again: Sequence[int] = ()
) -> Iterator[tuple[set[int], int]]:
    """Yield the traces of rows that match, as `matching_traces` does, for a query without trace terms.

    Args:
        end: One past the last.
        again: Rows before the first that are looked at, too, in order.
    """
    rows = np.concatenate((np.array(again, np.int64), np.arange(first, end)))
    if not len(rows):
        yield set(), 0
        return
    yield from _traces_of(store, query, rows)


def _traces_of(store: Store, query: Query, rows: Places) -> Iterator[tuple[set[int], int]]:
    of_rows = copy_of(store.spans.trace)
    is_over = False
    for batch, waiting in matching_rows(store, query, rows):
        is_over = not waiting
        yield {*np.unique(of_rows[batch]).tolist()}, waiting
    if not is_over:
        # The end is yielded even if nothing was searched.
        yield set(), 0


def _rows_passing(store: Store, facts: QueryFacts, terms: Sequence[Term], rows: Places) -> Places:
    """Return the rows for which all terms hold, tested one by one."""
    if not terms:
        return rows
    traces = store.spans.trace
    passing = []
    for row in rows.tolist():
        subject = Subject(store, facts, traces[row], row)
        passing.append(all(term.test(subject) for term in terms))
    return rows[np.array(passing, np.bool_)]


def _traces_passing(store: Store, query: Query, traces: Places) -> Flags:
    """Return flags by trace number, set for those of the given traces for which the trace terms hold."""
    passing = np.zeros(len(store.trace_table), np.bool_)
    passing[traces] = True
    for term in query.trace_terms:
        undecided = np.flatnonzero(passing)
        verdicts = _verdicts(store, term, undecided, {}, are_traces=True)
        if verdicts is None:
            verdicts = np.full(len(undecided), UNKNOWN, np.uint8)
        passing[undecided[verdicts == NO]] = False
        facts = QueryFacts()
        for trace in undecided[verdicts == UNKNOWN].tolist():
            passing[trace] = term.test(Subject(store, facts, trace))
    return passing


def _verdicts(
    store: Store, term: Term, indices: Places, known: Mapping[_Sought, Verdicts], *, are_traces: bool
) -> Verdicts | None:
    """Return what columns and bytes say about a term for each row or trace; None if they say nothing.

    Args:
        known: The verdicts of bytes on attributes and texts, and those of the spans below, for each row.
    """
    rests_on = term.rests_on
    if isinstance(rests_on, OfParts):
        parts = [_verdicts(store, part, indices, known, are_traces=are_traces) for part in rests_on.parts]
        if all(part is None for part in parts):
            return None
        part_verdicts = [np.full(len(indices), UNKNOWN, np.uint8) if part is None else part for part in parts]
        return _turned(term, _together(part_verdicts, YES if rests_on.is_any else NO))
    if isinstance(rests_on, OfAttribute | OfTexts | OfBelow):
        return _turned(term, known[rests_on]) if rests_on in known else None
    if term.of_trace and not are_traces:
        indices = copy_of(store.spans.trace)[indices]
    if isinstance(rests_on, OfText):
        numbers, texts = _texts(store, rests_on.column, indices)
        table = np.array([YES if rests_on.test(text) else NO for text in texts], np.uint8)
        return _turned(term, table[numbers])
    if isinstance(rests_on, OfState):
        rows = QueryFacts().rows_in(store, rests_on.state)
        return _turned(term, np.where(np.isin(indices, [*rows]), YES, NO).astype(np.uint8))
    if isinstance(rests_on, OfNumber):
        values, exist, are_exact = _numbers(store, rests_on.column, indices)
        value = rests_on.value
        matches = exist & rests_on.compare(
            values, QueryFacts().moment(store, value) if isinstance(value, Clock) else value
        )
        return np.where(are_exact, _turned(term, np.where(matches, YES, NO)), UNKNOWN).astype(np.uint8)
    return None


def _together(verdicts: Sequence[Verdicts], decisive: int) -> Verdicts:
    """Combine verdicts, of which one decides: `YES` where any must hold, `NO` where all must."""
    stacked = np.stack(verdicts)
    return np.where((stacked == decisive).any(axis=0), decisive, stacked.max(axis=0)).astype(np.uint8)


def _turned(term: Term, verdicts: Verdicts) -> Verdicts:
    """Return a term's verdicts, negated if the term is."""
    return np.array([YES, NO, UNKNOWN], np.uint8)[verdicts] if term.negated else verdicts


def _texts(store: Store, column: str, indices: Places) -> tuple[NDArray[Any], Sequence[str]]:
    """Return the number of each one's text, and then the texts, because a store may grow."""
    spans = store.spans
    if column == "name":
        return copy_of(spans.name)[indices], store.names.texts
    if column == "service":
        return copy_of(spans.service)[indices], store.services.texts
    if column == "kind":
        return copy_of(spans.kind)[indices], KINDS
    if column == "status":
        return copy_of(spans.status)[indices], STATUS_NAMES
    if column == "file":
        return copy_of(spans.source)[indices], [source.path for source in store.sources]
    if column == "trace":
        traces, numbers = np.unique(copy_of(spans.trace)[indices], return_inverse=True)
        ids = map(store.trace_table.trace_id, traces.tolist())
        return numbers, [format_trace_id(trace_id) if trace_id else "" for trace_id in ids]
    if column in {"span", "parent"}:
        ids = copy_of(spans.span_id if column == "span" else spans.parent_id)[indices].tolist()
        return np.arange(len(indices)), [format_span_id(span_id) if span_id else "" for span_id in ids]
    roots = copy_of(store.trace_table.root_row)[indices]
    has_root = roots != NO_ROW
    names = copy_of(spans.name)[np.where(has_root, roots, 0)] if len(spans) else roots
    return np.where(has_root, names + 1, 0), ["", *store.names.texts]


def _numbers(store: Store, column: str, indices: Places) -> tuple[NDArray[Any], Flags, Flags]:
    """Return values, which of them exist, and which are exact."""
    spans, table = store.spans, store.trace_table
    all_of_them = np.ones(len(indices), np.bool_)
    if column == "trace.spans":
        return copy_of(table.span_count)[indices], all_of_them, all_of_them
    if column == "trace.errors":
        return copy_of(table.error_count)[indices], all_of_them, all_of_them
    of_traces = column == "trace.duration"
    times = table if of_traces else spans
    starts = copy_of(times.start_ns)[indices]
    if column == "start":
        return starts, starts != NO_TIME, all_of_them
    # What it names is there when the ends are looked at.
    known, ends = QueryFacts().known_until(store), copy_of(times.end_ns).copy()
    for index, ns in (known.traces if of_traces else known.rows).items():
        ends[index] = max(ends[index], ns)
    ends = ends[indices]
    exist = (starts != NO_TIME) & (ends != NO_TIME)
    are_exact = (abs(starts) < _MAX_EXACT_NS) & (abs(ends) < _MAX_EXACT_NS) | ~exist
    return ends - starts, exist, are_exact
