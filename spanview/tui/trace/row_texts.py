"""What a trace's rows say, on the screen and in pictures: names, and what stands round them as far as there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.ray.executions import run_word
from spanview.analysis.ray.exits import cut_off_text
from spanview.analysis.ray.names import SUBMITTED, short_names
from spanview.analysis.ray.unended import Fate
from spanview.display.call_text import NOT_YET_SEEN
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration, so_far
from spanview.index.tree import ROOT
from spanview.model.codes import CONSUMER, ERROR, PRODUCER
from spanview.model.ids import format_span_id
from spanview.model.times import NO_TIME
from spanview.tui.trace.stitched_trace import is_any_between

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from spanview.tui.trace.appearance import Appearance
    from spanview.tui.trace.runs import Run
    from spanview.tui.trace.trace_model import TraceModel

_ON_PATH: Final = "•"
_SILENT: Final = "!"
"""Behind the name of what failed without an error, or hides something that did."""
_LONGEST_GUESS: Final = 60
_DEPTH: Final = 8
"""Cells that the number of a depth may take."""
_FIGURES: Final = ("max", "p95", "min", "total")
"""Of like siblings, what matters most first; the median stands where a span has its duration."""
NOT_SEEN: Final = "not ended, or lost"
"""What is said of the time of a missing parent."""


class RowTexts:
    """The texts of a trace's rows."""

    def __init__(self, model: TraceModel, appearance: Appearance) -> None:
        self._store = model.store
        self._model = model
        self._appearance = appearance

    def name(self, node: int) -> str:
        """Return a span's name, from a file and so to be made harmless; of a placeholder, what is known of it."""
        tree = self._model.tree
        if tree.is_missing(node):
            guess = self._appearance.guesses.get(tree.span_id(node))
            if guess is not None:
                name = short_names([guess.name]).get(guess.name, guess.name) if self._joins else guess.name
                return f"? probably {sanitise(name, _LONGEST_GUESS)}, not seen"
            return f"? parent not seen {format_span_id(tree.span_id(node))[:8]}"
        row = tree.rows[node]
        name = self._name_of(self._model.stitched.submitted.get(row, row))
        # Where each span has a row, it has its whole name.
        return (self._model.stitched.short_names.get(name, name) if self._joins else name) or "(no name)"

    @property
    def _joins(self) -> bool:
        return self._model.stitched.joins

    def _name_of(self, row: int) -> str:
        return self._store.names.texts[self._store.spans.name[row]]

    def _is_call(self, row: int) -> bool:
        """Whether a span that has a row of its own submits a call, where calls are rows."""
        return self._joins and self._store.spans.kind[row] == PRODUCER and self._name_of(row).endswith(SUBMITTED)

    def arrow(self, node: int) -> str:
        """Return whether something hangs below a row, and whether it is shown, in two cells."""
        if not self._model.run(node) and not self._model.below(node):
            return "  "
        return "▸ " if self._model.is_collapsed(node) else "▾ "

    def marks(self, node: int) -> list[str]:
        """Return what stands behind a name: the longest first, for where there is room, then shorter ones."""
        model, tree, lit = self._model, self._model.tree, self._appearance.lit_path
        first = [_ON_PATH] if lit is not None and lit.is_between(*model.reach(node)) else []
        if is_any_between(self._appearance.silent_positions, *model.reach(node)):
            first.append(_SILENT)
        if run := model.run(node):
            figures = () if self._is_call(tree.rows[node]) else figures_of_run(run)
            return marks_of_run(first, run, model.stitched.failed_between(run.first, run.end), figures)
        if not tree.is_missing(node) and self._store.spans.status[tree.rows[node]] == ERROR:
            first.append("✖")
        last = ["↻ cycle"] if node in tree.cut else []
        if not model.is_collapsed(node):
            marks = " ".join([*first, *last])
            of_call = " ".join(filter(None, (self._text_of_call(node) or self._silent_text(node), self._cut_off(node))))
            if not of_call:
                return [marks]
            # Where there is no room for the reason, its mark still says that there is no attempt.
            short = [f"{marks} ◌".strip()] if of_call.startswith("◌") else []
            # Lighting the path takes nothing away: names and bars show it, too.
            unlit = " ".join([*(mark for mark in first if mark != _ON_PATH), *last, of_call])
            return [*dict.fromkeys((" ".join(filter(None, (marks, of_call))), unlit)), *short, marks]
        hidden, errors = model.below(node), model.errors_below(node)
        return [
            " ".join([*first, f"+{number(hidden)}", *([f"✖{number(errors)}"] if errors else []), *last])
            for number in (in_full, in_short)
        ]

    def _text_of_call(self, node: int) -> str:
        """Return what is said of a Ray call where calls are rows; empty for all else."""
        stitched, tree = self._model.stitched, self._model.tree
        if tree.is_missing(node):
            return ""
        parent = tree.parents[node]
        if self._store.spans.kind[tree.rows[node]] == CONSUMER and parent < len(tree.rows):
            is_attempt = parent != ROOT and self._is_call(tree.rows[parent])
            return f"{self._run_word(parent)} {tree.children(parent).index(node) + 1:,}" if is_attempt else ""
        if not self._is_call(tree.rows[node]):
            return ""
        attempts = len(tree.children(node)) or int(tree.rows[node] in stitched.served)
        if attempts:
            return count(attempts, self._run_word(node))
        why = self._appearance.reasons.get(tree.rows[node])
        if tree.rows[node] in self._appearance.open_calls:
            return f"◌ {(why and why.brief) or NOT_YET_SEEN}"
        mark = "" if tree.rows[node] in self._appearance.silent else "◌ "
        return f"{mark}no attempt seen" if why is None else f"{mark}{why.label}"

    def _cut_off(self, node: int) -> str:
        """Return that a span was cancelled, or cut off; empty for all others."""
        rows = self._model.tree.rows
        return "" if self._model.tree.is_missing(node) else cut_off_text(self._store, rows[node]).partition(":")[0]

    def _run_word(self, node: int) -> str:
        """Return what the runs of a call are, one of which is meant."""
        tree = self._model.tree
        return run_word(self._store, [tree.rows[child] for child in tree.children(node)[:2]])

    def _silent_text(self, node: int) -> str:
        """Return how a span failed without an error; empty for all others."""
        failure = (
            None if self._model.tree.is_missing(node) else self._appearance.silent.get(self._model.tree.rows[node])
        )
        return "" if failure is None else failure.label

    def waited(self, node: int) -> list[str]:
        """Return how long a call waited, of like siblings the median, then what is shorter; nothing for all else."""
        tree = self._model.tree
        if tree.is_missing(node) or not self._joins:
            return [""]
        if run := self._model.run(node):
            return _median(run.waits) if run.waits else [""]
        parent = tree.parents[node]
        is_attempt = 0 <= parent < len(tree.rows) and self._is_call(tree.rows[parent])
        if not is_attempt and tree.rows[node] not in self._model.stitched.submitted:
            return [""]
        return [duration(self._model.stitched.wait(node))]

    def lasted(self, node: int) -> list[str]:
        """Return how long a span took, of like siblings the median, then what is shorter; nothing for a placeholder.

        Nor is there anything for a call whose attempts have rows of their own, or that has none: how long it took to
        submit it isn't how long it ran.
        """
        tree, spans = self._model.tree, self._store.spans
        if tree.is_missing(node) or self._is_call(tree.rows[node]):
            return [""]
        if run := self._model.run(node):
            return _median(run.figures)
        start, end = spans.start_ns[tree.rows[node]], spans.end_ns[tree.rows[node]]
        if end != NO_TIME:
            return ["–" if start == NO_TIME else duration(end - start)]
        unended = self._appearance.unended.get(tree.rows[node])
        if unended is None:
            return [Fate.UNKNOWN.value]
        return [so_far(self._model.now_ns - start) if unended.fate is Fate.RUNS else unended.fate.value]


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


def _median(figures: Mapping[str, int]) -> list[str]:
    text = duration(figures.get("p50"))
    return [f"p50 {text}", text]


def figures_of_run(run: Run) -> list[str]:
    """Return what is said of like siblings besides their medians, what matters most first."""
    if run.waits:
        return [f"max wait {duration(run.waits['max'])}", f"max run {duration(run.figures.get('max'))}"]
    return [f"{name} {duration(run.figures[name])}" for name in _FIGURES] if run.figures else []


def marks_of_run(first: list[str], run: Run, errors: int, figures: Sequence[str]) -> list[str]:
    """Return what is said of like siblings: the longest first, then ever less, at last their number and errors."""
    texts = []
    for number in (in_full, in_short):
        counted = [*first, f"×{number(len(run.members))}"]
        if errors:
            counted.append(f"✖{number(errors)}")
        below = [f"+{number(run.hidden)}"] if run.hidden else []
        most = len(figures) if number is in_full else 0
        texts += [" ".join([*counted, *below, *figures[:shown]]) for shown in range(most, -1, -1)]
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
    if not run.waits:
        return [*lines, *((name, duration(ns)) for name, ns in run.figures.items())]
    for kind, figures in (("wait", run.waits), ("run", run.figures)):
        lines.append((kind, "   ".join(f"{name} {duration(ns)}" for name, ns in figures.items()) or "–"))
    return lines
