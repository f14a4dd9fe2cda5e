"""The critical path of one trace, stretch by stretch."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

from spanview.analysis.consistent import NO_TIMES
from spanview.analysis.critical import paths_in
from spanview.index.forest import Trees

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.index.table import Interned
    from spanview.index.tree import TraceTree


class Blame(Enum):
    """What a stretch of the path is."""

    SELF = "self"
    WAIT = "wait"


class Stretch(NamedTuple):
    """A stretch of the path."""

    node: int
    start_ns: int
    end_ns: int
    kind: Blame


class CriticalPath(NamedTuple):
    """The critical path of a trace, and why it isn't sure."""

    segments: tuple[Stretch, ...]
    reason: str


def critical_path(tree: TraceTree, names: Interned, until: Mapping[int, int] = NO_TIMES) -> CriticalPath:
    """Return the critical path of a trace."""
    paths = paths_in(Trees.alone(tree), names, until)
    columns = (column.tolist() for column in (paths.nodes, paths.starts_ns, paths.ends_ns, paths.are_waits))
    stretches = ((*times, Blame.WAIT if is_wait else Blame.SELF) for *times, is_wait in zip(*columns, strict=True))
    return CriticalPath(tuple(map(Stretch._make, stretches)), paths.reasons[0])
