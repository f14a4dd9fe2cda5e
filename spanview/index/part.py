"""A store of some traces of another one, for questions that are asked of a store as a whole."""

from __future__ import annotations

from collections import defaultdict
from itertools import chain
from typing import TYPE_CHECKING

from spanview.formats.rows import Batch, SpanColumns
from spanview.index.store import Store

if TYPE_CHECKING:
    from collections.abc import Iterable


def part_of(store: Store, traces: Iterable[int]) -> Store:
    """Return a store with the spans of some traces, and with the files and their problems of the whole.

    The whole may grow meanwhile.
    """
    part = Store(store.intake.details)
    for source in store.sources:
        part.add_source(source.path, source.generation)
    # Records are read by the numbers of their sources and by documents, which are the same in both.
    part.intake.details, part.intake.ray = store.intake.details, store.intake.ray
    rows_of_source: defaultdict[int, list[int]] = defaultdict(list)
    chosen, spans = {*traces}, store.spans
    # A row that is linked has all its columns.
    for row in sorted(chain.from_iterable(map(store.rows_of_trace, chosen))):
        rows_of_source[spans.source[row]].append(row)
    for number, rows in rows_of_source.items():
        columns = SpanColumns(
            trace_ids=[store.trace_table.trace_id(spans.trace[row]) for row in rows],
            span_ids=[spans.span_id[row] for row in rows],
            parent_ids=[spans.parent_id[row] for row in rows],
            start_ns=[spans.start_ns[row] for row in rows],
            end_ns=[spans.end_ns[row] for row in rows],
            names=[store.names.texts[spans.name[row]] for row in rows],
            services=[store.services.texts[spans.service[row]] for row in rows],
            kinds=[spans.kind[row] for row in rows],
            statuses=[spans.status[row] for row in rows],
            warnings=[spans.warnings[row] for row in rows],
            processes=[store.processes.said(spans.process[row]) for row in rows],
        )
        part.add(number, Batch(columns, [spans.offset[row] for row in rows], [spans.length[row] for row in rows]))
    part.names.cut.update(
        number for number, text in enumerate(part.names.texts) if store.names[text] in store.names.cut
    )
    part.tallies = part.intake.tallies = store.tallies
    part.ask_lives = store.ask_lives
    return part
