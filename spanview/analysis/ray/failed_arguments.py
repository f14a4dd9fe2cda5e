"""Calls that never ran because a task whose result they take had failed, as their callers were told.

driver     parse<     embed<             embed takes the result of parse
parse            |===|✖
embed                                    Ray fails it as well: its function isn't called, and it leaves no attempt

A worker gets such a call, whenever it was submitted, and fails to get its arguments before its span begins. Whoever
asks for its result is told `ray::embed() … At least one of the input arguments for this task could not be computed`. A
span of the caller that records this proves it, where no other call of the function has no attempt there.

Otherwise spans don't name arguments. That a call submitted before had failed made it so in 18 of 24 cases, by Ray's own
events; so nothing is said of it.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.ray.names import SUBMITTED
from spanview.index.arrays import copy_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from spanview.index.store import Store

_NOT_COMPUTED: Final = "At least one of the input arguments for this task could not be computed"
_NAMED: Final = re.compile(rf"ray::([^\n]+?)\(\)[^\n]*\n\s*{_NOT_COMPUTED}")
"""As in `ray::embed() (pid=7, ip=10.0.0.1)\\n  At least one of …`; Ray colours the name."""
_MAX_RECORDS: Final = 1_000
"""Records of callers that are read."""


def with_failed_arguments(store: Store, rows: Iterable[int]) -> set[int]:
    """Return which calls have no attempt because an argument failed, as the exceptions of their callers say.

    Args:
        rows: The PRODUCERs of calls without an attempt and without an error.
    """
    spans, texts = store.spans, store.names.texts
    callers = {row: (spans.trace[row], spans.parent_id[row]) for row in rows if spans.parent_id[row]}
    if not callers:
        return set()
    size, parents = len(spans.next_row), [parent for _, parent in callers.values()]
    wanted = np.isin(copy_of(spans.span_id)[:size], np.array(parents, np.uint64))
    told, keys = dict[tuple[int, int], set[str]](), {*callers.values()}
    for row in np.flatnonzero(wanted).tolist()[:_MAX_RECORDS]:
        key = spans.trace[row], spans.span_id[row]
        if key in keys and _NOT_COMPUTED.encode() in (store.record(row) or b""):
            events = (event for event in store.span(row).events if event.is_exception)
            messages = (str(event.attributes.get("exception.message")) for event in events)
            told[key] = {name for message in messages for name in _NAMED.findall(message)}
    alike = Counter((caller, spans.name[row]) for row, caller in callers.items())
    return {
        row
        for row, caller in callers.items()
        if alike[caller, spans.name[row]] == 1
        and any(
            f".{texts[spans.name[row]].removesuffix(SUBMITTED)}".endswith(f".{name}") for name in told.get(caller, ())
        )
    }
