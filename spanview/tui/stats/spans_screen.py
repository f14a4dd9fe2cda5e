"""Spans of several traces, slowest first; Enter leads to the trace of one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import ShortNames
from spanview.display.cells import data_text, fitting, name_text
from spanview.display.units import count
from spanview.index.table import NO_ROW
from spanview.model.codes import ERROR
from spanview.reports.table import Piece, Ranks, Table, TableColumn, moments, timed
from spanview.reports.traces_model import has_services
from spanview.tui.keys import On
from spanview.tui.widgets.live import Live
from spanview.tui.widgets.report_screen import ReportScreen, RowKeys
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanview.index.store import Store
    from spanview.tui.widgets.live import AnyLive, Ask

MOST_SPANS: Final = 10_000
"""So many are listed, the slowest."""
_LEAST_NAME: Final = 16
"""Cells of a name with which the rest of the line is there too: without, the root goes first, then the start."""


@dataclass(frozen=True, slots=True)
class Spans:
    """Spans that are listed."""

    rows: Sequence[int]
    """In the span table, slowest first."""
    sides: Mapping[int, str] | None = None
    """Which of two sides each is of; None where there is one only."""


def table_of(store: Store, sides: Mapping[int, str] | None = None) -> Table[int]:
    """Return the columns of spans, by their rows in the span table."""
    spans, names, services, short = store.spans, store.names.texts, store.services.texts, ShortNames(store.names)

    def name(row: int, cells: int) -> Iterator[Piece]:
        shared = (cells - 1) // 2 if cells > 2 * _LEAST_NAME else 0
        whole = names[spans.name[row]] or "(no name)"
        yield Piece(name_text(fitting([whole, short[whole]], shared or cells), shared or cells))
        if shared:
            root = store.trace_table.root_row[spans.trace[row]]
            service = services[spans.service[row]] if has_services(store) else ""
            above = filter(None, (service, "in " + names[spans.name[root]] if root != NO_ROW else ""))
            yield Piece(" " + data_text("  ".join(above), shared), "dim")

    def length_ns(row: int) -> int:
        return spans.end_ns[row] - spans.start_ns[row]

    columns: list[TableColumn[int]] = [
        timed("DURATION", "", "", length_ns, width=11),
        TableColumn("", 2, lambda row: "✖" if spans.status[row] == ERROR else "", "error", gap=1, aligns_left=True),
        moments("START", "", "", spans.start_ns.__getitem__, goes=1),
        TableColumn("SPAN", parts=name, key="name", value=lambda row: names[spans.name[row]], ranks=Ranks.NAMES),
    ]
    if sides is not None:
        side, ranks = sides.__getitem__, Ranks.NAMES
        at_left = TableColumn("SIDE", 6, side, "accent", 1, aligns_left=True, key="side", value=side, ranks=ranks)
        columns.insert(0, at_left)
    return Table(columns, "duration", _LEAST_NAME)


class SpansScreen(ReportScreen[int], on=On.SPANS):
    """Spans of several traces.

    Args:
        spans: Those that are known by now.
        what: What they have in common, in words.
        counted: What they were counted among.
        ask: Finds these spans anew, among what they were counted among.
    """

    NOTES = 0

    def __init__(self, store: Store, spans: Spans, what: str, counted: AnyLive, ask: Ask[Spans]) -> None:
        keys: RowKeys[int] = RowKeys(
            open=lambda row: self.viewer.views.open_span(row),  # noqa: PLW0108 - the viewer is known once it is shown
            copied=lambda row: (f"{store.spans.span_id[row]:016x}", "span id"),
            failed=lambda row: [row] if keys.has_failed(row) else [],
            has_failed=lambda row: store.spans.status[row] == ERROR,
            nothing_failed="no span here has an error",
        )
        super().__init__(TableList(table_of(store)), keys, known=(spans, counted.chosen, counted.version))
        self._store = store
        self._what = what
        self.live: Live[Spans] = Live(self, counted.scope, ask, self._take_spans)

    def _take_spans(self, spans: Spans) -> None:
        self.rows.table = table_of(self._store, spans.sides)
        self.rows.show(spans.rows, stay=True)
        self.refresh_frame()

    def title_text(self) -> str:
        """Return what is listed."""
        number = self.rows.row_count
        most = "the slowest " if number == MOST_SPANS else ""
        return f"‹ {self._what}{self.live.as_of}   {most}{count(number, 'span')}"
