"""What spans can be grouped by: columns, or values for which every record is read again."""

from __future__ import annotations

from array import array
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.query.base import OfAttribute
from spanview.analysis.query.bytesearch import NO, ByteSearch
from spanview.analysis.query.subject import QueryFacts, Subject
from spanview.analysis.query.values import text_of
from spanview.analysis.root_groups import RootGroups
from spanview.analysis.telling import unheard
from spanview.index.blocks import blocks, in_file_order
from spanview.index.known_records import KnownRecords
from spanview.index.table import NO_ROW, Interned
from spanview.index.whole_spans import spans_at
from spanview.model.codes import KIND_NAMES, STATUS_NAMES
from spanview.model.problems import QueryError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from spanview.analysis.telling import Tell
    from spanview.index.store import Store

GROUPINGS: Final = ("name", "service", "kind")
"""The most common groupings, besides the keys of attributes."""
SERVICE_AND_NAME: Final = "service+name"
"""Spans of several services may share a name with different meanings."""
FURTHER_GROUPINGS: Final = (SERVICE_AND_NAME, "status", "trace.root", "process", "pid", "scope")
"""Further groupings, mostly keys of queries; an attribute with such a name is asked for in quotes."""


@dataclass(frozen=True, slots=True)
class Column:
    """What spans are grouped by."""

    numbers: array[int]
    """Of each row at that time."""
    texts: Sequence[str | None]
    """What the numbers stand for; None for spans without the attribute."""


def column_of(store: Store, by: str, traces: Iterable[int] | None = None, tell: Tell = unheard) -> Column:
    """Return what spans are grouped by; for an attribute, a pid or a scope, every record is read again.

    Args:
        by: One of `GROUPINGS` or `FURTHER_GROUPINGS`, or the key of an attribute.

    Raises:
        QueryError: No span of the traces has it.
    """
    columns: dict[str, Callable[[], Column]] = {
        "name": lambda: Column(store.spans.name, store.names.texts),
        "service": lambda: Column(store.spans.service, store.services.texts),
        "kind": lambda: Column(store.spans.kind, (*KIND_NAMES, "")),
        SERVICE_AND_NAME: lambda: _pair_column(store),
        "status": lambda: Column(store.spans.status, STATUS_NAMES),
        "trace.root": lambda: _root_column(store, tell),
        "process": lambda: Column(store.spans.process, [*map(store.processes.text, range(len(store.processes)))]),
    }
    of_records: dict[str, Callable[[Subject], str | None]] = {"pid": _pid_of, "scope": _scope_of}
    if by in columns:
        return columns[by]()
    if by in of_records:
        column, key = _column_of_records(store, of_records[by], traces, tell), by
    else:
        key = by[1:-1] if by in {f'"{name}"' for name in (*columns, *of_records)} else by
        search = ByteSearch(OfAttribute(key, None, lambda _: True))
        column = _column_of_records(store, lambda subject: _attribute_of(subject, key), traces, tell, search)
    if len(column.texts) == 1:
        others = ", ".join(grouping for grouping in (*GROUPINGS, *FURTHER_GROUPINGS) if grouping != key)
        what = "one" if key in FURTHER_GROUPINGS else "such an attribute"
        raise QueryError(f"can't group by {key!r}: no span has {what}; there are also {others}")
    return column


def _pair_column(store: Store) -> Column:
    numbers: dict[tuple[int, int], int] = {}
    # Rows that arrive meanwhile have a name, and perhaps no service yet.
    names = store.spans.name[:]
    pairs = zip(store.spans.service[: len(names)], names, strict=False)
    column = array("I", (numbers.setdefault(pair, len(numbers)) for pair in pairs))
    services, texts = store.services.texts, store.names.texts
    named = ((services[service], texts[name]) for service, name in numbers)
    return Column(column, [f"{service}: {name}" if service else name for service, name in named])


def _root_column(store: Store, tell: Tell) -> Column:
    groups = RootGroups(store)
    groups.find_routes(tell)
    # A span that has arrived has a trace in the table, which may grow meanwhile.
    of_spans, names = store.spans.trace[:], store.spans.name
    numbers = [0 if row == NO_ROW else names[row] + 1 for row in store.trace_table.root_row[:]]
    # Several names may be one group.
    numbers_of = Interned()
    texts = [numbers_of[groups.of_name(name)] for name in range(len(store.names.texts))]
    grouped = [texts[number - 1] + 1 if number else 0 for number in numbers]
    return Column(array("I", map(grouped.__getitem__, of_spans)), (None, *numbers_of.texts))


def _pid_of(subject: Subject) -> str | None:
    return None if subject.pid is None else text_of(subject.pid)


def _scope_of(subject: Subject) -> str | None:
    return None if subject.span.scope is None else subject.span.scope.name


def _attribute_of(subject: Subject, key: str) -> str | None:
    span = subject.span
    for attributes in (span.attributes, *[event.attributes for event in span.events], span.resource.attributes):
        if key in attributes:
            return text_of(attributes[key])
    return None


def _column_of_records(
    store: Store,
    read: Callable[[Subject], str | None],
    traces: Iterable[int] | None,
    tell: Tell,
    search: ByteSearch | None = None,
) -> Column:
    numbers = Interned()
    # Those without it have 0; its values follow.
    column = array("I", [0]) * len(store.spans)
    rows = np.arange(len(column))
    if traces is not None:
        # Without newer rows.
        chosen = np.array([row for trace in traces for row in store.rows_of_trace(trace)], np.int64)
        rows = chosen[chosen < len(column)]
    facts, known, seen = QueryFacts(), KnownRecords(store), 0
    for block in blocks(store, in_file_order(store, rows)):
        tell(seen / len(rows))
        may_have = block.rows
        if search is not None:
            # What the bytes say of values isn't asked: those that have any are read.
            may_have = may_have[search.verdicts(block, np.zeros(len(may_have), np.bool_)) != NO]
        of_block = may_have.tolist()
        for row, span in zip(of_block, spans_at(store, of_block, known), strict=True):
            text = read(Subject(store, facts, store.spans.trace[row], row, span))
            if text is not None:
                column[row] = numbers.number(text) + 1
        seen += len(block.rows)
    return Column(column, (None, *numbers.texts))
