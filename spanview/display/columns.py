"""Rows of a printed table: figures to the right, and text in the last column, or names in the first."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from spanview.display.shades import HEAD, plain

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.display.shades import Paint

_LEAST_NAME: Final = 40
"""Cells that names have, if they are as long, while there are figures that can go for it,"""
_SHORTEST_NAME: Final = 12
"""and in any case."""


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


class Head(NamedTuple):
    """The head of a column."""

    text: str
    goes: int = 0
    """Its turn to go where there is no room; 0 for what stays."""
    family: str = ""
    """What it is a figure of; the first column of several that are shown says it, too: `WAIT P50  P95`."""


def named(
    heads: Sequence[Head],
    rows: Sequence[Sequence[str]],
    paint: Paint = plain,
    shade: Callable[[str], str] = lambda _: "",
    *,
    width: int | None = None,
) -> Iterator[str]:
    """Yield the lines of a table whose first column has names, the heads first; texts are safe to print.

    Args:
        heads: Those of all columns.
        rows: Their texts.
        paint: Colours what it is given.
        shade: Returns the shade of a column, by its head.
        width: Cells of the terminal: columns without a text are left out, then those that go, until lines fit with
            enough of the names, whose middles go at last. None leaves all as it is.
    """
    columns = range(1, len(heads))
    shown = [column for column in columns if width is None or not rows or any(row[column] for row in rows)]
    names = [heads[0].text, *(row[0] for row in rows)]
    texts = _heads_of(heads, shown)
    widths = {column: max(map(len, (row[column] for row in rows)), default=0) for column in shown}
    room = None
    if width is not None:
        least = min(max(map(len, names)), _LEAST_NAME)
        for turn in sorted({heads[column].goes for column in shown} - {0}):
            if width - _cells(texts, widths) >= least:
                break
            shown = [column for column in shown if heads[column].goes != turn]
            texts = _heads_of(heads, shown)
        room = max(_SHORTEST_NAME, width - _cells(texts, widths))
    in_width = iter(_in_one_width(names, room))
    lines = [[paint(next(in_width), HEAD)], *([paint(name, "")] for name in in_width)]
    for column, text in texts.items():
        cells = max(len(text), widths[column])
        lines[0].append(paint(f"{text:>{cells}}", HEAD))
        for line, row in zip(lines[1:], rows, strict=True):
            line.append(paint(f"{row[column]:>{cells}}", shade(heads[column].text)))
    for line in lines:
        yield "  ".join(line).rstrip()


def _heads_of(heads: Sequence[Head], shown: Sequence[int]) -> dict[int, str]:
    """Return the heads of the columns that are shown, by their numbers."""
    texts, before = dict[int, str](), ""
    for column in shown:
        head = heads[column]
        texts[column] = f"{head.family} {head.text}" if head.family and head.family != before else head.text
        before = head.family
    return texts


def _cells(texts: Mapping[int, str], widths: Mapping[int, int]) -> int:
    """Return the cells that columns have with their heads, and with those before them."""
    return sum(max(len(text), widths[column]) + 2 for column, text in texts.items())


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
