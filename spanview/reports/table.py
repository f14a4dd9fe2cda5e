"""What a table shows, as data: its columns, their order, and which of them there is room for.

width 60    ROOT…      TRACES   ERR  ERR%      P50      P95      MAX     what goes first makes room for the name
width 120   ROOT…      TRACES   ERR  ERR%      P50      P95      P99      MAX    TOTAL  µs ms s     what can come

A column says once what it is called on a screen and in JSON, what it means, how it is written and what it sorts by:
screens, texts, JSON, csv, Markdown, pages and schemas are made of that.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from itertools import groupby, islice
from operator import ge, le
from typing import TYPE_CHECKING, Any, Final, Generic, NamedTuple, TypeVar

from rich.cells import cell_len

from spanview.display.bars import HISTOGRAM, SCALE, histogram_text
from spanview.display.cells import data_text, fixed, name_text, right, texts_apart
from spanview.display.sanitise import sanitise
from spanview.display.units import amount, count_or_blank, duration, moment
from spanview.model.ids import format_span_id

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from spanview.index.store import Store

Row = TypeVar("Row")
NO_STYLE: Final = ""
_ARROW: Final = 2
"""Cells of the arrow behind the head of what is sorted by."""
_COUNT_CELLS, _TIME_CELLS, _MOMENT_CELLS = 9, 10, 25
INTEGER: Final[Mapping[str, Any]] = {"type": "integer"}
NUMBER: Final[Mapping[str, Any]] = {"type": ["number", "null"]}
SHARE: Final[Mapping[str, Any]] = {"type": ["number", "null"], "maximum": 1}
TEXT: Final[Mapping[str, Any]] = {"type": ["string", "null"]}
TIME_NS: Final[Mapping[str, Any]] = {"type": ["integer", "null"]}
INTEGERS: Final[Mapping[str, Any]] = {"type": "array", "items": INTEGER}
"""What JSON Schema says of values."""
FIGURES: Final = {
    "total": "the sum",
    "min": "the shortest",
    "p50": "the median",
    "p95": "the 95th percentile",
    "p99": "the 99th percentile",
    "max": "the longest",
}
"""What figures of durations are, by their names in JSON."""


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
    """Names begin with A, all else with the greatest."""


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
    called: Callable[[Row], str] | None = None
    """The name from a file that is all of that column, and is shown so that it can be told from those of other rows."""
    whole: Callable[[Row], str] | None = None
    """The name that it shortens as files have it, so that a query finds it; None where nothing is shortened."""
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
    name: str = ""
    """What JSON calls it, with dots between the names of nested objects; empty for what only a table needs."""
    was: str = ""
    """What JSON called it in the version before, which it still does."""
    meaning: str = ""
    """What it says, in one sentence without an end."""
    schema: Mapping[str, Any] | None = None
    """What JSON Schema says of its value; None for a text."""
    json: Callable[[Row], Any] | None = None
    """Its value in JSON, where that isn't what rows are compared by."""
    is_shown: bool = True
    """Whether tables have it; else only JSON does."""
    bound: Callable[[Row], str] | None = None
    """What stands before a figure that is only known at least, or at most: `≥ `, `≤ `; empty before others."""

    def said(self, row: Row) -> str:
        """Return its text, as far as it is known."""
        return self.text(row) if self.bound is None else self.bound(row) + self.text(row)

    @property
    def cells(self) -> int:
        """Cells with those before and behind it."""
        return self.gap + self.width + self.behind

    @property
    def shrunk_cells(self) -> int:
        """Cells with those before and behind the column, where it has shrunk; 0 where it goes altogether."""
        return self.gap + self.shrinks_to + self.behind if self.shrinks_to else 0

    @property
    def order(self) -> RowOrder:
        """What it sorts by at first."""
        return RowOrder(self.key, self.ranks is not Ranks.NAMES)

    @property
    def json_value(self) -> Callable[[Row], Any]:
        """What returns its value in JSON."""
        return self.json or self.value or self.text


def name_column(head: str, text: Callable[[Row], str], **more: Any) -> TableColumn[Row]:
    """Return a column of names from files: as wide as the longest; where there is less room, their middles go."""
    return TableColumn(
        head,
        parts=lambda row, cells: (Piece(name_text(text(row), cells)),),
        called=text,
        wants=lambda row: cell_len(sanitise(text(row))),
        value=text,
        ranks=Ranks.NAMES,
        **({"key": "name"} | more),
    )


def worded(
    head: str, name: str, meaning: str, value_of: Callable[[Row], Any], width: int, **more: Any
) -> TableColumn[Row]:
    """Return a column of words that rows are sorted by. `more` is what else `TableColumn` takes."""
    defaults: dict[str, Any] = {"gap": 1, "aligns_left": True, "text": value_of, "key": head.lower()}
    defaults |= {"value": value_of, "ranks": Ranks.NAMES, "schema": {"type": "string"}}
    return TableColumn(head, width, name=name, meaning=meaning, **(defaults | more))


def sentences(head: str, name: str, meaning: str, text_of: Callable[[Row], str], **more: Any) -> TableColumn[Row]:
    """Return the column that has what the others leave, of sentences. `more` is what else `TableColumn` takes."""
    defaults: dict[str, Any] = {"gap": 2, "schema": {"type": "string"}, "json": text_of}
    return TableColumn(
        head,
        parts=lambda row, cells: (Piece(data_text(text_of(row), cells)),),
        wants=lambda row: cell_len(sanitise(text_of(row))),
        name=name,
        meaning=meaning,
        **(defaults | more),
    )


def counted(head: str, name: str, meaning: str, count_of: Callable[[Row], int], **more: Any) -> TableColumn[Row]:
    """Return a column of how many: nothing is left blank. `more` is what else `TableColumn` takes."""
    defaults: dict[str, Any] = {
        "width": _COUNT_CELLS,
        "key": head.lower(),
        "text": lambda row: count_or_blank(count_of(row)),
    }
    return TableColumn(head, name=name, meaning=meaning, value=count_of, schema=INTEGER, **(defaults | more))


def amounts(
    head: str, name: str, meaning: str, value_of: Callable[[Row], float | None], **more: Any
) -> TableColumn[Row]:
    """Return a column of numbers, whole or not, of whatever unit. `more` is what else `TableColumn` takes."""

    def text(row: Row) -> str:
        number = value_of(row)
        return "–" if number is None else amount(number)

    defaults: dict[str, Any] = {"width": _COUNT_CELLS, "key": head.lower(), "text": text, "ranks": Ranks.AMOUNTS}
    return TableColumn(head, name=name, meaning=meaning, value=value_of, schema=NUMBER, **(defaults | more))


def timed(head: str, name: str, meaning: str, ns_of: Callable[[Row], int | None], **more: Any) -> TableColumn[Row]:
    """Return a column of durations in nanoseconds. `more` is what else `TableColumn` takes."""
    defaults: dict[str, Any] = {
        "width": _TIME_CELLS,
        "key": f"{more.get('family', '')} {head}".strip().lower(),
        "text": lambda row: duration(ns_of(row)),
        "value": ns_of,
        "ranks": Ranks.TIMES,
    }
    return TableColumn(head, name=name, meaning=meaning, schema=TIME_NS, **(defaults | more))


def spread(
    family: str,
    name: str,
    meaning: str,
    ns_of: Callable[[str], Callable[[Row], int | None]],
    *figures: tuple[str, dict[str, Any]],
) -> Iterator[TableColumn[Row]]:
    """Yield the columns of figures of durations.

    Args:
        family: What they are of, in capitals.
        name: What JSON calls the object of them.
        meaning: What is measured, as in *the time from … to …*.
        ns_of: Returns what returns one of `FIGURES` of a row, in nanoseconds.
        figures: Their names, with what else `TableColumn` takes; the first has room for the family.
    """
    for number, (figure, more) in enumerate(figures):
        width = max(_TIME_CELLS, len(f"{family} {figure}") + _ARROW + 1) if not number else _TIME_CELLS
        defaults: dict[str, Any] = {"width": width, "family": family}
        words = figure.upper(), f"{name}.{figure}", f"{meaning}: {FIGURES[figure]}"
        yield timed(*words, ns_of(figure), **(defaults | more))


def histogram_column(
    name: str, meaning: str, counts_of: Callable[[Row], Sequence[int]], **more: Any
) -> TableColumn[Row]:
    """Return a column of durations counted by powers of ten. `more` is what else `TableColumn` takes."""
    defaults: dict[str, Any] = {"gap": 2, "style": "accent", "text": lambda row: histogram_text(counts_of(row))}
    return TableColumn(
        SCALE, HISTOGRAM, name=name, meaning=meaning, json=counts_of, schema=INTEGERS, **(defaults | more)
    )


def moments(head: str, name: str, meaning: str, ns_of: Callable[[Row], int | None], **more: Any) -> TableColumn[Row]:
    """Return a column of moments in nanoseconds since 1970. `more` is what else `TableColumn` takes."""
    defaults: dict[str, Any] = {
        "width": _MOMENT_CELLS,
        "style": "dim",
        "aligns_left": True,
        "key": head.lower(),
        "text": lambda row: moment(ns_of(row), digits=3),
        "ranks": Ranks.MOMENTS,
    }
    return TableColumn(head, name=name, meaning=meaning, value=ns_of, schema=TIME_NS, **(defaults | more))


def fact(
    name: str, meaning: str, schema: Mapping[str, Any], json: Callable[[Row], Any], was: str = ""
) -> TableColumn[Row]:
    """Return what only JSON says of a row, since it has no place in a table."""
    return TableColumn("", name=name, meaning=meaning, schema=schema, json=json, was=was, is_shown=False)


def span_columns(store: Store, meaning: str, row_of: Callable[[Row], int]) -> Iterator[TableColumn[Row]]:
    """Yield what only JSON says of a row: the ids of the trace and of the span that it is shown at."""
    spans = store.spans
    yield fact("trace_id", "its trace", TEXT, lambda row: store.trace_table.hex_id(spans.trace[row_of(row)]))
    yield fact("span_id", meaning, TEXT, lambda row: format_span_id(spans.span_id[row_of(row)]))


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

    def fit(self, width: int, sorted_by: str = "", wanted: int | None = None, rows: Iterable[Row] = ()) -> Fit[Row]:
        """Return the columns of a list so many cells wide.

        Args:
            sorted_by: The key of the column that goes last.
            wanted: The cells of the longest name; None where it takes all that it can get.
            rows: Those whose names are to be told apart.
        """
        if wanted is not None:
            heads = (cell_len(column.head) for column in self.columns if column.parts is not None)
            wanted = max(wanted, *(cells + _ARROW for cells in heads))
        least, usual = (cells if wanted is None else min(cells, wanted) for cells in (self.least, self.usual))

        def decides(column: TableColumn[Row]) -> bool:
            is_named = bool(sorted_by) and column.key == sorted_by and column.is_marked
            return bool(self.least_beside) and is_named and column.parts is None

        offered = [
            column for column in self.columns if column.is_shown and (column.from_width <= width or decides(column))
        ]
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
            rows,
        )

    def column(self, key: str) -> TableColumn[Row] | None:
        """Return the first column that sorts by something; None where there is none."""
        return next((column for column in self.columns if key and column.key == key), None)

    @property
    def first_order(self) -> RowOrder:
        """What it is sorted by at first."""
        column = self.column(self.first)
        return RowOrder("") if column is None else column.order

    def in_order(self, rows: Sequence[Row], order: RowOrder | None = None) -> Sequence[Row]:
        """Return rows in an order, that of the table at first; those that compare equal stay as they are."""
        order = self.first_order if order is None else order
        column = self.column(order.key)
        if column is None or column.value is None:
            return rows
        ranks: list[Any] = [*map(column.value, rows)]
        if None in ranks:
            ranks = [(rank is not None, 0 if rank is None else rank) for rank in ranks]
        # Mostly they come as they are first shown, and looking is a tenth of the time that sorting takes.
        if all(map(ge if order.descending else le, ranks, islice(ranks, 1, None))):
            return rows
        positions = sorted(range(len(ranks)), key=ranks.__getitem__, reverse=order.descending)
        return [rows[position] for position in positions]


def _in_turns(
    columns: Iterable[TableColumn[Row]], turn: Callable[[TableColumn[Row]], int]
) -> list[list[TableColumn[Row]]]:
    """Return columns by their turns, the first turn first; those whose turn is 0 are left out."""
    return [[*of_turn] for number, of_turn in groupby(sorted(columns, key=turn), turn) if number]


class Fit(Generic[Row]):
    """The columns that there is room for, and the cells of each; what else it takes is as in `Table.fit`."""

    def __init__(
        self, cells: Iterable[tuple[TableColumn[Row], int]], wanted: int | None, rows: Iterable[Row] = ()
    ) -> None:
        self._heads = dict[TableColumn[Row], str]()
        before = ""
        for column, _ in cells:
            is_first = column.family and column.family != before
            self._heads[column] = f"{column.family} {column.head}" if is_first else column.head
            before = column.family
        self.cells = tuple(
            (column, room if wanted is None or column.parts is None else min(room, wanted)) for column, room in cells
        )
        names = [(column.called, room) for column, room in self.cells if column.called is not None]
        self._apart = texts_apart(map(names[0][0], rows), names[0][1]) if names else {}

    def heads(self, sorted_by: str = "", arrow: str = "▾") -> Iterator[tuple[str, TableColumn[Row]]]:
        """Yield the heads in their cells from the left, with an arrow at the one that is sorted by."""
        is_apart = True
        for column, cells in self.cells:
            text = self._heads[column] if cells >= column.width else ""
            is_left = column.aligns_left or column.parts is not None
            if sorted_by and column.key == sorted_by and text and column.is_marked:
                # The blank goes where it has no room, or none parts the head from the one before; then the head's end.
                room = cells if is_left or column.gap or is_apart else cells - 1
                said = (f"{text} {arrow}", room), (f"{text}{arrow}", room), (f"{text}{arrow}", cells)
                text = next((each for each, most in said if cell_len(each) <= most), "")
                text = text or f"{fixed(self._heads[column], max(0, cells - 1))}{arrow}"
            head = f"{' ' * column.gap}{(fixed if is_left else right)(text, cells)}{' ' * column.behind}"
            is_apart = head.endswith(" ")
            yield head, column

    def heads_text(self, sorted_by: str = "") -> str:
        """Return the heads in one line."""
        return "".join(text for text, _ in self.heads(sorted_by))

    @property
    def keys(self) -> list[str]:
        """What can be sorted by, from the left."""
        return [*dict.fromkeys(column.key for column, _ in self.cells if column.key)]

    def parts_of(self, row: Row) -> Iterator[Piece]:
        """Yield the pieces of a row's line from the left."""
        for column, cells in self.cells:
            if column.gap:
                yield Piece(" " * column.gap)
            if column.called is not None and (text := self._apart.get(column.called(row))):
                yield Piece(text)
            elif column.parts is not None:
                yield from column.parts(row, cells)
            else:
                text = column.said(row) if cells >= column.width else column.said(row)[:1]
                style = column.style if isinstance(column.style, str) else column.style(row)
                # Where the selected row is turned round, a blank has the colour of its style.
                style = style if text else NO_STYLE
                yield Piece(data_text(text, cells) if column.aligns_left else right(text, cells), style)
            if column.behind:
                yield Piece(" " * column.behind)
