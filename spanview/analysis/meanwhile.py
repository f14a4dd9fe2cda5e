"""What went on while a call waited, where nothing shows what it waited for.

driver     f <=g<
g             |======g======|            g ran in the greater part of the wait of f
f            ┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈┈|==f==|

A call can wait for the results of calls that its caller submitted before it, for the workers that these run in, and for
what they wait for themselves. So these count, if that was over before the call ran: it may be the cause or not. Running
comes first: one attempt, else all of one function; then a wait for a worker to start, or for an actor to be created.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.intervals import Covered
from spanview.analysis.ray_names import call_names, started_attempts
from spanview.analysis.waited_for import LEAST_SHARED_NS, WaitedFor, WaitReason, wait_reasons
from spanview.index.arrays import copy_of
from spanview.index.tree import ROOT
from spanview.model.codes import PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.arrays import Places
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_OF_OTHERS: Final = frozenset((WaitedFor.WORKER_START, WaitedFor.CREATION))
"""What a call can wait for that others wait for, too."""


@dataclass(frozen=True, slots=True)
class Meanwhile:
    """What went on in at least half of a wait."""

    name: str
    """The name of the attempts that ran, or waited."""
    ns: int
    """How much of the wait that was."""
    attempts: int = 1
    """How many of them ran."""
    reason: WaitReason | None = None
    """What one waited for; None where they ran."""


def meanwhile_of(store: Store, tree: TraceTree, node: int, since_ns: int) -> Meanwhile | None:
    """Return what went on while a call waited, as the module defines it; None where nothing did for long.

    Args:
        tree: The tree of its trace.
        node: Its first attempt.
        since_ns: When the wait began; it ends with the attempt's start.
    """
    parent, until_ns = tree.parents[node], store.spans.start_ns[tree.rows[node]]
    if parent == ROOT or tree.is_missing(parent) or until_ns - since_ns < LEAST_SHARED_NS:
        return None
    above = set[int]()
    while parent != ROOT:
        if not tree.is_missing(parent):
            above.add(tree.rows[parent])
        parent = tree.parents[parent]
    calls, attempts = _earlier(store, tree.rows[tree.parents[node]])
    return _ran(store, attempts[~np.isin(attempts, [*above])], since_ns, until_ns) or _waited(
        store, calls, attempts, since_ns, until_ns
    )


def _earlier(store: Store, call: int) -> tuple[Places, Places]:
    """Return the calls that a call's process submitted before it, and an attempt for each, by row."""
    spans, (submits, _) = store.spans, call_names(store)
    attempts = started_attempts(store)
    size = len(spans.next_row)
    kinds, names, sources, starts = (
        copy_of(column)[:size] for column in (spans.kind, spans.name, spans.source, spans.start_ns)
    )
    is_before = (sources == spans.source[call]) & (starts < spans.start_ns[call])
    calls = np.flatnonzero(is_before & (kinds == PRODUCER) & np.isin(names, [*submits]))
    ids, wanted = copy_of(spans.span_id)[calls], copy_of(spans.parent_id)[attempts]
    calls = calls[np.argsort(ids, kind="stable")]
    if not len(calls):
        return calls, calls
    ids, traces = copy_of(spans.span_id)[calls], copy_of(spans.trace)
    found = calls[np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)]
    is_found = (copy_of(spans.span_id)[found] == wanted) & (traces[found] == traces[attempts])
    return found[is_found], attempts[is_found]


def _ran(store: Store, attempts: Places, since_ns: int, until_ns: int) -> Meanwhile | None:
    """Return what ran in at least half of a stretch: one attempt, or else all of one function."""
    spans = store.spans
    starts, ends = np.maximum(copy_of(spans.start_ns)[attempts], since_ns), copy_of(spans.end_ns)[attempts]
    ran, by_name = (ends > starts) & (ends <= until_ns), defaultdict[int, list[tuple[int, int]]](list)
    names = copy_of(spans.name)[attempts[ran]]
    for name, start, end in zip(names.tolist(), starts[ran].tolist(), ends[ran].tolist(), strict=True):
        by_name[name].append((start, end))
    longest = {name: max(end - start for start, end in times) for name, times in by_name.items()}
    covered = {name: Covered.by(*zip(*sorted(times), strict=True)).sums[-1] for name, times in by_name.items()}
    for sums in (longest, covered):
        most = max(sums, key=lambda name: (sums[name], -name), default=None)
        if most is not None and 2 * sums[most] >= until_ns - since_ns:
            return Meanwhile(store.names.texts[most], sums[most], 1 if sums is longest else len(by_name[most]))
    return None


def _waited(store: Store, calls: Places, attempts: Places, since_ns: int, until_ns: int) -> Meanwhile | None:
    """Return the call that waited for what others wait for, in at least half of a stretch, and for the longest."""
    spans = store.spans
    starts = copy_of(spans.start_ns)
    order = np.lexsort((starts[attempts], calls))
    calls, first = np.unique(calls[order], return_index=True)
    attempts = attempts[order][first]
    submitted = copy_of(spans.end_ns)[calls]
    waited = starts[attempts] - np.maximum(submitted, since_ns)
    is_over = (submitted != NO_TIME) & (starts[attempts] <= until_ns)
    chosen = np.flatnonzero(is_over & (2 * waited >= until_ns - since_ns))
    chosen = chosen[np.argsort(-waited[chosen], kind="stable")]
    reasons = wait_reasons(store, attempts[chosen])
    for row, ns in zip(attempts[chosen].tolist(), waited[chosen].tolist(), strict=True):
        reason = reasons.get(row)
        if reason is not None and reason.is_whole and reason.waited_for in _OF_OTHERS:
            return Meanwhile(store.names.texts[spans.name[row]], ns, 1, reason)
    return None
