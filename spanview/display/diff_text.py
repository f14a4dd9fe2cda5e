"""Two sides merged by call path in words: a table of both, figures of a path, and what paths are called."""

from __future__ import annotations

from collections import Counter
from types import MappingProxyType
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from spanview.analysis.diff import PERCENTILES, Only
from spanview.display.cells import name_text
from spanview.display.sanitise import sanitise
from spanview.display.shades import HEAD, plain
from spanview.display.units import amount, duration
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from spanview.analysis.diff import Diff, PathDiff
    from spanview.analysis.flame import CallPath
    from spanview.display.shades import Paint

NO_SHORT_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
_BETWEEN: Final = " › "
_LEAD: Final = f"…{_BETWEEN}"
_NO_END: Final = "no end"
"""What times are of a path whose spans run, or were lost with their processes."""
_MIN_RATIO_SHOWN: Final = 10.0
"""From here on a ratio is written as such, not in per cent."""
PER_TRACE: Final = "per trace"


def side_lines(merged: Diff, labels: Sequence[str], paint: Paint = plain) -> Iterator[str]:
    """Yield the table of what the sides are: a line for each, and one for the change."""
    a, b = merged.a, merged.b
    has_many = max(a.traces, b.traces) > 1
    header = ("", "TRACES", "SPANS", "ERRORS", "SELF", *(("P50", "P95") if has_many else ("DURATION",)), "")
    rows = [header]
    for letter, side, label in zip("AB", (a, b), labels, strict=True):
        lengths = (side.p50_ns, side.p95_ns) if has_many else (side.p50_ns,)
        numbers = (side.traces, side.spans, side.errors)
        rows.append((letter, *(f"{number:,}" for number in numbers), *map(duration, (side.self_ns, *lengths)), label))
    changes = [signed_amount(merged.change(figure) or 0) for figure in ("traces", "spans", "errors")]
    changes += [_signed(merged.change(figure)) for figure in ("self_ns", "p50_ns", "p95_ns")[: 3 if has_many else 2]]
    rows.append(("", *changes, f"change {PER_TRACE}" if merged.is_per_trace else "change"))
    yield from _aligned(rows, paint)


def _aligned(rows: Sequence[Sequence[str]], paint: Paint) -> Iterator[str]:
    """Yield the lines of a table, the heads in the first row: figures to the right, and text in the last column."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    for number, row in enumerate(rows):
        cells = [f"{text:>{width}}" for text, width in zip(row, widths, strict=False)]
        cells = [paint(cell, "" if number else HEAD) for cell in cells]
        last = paint(row[-1].rstrip(), "" if number else HEAD)
        yield f"{'  '.join(cells)}  {last}".rstrip()


def figures_line(path: PathDiff) -> str:
    """Return the figures of a path in one line, with their names."""
    a, change, b = times(path, "self_ns")
    changed = ", ".join(filter(None, (change, relative(path))))
    per_trace = f" {PER_TRACE}" if path.is_per_trace else ""
    further = zip((f"total{per_trace}", "p50", "p95"), _times(path), strict=True)
    named = [(f"count{per_trace}", counts(path)), (f"errors{per_trace}", errors(path)), *further]
    own = f"self{per_trace} {_pair(a, b)}" + (f" ({changed})" if changed else "")
    return ", ".join([own, *(f"{name} {text}" for name, text in named if text)])


def times(path: PathDiff, figure: str) -> tuple[str, str, str]:
    """Return A's, the change, and B's; the figure is one of `FIGURES` that is a time."""
    sides = path.a, path.b
    a, b = (
        "–" if side is None or not side.count else _NO_END if _has_no_end(side) else _time(ns)
        for side, ns in zip(sides, path.compared(figure), strict=True)
    )
    return a, "" if any(map(_has_no_end, sides)) else _signed(path.change(figure)), b


def _has_no_end(side: CallPath | None) -> bool:
    """Return whether no span of a path has a duration: nothing is known of its times, not that they are 0."""
    return side is not None and side.name is not None and not side.durations


def relative(path: PathDiff, figure: str = "self_ns") -> str:
    """Return how much a time has changed, or which side alone has the path."""
    if path.only_in is not None:
        return "only A" if path.only_in is Only.A else "only B"
    if _has_no_end(path.a) or _has_no_end(path.b):
        return ""
    ratio = path.ratio(figure)
    if ratio is None or ratio == 1:
        return ""
    if ratio >= _MIN_RATIO_SHOWN:
        return f"×{ratio:,.0f}"
    percent = 100 * (ratio - 1)
    return f"{percent:+.0f} %" if abs(percent) >= 1 else f"{percent:+.1g} %"


def _time(ns: float | None) -> str:
    return duration(None if ns is None else round(ns))


def _signed(ns: float | None) -> str:
    return "" if not ns else f"{'+' if ns > 0 else ''}{_time(ns)}"


def signed_amount(number: float) -> str:
    """Return by how many something has changed; empty where it hasn't."""
    return f"{'+' if number > 0 else '-'}{amount(abs(number))}" if number else ""


def per_trace_text(heads: Sequence[str]) -> str:
    """Return that some columns are per trace."""
    return f"{', '.join(heads)} {PER_TRACE}"


def counts(path: PathDiff) -> str:
    """Return how many spans both sides have, in one text."""
    sides = zip((path.a, path.b), path.compared("count"), strict=True)
    return _pair(*("–" if side is None else amount(number or 0) for side, number in sides))


def errors(path: PathDiff) -> str:
    """Return how many spans of both sides failed; empty where none did."""
    a, b = (number or 0 for number in path.compared("errors"))
    return _pair(amount(a), amount(b)) if a or b else ""


def _times(path: PathDiff) -> Iterator[str]:
    for figure in ("total_ns", "p50_ns", "p95_ns"):
        if figure in PERCENTILES and not any(side.count > 1 for side in (path.a, path.b) if side):
            yield ""
        else:
            a, _, b = times(path, figure)
            yield _pair(a, b)


def _pair(a: str, b: str) -> str:
    return a if a == b else f"{a} → {b}"


class Labels:
    """Labels of paths: names, and services too where two paths have the same names."""

    def __init__(self, merged: Diff, short: Mapping[str, str] = NO_SHORT_NAMES) -> None:
        self._merged = merged
        self._short = short
        self._alike = Counter((path.parent, path.name) for path in merged.paths)
        self._known: dict[int, tuple[str, int]] = {}

    def path(self, path: PathDiff, room: int) -> str:
        """Return a path in so many cells: its beginning goes first, then the middle of its name."""
        line = self._merged.line(path)
        name, cells = self.name(path)
        names = [name]
        for above in line[-2::-1]:
            name, more = self.name(above)
            cells += len(_BETWEEN) + more
            if cells + (0 if above.parent == ROOT else len(_LEAD)) > room:
                break
            names.append(name)
        text = ("" if line[-len(names)].parent == ROOT else _LEAD) + _BETWEEN.join(reversed(names))
        return text if cell_len(text) <= room else name_text(text, room).rstrip()

    def name(self, path: PathDiff) -> tuple[str, int]:
        """Return a name and its cells; every path below has it, too."""
        if path.number not in self._known:
            name = self._text(path)
            self._known[path.number] = name, cell_len(name)
        return self._known[path.number]

    def _text(self, path: PathDiff) -> str:
        if path.name is None:
            return "? parent not seen"
        name = sanitise(self._short.get(path.name, path.name)) or "(no name)"
        is_alone = self._alike[path.parent, path.name] == 1
        return name if is_alone else f"{name} ({sanitise(path.service) or 'no service'})"
