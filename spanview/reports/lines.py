"""Tables as lines of text, for terminals and pipes, and as Markdown."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, TypeVar

from rich.cells import cell_len

from spanview.display.cells import fixed
from spanview.display.sanitise import sanitise
from spanview.display.shades import BETTER, ERROR, HEAD, QUIET, WARNING, plain
from spanview.reports.table import Piece

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.display.shades import Paint
    from spanview.reports.report import AnyReport
    from spanview.reports.table import Table, TableColumn

Row = TypeVar("Row")
_BETWEEN: Final = 2
"""Cells between columns."""
_ANY_WIDTH: Final = 1_000_000
_SHADES: Final = {"better": BETTER, "error": ERROR, "warning": WARNING, "dim": QUIET}
"""The shades of styles; other styles have none."""


def table_lines(
    table: Table[Row], rows: Sequence[Row], paint: Paint = plain, width: int | None = None
) -> Iterator[str]:
    """Yield the heads and the rows of a table; texts are safe to print.

    Args:
        width: Cells of the terminal: what would be empty is left out, then what goes first. None leaves all as it is,
            and names whole.
    """
    columns = (table if width is not None else in_whole(table)).columns
    sized = [_sized(column, rows) for column in columns if column.is_shown]
    if width is not None and rows:
        sized = [column for column in sized if column.parts is not None or any(map(column.text, rows))]
    sized[:1] = [replace(column, gap=0) for column in sized[:1]]
    wants = next(column.wants for column in sized if column.wants is not None)
    longest = max(map(wants, rows), default=0)
    fit = table._replace(columns=sized).fit(_ANY_WIDTH if width is None else width, table.first, longest)
    *heads, last = (text for text, _ in fit.heads())
    yield "".join(paint(text, HEAD) for text in (*heads, last.rstrip())).rstrip()
    for row in rows:
        pieces = (paint(text, _SHADES.get(style, "")) for text, style in fit.parts_of(row))
        yield "".join(pieces).rstrip()


def in_whole(table: Table[Row]) -> Table[Row]:
    """Return a table whose names are those of files, not shortened: to be copied, not to be seen at a glance."""

    def column_in_whole(column: TableColumn[Row]) -> TableColumn[Row]:
        if column.whole is None:
            return column
        name = column.whole

        def text(row: Row) -> str:
            return sanitise(name(row), len(name(row)))

        if column.parts is None:
            return replace(column, text=text)
        return replace(
            column,
            parts=lambda row, cells: (Piece(fixed(text(row), cells)),),
            called=None,
            wants=lambda row: cell_len(text(row)),
        )

    return table._replace(columns=[*map(column_in_whole, table.columns)])


def _sized(column: TableColumn[Row], rows: Sequence[Row]) -> TableColumn[Row]:
    """Return a column as wide as what is in it."""
    if column.parts is not None:
        return replace(column, gap=_BETWEEN, behind=0)
    longest = max((cell_len(column.said(row)) for row in rows), default=0)
    return replace(
        column,
        # The first one of a family that is shown has its name.
        width=max(longest, cell_len(f"{column.family} {column.head}" if column.family else column.head)),
        gap=_BETWEEN,
        behind=0,
        from_width=0,
    )


def markdown_lines(report: AnyReport) -> Iterator[str]:
    """Yield the lines of a table in Markdown, as GitHub reads it."""
    columns: list[TableColumn[Any]] = [column for column in in_whole(report.table).columns if column.is_shown]
    yield _markdown(f"{column.family} {column.head}".strip() for column in columns)
    yield _markdown("---" if column.aligns_left or column.parts is not None else "---:" for column in columns)
    for row in report.rows:
        yield _markdown(_cell(column, row) for column in columns)


def _cell(column: TableColumn[Row], row: Row) -> str:
    if column.parts is None:
        return column.said(row)
    cells = _ANY_WIDTH if column.wants is None else column.wants(row)
    return "".join(piece.text for piece in column.parts(row, cells)).strip()


def _markdown(texts: Iterable[str]) -> str:
    escaped = (text.replace("\\", "\\\\").replace("|", "\\|").strip() for text in texts)
    return f"| {' | '.join(escaped)} |"
