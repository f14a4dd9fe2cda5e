"""What later keys need, imported while nobody waits."""

from __future__ import annotations

from importlib import import_module
from typing import Final

_SCREENS: Final = (
    "spanview.analysis.query.query",
    "spanview.analysis.query.matches",
    "spanview.analysis.query.complete",
    "spanview.analysis.critical",
    "spanview.analysis.ray.running",
    "spanview.analysis.silent",
    "spanview.analysis.forest_selftime",
    "spanview.display.timing_text",
    "spanview.display.answer_text",
    "spanview.sources.logs",
    "spanview.tui.help.help_screen",
    "spanview.tui.app.palette",
    "spanview.tui.traces.matching",
    "spanview.tui.traces.completeness",
    "spanview.analysis.trace_columns",
    "spanview.tui.trace.trace_screen",
    "spanview.tui.trace.trace_picture",
    "spanview.tui.span.span_screen",
    "spanview.tui.stats.stats_screen",
    "spanview.tui.flame.flame_screen",
    "spanview.tui.calls.calls_screen",
    "spanview.tui.log.log_screen",
    "spanview.tui.workers.workers_screen",
    "spanview.tui.running.running_screen",
    "spanview.tui.serve.serve_screen",
    "spanview.tui.check.check_screen",
    "spanview.tui.explanation.explanation_screen",
    "spanview.tui.widgets.known",
    "spanview.tui.diff.other_side_screen",
    "spanview.tui.diff.diff_screen",
)


def import_screens() -> None:
    """Import what keys need, before they are pressed; for a thread."""
    for name in _SCREENS:
        import_module(name)
