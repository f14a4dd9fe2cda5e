"""What a trace's rows say beside their names, on the screen and in pictures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.analysis.stats import nearest_rank
from spanview.display.units import duration
from spanview.model.ids import format_span_id
from spanview.model.span import ERROR
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from spanview.index.store import Store
    from spanview.tui.trace_facets import Facets
    from spanview.tui.trace_model import TraceModel

_ON_PATH: Final = "•"


class RowTexts:
    """The texts of a trace's rows.

    Args:
        store: The store.
        model: The trace.
        facets: What is shown of it.
    """

    def __init__(self, store: Store, model: TraceModel, facets: Facets) -> None:
        self._store = store
        self._model = model
        self._facets = facets

    def name(self, node: int) -> str:
        """Return a span's name, from a file and so to be made harmless; of a placeholder, what is known of it."""
        tree = self._model.tree
        if tree.is_missing(node):
            return f"? parent not seen {format_span_id(tree.span_id(node))[:8]}"
        return self._store.names.texts[self._store.spans.name[tree.rows[node]]] or "(no name)"

    def arrow(self, node: int) -> str:
        """Return whether something hangs below a row, and whether it is shown, in two cells."""
        if not self._model.run(node) and not self._model.tree.children(node):
            return "  "
        return "▸ " if self._model.is_collapsed(node) else "▾ "

    def marks(self, node: int, *, with_figures: bool = True) -> str:
        """Return what stands behind a name.

        Args:
            node: The row's node.
            with_figures: Whether there is room for the durations of like siblings that are one row.
        """
        if run := self._model.run(node):
            return self._run_marks(run, with_figures=with_figures)
        model, tree = self._model, self._model.tree
        parts = []
        if self._facets.lit is not None and self._facets.lit.of(node):
            parts.append(_ON_PATH)
        if not tree.is_missing(node) and self._store.spans.status[tree.rows[node]] == ERROR:
            parts.append("✖")
        if model.is_collapsed(node):
            hidden = f"+{model.below[node]:,}"
            errors = model.errors_below[node]
            parts.append(f"{hidden} ✖{errors:,}" if errors else hidden)
        if node in tree.cut:
            parts.append("↻ cycle")
        return " ".join(parts)

    def _run_marks(self, run: list[int], *, with_figures: bool) -> str:
        lengths, status, rows = self._lengths(run), self._store.spans.status, self._model.tree.rows
        errors = sum(status[rows[node]] == ERROR for node in run)
        figures = [("min", lengths[0]), ("max", lengths[-1])] if lengths and with_figures else []
        parts = [f"×{len(run):,}", *(f"{name} {duration(ns)}" for name, ns in figures)]
        return " ".join([*parts, *([f"✖{errors:,}"] if errors else [])])

    def _lengths(self, run: list[int]) -> list[int]:
        """Return the durations of some spans, sorted."""
        spans, rows = self._store.spans, self._model.tree.rows
        times = [(spans.start_ns[rows[node]], spans.end_ns[rows[node]]) for node in run]
        return sorted(end - start for start, end in times if NO_TIME not in (start, end))

    def lasted(self, node: int) -> str:
        """Return how long a span took, of like siblings the median; nothing for a placeholder."""
        tree, spans = self._model.tree, self._store.spans
        if tree.is_missing(node):
            return ""
        if run := self._model.run(node):
            return "p50 " + duration(nearest_rank(self._lengths(run), 50))
        start, end = spans.start_ns[tree.rows[node]], spans.end_ns[tree.rows[node]]
        return "no end" if end == NO_TIME else "–" if start == NO_TIME else duration(end - start)
