"""What missing parents probably are, judging by their children and by other traces.

child                    elsewhere                    so the missing parent is probably
f ray.remote_worker      –                            f ray.remote
load                     load always stands in job    job
load                     load stands in job, and in batch too    unknown
g ray.remote             f ray.remote has no attempt  f ray.remote_worker, where no other call can be it
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import RAN, SUBMITTED
from spanview.model.codes import CONSUMER, ERROR

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_MAX_PAIRS: Final = 2_000
"""Pairs of a missing parent and a call without an attempt: two records are read again for each."""


@dataclass(frozen=True, slots=True)
class Guess:
    """What a missing parent probably is."""

    name: str
    """From a file, and so to be sanitised."""
    basis: str
    """The evidence, in words; with a name from a file."""


def guesses(store: Store, tree: TraceTree) -> dict[int, Guess]:
    """Return what the missing parents of a trace probably are, by span id; those without evidence are left out."""
    spans, names = store.spans, store.names.texts
    guessed: dict[int, Guess] = {}
    child_names: dict[int, set[int]] = {}
    nodes = enumerate(tree.missing, len(tree.rows))
    children_of = {span_id: [tree.rows[child] for child in tree.children(node)] for node, span_id in nodes}
    for span_id, rows in children_of.items():
        called = {names[spans.name[row]] for row in rows if spans.kind[row] == CONSUMER}
        if len(called) == 1 and (name := called.pop()).endswith(RAN):
            function = name.removesuffix(RAN)
            guessed[span_id] = Guess(function + SUBMITTED, f"it submitted {function}, which has run")
        else:
            child_names[span_id] = {spans.name[row] for row in rows}
    above = parents_of_names(store, set().union(*child_names.values())) if child_names else {}
    for span_id, children in child_names.items():
        parent_counts = [above[name] for name in children if name in above]
        parents = set().union(*parent_counts)
        if len(parents) == 1:
            (parent,) = parents
            count = sum(counts[parent] for counts in parent_counts)
            child = min(names[name] for name in children if name in above)
            basis = f"the only parent of {child} elsewhere, {count:,} time{'s' * (count > 1)}"
            guessed[span_id] = Guess(names[parent], basis)
    unexplained = [span_id for span_id in child_names if span_id not in guessed]
    if not unexplained:
        return guessed
    from spanview.analysis.ray.calls import calls_of

    calls = calls_of(store, [spans.trace[tree.rows[0]]]).without_attempt
    if len(unexplained) * len(calls) > _MAX_PAIRS:
        return guessed
    for span_id in unexplained:
        for row in _only_call(store, calls, children_of[span_id]):
            function = names[spans.name[row]].removesuffix(SUBMITTED)
            basis = f"of the calls in this trace without an attempt, only {function} can be it"
            guessed[span_id] = Guess(function + RAN, basis)
    return guessed


def begun_calls(store: Store, calls: Sequence[int]) -> set[int]:
    """Return which calls without an attempt began, by what is below missing parents: nothing else can have run that.

    Args:
        calls: Those of all traces that are asked for.
    """
    from spanview.index.forest import MISSING, forest_of

    spans, by_trace = store.spans, defaultdict[int, list[int]](list)
    for row in calls[-_MAX_PAIRS:]:
        by_trace[spans.trace[row]].append(row)
    forest, below = forest_of(store, by_trace), defaultdict[int, dict[int, list[int]]](dict)
    for row in forest.rows[forest.parents == MISSING].tolist():
        below[spans.trace[row]].setdefault(spans.parent_id[row], []).append(row)
    begun = set[int]()
    for trace, parents in below.items():
        rows = by_trace[trace]
        for children in parents.values() if len(parents) * len(rows) <= _MAX_PAIRS else ():
            if all(spans.kind[row] != CONSUMER for row in children):
                begun.update(_only_call(store, rows, children))
    return begun


def _only_call(store: Store, calls: Sequence[int], children: list[int]) -> list[int]:
    """Return the call that alone may be running in the process that wrote these spans; empty for none or several."""
    fitting = [row for row in calls if _may_run(store, row, children)]
    return fitting if len(fitting) == 1 else []


def _may_run(store: Store, call: int, children: list[int]) -> bool:
    """Return whether a call without an attempt may be running in the process that wrote these spans."""
    spans = store.spans
    first, submitted = min(map(spans.start_ns.__getitem__, children)), spans.end_ns[call]
    if spans.status[call] == ERROR or submitted > first or spans.process[call] == spans.process[children[0]]:
        return False
    actors = (store.span(row).attributes.get("ray.actor_id") for row in (call, children[0]))
    return next(actors) == next(actors)


def parents_of_names(store: Store, children: Iterable[int]) -> Mapping[int, Mapping[int, int]]:
    """Return the names of the parents of these names' spans, and how often; names without parents are left out."""
    import numpy as np

    from spanview.index.forest import forest_of

    forest = forest_of(store)
    names = forest.of("name")
    positions = np.flatnonzero(np.isin(names, [*children]) & (forest.parents >= 0))
    pairs = np.stack((names[positions], names[forest.parents[positions]]), axis=1)
    parents: dict[int, dict[int, int]] = {}
    for (child, parent), count in zip(*np.unique(pairs, axis=0, return_counts=True), strict=True):
        parents.setdefault(int(child), {})[int(parent)] = int(count)
    return parents
