"""The call paths of some traces: spans with the same names above them are one path, in however many traces.

spans                      paths               count
-----                      -----               -----
a  a                       a                       2
   b                         b                     1
     b                         b                   1      recursion goes on downwards
   c  c                      c                     3
c                          c                       1
   ? (no file holds it)    ? parent not seen       1
     c                       c                     1

A path is its parent path, the span's name and its service: `GET` of the cart is not `GET` of the catalogue. Proxies of
Ray Serve are called after the route, not after each path that was requested, as in `root_groups`. A service without a
name is called after its program alone: `unknown_service:python3.11` is `unknown_service:python`.
The kind doesn't count; Ray's attempts stay under the call that they were submitted by, however late they ran.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from spanview.analysis.percentiles import nearest_rank
from spanview.analysis.telling import part, unheard
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Places
    from spanview.index.forest import Forest
    from spanview.index.store import Store

NO_ROOT: Final = -1
"""Of spans without a usable trace id, which aren't a trace, and of traces that don't count."""
NO_NAME = -1
"""Stands for the name of a missing parent."""
_NO_SERVICE: Final = "unknown_service:"
"""What SDKs call a service without a name begins with this; the name of its program follows."""
NOWHERE: Final = 2**32 - 1
"""No path: for spans in other traces, or newer ones."""
_Figures: TypeAlias = "tuple[int, int, Sequence[int], int, Sequence[int]]"
"""The spans of a path, their errors, durations and self time, and the roots that it occurs below."""
_LEVELS_AT_ONCE: Final = 64
"""Levels that are done one step each: a step costs as much as some fifty spans, and deeper spans are few."""


@dataclass(frozen=True, slots=True)
class CallPath:
    """All spans with one call path."""

    parent: int
    """Number of the parent path, or `ROOT`."""
    depth: int
    """0 for a root."""
    name: str | None
    """None for missing parents: those with the same parent path share one, because their names aren't known."""
    service: str
    count: int
    """Includes spans without an end, which are left out of all durations; for missing parents, how many there are."""
    errors: int
    """Spans with status ERROR."""
    total_ns: int
    """Sum of the durations."""
    self_ns: int
    """Sum of the self times."""
    durations: Sequence[int]
    """Nanoseconds, sorted."""
    first_row: int
    """The span that started first, and of several the one that was read first; `NO_ROW` for missing parents."""
    roots: Sequence[int]
    """Numbers of the roots of the traces that it occurs in."""

    @property
    def no_end(self) -> int:
        """How many have no duration, because they have no end."""
        return 0 if self.name is None else self.count - len(self.durations)

    @property
    def p50_ns(self) -> int | None:
        """The median of the durations; None where no span has one."""
        return nearest_rank(self.durations, 50)

    @property
    def p95_ns(self) -> int | None:
        """The 95th percentile of the durations; None where no span has one."""
        return nearest_rank(self.durations, 95)


@dataclass(frozen=True, slots=True)
class RootOfTraces:
    """A root that some traces have; the one of a trace with several is the first."""

    name: str | None
    """None for traces without a root."""
    service: str
    traces: int
    """How many."""
    total_ns: int
    """Sum of the durations of those that have a start and an end."""


@dataclass(frozen=True, slots=True)
class Flame:
    """Some traces, merged by call path."""

    paths: Sequence[CallPath]
    """By number: each followed by its descendants, siblings by total, the greatest first, then by name."""
    durations: Sequence[int]
    """Nanoseconds from start to end of each trace that has both, sorted."""
    roots: Sequence[RootOfTraces]
    """By number."""
    root_of: Sequence[int]
    """For each trace of the store at that time, the number of its root, or `NO_ROOT`."""

    @property
    def traces(self) -> int:
        """How many; spans without a usable trace id aren't a trace."""
        return sum(root.traces for root in self.roots)

    def roots_in(self, groups: NDArray[np.int64], traces: NDArray[Any], number: int) -> list[Sequence[int]]:
        """Return for each group of spans the numbers of the roots of the traces that it occurs in."""
        import numpy as np

        roots, found = np.array(self.root_of, np.int64)[traces], [list[int]() for _ in range(number)]
        has_root = roots != NO_ROOT
        for pair in np.unique(groups[has_root] * len(self.roots) + roots[has_root]).tolist():
            group, root = divmod(pair, len(self.roots))
            found[group].append(root)
        return [tuple(each) for each in found]


@dataclass(frozen=True, slots=True)
class Located:
    """Traces merged by call path, and the path of each of their spans."""

    flame: Flame
    column: Sequence[int]
    """For each row at that time, the number of its path, or `NOWHERE`."""


def flame(store: Store, traces: Iterable[int] | None = None) -> Flame:
    """Merge traces by call path."""
    return _merged(store, None if traces is None else [*traces], unheard)[0]


def located(store: Store, traces: Iterable[int] | None = None, tell: Tell = unheard) -> Located:
    """Merge traces by call path, with the path of each span."""
    merged, forest, numbers = _merged(store, None if traces is None else [*traces], tell)
    return Located(merged, path_column(forest.size, forest.rows, numbers))


def path_column(size: int, rows: Places, numbers: Places) -> Sequence[int]:
    """Return the column of `Located` for a span table of a size: the number of the path of each row that has one."""
    import numpy as np

    column = np.full(size, NOWHERE, np.uint32)
    column[rows] = numbers
    return array("I", column.tobytes())


def _merged(store: Store, numbers: Sequence[int] | None, tell: Tell) -> tuple[Flame, Forest, NDArray[np.int64]]:
    """Return the paths, the spans they are made of, and the number of each span's path."""
    import numpy as np

    from spanview.analysis.root_groups import RootGroups
    from spanview.analysis.stats import grouped
    from spanview.index.forest import MISSING, forest_of

    forest, groups = forest_of(store, numbers), RootGroups(store)
    groups.find_routes(part(tell, 0.0, 0.3))
    stand_ins = _stand_ins(groups.groups, store.names.texts)
    keys, indices = _path_indices(forest, stand_ins, _services(store))
    tell(0.5)
    missing, is_orphan = len(forest.missing()), forest.parents == MISSING
    above = keys.index((ROOT, NO_NAME, 0)) if missing else ROOT
    merged = _traces_of(store, numbers, forest, stand_ins, groups.groups)
    roots = merged.roots_in(
        np.append(indices, np.full(int(is_orphan.sum()), above)),
        np.append(forest.traces, forest.traces[is_orphan]),
        len(keys),
    )
    figures: list[_Figures] = [(missing, 0, (), 0, of_path) for of_path in roots]
    for index, count, errors, durations, self_ns in grouped(forest, indices, part(tell, 0.5, 1.0)):
        figures[index] = count, errors, durations, self_ns, roots[index]
    paths, order = _in_order(store, keys, figures, _firsts(forest, indices, len(keys)), groups.groups)
    return replace(merged, paths=paths), forest, np.array(order, np.int64)[indices]


def _traces_of(
    store: Store,
    numbers: Sequence[int] | None,
    forest: Forest,
    stand_ins: Mapping[int, int],
    routes: Mapping[int, str],
) -> Flame:
    """Return the traces that count, with their roots, and without paths."""
    table, spans, same_services = store.trace_table, store.spans, _services(store)
    root_of, found = array("q", [NO_ROOT]) * len(table), dict[tuple[int, int], list[int]]()
    for trace in range(len(root_of)) if numbers is None else numbers:
        if table.trace_id(trace):
            row = table.root_row[trace]
            # Newer rows are in no path; a trace without a root has `NO_ROW`.
            has_root = row < forest.size
            name, service = (spans.name[row], same_services[spans.service[row]]) if has_root else (NO_NAME, 0)
            found.setdefault((stand_ins.get(name, name), service), []).append(trace)
    roots, lengths = list[RootOfTraces](), list[int]()
    for (name, service), traces in found.items():
        times = [(table.start_ns[trace], table.end_ns[trace]) for trace in traces]
        own = [end - start for start, end in times if NO_TIME not in (start, end)]
        lengths += own
        for trace in traces:
            root_of[trace] = len(roots)
        text = None if name == NO_NAME else routes.get(name, store.names.texts[name])
        roots.append(
            RootOfTraces(text, "" if text is None else _service(store.services.texts[service]), len(traces), sum(own))
        )
    return Flame((), sorted(lengths), roots, root_of)


def _in_order(
    store: Store,
    keys: Sequence[tuple[int, int, int]],
    figures: Sequence[_Figures],
    firsts: Sequence[int],
    routes: Mapping[int, str],
) -> tuple[list[CallPath], list[int]]:
    """Return the paths by number, and the number of the path of each key; routes stand for some names, by number."""
    services = [*map(_service, store.services.texts)]
    names = {name: routes.get(name, store.names.texts[name]) for _, name, _ in keys if name != NO_NAME}
    totals = [sum(durations) for _, _, durations, *_ in figures]
    below: defaultdict[int, list[int]] = defaultdict(list)
    for path, (parent, _, _) in enumerate(keys):
        below[parent].append(path)

    def rank(path: int) -> tuple[int, bool, str, str]:
        _, name, service = keys[path]
        is_missing = name == NO_NAME
        return -totals[path], is_missing, "" if is_missing else names[name], "" if is_missing else services[service]

    paths: list[CallPath] = []
    order = [0] * len(keys)
    # The last is popped first.
    pending = [(path, ROOT, 0) for path in sorted(below[ROOT], key=rank, reverse=True)]
    while pending:
        path, parent, depth = pending.pop()
        _, name, service = keys[path]
        count, errors, durations, self_ns, roots = figures[path]
        order[path] = len(paths)
        pending += [(child, len(paths), depth + 1) for child in sorted(below.pop(path, ()), key=rank, reverse=True)]
        paths.append(
            CallPath(
                parent=parent,
                depth=depth,
                name=None if name == NO_NAME else names[name],
                service="" if name == NO_NAME else services[service],
                count=count,
                errors=errors,
                total_ns=totals[path],
                self_ns=self_ns,
                durations=durations,
                first_row=firsts[path],
                roots=roots,
            )
        )
    return paths, order


def _service(text: str) -> str:
    """Return a service's name, without the version of the program that one without a name is called after."""
    return text.rstrip("0123456789.") if text.startswith(_NO_SERVICE) else text


def _services(store: Store) -> Sequence[int]:
    """Return for each service the number of the first one that is the same but for such a version."""
    firsts: dict[str, int] = {}
    return [firsts.setdefault(_service(text), number) for number, text in enumerate(store.services.texts)]


def _stand_ins(routes: Mapping[int, str], texts: Sequence[str]) -> dict[int, int]:
    """Return, for names with a route, the first name that has the same one, or is called so; both as numbers."""
    wanted = {*routes.values()}
    firsts = {text: name for name, text in enumerate(texts) if text in wanted and name not in routes}
    return {name: firsts.setdefault(route, name) for name, route in sorted(routes.items())}


def _path_indices(
    forest: Forest, stand_ins: Mapping[int, int], same_services: Sequence[int]
) -> tuple[list[tuple[int, int, int]], NDArray[np.int64]]:
    """Return the keys of call paths, parents before their children, and the index of each span's path among them.

    Roots make the first paths; the paths of parents, with the names and services of their children, make the next, and
    so on. The first levels are one step each; below them, where spans are few, each span is one.

    Args:
        stand_ins: The numbers of names that count as another one.
        same_services: For each service, the number of the one that it counts as.

    Returns:
        Parent path's index, name and service of each path; the indices of the spans' paths by position.
    """
    import numpy as np

    from spanview.index.forest import MISSING

    numbers: dict[tuple[int, int, int], int] = {}
    name, service = forest.of("name").astype(np.int64), np.array(same_services, np.int64)[forest.of("service")]
    if stand_ins:
        counted_as = np.arange(len(forest.store.names.texts))
        counted_as[[*stand_ins]] = [*stand_ins.values()]
        name = counted_as[name]
    services = int(service.max(initial=0)) + 1
    kinds, of_kind = np.unique(name * services + service, return_inverse=True)
    named = [divmod(kind, services) for kind in kinds.tolist()]
    indices = np.full(len(forest), ROOT, np.int64)
    waiting = np.arange(len(forest))
    is_ready = forest.parents < 0
    above = np.full(int(is_ready.sum()), ROOT, np.int64)
    if (is_orphan := forest.parents[is_ready] == MISSING).any():
        above[is_orphan] = numbers.setdefault((ROOT, NO_NAME, 0), 0)
    for _ in range(_LEVELS_AT_ONCE):
        ready, waiting = waiting[is_ready], waiting[~is_ready]
        steps, inverse = np.unique((above + 1) * len(named) + of_kind[ready], return_inverse=True)
        new = [divmod(step, len(named)) for step in steps.tolist()]
        new_indices = [numbers.setdefault((parent - 1, *named[kind]), len(numbers)) for parent, kind in new]
        indices[ready] = np.array(new_indices, np.int64)[inverse]
        if not len(waiting):
            break
        above = indices[forest.parents[waiting]]
        is_ready = above != ROOT
        above = above[is_ready]
    if len(waiting):
        below = waiting[np.argsort(forest.depths()[waiting], kind="stable")]
        for position, parent, kind in zip(
            below.tolist(), forest.parents[below].tolist(), of_kind[below].tolist(), strict=True
        ):
            indices[position] = numbers.setdefault((int(indices[parent]), *named[kind]), len(numbers))
    return [*numbers], indices


def _firsts(forest: Forest, indices: NDArray[np.int64], count: int) -> list[int]:
    """Return the row of each path's earliest span; of those that start together, the first row."""
    import numpy as np

    starts = forest.of("start_ns")
    # Spans without a start come last. Of several values assigned to one index, the last one stays.
    order = np.argsort(np.where(starts == NO_TIME, np.iinfo(np.int64).max, starts), kind="stable")[::-1]
    firsts = np.full(count, NO_ROW, np.int64)
    firsts[indices[order]] = forest.rows[order]
    rows: list[int] = firsts.tolist()
    return rows
