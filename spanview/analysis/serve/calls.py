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
    from spanview.index.arrays import Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store

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
    names, parents, starts = forest.of("name"), forest.parents, forest.of("start_ns")
    candidates = candidates[np.isin(names[candidates], [*calls]) & (parents[candidates] >= 0)]
    ran = np.flatnonzero(np.isin(names, [*replicas]) & (parents >= 0))
    ran = ran[np.isin(parents[ran], parents[candidates])]
    waiting, served = defaultdict[int, list[tuple[int, int]]](list), list[tuple[int, int]]()
    for position in candidates[np.argsort(starts[candidates], kind="stable")].tolist():
        waiting[parents[position]].append((starts[position], position))
    for position in ran[np.argsort(starts[ran], kind="stable")].tolist():
        of_parent = waiting[parents[position]]
        if last := bisect_right(of_parent, (starts[position], len(forest))):
            served.append((of_parent[last - 1][1], position))
            # The calls before it were refused.
            del of_parent[:last]
    pairs = np.array(served, np.int64).reshape(-1, 2)
    return pairs[:, 0], pairs[:, 1]
