"""Rows of a printed table: figures to the right, and text in the last column."""

from __future__ import annotations

from typing import TYPE_CHECKING

from spanview.display.shades import HEAD, plain

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.display.shades import Paint


def aligned(rows: Sequence[Sequence[str]], paint: Paint = plain) -> Iterator[str]:
    """Yield the lines of a table, the heads in the first row; texts are safe to print."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for number, row in enumerate(rows):
        cells = [f"{text:>{width}}" for text, width in zip(row, widths, strict=False)]
        cells = [paint(cell, "" if number else HEAD) for cell in cells]
        last = paint(row[-1].rstrip(), "" if number else HEAD)
        yield f"{'  '.join(cells)}  {last}".rstrip()
