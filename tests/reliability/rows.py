"""All rows, in their order."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Final

from . import (
    bad_ids,
    causes,
    clocks,
    costs,
    doubles,
    events,
    exporting,
    folders,
    fuzzed,
    healthy,
    huge,
    kept,
    killed,
    large,
    living,
    longest,
    malformed,
    model,
    monkey,
    nested,
    odd_files,
    outputs,
    pieces,
    planted,
    rewritten,
    runs,
    screen,
    shapes,
    skew,
    snapshots,
    soak,
    told,
    torn,
    trees,
    values,
)

if TYPE_CHECKING:
    from .figures import Row


def _place(row: Row) -> tuple[int, str]:
    digits = row.name.rstrip("abcdefgh")
    return int(digits), row.name[len(digits) :]


ROWS: Final = sorted(
    chain(
        bad_ids.ROWS,
        causes.ROWS,
        clocks.ROWS,
        costs.ROWS,
        doubles.ROWS,
        events.ROWS,
        exporting.ROWS,
        folders.ROWS,
        fuzzed.ROWS,
        healthy.ROWS,
        huge.ROWS,
        kept.ROWS,
        killed.ROWS,
        large.ROWS,
        living.ROWS,
        longest.ROWS,
        malformed.ROWS,
        model.ROWS,
        monkey.ROWS,
        nested.ROWS,
        odd_files.ROWS,
        outputs.ROWS,
        pieces.ROWS,
        planted.ROWS,
        rewritten.ROWS,
        runs.ROWS,
        screen.ROWS,
        shapes.ROWS,
        skew.ROWS,
        snapshots.ROWS,
        soak.ROWS,
        told.ROWS,
        torn.ROWS,
        trees.ROWS,
        values.ROWS,
    ),
    key=_place,
)
