"""The explanation on the screen: the sentences of the command, and the ways to their spans."""

from __future__ import annotations

from builders import Builder
from spanview.tui.explanation.explanation_screen import ExplanationScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen
from viewers import looking_at

TRACES = [
    *Builder().draw("slow 0-900\n  query 100-800", trace=1),
    Builder().span("failing", trace=2, span=9, status="ERROR"),
]


async def test_all_traces_are_explained_and_a_sentence_leads_to_its_span() -> None:
    """`x` says it of what the bar names, Enter opens the span that a sentence rests on, `x` goes back."""
    async with looking_at(*TRACES) as look:
        await look.press("x")
        await look.until_shown("the slowest of 2 traces, slow: 900 µs = 700 µs in query + 200 µs in slow")
        assert look.is_on(ExplanationScreen)
        assert any("failing failed" in line for line in look.lines)
        await look.press("e")
        await look.until(lambda: look.is_on(TraceScreen))
        await look.until_shown("failing")
        await look.press("escape")
        assert look.is_on(ExplanationScreen)
        await look.press("x")
        assert look.is_on(TracesScreen)


async def test_one_trace_is_explained_by_its_stretches() -> None:
    """In a trace, the stretches of its path are sentences; `y` copies the command that shows more."""
    async with looking_at(*TRACES) as look:
        await look.press("g", "down") if "failing" in look.lines[5] else None
        await look.press("enter", "x")
        await look.until(lambda: look.is_on(ExplanationScreen))
        await look.until_shown("What took the time")
        await look.press("y")
        assert look.app.clipboard.startswith("spanview tree --trace ")
        await look.press("down", "y")
        await look.until_shown("nothing to copy here")
        await look.press("enter")
        await look.until_shown("no span stands behind this line")
