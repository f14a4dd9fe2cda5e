"""Ways from one span to another: links, parents, names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hypothesis import given, settings

from builders import Builder, span_id, store_of, trace_id
from span_graphs import graphs
from spanview.analysis.stats import among_name, statistics
from spanview.model.times import NO_TIME
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import Look, looking_at

if TYPE_CHECKING:
    from builders import Document


def _link(trace: int, span: int) -> Document:
    return {
        "context": {"trace_id": trace_id(trace), "span_id": span_id(span), "trace_state": "[]"},
        "attributes": {"why": "retried"},
    }


def _selected(look: Look) -> str:
    screen = look.screen
    assert isinstance(screen, TraceScreen)
    node, store = screen.rows.node, screen._store
    assert node is not None
    return store.names.texts[store.spans.name[screen._model.tree.rows[node]]]


async def test_links_are_followed() -> None:
    """Into another trace, at the span; one that leads nowhere is said so."""
    build = Builder()
    documents = [
        build.span("linking", trace=1, span=1, start=50, links=[_link(2, 4), _link(9, 9)]),
        build.span("other root", trace=2, span=3, start=0),
        build.span("linked", trace=2, span=4, parent=3, start=5),
    ]
    async with looking_at(*documents, size=(120, 40)) as look:
        await look.press("enter", "enter")
        assert look.is_on(SpanScreen)
        await look.press("enter")
        assert "Enter follows a link" in look.footer
        await look.press("tab")
        await look.until_shown("of trace")
        await look.press("enter")
        assert _selected(look) == "linked"
        await look.press("q", "j", "j", "enter")
        assert look.is_on(SpanScreen)
        assert "was not seen" in look.footer


async def test_parents_and_names() -> None:
    """`p` goes up, `w` and `W` go round the spans of one name, and to hidden ones too."""
    build = Builder()
    documents = [
        build.span("root", span=1, start=0),
        build.span("step", span=2, parent=1, start=1),
        build.span("step", span=3, parent=2, start=2),
        build.span("leaf", span=4, parent=3, start=3),
        build.span("step", span=5, parent=99, start=4),
    ]
    async with looking_at(*documents, size=(120, 40)) as look:
        await look.press("enter", "j", "w")
        assert "span of this name 2 of 3" in look.footer
        await look.press("w", "w")
        assert "span of this name 1 of 3" in look.footer
        await look.press("W")
        assert "span of this name 3 of 3" in look.footer
        await look.press("p", "w")
        assert "its name isn't known" in look.footer
        await look.press("p", "g", "p")
        assert "this is a root" in look.footer
        await look.press("slash")
        await look.type("leaf")
        await look.press("enter")
        await look.until_shown("1 match")
        assert _selected(look) == "leaf"
        await look.press("p")
        assert _selected(look) == "step"


@settings(max_examples=100, deadline=None)
@given(graphs(most=20))
def test_among_their_names(documents: list[Document]) -> None:
    """How many of a span's name are quicker, and how long these take, as statistics have it."""
    store = store_of(*documents)
    spans = store.spans
    groups = {group.key: group for group in statistics(store)}
    for row in range(len(spans)):
        lengths = [
            spans.end_ns[other] - spans.start_ns[other]
            for other in range(len(spans))
            if spans.name[other] == spans.name[row] and NO_TIME not in (spans.start_ns[other], spans.end_ns[other])
        ]
        found = among_name(store, row)
        if NO_TIME in (spans.start_ns[row], spans.end_ns[row]):
            assert found is None
            continue
        own, group = spans.end_ns[row] - spans.start_ns[row], groups[store.names.texts[spans.name[row]]]
        assert found is not None
        assert (found.quicker, found.count) == (sum(length < own for length in lengths), len(lengths))
        assert (found.p50_ns, found.p95_ns, found.max_ns) == (group.p50_ns, group.p95_ns, group.max_ns)
        assert found.histogram == group.histogram
