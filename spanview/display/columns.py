"""Rows of a printed table: figures to the right, and text in the last column, or names in the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.shades import HEAD, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from spanview.display.shades import Paint

_LEAST_NAME: Final = 40
"""Cells that names have, however wide the figures are."""


def aligned(
    rows: Sequence[Sequence[str]], paint: Paint = plain, shade: Callable[[Sequence[str], int], str] = lambda _row, _: ""
) -> Iterator[str]:
    """Yield the lines of a table, the heads first; texts are safe to print.

    Args:
        rows: The heads, and the rows.
        paint: Colours what it is given.
        shade: Returns the shade of a row's cell, by the number of the column.
    """
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for number, row in enumerate(rows):
        cells = [f"{text:>{width}}" for text, width in zip(row, widths, strict=False)]
        cells = [paint(cell, HEAD if not number else shade(row, column)) for column, cell in enumerate(cells)]
        last = paint(row[-1].rstrip(), "" if number else HEAD)
        yield f"{'  '.join(cells)}  {last}".rstrip()


def named(
    rows: Sequence[Sequence[str]],
    paint: Paint = plain,
    shade: Callable[[int], str] = lambda _: "",
    *,
    width: int | None = None,
) -> Iterator[str]:
    """Yield the lines of a table whose first column has names, the heads first; texts are safe to print.

    Args:
        rows: The heads, and the rows.
        paint: Colours what it is given.
        shade: Returns the shade of a column, by its number.
        width: Cells of the terminal: names are cut in the middle, and columns without a text left out, so that lines
            fit if they can. None leaves all as it is.
    """
    columns = range(1, len(rows[0]))
    shown = [column for column in columns if width is None or len(rows) == 1 or any(row[column] for row in rows[1:])]
    widths = [max(len(row[column]) for row in rows) for column in shown]
    names = [row[0] for row in rows]
    room = None if width is None else max(_LEAST_NAME, width - sum(widths) - 2 * len(widths))
    for number, (row, name) in enumerate(zip(rows, _in_one_width(names, room), strict=True)):
        cells = [f"{row[column]:>{cells}}" for column, cells in zip(shown, widths, strict=True)]
        cells = [paint(cell, shade(column) if number else HEAD) for column, cell in zip(shown, cells, strict=True)]
        yield "  ".join([paint(name, "" if number else HEAD), *cells]).rstrip()


def _in_one_width(names: Sequence[str], most: int | None) -> list[str]:
    """Return names in the cells of the longest, or in so many at most."""
    longest = max(map(len, names))
    if all(map(str.isascii, names)) and (most is None or longest <= most):
        return [name.ljust(longest) for name in names]
    # Tables that don't need it start without it.
    from rich.cells import cell_len

    from spanview.display.cells import name_text

    longest = max(map(cell_len, names))
    return [name_text(name, longest if most is None else min(longest, most)) for name in names]
