"""Attempts that neither returned nor failed.

what ended it             status  its record has
------------------------  ------  -------------------------------------------------------------
exit_actor, async actor   ERROR   an exception `AsyncioActorExit`, though nothing failed
exit_actor, other actors  UNSET   under spanview's hook `ray.ended_by`, with what Ray says of it
SIGTERM, as of a driver   UNSET   under spanview's hook `ray.ended_by`: it was cut off
that ends; sys.exit
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

import numpy as np

from spanview.analysis.ray.names import call_names
from spanview.index.blocks import blocks, in_file_order
from spanview.model.codes import CONSUMER, ERROR
from spanview.model.times import NO_TIME
from spanview.ray.lines import ENDED_BY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.index.arrays import Places
    from spanview.index.store import Store

_EXIT: Final = "AsyncioActorExit"
_EXIT_CALL: Final = "exit_actor"
_CANCELLED: Final = frozenset(("CancelledError", "KeyboardInterrupt"))
"""Exceptions by which Ray interrupts what is cancelled."""
_MAX_RECORDS: Final = 20_000
"""Records of failed attempts that are read; further ones count as failed."""
_KNOWN: Final[WeakKeyDictionary[Store, dict[int, bool]]] = WeakKeyDictionary()
"""By store and row: records don't change."""
_CUT_OFFS: Final[WeakKeyDictionary[Store, tuple[set[int], dict[int, str]]]] = WeakKeyDictionary()
"""By store, the rows of attempts whose records were read, and of those that were cut off, what did it."""
MAX_ASKED: Final = 100_000
"""Attempts of which it is asked at once whether they were cut off: half a second."""
_ENDED_BY: Final = ENDED_BY.encode()
CUT_OFF: Final = "cut off"
"""What is said of such an attempt, where it wasn't cancelled."""


def exits_among(store: Store, rows: Iterable[int]) -> set[int]:
    """Return those of some attempts that ended with `exit_actor`; the failed ones are read."""
    known, statuses = _KNOWN.setdefault(store, {}), store.spans.status
    exits = set[int]()
    for row in rows:
        if statuses[row] == ERROR:
            if row not in known and len(known) < _MAX_RECORDS:
                may_be_one = _EXIT.encode() in (store.record(row) or b"")
                known[row] = may_be_one and is_exit(store.span(row).status.description)
            if known.get(row):
                exits.add(row)
    return exits


def cut_off_by(store: Store, row: int) -> str:
    """Return what cut an attempt off, as in `SystemExit: The process receives a SIGTERM.`; empty where nothing did.

    It is a text from a file, and so to be sanitised.

    Args:
        row: Of any span; the record of an attempt is read.
    """
    return _cut_offs(store, _attempts(store, [row])).get(row, "")


def read_cut_offs(store: Store, rows: Sequence[int]) -> None:
    """Read what cut off those of some spans that are attempts, for whoever asks it of each."""
    _cut_offs(store, _attempts(store, rows)[:MAX_ASKED])


def _attempts(store: Store, rows: Sequence[int]) -> list[int]:
    kinds, names, runs = store.spans.kind, store.spans.name, call_names(store.names)[1]
    return [row for row in rows if kinds[row] == CONSUMER and names[row] in runs]


def cut_off_among(store: Store, rows: Places) -> list[int]:
    """Return those of some attempts that were cut off; of very many the newest are looked at."""
    newest = np.sort(rows)[-MAX_ASKED:].tolist()
    found = _cut_offs(store, newest)
    return [row for row in newest if row in found]


def _cut_offs(store: Store, rows: Sequence[int]) -> Mapping[int, str]:
    """Return what cut attempts off, by row, once the records of some are read, too."""
    read, found = _CUT_OFFS.setdefault(store, (set(), {}))
    spans = store.spans
    # The record of one without an end is replaced.
    new = [row for row in rows if row not in read and spans.status[row] != ERROR and spans.end_ns[row] != NO_TIME]
    for block in blocks(store, in_file_order(store, np.array(new, np.int64))) if new else ():
        for row, start, end in zip(*map(np.ndarray.tolist, (block.rows, block.starts, block.ends)), strict=True):
            if block.data is None or block.data.find(_ENDED_BY, start, end) >= 0:
                text = store.span(row).attributes.get(ENDED_BY)
                found |= {row: text} if isinstance(text, str) and text and _EXIT_CALL not in text else {}
    read.update(new)
    return found


def has_left(store: Store, row: int, why: str) -> bool:
    """Tell whether an attempt that ended without an error ended its actor, by its record, or else by why that died."""
    by = store.span(row).attributes.get(ENDED_BY)
    return _EXIT_CALL in (by if isinstance(by, str) else why)


def is_cancelled(store: Store, row: int) -> bool:
    """Tell whether an attempt was cut off as Ray interrupts what is cancelled, a task or a call of an async actor."""
    return cut_off_by(store, row).partition(":")[0].rpartition(".")[2] in _CANCELLED


def cut_off_text(store: Store, row: int) -> str:
    """Return how an attempt was cut off, and by what, to be sanitised; empty where it returned, failed or has no end.

    As in `cancelled: KeyboardInterrupt` or `cut off: SystemExit: 3`.
    """
    by = cut_off_by(store, row)
    return f"{'cancelled' if is_cancelled(store, row) else CUT_OFF}: {by}".rstrip(": ") if by else ""


def is_exit(description: str | None) -> bool:
    """Return whether a failed span's description is that of `exit_actor`, as in `AsyncioActorExit: `."""
    return description is not None and description.partition(":")[0].rpartition(".")[2] == _EXIT
