"""What a trace's rows say, on the screen and in pictures: names, and what stands round them as far as there is room."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.ray_names import SUBMITTED
from spanview.display.sanitise import sanitise
from spanview.display.units import count, duration
from spanview.model.codes import ERROR, PRODUCER
from spanview.model.ids import format_span_id
from spanview.model.times import NO_TIME
from spanview.tui.trace.stitched_trace import is_any_between

if TYPE_CHECKING:
    from spanview.index.store import Store
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


class RowTexts:
    """The texts of a trace's rows."""

    def __init__(self, store: Store, model: TraceModel, appearance: Appearance) -> None:
        self._store = store
        self._model = model
        self._appearance = appearance

    def name(self, node: int) -> str:
        """Return a span's name, from a file and so to be made harmless; of a placeholder, what is known of it."""
        tree = self._model.tree
        if tree.is_missing(node):
            guess = self._appearance.guesses.get(tree.span_id(node))
            if guess is not None:
                return f"? probably {sanitise(guess.name, _LONGEST_GUESS)}, not seen"
            return f"? parent not seen {format_span_id(tree.span_id(node))[:8]}"
        submitted = self._model.stitched.submitted.get(tree.rows[node])
        if submitted is not None:
            return self._name_of(submitted).removesuffix(SUBMITTED)
        return self._name_of(tree.rows[node]) or "(no name)"

    def _name_of(self, row: int) -> str:
        return self._store.names.texts[self._store.spans.name[row]]

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
            return marks_of_run(first, run, model.stitched.failed_between(run.first, run.end))
        if not tree.is_missing(node) and self._store.spans.status[tree.rows[node]] == ERROR:
            first.append("✖")
        last = ["↻ cycle"] if node in tree.cut else []
        if not model.is_collapsed(node):
            marks = " ".join([*first, *last])
            of_call = self._text_of_call(node) or self._silent_text(node)
            if not of_call:
                return [marks]
            # Where there is no room for the reason, its mark still says that there is no attempt.
            short = [f"{marks} ◌".strip()] if of_call.startswith("◌") else []
            return [" ".join(filter(None, (marks, of_call))), *short, marks]
        hidden, errors = model.below(node), model.errors_below(node)
        return [
            " ".join([*first, f"+{number(hidden)}", *([f"✖{number(errors)}"] if errors else []), *last])
            for number in (in_full, in_short)
        ]

    def _text_of_call(self, node: int) -> str:
        """Return what is said of a Ray call where calls are rows; empty for all else."""
        stitched, tree = self._model.stitched, self._model.tree
        if not stitched.joins or tree.is_missing(node):
            return ""
        if tree.rows[node] in stitched.submitted:
            return f"wait {duration(stitched.wait(node))}"
        if self._store.spans.kind[tree.rows[node]] != PRODUCER or not self.name(node).endswith(SUBMITTED):
            return ""
        attempts = len(tree.children(node)) or int(tree.rows[node] in stitched.served)
        if attempts:
            return count(attempts, "attempt")
        why = self._appearance.reasons.get(tree.rows[node])
        mark = "" if tree.rows[node] in self._appearance.silent else "◌ "
        return f"{mark}no attempt seen" if why is None else f"{mark}{why.label}"

    def _silent_text(self, node: int) -> str:
        """Return how a span failed without an error; empty for all others."""
        failure = (
            None if self._model.tree.is_missing(node) else self._appearance.silent.get(self._model.tree.rows[node])
        )
        return "" if failure is None else failure.label

    def lasted(self, node: int) -> list[str]:
        """Return how long a span took, of like siblings the median, then what is shorter; nothing for a placeholder."""
        tree, spans = self._model.tree, self._store.spans
        if tree.is_missing(node):
            return [""]
        if run := self._model.run(node):
            text = duration(run.figures.get("p50"))
            return [f"p50 {text}", text]
        start, end = spans.start_ns[tree.rows[node]], spans.end_ns[tree.rows[node]]
        return ["no end" if end == NO_TIME else "–" if start == NO_TIME else duration(end - start)]


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
        texts += [" ".join([*counted, *below, *figures[:count_shown]]) for count_shown in range(len(figures), -1, -1)]
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
