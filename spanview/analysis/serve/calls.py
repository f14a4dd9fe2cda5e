"""Ray Serve's calls of its replicas, where Ray's hook and Serve's exporter are both on: what ran them.

route_to_replica App __call__
  ServeReplica:app:App.handle_request_with_rejection ray.remote      the call, which has no CONSUMER below it
  replica_handle_request App __call__                                its attempt

The method is an actor's generator, and takes the context that Ray's hook sends for an argument of its own. So Ray's
hook writes no CONSUMER for it. Serve itself hands the routing's context to the replica: the replica's
span is a sibling of the call. A replica that refuses a request because it is full makes no span, and the routing calls
another one: the attempt belongs to the last call that started before it.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import defaultdict
from typing import TYPE_CHECKING, Final

from spanview.analysis.serve.requests import Part, numbers_of

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from spanview.index.arrays import Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree

_CALL: Final = re.compile(r"ServeReplica:.*\.handle_request\w* ray\.remote")


def is_serve_call(name: str) -> bool:
    """Return whether a PRODUCER with this name hands a request to a replica."""
    return _CALL.fullmatch(name) is not None


def numbers_of_serve(store: Store) -> tuple[frozenset[int], frozenset[int]]:
    """Return the numbers of the names of such calls, and of replicas' spans; both empty if either is."""
    calls, replicas = store.names.where(is_serve_call), numbers_of(store.names, Part.REPLICA)
    return (calls, replicas) if calls and replicas else (frozenset(), frozenset())


def served_in(forest: Forest, candidates: Places) -> tuple[Places, Places]:
    """Return the positions of calls, without a CONSUMER, that a replica ran, and those of the replicas' spans."""
    import numpy as np

    calls, replicas = numbers_of_serve(forest.store)
    if not calls:
        return candidates[:0], candidates[:0]
    names, parents = forest.of("name"), forest.parents
    candidates = candidates[np.isin(names[candidates], [*calls]) & (parents[candidates] >= 0)]
    ran = np.flatnonzero(np.isin(names, [*replicas]) & (parents >= 0))
    ran = ran[np.isin(parents[ran], parents[candidates])]
    pairs = [
        zip(parents[positions].tolist(), forest.rows[positions].tolist(), strict=True)
        for positions in (candidates, ran)
    ]
    rows = np.array([*served_by(forest.store, *pairs).items()], np.int64).reshape(-1, 2)
    return np.searchsorted(forest.rows, rows[:, 0]), np.searchsorted(forest.rows, rows[:, 1])


def served_in_tree(store: Store, tree: TraceTree, calls: Collection[int]) -> dict[int, int]:
    """Return the row of the replica's span that ran each call without a CONSUMER; calls that none ran are left out."""
    numbers, replicas = numbers_of_serve(store)
    if not numbers:
        return {}
    names, wanted = store.spans.name, {*calls}
    pairs = [(parent, row) for row, parent in zip(tree.rows, tree.parents, strict=False) if parent >= 0]
    return served_by(
        store,
        ((parent, row) for parent, row in pairs if row in wanted and names[row] in numbers),
        ((parent, row) for parent, row in pairs if names[row] in replicas),
    )


def served_by(store: Store, calls: Iterable[tuple[int, int]], replicas: Iterable[tuple[int, int]]) -> dict[int, int]:
    """Return the row of the replica's span that ran each call, where one did; pairs are of a parent's key and a row."""
    starts, of_parents = store.spans.start_ns, defaultdict[int, list[tuple[int, int]]](list)
    for parent, row in calls:
        of_parents[parent].append((starts[row], row))
    served: dict[int, int] = {}
    for parent, row in sorted(replicas, key=lambda pair: (starts[pair[1]], pair[1])):
        waiting = of_parents.get(parent)
        if waiting:
            waiting.sort()
            last = bisect_right(waiting, (starts[row], len(store.spans)))
            if last:
                served[waiting[last - 1][1]] = row
                # The calls before it were refused.
                del waiting[:last]
    return served
