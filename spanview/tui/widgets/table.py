"""Tables: columns as data, which of them there is room for, and a list that paints them below their heads.

width 60    ROOT…      TRACES   ERR  ERR%      P50      P95      MAX     what goes first makes room for the name
width 120   ROOT…      TRACES   ERR  ERR%      P50      P95      P99      MAX    TOTAL  µs ms s     what can come
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import groupby, islice
from operator import ge, le
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from rich.cells import cell_len
from textual.content import Content
from textual.widget import Widget

from spanview.display.sanitise import sanitise
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import data_text, fixed, line, name_text, right

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from rich.segment import Segment
    from textual import events

Row = TypeVar("Row")
NO_STYLE: Final = ""
_ARROW: Final = 2
"""Cells of the arrow behind the head of what is sorted by."""
_MEASURED: Final = 5_000
"""Rows whose names are measured, the first ones."""


def following(names: Iterable[Row], name: Row) -> Row:
    """Return the name behind another of some, the first one behind the last."""
    known = [*names]
    return known[(known.index(name) + 1) % len(known)]


class Piece(NamedTuple):
    """A piece of a line."""

    text: str
    style: str = NO_STYLE
    """The name that `LineList.paint_style` knows."""


class Ranks(Enum):
    """What a column holds, as far as its order goes: what comes first in it, and in the reverse order."""

    AMOUNTS = "greatest first", "smallest first"
    COUNTS = "most first", "fewest first"
    TIMES = "longest first", "shortest first"
    MOMENTS = "newest first", "oldest first"
    NAMES = "Z to A", "A to Z"
    """These begin with A, all else with the greatest."""


class RowOrder(NamedTuple):
    """What rows are sorted by."""

    key: str
    """Of a column."""
    descending: bool = True


@dataclass(frozen=True, slots=True, eq=False)
class TableColumn(Generic[Row]):
    """One column of figures, or the one that has all that they leave."""

    head: str
    width: int = 0
    """Cells, without those before it."""
    text: Callable[[Row], str] = str
    style: str | Callable[[Row], str] = NO_STYLE
    gap: int = 0
    """Cells before it."""
    behind: int = 0
    """Cells behind it."""
    aligns_left: bool = False
    """Whether text and head stand at its left edge."""
    family: str = ""
    """What it is a figure of; the head of the first of several says it, too: `WAIT p50  p95  max`."""
    parts: Callable[[Row, int], Iterable[Piece]] | None = None
    """Makes what stands in so many cells, of the column that has what the others leave."""
    wants: Callable[[Row], int] | None = None
    """The cells that a row has a use for, of that column: it has no more than the longest; None for all it can get."""
    key: str = ""
    """What sorts by it, in words; empty for what doesn't."""
    value: Callable[[Row], Any] | None = None
    """What rows are compared by; what isn't known is None, and the least. None where the order comes from elsewhere."""
    ranks: Ranks | None = Ranks.COUNTS
    """None where there is no reverse order."""
    is_marked: bool = True
    """Whether it has the arrow, where several columns have one key."""
    from_width: int = 0
    """Cells of a list from which on it is there."""
    comes: int = 0
    """Its turn to come where the name keeps its usual room; 0 for what is there without."""
    goes: int = 0
    """Its turn to go where the name has too little room; 0 for what stays. What has one turn goes together."""
    shrinks_to: int = 0
    """What is left of it when it has gone, cells for the first character of its text."""

    @property
    def cells(self) -> int:
        """Cells with those before and behind it."""
        return self.gap + self.width + self.behind

    @property
    def shrunk_cells(self) -> int:
        """The same when it has gone."""
        return self.gap + self.shrinks_to + self.behind if self.shrinks_to else 0

    @property
    def order(self) -> RowOrder:
        """What it sorts by at first."""
        return RowOrder(self.key, self.ranks is not Ranks.NAMES)


def name_column(head: str, name: Callable[[Row], str], **more: Any) -> TableColumn[Row]:
    """Return a column of names from files: as wide as the longest; where there is less room, their middles go.

    Args:
        head: Its head.
        name: Returns the name of a row.
        more: What else `TableColumn` takes.
    """
    return TableColumn(
        head,
        parts=lambda row, cells: (Piece(name_text(name(row), cells)),),
        wants=lambda row: cell_len(sanitise(name(row))),
        value=name,
        ranks=Ranks.NAMES,
        **({"key": "name"} | more),
    )


class Table(NamedTuple, Generic[Row]):
    """Columns in their order, and the room that they leave to the one with the names."""

    columns: Sequence[TableColumn[Row]]
    first: str = ""
    """The key of what it is sorted by at first."""
    least: int = 0
    """Cells of that one for which others go, if its names are as long."""
    usual: int = 0
    """Cells that it keeps where others come, if its names are as long."""
    least_beside: int = 0
    """Cells for which the column goes that is sorted by: it goes last of all, and comes first. 0: in its turn."""
    floor: int = 1
    """Cells that it has in any case."""

    def fit(self, width: int, sorted_by: str = "", wanted: int | None = None) -> Fit[Row]:
        """Return the columns of a list so many cells wide.

        Args:
            width: The cells.
            sorted_by: The key of the column that goes last.
            wanted: The cells of the longest name; None where it takes all that it can get.
        """
        if wanted is not None:
            heads = (cell_len(column.head) for column in self.columns if column.parts is not None)
            wanted = max(wanted, *(cells + _ARROW for cells in heads))
        least, usual = (cells if wanted is None else min(cells, wanted) for cells in (self.least, self.usual))

        def decides(column: TableColumn[Row]) -> bool:
            is_named = bool(sorted_by) and column.key == sorted_by and column.is_marked
            return bool(self.least_beside) and is_named and column.parts is None

        offered = [column for column in self.columns if column.from_width <= width or decides(column)]
        shown = {column: column.cells for column in offered if not column.comes or decides(column)}
        # What comes as long as the names keep their usual room.
        for columns in _in_turns({*offered} - {*shown}, lambda column: column.comes):
            more = {column: column.cells for column in columns}
            if width - sum(shown.values()) - sum(more.values()) < usual:
                break
            shown |= more
        # What goes until these have their least; last of all, and for less, what is sorted by.
        last = [column for column in shown if decides(column) and (column.goes or column.comes)]
        going = _in_turns({*shown} - {*last}, lambda column: column.goes)
        for needed, columns in (*((least, columns) for columns in going), (min(least, self.least_beside), last)):
            if width - sum(shown.values()) < needed:
                shown |= {column: column.shrunk_cells for column in columns}
        rest = max(self.floor, width - sum(shown.values()))
        return Fit(
            tuple(
                (column, rest if column.parts is not None else shown[column] - column.gap - column.behind)
                for column in self.columns
                if shown.get(column) or column.parts is not None
            ),
            wanted,
        )

    def column(self, key: str) -> TableColumn[Row] | None:
        """Return the first column that sorts by something; None where there is none."""
        return next((column for column in self.columns if key and column.key == key), None)


def _in_turns(
    columns: Iterable[TableColumn[Row]], turn: Callable[[TableColumn[Row]], int]
) -> list[list[TableColumn[Row]]]:
    """Return columns by their turns, the first turn first; those whose turn is 0 are left out."""
    return [[*of_turn] for number, of_turn in groupby(sorted(columns, key=turn), turn) if number]


class Fit(Generic[Row]):
    """The columns that there is room for, and the cells of each.

    Args:
        cells: Both.
        wanted: The cells of the longest name; None where it takes all that it can get.
    """

    def __init__(self, cells: Iterable[tuple[TableColumn[Row], int]], wanted: int | None) -> None:
        self._heads = dict[TableColumn[Row], str]()
        before = ""
        for column, _ in cells:
            is_first = column.family and column.family != before
            self._heads[column] = f"{column.family} {column.head}" if is_first else column.head
            before = column.family
        self.cells = tuple(
            (column, room if wanted is None or column.parts is None else min(room, wanted)) for column, room in cells
        )

    def heads(self, sorted_by: str = "", arrow: str = "▾") -> Iterator[tuple[str, TableColumn[Row]]]:
        """Yield the heads in their cells from the left, with an arrow at the one that is sorted by."""
        for column, cells in self.cells:
            text = self._heads[column] if cells >= column.width else ""
            if sorted_by and column.key == sorted_by and text and column.is_marked:
                # The blank goes where it has no room, then the end of the head.
                text = next((said for said in (f"{text} {arrow}", f"{text}{arrow}") if cell_len(said) <= cells), "")
                text = text or f"{fixed(self._heads[column], max(0, cells - 1))}{arrow}"
            is_left = column.aligns_left or column.parts is not None
            yield f"{' ' * column.gap}{(fixed if is_left else right)(text, cells)}{' ' * column.behind}", column

    def heads_text(self, sorted_by: str = "", arrow: str = "▾") -> str:
        """Return the heads in one line."""
        return "".join(text for text, _ in self.heads(sorted_by, arrow))

    @property
    def keys(self) -> list[str]:
        """What can be sorted by, from the left."""
        return [*dict.fromkeys(column.key for column, _ in self.cells if column.key)]

    def parts_of(self, row: Row) -> Iterator[Piece]:
        """Yield the pieces of a row's line from the left."""
        for column, cells in self.cells:
            if column.gap:
                yield Piece(" " * column.gap)
            if column.parts is not None:
                yield from column.parts(row, cells)
            else:
                text = column.text(row) if cells >= column.width else column.text(row)[:1]
                style = column.style if isinstance(column.style, str) else column.style(row)
                # Where the selected row is turned round, a blank has the colour of its style.
                style = style if text else NO_STYLE
                yield Piece(data_text(text, cells) if column.aligns_left else right(text, cells), style)
            if column.behind:
                yield Piece(" " * column.behind)


class TableList(LineList, Generic[Row]):
    """A line a row, in the columns of a table; the line above has their heads.

    Args:
        table: The columns.
        identity: Tells rows of one answer from those of the next: the cursor stays on the same.
    """

    def __init__(
        self, table: Table[Row], identity: Callable[[Row], Hashable] = lambda row: row, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self.table = table
        self.order = RowOrder("")
        """What is sorted by; where the table has no such column, by what it is sorted by at first."""
        self.items: Sequence[Row] = ()
        self.heads = TableHeads(self)
        self._given: Sequence[Row] = ()
        """The rows in the order in which they came."""
        self._identity = identity
        self._fitted: tuple[Table[Row], int, str, int | None, Fit[Row]] | None = None
        self._measured: tuple[Table[Row], Sequence[Row], int] | None = None

    def fit(self, width: int) -> Fit[Row]:
        """Return the columns of a line so many cells wide."""
        wanted, key, known = self._wanted(), self.shown_order.key, self._fitted
        if known is None or known[0] is not self.table or known[1:4] != (width, key, wanted):
            known = self._fitted = self.table, width, key, wanted, self.table.fit(width, key, wanted)
        return known[4]

    def _wanted(self) -> int | None:
        """Return the cells of the longest name; None where the table has no column of names."""
        wants = next((column.wants for column in self.table.columns if column.wants is not None), None)
        if wants is None:
            return None
        known = self._measured
        if known is None or known[0] is not self.table or known[1] is not self._given:
            longest = max(map(wants, islice(self._given, _MEASURED)), default=0)
            known = self._measured = self.table, self._given, longest
        return known[2]

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self.items[self.cursor] if self.cursor < len(self.items) else None

    # -- order -------------------------------------------------------------------------------------------------------

    @property
    def shown_order(self) -> RowOrder:
        """What is sorted by."""
        if self.table.column(self.order.key) is not None:
            return self.order
        column = self.table.column(self.table.first)
        return RowOrder("") if column is None else column.order

    def in_order(self, items: Sequence[Row]) -> Sequence[Row]:
        """Return rows in their order; those that compare equal stay as they are."""
        order = self.shown_order
        column = self.table.column(order.key)
        if column is None or column.value is None:
            return items
        ranks: list[Any] = [*map(column.value, items)]
        if None in ranks:
            ranks = [(rank is not None, 0 if rank is None else rank) for rank in ranks]
        # Mostly they come as they are first shown, and looking is a tenth of the time that sorting takes.
        if all(map(ge if order.descending else le, ranks, islice(ranks, 1, None))):
            return items
        places = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=order.descending)
        return [items[place] for place in places]

    def put_in_order(self, order: RowOrder) -> None:
        """Sort by a column; who is at the top stays there, else the cursor stays on its row."""
        before = self.selected if self.cursor else None
        self.order = order
        self.items = self.in_order(self._given)
        row = next((row for row, item in enumerate(self.items) if item is before), 0) if before is not None else 0
        self.rows_have_changed(len(self.items), row)
        self.reveal()

    # -- rows --------------------------------------------------------------------------------------------------------

    def rows_have_changed(self, count: int, cursor: int | None = None) -> None:
        """Take note of other rows; names may need another room now."""
        super().rows_have_changed(count, cursor)
        self.heads.refresh()

    def on_unmount(self) -> None:
        """Let go of the rows: what holds the list is a circle, and is collected as garbage long after it was left."""
        self.take(())
        self.rows_have_changed(0)

    def take(self, items: Sequence[Row]) -> None:
        """Hold other rows, in their order."""
        self._given, self.items = items, self.in_order(items)

    def show(self, items: Sequence[Row], *, stay: bool = False) -> None:
        """Show other rows, from the first on, or with the cursor where it is, on its row.

        Args:
            items: Those that come first among equal ones first.
            stay: Whether they are those that were there, with other figures.
        """
        before = self.selected
        self.take(items)
        if stay:
            same = (row for row, item in enumerate(self.items) if before is not None and self.is_same(item, before))
            self.take_rows(len(items), next(same, None))
        else:
            self.rows_have_changed(len(items), 0)
            self.reveal()

    def move_on(self, fits: Callable[[Row], bool]) -> bool:
        """Put the cursor on the next row that fits, round the end if need be; return whether there is one."""
        behind = self.cursor + 1
        places = (*range(behind, len(self.items)), *range(min(behind, len(self.items))))
        place = next((place for place in places if fits(self.items[place])), None)
        if place is not None:
            self.move_to(place)
        return place is not None

    def is_same(self, item: Row, before: Row) -> bool:
        """Tell whether a row is one of the answer before."""
        return self._identity(item) == self._identity(before)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one row's line."""
        parts = self.fit(width).parts_of(self.items[row])
        return line([(text, self.paint_style(style) if style else None) for text, style in parts])


class TableHeads(Widget):
    """The line above a table: the heads in their columns, with an arrow at the one that is sorted by.

    Args:
        rows: The table.
    """

    def __init__(self, rows: TableList[Any]) -> None:
        super().__init__()
        self._rows = rows
        self.clicked: Callable[[str], object] | None = None
        """Called with what a column that was clicked sorts by."""

    def _heads(self) -> Iterator[tuple[str, TableColumn[Any]]]:
        rows = self._rows
        order = rows.shown_order
        return rows.fit(rows.line_width).heads(order.key, "▾" if order.descending else "▴")

    def render(self) -> Content:
        """Return the heads."""
        return Content("".join(text for text, _ in self._heads()))

    def on_click(self, event: events.Click) -> None:
        """Ask for another order; figures that aren't sorted by ask for none."""
        offset, end = event.get_content_offset(self), 0
        for text, column in self._heads():
            end += cell_len(text)
            if offset is not None and offset.x < end:
                if column.key and self.clicked is not None:
                    self.clicked(column.key)
                return
