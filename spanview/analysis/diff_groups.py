"""Sides to compare by span name or by Ray function, wherever they were called: flat call paths, which `diff` matches.

by     path           durations
----   -----------    ------------------------------------------
name   put            of all spans called so
ray    put            of its attempts' runs
       put › waiting            from its submission to its first attempt
       put › submitting         of its PRODUCERs
       put › between attempts   from the end of an attempt to the next one
       put › after an attempt without an end   from its start to the next one
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from functools import partial
from typing import TYPE_CHECKING, Final

from spanview.analysis.diff import diff
from spanview.analysis.flame import CallPath, Flame, Located, path_column
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.index.arrays import Places
    from spanview.index.store import Store

WAITING: Final = "waiting"
SUBMITTING: Final = "submitting"
RETRYING: Final = "between attempts"
UNENDED: Final = "after an attempt without an end"
"""The names of the paths below a function: with its runs, they are all the time from its submission to its end."""


class DiffBy(StrEnum):
    """What is matched."""

    PATH = "path"
    NAME = "name"
    RAY = "ray"


def diff_groups(a: tuple[Flame, Flame], b: tuple[Flame, Flame]) -> Diff:
    """Match the groups of two sides, each given as its call paths, which have its totals, and its groups."""
    totals, groups = diff(a[0], b[0]), diff(a[1], b[1])
    return replace(totals, paths=groups.paths, numbers=groups.numbers)


def by_total(merged: Diff) -> list[PathDiff]:
    """Return the groups by how much their totals have changed, the most first; of equal changes the slower first."""
    return sorted(merged.paths, key=partial(rank_of_total, merged.paths))


def rank_of_total(groups: Sequence[PathDiff], group: PathDiff) -> tuple[float, bool, int, int]:
    """Return the sort key by which the greatest change of a total comes first.

    Waits come behind what waited: they add up what others took.
    """
    ran = of_runs(groups, group)
    return *ran.rank("total_ns"), ran.number, group.depth


def of_runs(groups: Sequence[PathDiff], group: PathDiff) -> PathDiff:
    """Return the group of the runs that waits are of; of others, the group itself."""
    return group if group.parent == ROOT else groups[group.parent]


def groups_of_side(store: Store, by: DiffBy, side: Flame, traces: Sequence[int] | None) -> Located:
    """Return a side with groups instead of call paths, and the group of each span: of runs, not of waits."""
    paths, rows, numbers = _functions(store, side, traces) if by is DiffBy.RAY else _names(store, side, traces)
    return Located(replace(side, paths=paths), path_column(len(store.spans.next_row), rows, numbers))


def _names(store: Store, side: Flame, traces: Sequence[int] | None) -> tuple[list[CallPath], Places, Places]:
    """Return the groups, the rows of the spans, and the group of each."""
    import numpy as np

    from spanview.analysis.stats import grouped
    from spanview.index.forest import forest_of

    forest, texts = forest_of(store, traces), store.names.texts
    names = forest.of("name").astype(np.int64)
    groups = [*grouped(forest, names)]
    number_of = np.zeros(len(texts), np.int64)
    number_of[[name for name, *_ in groups]] = range(len(groups))
    numbers = number_of[names]
    paths = [
        replace(_path(texts[name], count, errors, durations, roots), self_ns=self_ns)
        for (name, count, errors, durations, self_ns), roots in zip(
            groups, side.roots_in(numbers, forest.traces, len(groups)), strict=True
        )
    ]
    return paths, forest.rows, numbers


def _functions(store: Store, side: Flame, traces: Sequence[int] | None) -> tuple[list[CallPath], Places, Places]:
    """Return the groups, the rows of the attempts, and the group of each."""
    import numpy as np

    from spanview.analysis.ray.call_groups import CallsBy, call_groups
    from spanview.analysis.ray.calls import calls_of
    from spanview.analysis.ray.functions import functions_of
    from spanview.index.arrays import copy_of

    calls, paths = calls_of(store, traces), list[CallPath]()
    number_of = dict[str, int]()
    groups = call_groups(store, calls, CallsBy.FUNCTION)
    of_calls = copy_of(store.spans.trace)[calls.rows]
    roots = dict(zip(groups.keys, side.roots_in(groups.of_calls, of_calls, len(groups.keys)), strict=True))
    for function in functions_of(store, calls):
        number = number_of[function.function] = len(paths)
        occurs_in = roots[function.function]
        paths.append(_path(function.function, function.attempts, function.errors, function.runs_ns, occurs_in))
        further = (
            (WAITING, function.waits_ns),
            (SUBMITTING, function.submits_ns),
            (RETRYING, function.retries_ns),
            (UNENDED, function.unended_ns),
        )
        paths += [
            replace(_path(name, len(times), 0, times, occurs_in), parent=number, depth=1)
            for name, times in further
            if times or name == WAITING
        ]
    numbers = np.array([number_of[key] for key in groups.keys], np.int64)
    return paths, calls.attempts, numbers[groups.of_attempts]


def _path(name: str, count: int, errors: int, durations: Sequence[int], roots: Sequence[int]) -> CallPath:
    return CallPath(ROOT, 0, name, "", count, errors, sum(durations), 0, durations, NO_ROW, roots)
