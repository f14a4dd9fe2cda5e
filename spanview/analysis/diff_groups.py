"""Sides to compare by span name or by Ray function, wherever they were called: flat call paths, which `diff` matches.

by     path           durations
----   -----------    -----------------------------------
name   put            of all spans called so
ray    put            of its attempts' runs
       put › waiting  from its submission to its attempts
"""

from __future__ import annotations

from dataclasses import replace
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from spanview.analysis.diff import diff
from spanview.analysis.flame import CallPath, Flame
from spanview.index.table import NO_ROW
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.index.store import Store

WAITING: Final = "waiting"
"""The name of the path of waits below a function."""


class DiffBy(StrEnum):
    """What is matched."""

    PATH = "path"
    NAME = "name"
    RAY = "ray"


def diff_groups(a: tuple[Flame, Flame], b: tuple[Flame, Flame]) -> Diff:
    """Match the groups of two sides.

    Args:
        a: One side's call paths, which have its totals, and its groups.
        b: The other one's.
    """
    totals = diff(a[0], b[0])
    return replace(diff(a[1], b[1]), a=totals.a, b=totals.b)


def by_total(merged: Diff) -> list[PathDiff]:
    """Return the groups by how much their totals have changed, the most first; of equal changes the slower first.

    Waits come last: they add up what others took.
    """
    return sorted(merged.paths, key=lambda path: (path.depth, *path.rank("total_ns"), path.number))


def groups_of_side(store: Store, by: DiffBy, side: Flame, traces: Sequence[int] | None) -> Flame:
    """Return a side with groups instead of call paths.

    Args:
        by: Name or Ray function.
        side: Its call paths.
        traces: Numbers of its traces; None for all.
    """
    return replace(side, paths=_functions(store, traces) if by is DiffBy.RAY else _names(store, traces))


def _names(store: Store, traces: Sequence[int] | None) -> list[CallPath]:
    from spanview.analysis.stats import grouped
    from spanview.index.forest import forest_of

    forest, texts = forest_of(store, traces), store.names.texts
    return [
        _path(texts[name], count, errors, durations, self_ns)
        for name, count, errors, durations, self_ns in grouped(forest, forest.of("name").astype(int))
    ]


def _functions(store: Store, traces: Sequence[int] | None) -> list[CallPath]:
    from spanview.analysis.calls import calls_of, functions_of

    paths = list[CallPath]()
    for function in functions_of(store, calls_of(store, traces)):
        runs, waits = function.runs_ns, function.waits_ns
        paths.append(_path(function.function, function.attempts, function.errors, runs))
        paths.append(replace(_path(WAITING, len(waits), 0, waits), parent=len(paths) - 1, depth=1))
    return paths


def _path(name: str, count: int, errors: int, durations: Sequence[int], self_ns: int = 0) -> CallPath:
    return CallPath(ROOT, 0, name, "", count, errors, sum(durations), self_ns, durations, NO_ROW)
