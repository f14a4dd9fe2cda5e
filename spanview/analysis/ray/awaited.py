"""Calls that a span likely awaited, though another one had submitted them: in Ray, `get` and `wait` leave no span.

send             |==|
  f ray.remote    |=|
    f ray.remote_worker ┈┈┈|==========|
await                |===============|·|      ends at once after the call that its own process had submitted before

The evidence is that the two ends coincide. By chance they do that now and then, the more calls end meanwhile, and the
shorter the span is: so the time between the ends is a small part of the span's for each call that ended in it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.ray.names import numbers_of_calls
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from spanview.index.arrays import Flags, Places
    from spanview.index.forest import Forest, Trees
    from spanview.index.table import Interned

_LEAST_NS: Final = 300_000
_USUAL_NS: Final = 1_000_000
MOST_NS: Final = 6_000_000
"""From the end of a call to that of the span that awaited it: so long it takes a result to arrive."""
_LEAST_FACTOR: Final = 40
"""So many times as long as that the span's own time is at least, for each call that ended in it."""


def awaited_elsewhere(of: Forest | Trees, parents_of: Places | Sequence[int], names: Interned) -> tuple[Places, Places]:
    """Return the spans that likely awaited a call that none of those below them had submitted, and its last attempt.

    Args:
        parents_of: Of each span its parent; negative, or none of the spans, where that is a root or isn't there.
    """
    submits, runs = numbers_of_calls(names)
    nothing = np.zeros(0, np.int64)
    if not submits or not runs:
        return nothing, nothing
    kinds, of_names, starts, ends = (of.of(column) for column in ("kind", "name", "start_ns", "end_ns"))
    parents = np.array(parents_of, np.int64)[: len(kinds)]
    parents[parents >= len(kinds)] = ROOT
    are_calls = (kinds == PRODUCER) & np.isin(of_names, [*submits])
    latest, below = np.full(len(parents), NO_TIME), np.flatnonzero(parents >= 0)
    np.maximum.at(latest, parents[below], ends[below])
    attempts = below[(kinds[below] == CONSUMER) & np.isin(of_names[below], [*runs]) & are_calls[parents[below]]]
    # Earlier attempts end no call.
    attempts = attempts[(ends[attempts] != NO_TIME) & (ends[attempts] == latest[parents[attempts]])]
    processes = of.of("process").astype(np.int64)
    _, groups = np.unique(
        processes * (int(of.traces.max(initial=0)) + 1) + of.traces[: len(parents)], return_inverse=True
    )
    times, called_in = np.unique(np.append(ends[attempts], ends[parents[attempts]])), groups[parents[attempts]]

    def keys_of(group: Places, until: NDArray[np.int64]) -> Places:
        """Return numbers that are in order of the process and the trace, then of time."""
        return group * (len(times) + 1) + np.searchsorted(times, until, "right")

    order = np.argsort(keys_of(called_in, ends[attempts]), kind="stable")
    attempts, called_in = attempts[order], called_in[order]
    keys, submitted = (keys_of(called_in, ends[of_calls]) for of_calls in (attempts, parents[attempts]))
    first_left = np.append(np.minimum.accumulate(submitted[::-1])[::-1], np.iinfo(np.int64).max)
    spans = np.flatnonzero(~are_calls & (starts != NO_TIME) & (ends > starts) & np.isin(groups, called_in))
    # A span's own time, at its end.
    since = np.maximum(starts, latest)[spans]
    ended, before = (np.searchsorted(keys, keys_of(groups[spans], until), "right") for until in (ends[spans], since))
    some = np.flatnonzero(ended > before)
    spans, since, ended, before = spans[some], since[some], ended[some], before[some]
    attempts, is_last = attempts[ended - 1], first_left[ended] > keys_of(groups[spans], starts[spans])
    counts = np.where(is_last, 1, ended - before)
    gaps, calls = ends[spans] - ends[attempts], parents[attempts]
    least = np.clip(gaps, _USUAL_NS, MOST_NS) * counts * _LEAST_FACTOR
    likely = (gaps >= _LEAST_NS) & (gaps <= MOST_NS) & (ends[spans] - since >= least)
    likely &= (ends[calls] <= starts[spans]) & (processes[attempts] != processes[spans])
    likely &= ~_are_above(spans, attempts, parents, likely) & ~_are_above(attempts, spans, parents, likely)
    return spans[likely], attempts[likely]


def _are_above(upper: Places, lower: Places, parents: Places, chosen: Flags) -> Flags:
    """Return which spans are above others, among some that are chosen."""
    found, going = np.zeros(len(upper), np.bool_), np.flatnonzero(chosen)
    above = parents[lower]
    while len(going):
        found[going] |= above[going] == upper[going]
        going = going[(above[going] >= 0) & ~found[going]]
        above[going] = parents[above[going]]
    return found
