"""Attempts that an actor ended by `ray.actor.exit_actor`: their status is ERROR, but nothing failed.

In an async actor it raises `AsyncioActorExit`, which the span records like any exception. In other actors it raises
`SystemExit`, and the status stays UNSET.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

from spanview.model.codes import ERROR

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.index.store import Store

_EXIT: Final = "AsyncioActorExit"
_MAX_RECORDS: Final = 20_000
"""Records of failed attempts that are read; further ones count as failed."""
_KNOWN: Final[WeakKeyDictionary[Store, dict[int, bool]]] = WeakKeyDictionary()
"""By store and row: records don't change."""


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


def is_exit(description: str | None) -> bool:
    """Return whether a failed span's description is that of `exit_actor`, as in `AsyncioActorExit: `."""
    return description is not None and description.partition(":")[0].rpartition(".")[2] == _EXIT
