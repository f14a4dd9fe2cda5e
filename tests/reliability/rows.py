"""All rows, in their order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from . import (
    clocks,
    doubles,
    exporting,
    folders,
    huge,
    killed,
    large,
    model,
    odd_files,
    pieces,
    planted,
    rewritten,
    runs,
    skew,
    soak,
    torn,
    trees,
)

if TYPE_CHECKING:
    from .figures import Row


def _place(row: Row) -> tuple[int, str]:
    digits = row.name.rstrip("abcdefgh")
    return int(digits), row.name[len(digits) :]


ROWS: Final = sorted(
    chain(
        clocks.ROWS,
        doubles.ROWS,
        exporting.ROWS,
        folders.ROWS,
        huge.ROWS,
        killed.ROWS,
        large.ROWS,
        model.ROWS,
        odd_files.ROWS,
        pieces.ROWS,
        planted.ROWS,
        rewritten.ROWS,
        runs.ROWS,
        skew.ROWS,
        soak.ROWS,
        torn.ROWS,
        trees.ROWS,
    ),
    key=_place,
)
