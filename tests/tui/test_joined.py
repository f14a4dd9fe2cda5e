"""Ray calls as one row each, drawn: what a call waited stands behind its name.

as spans                      as calls              WAIT     RUN
caller                        caller                       100 µs
  m.f ray.remote                f                   8 µs    20 µs
    m.f ray.remote_worker         work                       5 µs
      work                      g 2 attempts
  m.g ray.remote                  g attempt 1       4 µs     5 µs
    m.g ray.remote_worker         g attempt 2      10 µs     5 µs
    m.g ray.remote_worker       h ◌ no attempt seen
  m.h ray.remote
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, store_of
from one_path import critical_path
from span_graphs import forests, graphs
from spanview.analysis.selftime import self_times
from spanview.index.tree import ROOT
from spanview.model.codes import ERROR
from spanview.tui.trace import stitcher, trace_screen
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.lit_path import LitPath
from spanview.tui.trace.row_texts import RowTexts
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document
    from viewers import Look

SELECTED: Final = " m.f ray.remote_worker   waited 8 µs · ran 20 µs on worker 1 · submitted by pid 1   CONSUMER"
"""The details' headline for f."""
ENDINGS: Final = {"PRODUCER": " ray.remote", "CONSUMER": " ray.remote_worker"}


def documents() -> list[Document]:
    """Return the trace of the drawing; g is tried twice, f waits 8 µs and runs for 20."""
    build = Builder()
    return [
        build.span("caller", span=1, start=0, duration=100),
        build.span("m.f ray.remote", span=2, parent=1, start=1, duration=2, kind="PRODUCER"),
        build.span("m.f ray.remote_worker", span=3, parent=2, start=11, duration=20, kind="CONSUMER"),
        build.span("work", span=4, parent=3, start=12, duration=5),
        build.span("m.g ray.remote", span=5, parent=1, start=40, duration=1, kind="PRODUCER"),
        build.span("m.g ray.remote_worker", span=6, parent=5, start=45, duration=5, status="ERROR", kind="CONSUMER"),
        build.span("m.g ray.remote_worker", span=7, parent=5, start=60, duration=5, kind="CONSUMER"),
        build.span("m.h ray.remote", span=8, parent=1, start=80, duration=1, kind="PRODUCER"),
    ]


def cells(look: Look) -> list[str]:
    """Return the rows, without the lines before names, time and blanks."""
    first = look.line_of("CALL") + 1
    return [" ".join(line[:68].lstrip("▾│ ").split()) for line in look.lines[first : first + 7]]


async def test_one_row_a_call() -> None:
    """Each call is a row by its short name, with its wait and its run; `a` makes rows of its spans, and it is kept."""
    async with looking_at(*documents(), size=(120, 40)) as look:
        await look.press("enter", "down")
        await look.until_shown("! no attempt seen")
        assert cells(look) == [
            "caller 100 µs",
            "f 8 µs 20 µs",
            "work 5 µs",
            "g 2 attempts",
            "g ✖ attempt 1 4 µs 5 µs",
            "g attempt 2 10 µs 5 µs",
            "h ! no attempt seen",
        ]
        # The attempt is what is selected: its whole name, its attributes, its parent.
        await look.until_shown(
            " m.f ray.remote_worker   waited 8 µs · ran 20 µs on worker 1 · submitted by pid 1   CONSUMER"
        )
        await look.press("a")
        await look.until_shown("m.g ray.remote ")
        assert "DURATION" in look.text
        assert not look.app.settings.joins
        await look.until_shown(
            " m.f ray.remote_worker   waited 8 µs · ran 20 µs on worker 1 · submitted by pid 1   CONSUMER"
        )
        await look.press("p", "a")
        await look.until_shown("CALL ")
        await look.until_shown(
            " m.f ray.remote_worker   waited 8 µs · ran 20 µs on worker 1 · submitted by pid 1   CONSUMER"
        )
        await look.press("p")
        await look.until_shown(" caller   INTERNAL")


async def test_the_wait_for_a_retry_after_a_lost_attempt_is_not_known() -> None:
    """Nothing says when the attempt before it was lost."""
    spans = documents()
    spans[5]["end_time"] = None
    async with looking_at(*spans, size=(120, 40)) as look:
        await look.press("enter", "down")
        await look.until_shown("! no attempt seen")
        assert "g attempt 2 – 5 µs" in cells(look)


async def test_it_is_set_for_the_next_trace() -> None:
    """Another trace is shown so from the start, with and without its root, until settings are forgotten."""
    orphans = [each for each in documents() if each["name"] != "caller"]
    for shown in (documents(), orphans):
        async with looking_at(*shown, size=(120, 40)) as look:
            look.app.keep(joins=False)
            await look.press("enter")
            await look.until_shown("m.f ray.remote ")
            await look.press("end", "home", "colon", *"forget", "enter")
            await look.until_shown("8 µs       20 µs")
            assert ("not ended, or lost" in look.text) == (shown is orphans)


async def test_a_trace_without_calls_stays_as_it_is() -> None:
    """It has spans with durations, and `a` says that there is nothing to join."""
    async with looking_at(Builder().span("alone")) as look:
        await look.press("enter", "a")
        assert "no Ray calls in this trace" in look.footer
        assert "DURATION" in look.text
        assert "WAIT" not in look.text
        assert look.app.settings.joins


def test_which_attempt_it_is_stays_where_the_path_is_lit() -> None:
    """Where there is no room for both, the dot of the critical path gives way."""
    build = Builder()
    spans = [build.span("m.f ray.remote", span=3, start=1, duration=1, kind="PRODUCER")]
    spans += [
        build.span("m.f ray.remote_worker", parent=3, start=start, duration=50, kind="CONSUMER") for start in (20, 120)
    ]
    store = store_of(*spans)
    model = TraceModel(store, 0, StitchedTrace(store, 0, store.tree(0), joins=True))
    appearance = Appearance(model)
    texts = RowTexts(model, appearance)
    assert [texts.marks(node) for node, _ in model.rows][1:] == [["attempt 1", ""], ["attempt 2", ""]]
    appearance.lit_path = LitPath(store, model.stitched)
    assert texts.marks(model.rows[2][0]) == ["• attempt 2", "attempt 2", "•"]


async def test_folded_calls_say_what_they_waited_and_how_long_they_ran() -> None:
    """The medians stand in the columns, the greatest of both behind the name, and the details have all figures."""
    build = Builder()
    spans = [build.span("caller", span=1, start=0, duration=1000)]
    for call in range(2, 22, 2):
        spans += [
            build.span("m.f ray.remote", span=call, parent=1, start=0, duration=1, kind="PRODUCER"),
            build.span("m.f ray.remote_worker", parent=call, span=call + 1, start=call, duration=100, kind="CONSUMER"),
        ]
    async with looking_at(*spans, size=(140, 40)) as look:
        await look.press("enter", "down")
        line = look.lines[look.line_of("CALL ") + 2]
        assert "f" in line.split()
        assert "max wait 19 µs max run 100 µs" in line
        assert "p50 9 µs" in line
        assert "p50 100 µs" in line
        await look.until_shown("min 1 µs   p50 9 µs   p95 19 µs   max 19 µs   total 100 µs")


async def test_a_long_trace_is_joined_behind_the_screen() -> None:
    """Above a size, in a thread; it comes to the same rows."""
    with patch.object(stitcher, "AT_ONCE", 3):
        async with looking_at(*documents(), size=(120, 40)) as look:
            await look.press("enter")
            await look.until_shown("8 µs       20 µs")
            await look.press("a")
            await look.until_shown("m.f ray.remote ")
            assert look.is_on(trace_screen.TraceScreen)
            await look.press("a")
            await look.until_shown("8 µs       20 µs")


async def test_what_comes_while_calls_are_rows() -> None:
    """A call whose attempt comes later becomes one row then."""
    all_of_it = documents()
    async with looking_at(*all_of_it[:2], size=(120, 40)) as look:
        await look.press("enter")
        await look.until_shown("no attempt seen")
        await look.grow(all_of_it[2])
        await look.until_shown("8 µs       20 µs")
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
        path = critical_path(tree, store.names)
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


async def test_functions_have_their_short_names_in_lists() -> None:
    """Traces, groups and titles call a function by its own name; statistics tell a call from its attempts."""
    build = Builder()
    spans = [
        build.span("m.f ray.remote", span=1, kind="PRODUCER"),
        build.span("m.f ray.remote_worker", parent=1, kind="CONSUMER"),
        build.span("m.g ray.remote", trace=2, kind="PRODUCER"),
        build.span("n.g ray.remote", trace=3, kind="PRODUCER"),
    ]
    async with looking_at(*spans, size=(100, 24)) as look:
        first = look.line_of("START") + 1
        assert [line.split()[-1] for line in look.lines[first : first + 3]] == ["n.g", "m.g", "f"]
        await look.press("r")
        assert "ray.remote" not in look.text
        await look.press("t")
        await look.until_shown("f ray.remote_worker", "f ray.remote ", "n.g ")
        assert "m.f" not in look.text
        await look.press("t", "r", "end", "enter")
        await look.until_shown("‹ ")
        assert "ray.remote" not in look.header
