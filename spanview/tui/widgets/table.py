"""Tables: columns as data, which of them there is room for, and a list that paints them.

width 60    TRACES   ERR  ERR%   INC      P50      P95      MAX    ROOT…      what goes first makes room for the name
width 120   TRACES   ERR  ERR%   INC      P50      P95      P99      MAX    1µs···1s    TOTAL   ROOT…      what can come
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.paint import data_text, fixed, line, right

if TYPE_CHECKING:
    from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence

    from rich.segment import Segment

Row = TypeVar("Row")
NO_STYLE: Final = ""


def following(names: Iterable[Row], name: Row) -> Row:
    """Return the name behind another of some, the first one behind the last."""
    known = [*names]
    return known[(known.index(name) + 1) % len(known)]


class Piece(NamedTuple):
    """A piece of a line."""

    text: str
    style: str = NO_STYLE
    """The name that `LineList.paint_style` knows."""


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
    parts: Callable[[Row, int], Iterable[Piece]] | None = None
    """Makes what stands in so many cells, of the column that has all that the others leave."""
    key: Any = None
    """What sorts by it."""
    is_marked: bool = True
    """Whether it has the arrow, where several columns have one key."""
    is_tight: bool = False
    """Whether the head leaves no blank before the arrow."""
    from_width: int = 0
    """Cells of a list from which on it is there."""
    comes: int = 0
    """Its turn to come where the last column keeps its usual room; 0 for what is there without."""
    goes: int = 0
    """Its turn to go where the last column has too little room; 0 for what stays. What has one turn goes together."""
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


@dataclass(frozen=True, slots=True)
class Table(Generic[Row]):
    """Columns in their order, and the room that they leave to the one that has the rest."""

    columns: Sequence[TableColumn[Row]]
    least: int = 0
    """Cells of that one for which others go."""
    usual: int = 0
    """Cells that it keeps where others come."""
    least_beside: int = 0
    """Cells for which the column goes that is sorted by; it goes last of all."""
    floor: int = 1
    """Cells that it has in any case."""

    def fit(self, width: int, sorted_by: object = None) -> Fit[Row]:
        """Return the columns of a list so many cells wide.

        Args:
            width: The cells.
            sorted_by: The key of the column that goes last.
        """
        offered = [column for column in self.columns if column.from_width <= width]
        shown = {column: column.cells for column in offered if not column.comes}
        # What comes as long as the last column keeps its usual room.
        for columns in _in_turns(offered, lambda column: column.comes):
            more = {column: column.cells for column in columns}
            if width - sum(shown.values()) - sum(more.values()) < self.usual:
                break
            shown |= more
        # What goes until that has its least; last of all, and for less, what is sorted by.
        last = [column for column in shown if self.least_beside and column.key == sorted_by]
        going = _in_turns({*shown} - {*last}, lambda column: column.goes)
        for least, columns in (*((self.least, columns) for columns in going), (self.least_beside, last)):
            if width - sum(shown.values()) < least:
                shown |= {column: column.shrunk_cells for column in columns}
        rest = max(self.floor, width - sum(shown.values()))
        return Fit(
            tuple(
                (column, rest if column.parts is not None else shown[column] - column.gap - column.behind)
                for column in self.columns
                if shown.get(column) or column.parts is not None
            )
        )


def _in_turns(
    columns: Iterable[TableColumn[Row]], turn: Callable[[TableColumn[Row]], int]
) -> list[list[TableColumn[Row]]]:
    """Return columns by their turns, the first turn first; those whose turn is 0 are left out."""
    return [[*of_turn] for number, of_turn in groupby(sorted(columns, key=turn), turn) if number]


@dataclass(frozen=True, slots=True)
class Fit(Generic[Row]):
    """The columns that there is room for, and the cells of each."""

    cells: tuple[tuple[TableColumn[Row], int], ...]

    def heads(self, sorted_by: object = None, arrow: str = "▾") -> Iterator[tuple[str, TableColumn[Row]]]:
        """Yield the heads in their cells from the left, with an arrow at the one that is sorted by."""
        for column, cells in self.cells:
            text = column.head if cells >= column.width else ""
            if sorted_by is not None and column.key == sorted_by and column.head and column.is_marked:
                text += arrow if column.is_tight else f" {arrow}"
            if column.parts is not None:
                text = text.ljust(cells)
            else:
                text = fixed(text, cells) if column.aligns_left else right(text, cells)
            yield f"{' ' * column.gap}{text}{' ' * column.behind}", column

    def heads_text(self, sorted_by: object = None) -> str:
        """Return the heads in one line."""
        return "".join(text for text, _ in self.heads(sorted_by))

    @property
    def keys(self) -> list[Any]:
        """What can be sorted by, from the left."""
        return [column.key for column, _ in self.cells if column.key is not None]

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
                yield Piece(data_text(text, cells) if column.aligns_left else right(text, cells), style)
            if column.behind:
                yield Piece(" " * column.behind)


class TableList(LineList, Generic[Row]):
    """A line a row, in the columns of a table.

    Args:
        table: The columns.
        identity: Tells rows of one answer from those of the next: the cursor stays on the same.
    """

    def __init__(
        self, table: Table[Row], identity: Callable[[Row], Hashable] = lambda row: row, **arguments: Any
    ) -> None:
        super().__init__(**arguments)
        self.table = table
        self.sorted_by: object = None
        """The key of a column."""
        self.items: Sequence[Row] = ()
        self._identity = identity
        self._fitted: tuple[Table[Row], int, object, Fit[Row]] | None = None

    def fit(self, width: int) -> Fit[Row]:
        """Return the columns of a line so many cells wide."""
        known = self._fitted
        if known is None or known[0] is not self.table or known[1:3] != (width, self.sorted_by):
            known = self._fitted = self.table, width, self.sorted_by, self.table.fit(width, self.sorted_by)
        return known[3]

    @property
    def selected(self) -> Row | None:
        """The row under the cursor."""
        return self.items[self.cursor] if self.cursor < len(self.items) else None

    def show(self, items: Sequence[Row], *, stay: bool = False) -> None:
        """Show other rows, from the first on, or with the cursor where it is, on its row.

        Args:
            items: In their order.
            stay: Whether they are those that were there, with other figures.
        """
        before, self.items = self.selected, items
        if stay:
            same = (row for row, item in enumerate(items) if before is not None and self.is_same(item, before))
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

    @property
    def heads(self) -> str:
        """The heads in one line."""
        return self.fit(self.line_width).heads_text(self.sorted_by)

    def segments_of(self, row: int, width: int) -> list[Segment]:
        """Return one row's line."""
        parts = self.fit(width).parts_of(self.items[row])
        return line([(text, self.paint_style(style) if style else None) for text, style in parts])
