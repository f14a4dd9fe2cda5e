"""What can be asked for in a store: root names, attributes with their values, events and scopes.

All but names are only in the records. Some hundreds of these, from all over the store, have most of it.
"""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.query.complete import MAX_CHARACTERS, Vocabulary
from spanview.analysis.query.terms import KINDS
from spanview.analysis.query.values import text_of
from spanview.analysis.serve.requests import name_of_trace
from spanview.index.table import NO_ROW
from spanview.model.codes import STATUS_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.index.store import Store
    from spanview.model.span import Span

MAX_TEXTS: Final = 10_000
"""Texts of one kind that are kept."""
_SAMPLED_RECORDS: Final = 500
"""Records from all over the store that are read, besides one of each name and status."""
_MAX_NAMES: Final = 500
_MAX_RECORD_BYTES: Final = 64 * 1024
"""Bytes of a record that is read."""
_MAX_KEYS: Final = 2_000
"""Keys that are kept."""
_MAX_VALUES: Final = 200
"""Values of one key that are kept."""
_ROWS_PER_TURN: Final = 32_768
"""Rows that are processed before other threads get a turn."""


def gather(store: Store, seconds: float, is_wanted: Callable[[], bool] = lambda: True) -> tuple[int, Vocabulary]:
    """Sample a store, which may grow meanwhile; for a thread of its own.

    Args:
        seconds: After this time no further record is read.
        is_wanted: Asked from time to time; once it is false, what was gathered so far is returned.

    Returns:
        How many spans the store had by then, and its vocabulary without names, services and files: the most frequent
        first, but of attributes those that have one value in all spans last.
    """
    spans = len(store.spans.next_row)
    roots = _roots(store)
    until = time.monotonic() + seconds
    keys: Counter[str] = Counter()
    values: defaultdict[str, Counter[str]] = defaultdict(Counter)
    events: Counter[str] = Counter()
    scopes: Counter[str] = Counter()
    records = 0
    for row in _sample(store, spans):
        if not is_wanted() or time.monotonic() > until:
            break
        if store.spans.length[row] <= _MAX_RECORD_BYTES:
            span = store.span(row)
            records += 1
            _count(span, keys, values)
            events.update(event.name for event in span.events)
            scopes.update(() if span.scope is None else (span.scope.name,))
            # Whoever types gets the next turn.
            time.sleep(0)
    # What is the same everywhere tells no span from another.
    ordered = sorted(
        (key for key, _ in keys.most_common(_MAX_KEYS)), key=lambda key: [*values[key].values()] == [records]
    )
    return spans, Vocabulary(
        roots=roots,
        attributes={key: [text for text, _ in values[key].most_common()] for key in ordered},
        events=_short(events),
        scopes=_short(scopes),
        counts=_counts(store, spans),
        attribute_counts=values if records == spans else {},
    )


def _counts(store: Store, spans: int) -> dict[str, dict[str, int]]:
    """Return how many spans have each name, service, kind and status."""
    table = store.spans
    counts = {}
    for key, column, texts in (
        ("name", table.name, store.names.texts),
        ("service", table.service, store.services.texts),
        ("kind", table.kind, KINDS),
        ("status", table.status, STATUS_NAMES),
    ):
        tally: Counter[int] = Counter()
        for start in range(0, spans, _ROWS_PER_TURN):
            tally.update(column[start : min(start + _ROWS_PER_TURN, spans)])
            time.sleep(0)
        counts[key] = dict.fromkeys(texts, 0) if key in {"kind", "status"} else {}
        counts[key] |= {texts[number]: count for number, count in tally.items()}
    return counts


def _short(texts: Counter[str]) -> tuple[str, ...]:
    return tuple(text for text, _ in texts.most_common() if 0 < len(text) <= MAX_CHARACTERS)[:_MAX_VALUES]


def _count(span: Span, keys: Counter[str], values: defaultdict[str, Counter[str]]) -> None:
    """Count the span once for each of its keys and values."""
    everything = span.attributes, span.resource.attributes, *(event.attributes for event in span.events)
    of_span: dict[str, dict[str, None]] = {}
    for key, value in chain.from_iterable(attributes.items() for attributes in everything):
        if 0 < len(key) <= MAX_CHARACTERS and (key in keys or len(keys) < _MAX_KEYS):
            texts = filter(None, map(_shortly, value if isinstance(value, list) else [value]))
            of_span.setdefault(key, {}).update(dict.fromkeys(texts))
    keys.update(of_span.keys())
    for key, texts_of_span in of_span.items():
        counts = values[key]
        counts.update(text for text in texts_of_span if text in counts or len(counts) < _MAX_VALUES)


def _shortly(value: Any) -> str:
    """Return a value as text, or an empty one if it isn't worth proposing."""
    if isinstance(value, dict | list) or value is None:
        return ""
    text = text_of(value)
    return text if len(text) <= MAX_CHARACTERS else ""


def _sample(store: Store, spans: int) -> list[int]:
    """Return rows: the last of each name and status, and some from all over; the newest first."""
    table = store.spans
    last: dict[tuple[int, int], int] = {}
    for start in range(0, spans, _ROWS_PER_TURN):
        end = min(start + _ROWS_PER_TURN, spans)
        kinds_of_span = zip(table.name[start:end], table.status[start:end], strict=True)
        last.update(zip(kinds_of_span, range(start, end), strict=True))
        time.sleep(0)
    rows = {*sorted(last.values())[-_MAX_NAMES:], *range(spans - 1, -1, -max(1, spans // _SAMPLED_RECORDS))}
    return sorted(rows, key=table.start_ns.__getitem__, reverse=True)


def _roots(store: Store) -> list[str]:
    names: set[int] = set()
    count = len(store.trace_table)
    for start in range(0, count, _ROWS_PER_TURN):
        rows = filter(NO_ROW.__ne__, store.trace_table.root_row[start : min(start + _ROWS_PER_TURN, count)])
        names.update(map(store.spans.name.__getitem__, rows))
        time.sleep(0)
    texts = [*map(store.names.texts.__getitem__, names)]
    return short_and_sorted({*texts, *map(name_of_trace, texts)})


def short_and_sorted(texts: Iterable[str]) -> list[str]:
    """Return the texts that can be proposed, sorted."""
    return sorted(text for text in texts if 0 < len(text) <= MAX_CHARACTERS)[:MAX_TEXTS]
