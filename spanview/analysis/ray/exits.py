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

from spanview.analysis.ray.names import RAN
from spanview.index.blocks import batches, read_records
from spanview.model.codes import CONSUMER, ERROR
from spanview.model.times import NO_TIME
from spanview.ray.lines import ENDED_BY

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.index.arrays import Flags, Places
    from spanview.index.store import Store

_EXIT: Final = "AsyncioActorExit"
_CANCELLED: Final = frozenset(("CancelledError", "KeyboardInterrupt"))
"""Exceptions by which Ray interrupts what is cancelled."""
_MAX_RECORDS: Final = 20_000
"""Records of failed attempts that are read; further ones count as failed."""
_KNOWN: Final[WeakKeyDictionary[Store, dict[int, bool]]] = WeakKeyDictionary()
"""By store and row: records don't change."""
_CUT_OFF: Final[WeakKeyDictionary[Store, dict[int, str]]] = WeakKeyDictionary()
"""By store and row, what cut an attempt off."""
_CUT_OFFS: Final[WeakKeyDictionary[Store, _CutOffs]] = WeakKeyDictionary()
_MAX_ASKED: Final = 100_000
"""Attempts of which it is asked at once whether they were cut off: half a second."""
_RECORDS: Final = 4096
"""Records that are read at once."""
CUT_OFF: Final = "cut off"
"""What is said of such an attempt."""


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
    spans = store.spans
    # The record of one without an end is replaced.
    if spans.kind[row] != CONSUMER or spans.status[row] == ERROR or spans.end_ns[row] == NO_TIME:
        return ""
    if not store.names.texts[spans.name[row]].endswith(RAN):
        return ""
    known = _CUT_OFF.setdefault(store, {})
    if row not in known:
        if len(known) >= _MAX_RECORDS:
            known.clear()
        has_any = ENDED_BY.encode() in (store.record(row) or b"")
        text = store.span(row).attributes.get(ENDED_BY) if has_any else ""
        known[row] = text if isinstance(text, str) and "exit_actor" not in text else ""
    return known[row]


class _CutOffs:
    """Which attempts that have ended were cut off; each record is read once."""

    def __init__(self) -> None:
        self._asked: Flags = np.zeros(0, np.bool_)
        self._found: Flags = np.zeros(0, np.bool_)

    def among(self, store: Store, rows: Places) -> Places:
        """Return those of some rows."""
        more = np.zeros(len(store.spans.next_row) - len(self._asked), np.bool_)
        self._asked, self._found = np.append(self._asked, more), np.append(self._found, more)
        new = rows[~self._asked[rows]].tolist()
        for part in batches(store, new, _RECORDS):
            read = zip(new[part], read_records(store, new[part]), strict=True)
            may_be = [row for row, record in read if record is None or ENDED_BY.encode() in record]
            self._found[[row for row in may_be if cut_off_by(store, row)]] = True
        self._asked[new] = True
        return rows[self._found[rows]]


def cut_off_among(store: Store, rows: Places) -> Places:
    """Return those of some attempts with an end that were cut off; of very many the newest are looked at."""
    return _CUT_OFFS.setdefault(store, _CutOffs()).among(store, np.sort(rows)[-_MAX_ASKED:])


def is_cancelled(store: Store, row: int) -> bool:
    """Tell whether an attempt was cut off as Ray interrupts what is cancelled, a task or a call of an async actor."""
    return cut_off_by(store, row).partition(":")[0].rpartition(".")[2] in _CANCELLED


def is_exit(description: str | None) -> bool:
    """Return whether a failed span's description is that of `exit_actor`, as in `AsyncioActorExit: `."""
    return description is not None and description.partition(":")[0].rpartition(".")[2] == _EXIT
