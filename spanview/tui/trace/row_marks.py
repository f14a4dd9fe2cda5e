"""What stands before and behind a name in a trace: its depth, and what its row stands for, as far as there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.units import count, duration

if TYPE_CHECKING:
    from spanview.tui.trace.runs import Run

_DEPTH: Final = 8
"""Cells that the number of a depth may take."""
_FIGURES: Final = ("max", "p95", "min", "total")
"""Of like siblings, what matters most first; the median stands where a span has its duration."""


def indent_of(depth: int, width: int) -> str:
    """Return the lines before a name; where they would take more than half of the room, the depth as a number."""
    most = max(_DEPTH, (width // 2 - 4) // 2 * 2)
    return "│ " * depth if 2 * depth <= most else f"{depth}│ ".rjust(most)


def in_full(number: int) -> str:
    """Return a number with all its digits."""
    return f"{number:,}"


def in_short(number: int) -> str:
    """Return a number in five cells at the most, such as `1.2k`, `98k` or `4.1M`; never more than it is."""
    for size, unit in ((1_000_000, "M"), (1_000, "k")):
        if number >= size:
            tenths = number * 10 // size
            return f"{tenths // 10}.{tenths % 10}{unit}" if tenths < 100 else f"{tenths // 10}{unit}"  # noqa: PLR2004
    return str(number)


def marks_of_run(first: list[str], run: Run, errors: int) -> list[str]:
    """Return what is said of like siblings: the longest first, then ever less, at last their number and their errors.

    Args:
        first: What stands before it.
        run: The siblings.
        errors: How many of them, and of what hangs below them, failed.
    """
    texts = []
    for number in (in_full, in_short):
        counted = [*first, f"×{number(len(run.members))}"]
        if errors:
            counted.append(f"✖{number(errors)}")
        below = [f"+{number(run.hidden)}"] if run.hidden else []
        shown = _FIGURES if number is in_full and run.figures else ()
        figures = [f"{name} {duration(run.figures[name])}" for name in shown]
        texts += [" ".join([*counted, *below, *figures[:some]]) for some in range(len(figures), -1, -1)]
        texts.append(" ".join(counted))
    return texts


def lines_of_run(run: Run, errors: int) -> list[tuple[str, str]]:
    """Return all that is known of like siblings, as names and values."""
    most = run.most_at_once
    order = "" if most is None else f", up to {most:,} at once" if most > 1 else ", one after the other"
    lines = [("siblings", f"{len(run.members):,} of this name and kind{order}")]
    if run.hidden:
        lines.append(("below them", count(run.hidden, "span")))
    if errors:
        lines.append(("errors", f"✖ {errors:,}"))
    return [*lines, *((name, duration(ns)) for name, ns in run.figures.items())]
