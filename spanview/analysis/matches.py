"""Which spans and traces match a query: by columns with numpy, by attributes in the bytes of the records.

Only records that these don't decide are decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.analysis.bytesearch import NO, UNKNOWN, YES, ByteSearch, TextSearch
from spanview.analysis.query_base import OfAttribute, OfNumber, OfParts, OfText, OfTexts
from spanview.analysis.query_subject import Subject, TreeFacts
from spanview.analysis.query_terms import KINDS
from spanview.index.arrays import copy_of
from spanview.index.blocks import blocks, in_file_order
from spanview.index.room import are_scanned
from spanview.index.table import NO_ROW
from spanview.model.codes import STATUS_NAMES
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.bytesearch import Verdicts
    from spanview.analysis.query import Query
    from spanview.analysis.query_base import Term
    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_MOST_AT_ONCE: Final = 4096
"""Rows that are looked at before what was found is yielded."""
_SAFE: Final = 2**62
"""Times below it have differences that fit 64 bits."""


def matching_rows(store: Store, query: Query, rows: Places) -> Iterator[tuple[Places, int]]:
    """Yield the rows of spans that match, of traces for which the terms that speak of traces hold.

    Args:
        rows: Where to look; ordered as the records stand in their files, some of what is found comes sooner.

    Yields:
        Some rows, by source and offset, and how many are still to be looked at.
    """
    traces = copy_of(store.spans.trace)[rows]
    rows = rows[_traces_passing(store, query, np.unique(traces))[traces]]
    left: list[Term] = []
    for term in query.span_terms:
        verdicts = _verdicts(store, term, rows, {}, are_traces=False)
        if verdicts is None:
            left.append(term)
            continue
        rows = rows[verdicts != NO]
        if (verdicts == UNKNOWN).any():
            left.append(term)
    facts = TreeFacts()
    searches = {
        each: ByteSearch(each) if isinstance(each, OfAttribute) else TextSearch(each)
        for term in left
        for each in _sought_by(term)
    }
    in_bytes = [term for term in left if any(True for _ in _sought_by(term))]
    others = [term for term in left if term not in in_bytes]
    rows, waiting = in_file_order(store, rows), len(rows)
    if not searches:
        for first in range(0, len(rows), _MOST_AT_ONCE):
            some = rows[first : first + _MOST_AT_ONCE]
            waiting -= len(some)
            yield _rows_passing(store, facts, others, some), waiting
        return
    scanned = are_scanned(store.intake)
    for block in blocks(store, rows):
        of_bytes = {each: search.verdicts(block, scanned[block.rows]) for each, search in searches.items()}
        verdicts_of = (_verdicts(store, term, block.rows, of_bytes, are_traces=False) for term in in_bytes)
        found = _together([verdicts for verdicts in verdicts_of if verdicts is not None], NO)
        some = block.rows[found != NO]
        known = found[found != NO] == YES
        decoded = _rows_passing(store, facts, left, some[~known])
        waiting -= len(block.rows)
        yield np.sort(np.append(_rows_passing(store, facts, others, some[known]), decoded)), waiting


def rows_that_match(store: Store, query: Query, rows: Sequence[int]) -> list[int]:
    """Return those of some rows that match, in their order."""
    places = np.array(rows, np.int64)
    matching = np.zeros(len(store.spans), np.bool_)
    for some, _ in matching_rows(store, query, places):
        matching[some] = True
    kept: list[int] = places[matching[places]].tolist()
    return kept


def matching_traces(store: Store, query: Query, traces: Sequence[int]) -> Iterator[tuple[set[int], int]]:
    """Yield those of some traces that match; a trace may come more than once.

    Args:
        traces: Where to look.

    Yields:
        Some traces, and how many spans are still to be looked at.
    """
    asked = np.asarray(traces, np.int64)
    if not query.span_terms:
        yield {*np.flatnonzero(_traces_passing(store, query, asked)).tolist()}, 0
        return
    # The column that is filled last tells how many rows are whole.
    count = len(store.spans.next_row)
    yield from _traces_of(store, query, np.flatnonzero(np.isin(copy_of(store.spans.trace)[:count], asked)))


def matching_traces_from(store: Store, query: Query, first: int, end: int) -> Iterator[tuple[set[int], int]]:
    """Yield the traces of which some rows match, as `matching_traces` does; of a query that asks only for spans.

    Args:
        first: The first of the rows.
        end: The one behind the last.
    """
    if first >= end:
        yield set(), 0
        return
    yield from _traces_of(store, query, np.arange(first, end))


def _traces_of(store: Store, query: Query, rows: Places) -> Iterator[tuple[set[int], int]]:
    of_rows = copy_of(store.spans.trace)
    is_over = False
    for some, waiting in matching_rows(store, query, rows):
        is_over = not waiting
        yield {*np.unique(of_rows[some]).tolist()}, waiting
    if not is_over:
        # Where nothing is left to be looked at, the end is yielded all the same.
        yield set(), 0


def _rows_passing(store: Store, facts: TreeFacts, terms: Sequence[Term], rows: Places) -> Places:
    """Return those of the rows for which some terms hold, asked one by one."""
    if not terms:
        return rows
    traces = store.spans.trace
    fits = []
    for row in rows.tolist():
        subject = Subject(store, facts, traces[row], row)
        fits.append(all(term.test(subject) for term in terms))
    return rows[np.array(fits, np.bool_)]


def _traces_passing(store: Store, query: Query, traces: Places) -> Flags:
    """Return flags by the numbers of traces: set for those of some for which the terms that speak of traces hold."""
    holds = np.zeros(len(store.trace_table), np.bool_)
    holds[traces] = True
    for term in query.trace_terms:
        left = np.flatnonzero(holds)
        verdicts = _verdicts(store, term, left, {}, are_traces=True)
        if verdicts is None:
            verdicts = np.full(len(left), UNKNOWN, np.uint8)
        holds[left[verdicts == NO]] = False
        facts = TreeFacts()
        for trace in left[verdicts == UNKNOWN].tolist():
            holds[trace] = term.test(Subject(store, facts, trace))
    return holds


def _sought_by(term: Term) -> Iterator[OfAttribute | OfTexts]:
    """Yield what is looked for in the bytes for a term, itself or its parts."""
    if isinstance(term.rests_on, OfAttribute | OfTexts):
        yield term.rests_on
    elif isinstance(term.rests_on, OfParts):
        for part in term.rests_on.parts:
            yield from _sought_by(part)


def _verdicts(
    store: Store, term: Term, places: Places, of_bytes: Mapping[OfAttribute | OfTexts, Verdicts], *, are_traces: bool
) -> Verdicts | None:
    """Return for each row, or trace, what columns and bytes say of a term; None where they say nothing.

    Args:
        places: The rows or traces.
        of_bytes: What bytes tell of attributes and texts, for each row.
        are_traces: Whether they are traces.
    """
    rests_on = term.rests_on
    if isinstance(rests_on, OfParts):
        parts = [_verdicts(store, part, places, of_bytes, are_traces=are_traces) for part in rests_on.parts]
        if all(part is None for part in parts):
            return None
        known = [np.full(len(places), UNKNOWN, np.uint8) if part is None else part for part in parts]
        return _turned(term, _together(known, YES if rests_on.is_any else NO))
    if isinstance(rests_on, OfAttribute | OfTexts):
        return _turned(term, of_bytes[rests_on]) if rests_on in of_bytes else None
    if term.of_trace and not are_traces:
        places = copy_of(store.spans.trace)[places]
    if isinstance(rests_on, OfText):
        numbers, texts = _texts(store, rests_on.column, places)
        table = np.array([YES if rests_on.test(text) else NO for text in texts], np.uint8)
        return _turned(term, table[numbers])
    if isinstance(rests_on, OfNumber):
        values, have, are_exact = _numbers(store, rests_on.column, places)
        fits = have & rests_on.compare(values, rests_on.value)
        return np.where(are_exact, _turned(term, np.where(fits, YES, NO)), UNKNOWN).astype(np.uint8)
    return None


def _together(verdicts: Sequence[Verdicts], decisive: int) -> Verdicts:
    """Return what is known of several together, of which one decides: `YES` where any is asked for, `NO` where all."""
    each = np.stack(verdicts)
    return np.where((each == decisive).any(axis=0), decisive, each.max(axis=0)).astype(np.uint8)


def _turned(term: Term, verdicts: Verdicts) -> Verdicts:
    """Return what a term makes of what it rests on."""
    return np.array([YES, NO, UNKNOWN], np.uint8)[verdicts] if term.negated else verdicts


def _texts(store: Store, column: str, places: Places) -> tuple[NDArray[Any], Sequence[str]]:
    """Return numbers of texts, one for each place, and the texts; these last, because a store may grow."""
    spans = store.spans
    if column == "name":
        return copy_of(spans.name)[places], store.names.texts
    if column == "service":
        return copy_of(spans.service)[places], store.services.texts
    if column == "kind":
        return copy_of(spans.kind)[places], KINDS
    if column == "status":
        return copy_of(spans.status)[places], STATUS_NAMES
    if column == "file":
        return copy_of(spans.source)[places], [source.path for source in store.sources]
    if column == "trace":
        traces, numbers = np.unique(copy_of(spans.trace)[places], return_inverse=True)
        ids = map(store.trace_table.trace_id, traces.tolist())
        return numbers, [format_trace_id(each) if each else "" for each in ids]
    if column in {"span", "parent"}:
        ids = copy_of(spans.span_id if column == "span" else spans.parent_id)[places].tolist()
        return np.arange(len(places)), [format_span_id(each) if each else "" for each in ids]
    roots = copy_of(store.trace_table.root_row)[places]
    has_root = roots != NO_ROW
    names = copy_of(spans.name)[np.where(has_root, roots, 0)] if len(spans) else roots
    return np.where(has_root, names + 1, 0), ["", *store.names.texts]


def _numbers(store: Store, column: str, places: Places) -> tuple[NDArray[Any], Flags, Flags]:
    """Return values, which of them are there, and which are exact."""
    spans, table = store.spans, store.trace_table
    all_of_them = np.ones(len(places), np.bool_)
    if column == "trace.spans":
        return copy_of(table.span_count)[places], all_of_them, all_of_them
    if column == "trace.errors":
        return copy_of(table.error_count)[places], all_of_them, all_of_them
    times = table if column == "trace.duration" else spans
    starts, ends = copy_of(times.start_ns)[places], copy_of(times.end_ns)[places]
    if column == "start":
        return starts, starts != NO_TIME, all_of_them
    have = (starts != NO_TIME) & (ends != NO_TIME)
    are_exact = (abs(starts) < _SAFE) & (abs(ends) < _SAFE) | ~have
    return ends - starts, have, are_exact
