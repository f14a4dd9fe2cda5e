"""Runs of one attempt: what a compiled graph (`experimental_compile`) executes again and again, with no call for each.

W.f ray.remote                                               submitted once
├─ W.f ray.remote_worker   ray.task_id 35…  ray.attempt 0    an execution
└─ W.f ray.remote_worker   ray.task_id 35…  ray.attempt 0    another one, when the graph had its next input

Attempts of a call that was retried have different numbers, from 0, or are of different processes: Ray doesn't tell
methods of async actors their numbers. spanview's hook writes both attributes; what has none of them counts as attempts.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.index.store import Store

_ATTRIBUTES: Final = ("ray.task_id", "ray.attempt")
_MAX_CALLS: Final = 20_000
"""Calls of which two records are read; the runs of further ones count as attempts."""
_KNOWN: Final[WeakKeyDictionary[Store, dict[tuple[int, int], bool]]] = WeakKeyDictionary()
"""By store, and by a call's trace and span id: records don't change."""


def are_executions(store: Store, first: int, second: int) -> bool:
    """Return whether a call's CONSUMERs are executions of one attempt, judging by two of them."""
    spans, known = store.spans, _KNOWN.setdefault(store, {})
    call = spans.trace[second], spans.parent_id[second]
    if call not in known:
        if len(known) >= _MAX_CALLS:
            return False
        is_one = spans.process[first] == spans.process[second]
        one, other = (tuple(map(store.span(row).attributes.get, _ATTRIBUTES)) for row in (first, second))
        known[call] = is_one and one == other and None not in one
    return known[call]


_IS_FIRST: Final = re.compile(rb'"ray\.attempt"[^0-9]*0\b')
"""As in `"ray.attempt": 0`, or `"key": "ray.attempt", "value": {"intValue": "0"}`."""


def is_retry(store: Store, row: int) -> bool:
    """Return whether an attempt's record says that another one preceded it."""
    record = store.record(row) or b""
    # Most are first ones: none of these is decoded.
    if _ATTRIBUTES[1].encode() not in record or _IS_FIRST.search(record):
        return False
    number = store.span(row).attributes.get(_ATTRIBUTES[1])
    return isinstance(number, int) and number > 0


def run_word(store: Store, rows: Sequence[int]) -> str:
    """Return what one of a call's CONSUMERs is called, given the rows of the first two: `attempt`, or `execution`."""
    return "execution" if len(rows) > 1 and are_executions(store, *rows[:2]) else "attempt"
