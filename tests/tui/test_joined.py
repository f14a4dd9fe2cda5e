"""Ray calls as one row each, drawn: what a call waited stands behind its name.

as spans                      as calls
caller                        caller
  f ray.remote                  f   wait 8 µs
    f ray.remote_worker           work
      work                      g ray.remote   2 attempts
  g ray.remote                    g ray.remote_worker
    g ray.remote_worker           g ray.remote_worker
    g ray.remote_worker         h ray.remote   ◌ no attempt seen
  h ray.remote
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder
from span_graphs import forests, graphs
from spanview.analysis.critical import critical_path
from spanview.analysis.selftime import self_times
from spanview.index.tree import ROOT
from spanview.model.codes import ERROR
from spanview.tui.trace import stitcher, trace_screen
from spanview.tui.trace.lit_path import LitPath
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document

ENDINGS: Final = {"PRODUCER": " ray.remote", "CONSUMER": " ray.remote_worker"}


def documents() -> list[Document]:
    """Return the trace of the drawing; g is tried twice, f waits 8 µs and runs for 20."""
    build = Builder()
    return [
        build.span("caller", span=1, start=0, duration=100),
        build.span("main.f ray.remote", span=2, parent=1, start=1, duration=2, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=3, parent=2, start=11, duration=20, kind="CONSUMER"),
        build.span("work", span=4, parent=3, start=12, duration=5),
        build.span("g ray.remote", span=5, parent=1, start=40, duration=1, kind="PRODUCER"),
        build.span("g ray.remote_worker", span=6, parent=5, start=45, duration=5, status="ERROR", kind="CONSUMER"),
        build.span("g ray.remote_worker", span=7, parent=5, start=60, duration=5, kind="CONSUMER"),
        build.span("h ray.remote", span=8, parent=1, start=80, duration=1, kind="PRODUCER"),
    ]


async def test_one_row_a_call() -> None:
    """`a` makes one row of a call with one attempt, and two again; the cursor stays on it, and it is set for later."""
    async with looking_at(*documents(), size=(120, 40)) as look:
        await look.press("enter", "down")
        assert "main.f ray.remote " in look.text
        await look.press("a")
        await look.until_shown("main.f ")
        names = [line[:50].split("  ")[0].strip(" ▾│") for line in look.body[2:9]]
        assert names[:2] == ["caller", "main.f"]
        shown = "\n".join(line[:60] for line in look.body[2:9])
        assert "wait 8 µs" in shown
        assert "2 attempts" in shown
        assert "◌ no attempt seen" in shown
        assert "main.f ray.remote" not in shown
        assert shown.count("g ray.remote_worker") == 2
        # The attempt is what is selected now: its attributes, its parent.
        assert look.text.count("CONSUMER") == 1
        assert look.app.settings.joins
        await look.press("p")
        await look.until_shown(" caller   INTERNAL")
        await look.press("down", "a")
        await look.until_shown("main.f ray.remote ")
        await look.until_shown(" f ray.remote_worker   CONSUMER")


async def test_it_is_set_for_the_next_trace() -> None:
    """Another trace is shown so from the start, with and without its root, until settings are forgotten."""
    orphans = [each for each in documents() if each["name"] != "caller"]
    for shown in (documents(), orphans):
        async with looking_at(*shown, size=(120, 40)) as look:
            look.app.keep(joins=True)
            await look.press("enter")
            await look.until_shown("wait 8 µs")
            await look.press("end", "home", "colon", *"forget", "enter")
            await look.until_shown("main.f ray.remote ")


async def test_a_long_trace_is_joined_behind_the_screen() -> None:
    """Above a size, in a thread; it comes to the same rows."""
    with patch.object(stitcher, "AT_ONCE", 3):
        async with looking_at(*documents(), size=(120, 40)) as look:
            await look.press("enter")
            await look.until_shown("h ray.remote")
            await look.press("a")
            await look.until_shown("wait 8 µs")
            assert look.is_on(trace_screen.TraceScreen)
            await look.press("a")
            await look.until_shown("main.f ray.remote ")


async def test_what_comes_while_calls_are_rows() -> None:
    """A call whose attempt comes later becomes one row then."""
    all_of_it = documents()
    async with looking_at(*all_of_it[:2], size=(120, 40)) as look:
        await look.press("enter", "a")
        await look.until_shown("main.f ray.remote   ")
        await look.until_shown("no attempt seen")
        await look.grow(all_of_it[2])
        await look.until_shown("wait 8 µs")
        assert "no attempt seen" not in look.text


def test_calls_come_as_they_were_submitted() -> None:
    """Whichever of them a worker takes first; a missing parent begins with the first submission."""
    build = Builder()
    data = Growing(
        build.span("late ray.remote", span=1, parent=9, start=0, duration=5, kind="PRODUCER"),
        build.span("quick ray.remote", span=2, parent=9, start=10, duration=1, kind="PRODUCER"),
        build.span("never ray.remote", span=3, parent=9, start=20, duration=1, kind="PRODUCER"),
        build.span("late ray.remote_worker", span=4, parent=1, start=90, duration=5, kind="CONSUMER"),
        build.span("quick ray.remote_worker", span=5, parent=2, start=15, duration=5, kind="CONSUMER"),
    )
    stitched = StitchedTrace(data.store, 0, data.store.tree(0), joins=True)
    names, spans = data.store.names.texts, data.store.spans
    missing, *rows = stitched.order
    assert [names[spans.name[stitched.tree.rows[node]]].split()[0] for node in rows] == ["late", "quick", "never"]
    assert stitched.interval(missing) == (EPOCH_NS, EPOCH_NS + 95_000)
    assert stitched.submission(rows[0]) == (EPOCH_NS, EPOCH_NS + 5_000)
    assert stitched.submission(rows[2]) is stitched.submission(missing) is None
    assert stitched.own_times(missing).sums[-1] == 0
    assert stitched.own_times(rows[0]).sums[-1] == stitched.own[rows[0]] == 5_000


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_random_traces(data: st.DataObject) -> None:
    """Every span is shown once, by itself or with its call; what is found out by node is what it was by span."""
    documents = data.draw(st.one_of(forests(traces=1, most=25), graphs(most=12)))
    for document in documents:
        kind = data.draw(st.sampled_from(("PRODUCER", "CONSUMER", "INTERNAL")))
        document["kind"], document["name"] = f"SpanKind.{kind}", document["name"] + ENDINGS.get(kind, "")
    store = Growing(*documents).store
    for trace in range(len(store.trace_table)):
        tree, spans = store.tree(trace), store.spans
        stitched = StitchedTrace(store, trace, tree, joins=True)
        shown = stitched.tree
        assert sorted([*shown.rows, *stitched.submitted.values()]) == sorted(tree.rows)
        assert stitched.spans_between(0, len(stitched.order)) == len(tree)
        assert shown.missing == tree.missing
        for node in range(len(shown)):
            unjoined = stitched.unjoined_node(node)
            assert stitched.shown_node(unjoined) == node
            assert shown.span_id(node) == tree.span_id(unjoined)
            above = tree.parents[unjoined]
            if not shown.is_missing(node) and shown.rows[node] in stitched.submitted:
                assert tree.children(above) == [unjoined]
                assert stitched.shown_node(above) == node
                above = tree.parents[above]
            assert shown.parents[node] == (ROOT if above == ROOT else stitched.shown_node(above))
        times = self_times(tree, spans)
        assert [time for node, time in enumerate(stitched.own) if not shown.is_missing(node)] == [
            times[stitched.unjoined_node(node)] for node in range(len(shown.rows))
        ]
        assert [stitched.own_times(node).sums[-1] for node in range(len(shown))] == [time or 0 for time in stitched.own]
        failed = {row for row in tree.rows if spans.status[row] == ERROR}
        assert stitched.failed == stitched.positions_of_rows(failed)
        path = critical_path(tree, spans, store.names.texts)
        lit = LitPath(store, stitched)
        assert sum(end - start for node in range(len(shown)) for start, end in lit.of(node)) == sum(
            segment.end_ns - segment.start_ns for segment in path.segments
        )


@given(forests(traces=1, most=25))
def test_what_is_folded_stays_folded(documents: list[Document]) -> None:
    """What was collapsed as spans is so as calls, and as spans again."""
    for number, document in enumerate(documents):
        kind = ("PRODUCER", "CONSUMER", "INTERNAL")[number % 3]
        document["kind"], document["name"] = f"SpanKind.{kind}", document["name"] + ENDINGS.get(kind, "")
    data = Growing(*documents)
    model = TraceModel(data.store, 0)
    tree = model.tree
    joins = False
    model.collapse_all()
    for _ in range(2):
        joins = not joins
        model.take(StitchedTrace(data.store, 0, tree, joins=joins))
        assert [node for node, _ in model.rows] == model.tree.roots
