"""Call paths as blocks: each below the one that it is called by, as wide as the time it takes.

|a                             |
|b             |c      |
|d     |

By total time, a block is as wide as it lasts, or as all below it where that is more: of what runs side by side, or on
when its parent has ended, as Ray's workers do. By self time, it is as wide as the self time in it and below it. So a
call that takes 1 ms to submit and whose task runs 5 s is a wide block: its width is that of what it led to. The share
that is told of a block is that of its width.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.names import function_of, names_in_list
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.analysis.diff import PathDiff
    from spanview.analysis.flame import CallPath, Flame

_UNSEEN: Final = "? parent not seen"
_NARROWEST: Final = 0.5
"""Cells: what is narrower isn't drawn, nor what is below it."""


class By(Enum):
    """What makes a block wide."""

    TOTAL = "total time"
    SELF = "self time"


@dataclass(frozen=True, slots=True)
class FlameBlock:
    """A path in one row of the drawing."""

    path: int
    left: int
    """Its first cell."""
    right: int
    """The cell behind its last."""


class PathTree:
    """Call paths, by their numbers, as a tree."""

    def __init__(self, paths: Sequence[CallPath | PathDiff]) -> None:
        self._paths = paths
        self.children: defaultdict[int, list[int]] = defaultdict(list)
        """Numbers of the paths below each, and below `ROOT`."""
        for number, path in enumerate(paths):
            self.children[path.parent].append(number)

    def names(self, path: int) -> list[tuple[str | None, str]]:
        """Return names and services from the root on, which tell a path from all others, whatever its number is."""
        names = list[tuple[str | None, str]]()
        while path != ROOT:
            names.append((self._paths[path].name, self._paths[path].service))
            path = self._paths[path].parent
        return names[::-1]

    def path_of(self, names: Sequence[tuple[str | None, str]]) -> int:
        """Return the path with these names and services from the root on; `ROOT` where there is none."""
        paths, path = self._paths, ROOT
        for name in names:
            below = (child for child in self.children[path] if (paths[child].name, paths[child].service) == name)
            path = next(below, ROOT)
            if path == ROOT:
                break
        return path


class FlameModel:
    """Call paths, and how wide each is.

    Args:
        path_of_row: For each row of the span table at that time, the number of its path.
    """

    def __init__(self, flame: Flame, path_of_row: Sequence[int] = ()) -> None:
        self.flame = flame
        self.path_of_row = path_of_row
        self.by = By.TOTAL
        self.tree = PathTree(flame.paths)
        self._short_names = names_in_list({path.name for path in flame.paths if path.name is not None})
        self._values = {by: self._summed(by) for by in By}

    def _summed(self, by: By) -> list[int]:
        paths = self.flame.paths
        below = [0] * len(paths)
        values = [0] * len(paths)
        # What is below comes after.
        for number in range(len(paths) - 1, -1, -1):
            path = paths[number]
            if by is By.SELF:
                values[number] = path.self_ns + below[number]
            else:
                values[number] = max(path.total_ns if path.name is not None else 0, below[number])
            if path.parent != ROOT:
                below[path.parent] += values[number]
        return values

    def labels(self, path: int) -> tuple[str, str]:
        """Return how a path is called, and how in less room, without `ray.remote`; from files, to be sanitised."""
        name = self.flame.paths[path].name
        if name is None:
            return _UNSEEN, _UNSEEN
        short = self._short_names.get(name, name) or "(no name)"
        return short, function_of(short) or short

    def width_ns(self, path: int) -> int:
        """Return the time that a path is as wide as."""
        return self._values[self.by][path]

    def share(self, path: int) -> float | None:
        """Return what share of the width of all roots a path has; None where no time is known."""
        whole = sum(map(self.width_ns, self.tree.children[ROOT]))
        return self.width_ns(path) / whole if whole else None

    def above(self, path: int, top: int) -> int:
        """Return the path that calls a path; `ROOT` where it isn't shown, as `top` takes the whole width."""
        return ROOT if path in {ROOT, top} else self.flame.paths[path].parent

    def widest_below(self, path: int) -> int:
        """Return the widest path that a path calls; the path itself where it calls none."""
        return max(self.tree.children[path], key=self._values[self.by].__getitem__, default=path)

    def end_of(self, path: int, top: int, *, last: bool) -> int:
        """Return where the widest paths below a path end, or the first that is shown of those above it."""
        here = path
        while (further := self.widest_below(here) if last else self.above(here, top)) not in {ROOT, here}:
            here = further
        return here

    def rows(self, top: int, width: int, most: int) -> list[list[FlameBlock]]:
        """Return the blocks of each row, from the left, below the path that takes the whole width."""
        values = self._values[self.by]
        level = [(top, 0.0, float(width))] if top != ROOT else self._shared(ROOT, 0.0, float(width), values)
        rows: list[list[FlameBlock]] = []
        while level and len(rows) < most:
            rows.append([FlameBlock(path, round(left), round(right)) for path, left, right in level])
            level = [shared for path, left, right in level for shared in self._shared(path, left, right, values)]
        return rows

    def _shared(self, path: int, left: float, right: float, values: Sequence[int]) -> list[tuple[int, float, float]]:
        """Return what is below a path and wide enough, and its place."""
        below = self.tree.children[path]
        whole = sum(values[child] for child in below) if path == ROOT else values[path]
        found, scale = [], (right - left) / whole if whole else 0.0
        for child in below:
            end = min(right, left + values[child] * scale)
            if end - left >= _NARROWEST and round(end) > round(left):
                found.append((child, left, end))
            left = end
        return found
