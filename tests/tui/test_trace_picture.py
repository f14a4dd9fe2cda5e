"""From a trace to what is drawn of it: places on the line of time, what is said, and how much.

run 0-1000
  load 100-300
    read 120-200      failed
  work 400-900        waited from 350
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings

from builders import EPOCH_NS, Builder, Document, store_of, time_text
from pictures import ROOT
from span_graphs import graphs
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.reasons import reasons_of
from spanview.analysis.ray.unended import Fate, Unended
from spanview.analysis.window import Window
from spanview.display.picture_svg import svg_chunks
from spanview.display.picture_text import picture_lines
from spanview.sources.loading import load_store
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.lit_path import LitPath
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.trace.trace_picture import answer_in, picture_of, whole_picture
from svgs import parsed

if TYPE_CHECKING:
    from spanview.display.picture import Picture
    from spanview.index.store import Store


def documents() -> list[Document]:
    """Return the spans of the drawing."""
    build = Builder()
    event: Document = {"name": "slow", "timestamp": time_text(150), "attributes": {}}
    return [
        build.span("run", span=1, start=0, duration=1000, service="a"),
        build.span("load", span=2, parent=1, start=100, duration=200, kind="PRODUCER", service="b"),
        build.span("read", span=3, parent=2, start=120, duration=80, status="ERROR", description="no", events=[event]),
        build.span("work", span=4, parent=2, start=400, duration=500, kind="CONSUMER"),
    ]


def drawn(*spans: Document, most: int = 400, folds: bool = False) -> Picture:
    """Return the picture of a trace as it is first shown."""
    store = store_of(*spans)
    model = TraceModel(store, 0)
    if not folds:
        model.toggle_folds()
    return picture_of(model, Appearance(model), most)


def test_rows() -> None:
    """Each row has its place in the tree and in time, and says what there is to say."""
    run, load, read, work = drawn(*documents()).rows
    assert [(row.name, row.depth, row.arrow) for row in (run, load, read, work)] == [
        ("run", 0, "▾ "),
        ("load", 1, "▾ "),
        ("read", 2, "  "),
        ("work", 2, "  "),
    ]
    assert run.own == ((0.0, 0.1), (0.3, 0.4), (0.9, 1.0))
    assert load.own == ((0.1, 0.12), (0.2, 0.3))
    assert (read.bar, read.marks, read.events, read.is_error) == ((0.12, 0.2), ("✖",), (0.15,), True)
    assert read.about == "read\n✖ 80 µs\nbegins 120 µs after the trace\n✖ no"
    assert (work.bar, work.waits, work.own) == ((0.4, 0.9), ((0.3, 0.4),), ((0.4, 0.9),))
    assert "waited 100 µs" in work.about
    assert len({run.color, load.color}) == 2


def test_a_short_span_is_solid() -> None:
    """What takes less than a pixel is the span's own where nothing below it runs meanwhile."""
    _, call, _ = drawn(*Builder().draw("run 0-100000\n  call 10-20\n    work 500-600")).rows
    assert call.own == (call.bar,)


def test_what_stands_above_and_below() -> None:
    """The title says which trace, when in UTC, how long, how big and how it went; colours say what they stand for."""
    picture = drawn(*documents())
    assert picture.title.split(" · ")[0] == f"trace {1:032x}"
    assert " · 2023-11-14 22:13:20.000000 UTC · 1 ms · 4 spans · ✖ 1 error · complete" in picture.title
    assert (picture.name, picture.first_ns, picture.last_ns, picture.left_out) == ("run", 0, 1_000_000, "")
    assert picture.color_by == "service"
    assert [name for _, name in picture.legend] == ["none", "a", "b"]


def test_a_trace_without_time() -> None:
    """Its line of time has a start, and no end that it doesn't have."""
    picture = drawn(Builder().span("instant", duration=0))
    assert (picture.first_ns, picture.last_ns) == (0, 0)
    assert picture.rows[0].bar == (0.0, 0.0)
    heads, line = [*picture_lines(picture)][1:3]
    assert heads.split() == ["SPAN", "DURATION", "0", "µs"]
    assert line.rstrip().endswith("▏")
    assert b"1 ns" not in b"".join(svg_chunks([picture]))


def test_many_colours() -> None:
    """Of many services the most frequent are named, and the others counted."""
    build = Builder()
    picture = drawn(*(build.span(service=f"s{number}") for number in range(12)))
    assert len(picture.legend) == 8
    assert picture.legend[-1] == (-1, "and 5 more")


def test_what_was_not_seen() -> None:
    """A parent that isn't there and a span without an end are inferred; one without times is nowhere."""
    build = Builder()
    lost, orphan, endless, nowhere = drawn(
        build.span("orphan", span=1, parent=9, start=0, duration=100),
        build.span("endless", span=2, start=50, duration=None),
        build.span("nowhere", span=3) | {"start_time": None, "end_time": None},
    ).rows
    assert lost.name == "? parent not seen 00000000"
    assert (lost.inferred, lost.is_open, lost.lasted) == ((0.0, 1.0), False, ("",))
    assert orphan.bar == (0.0, 1.0)
    assert (endless.inferred, endless.is_open, endless.lasted) == ((0.5, 1.0), True, ("no end",))
    assert (nowhere.inferred, nowhere.bar, nowhere.about) == (None, None, "nowhere\nno end")


def test_similar_siblings_wait_and_the_picture_says_where_the_time_went() -> None:
    """Dots stand where more of them wait than run; the line that the screen has stands in the picture and the text."""
    build = Builder()
    spans = [build.span("job", span=1, start=0, duration=160_000)]
    for call in range(10, 30, 2):
        start = 80_000 + (call - 10) * 4_000
        spans += [
            build.span("m.f ray.remote", span=call, parent=1, start=0, duration=1, kind="PRODUCER"),
            build.span(
                "m.f ray.remote_worker", span=call + 1, parent=call, start=start, duration=7_500, kind="CONSUMER"
            ),
        ]
    store = store_of(*spans)
    model = TraceModel(store, 0, StitchedTrace(store, 0, store.tree(0), joins=True))
    appearance = Appearance(model)
    picture = picture_of(model, appearance, 400, answer_in(model, appearance))
    _, run = picture.rows
    ((first, last),) = run.waits
    # The last but one waits until the eighth has run.
    assert first == 0.0
    assert last == pytest.approx(0.9, abs=0.01)
    svg, lines = b"".join(svg_chunks([picture])).decode(), [*picture_lines(picture)]
    assert re.search(r">160 ms = \S+ ms waiting before f ran [^<]+ running", svg)
    assert 'class="w"' in svg
    assert "dots: waiting before it ran" in svg
    assert lines[2].startswith("160 ms = ")
    assert re.search(r" ┈{10,}[█┈]{10,}█ *$", lines[5])
    assert "█┈█" in lines[5]
    assert "┈ waiting before it ran" in lines[-1]


def test_a_call_that_may_still_run_is_said_to_in_the_title_as_in_its_row() -> None:
    """While processes show that its attempt may come, nothing in a picture says that there is none."""
    store = store_of(Builder().span("f ray.remote", duration=100, kind="PRODUCER"))
    model = TraceModel(store, 0, StitchedTrace(store, 0, store.tree(0), joins=True))
    appearance = Appearance(model)
    appearance.reasons = reasons_of(store, calls_of(store))
    assert picture_of(model, appearance).title.endswith("1 call without attempt")
    appearance.open_calls = [0]
    picture = picture_of(model, appearance, 400, answer_in(model, appearance))
    assert picture.title.endswith("1 call not yet seen to run")
    assert [row.marks[0] for row in picture.rows] == ["◌ not yet seen to run"]
    assert "f not yet seen to run" in picture.answer[0]


def test_what_runs_and_what_is_lost() -> None:
    """What runs is drawn until now, with what it waited; what is lost until its process was seen; the title says so."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", span=1, start=0, duration=100, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=200, duration=None, kind="CONSUMER"),
        build.span("lost", span=3, start=100, duration=None),
    )
    model = TraceModel(store, 0)
    appearance = Appearance(model)
    runs, lost = (Unended(fate, "", seen_ns=EPOCH_NS + us * 1_000) for fate, us in ((Fate.RUNS, 400), (Fate.LOST, 300)))
    appearance.take_unended({1: runs, 2: lost})
    picture = picture_of(model, appearance)
    submitted, run, gone = picture.rows
    assert (submitted.bar, run.bar, run.runs, run.inferred) == ((0.0, 0.25), None, (0.5, 1.0), None)
    assert (run.waits, run.lasted) == (((0.25, 0.5),), ("200 µs…",))
    assert (gone.runs, gone.inferred, gone.lasted) == (None, (0.25, 0.75), ("lost",))
    assert " · 400 µs… · 3 spans · ● 1 running" in picture.title


def test_what_is_left_out() -> None:
    """The first rows are drawn, and how many spans and errors stand in the others is said, folded ones included."""
    build = Builder()
    spans = [build.span("root", span=1, start=0, duration=1000)]
    spans += [
        build.span("leaf", parent=1, start=at, duration=1, status="ERROR" if at == 7 else "OK") for at in range(12)
    ]
    assert drawn(*spans, most=4).left_out == "… 9 more spans, 1 error among them: not drawn"
    assert drawn(*spans, most=1, folds=True).left_out == "… 12 more spans, 1 error among them: not drawn"
    root, run = drawn(*spans, most=2, folds=True).rows
    assert drawn(*spans, most=2, folds=True).left_out == ""
    assert (run.marks[0], run.marks[-1]) == ("×12 ✖1 max 1 µs p95 1 µs min 1 µs total 12 µs", "×12 ✖1")
    assert run.lasted == ("p50 1 µs", "1 µs")
    assert run.density[0] == 1
    assert run.failures == pytest.approx((0.008,), abs=0.004)
    assert run.bar is None
    assert root.own[0][0] == pytest.approx(0.012)


def test_a_collapsed_row_stands_for_what_is_below() -> None:
    """What is folded into a row that isn't drawn counts as left out."""
    store = store_of(*documents())
    model = TraceModel(store, 0)
    model.collapse(1)
    assert picture_of(model, Appearance(model), 1).left_out == "… 3 more spans, 1 error among them: not drawn"


def test_a_window() -> None:
    """What was zoomed to is what is drawn: places count from there."""
    store = store_of(*documents())
    model = TraceModel(store, 0)
    whole = model.whole
    model.window = Window(whole.start_ns + 400_000, whole.start_ns + 900_000)
    picture = picture_of(model, Appearance(model))
    assert (picture.first_ns, picture.last_ns) == (400_000, 900_000)
    run, load, read, work = picture.rows
    assert run.own == ()
    assert work.own == ((0.0, 1.0),)
    assert load.own == ()
    assert read.events == ()
    assert work.bar == (0.0, 1.0)
    assert parsed(b"".join(svg_chunks([picture]))) is not None


def test_a_lit_path() -> None:
    """The stretches of the critical path are drawn where it is lit."""
    store = store_of(*documents())
    model = TraceModel(store, 0)
    appearance = Appearance(model)
    appearance.lit_path = LitPath(store, model.stitched)
    picture = picture_of(model, appearance)
    assert picture.is_lit
    assert picture.rows[0].lit[-1] == (0.9, 1.0)
    assert all(bool(row.lit) == ("•" in row.marks[0]) for row in picture.rows)


def test_a_snapshot_stays() -> None:
    """What was taken for another thread is as it was, whatever is folded meanwhile."""
    store = store_of(*documents())
    model = TraceModel(store, 0)
    taken = model.snapshot()
    appearance = Appearance(model).snapshot(taken)
    before = picture_of(taken, appearance)
    model.collapse(0)
    model.toggle_folds()
    assert picture_of(taken, appearance) == before
    assert len(model.rows) == 1


def test_much_is_drawn_as_little() -> None:
    """Ten thousand children and events make a row no longer than a few hundred do, and names are cut."""
    build = Builder()
    spans = [build.span("n" * 1_000_000, span=1, start=0, duration=10**6)]
    spans += [build.span("leaf", parent=1, start=at * 100, duration=50) for at in range(10_000)]
    picture = drawn(*spans)
    assert len(picture.rows) == 400
    assert len(picture.rows[0].own) < 700
    assert len(b"".join(svg_chunks([picture]))) < 200_000
    assert len("\n".join(picture_lines(picture))) < 100_000


@settings(max_examples=100, deadline=None)
@given(graphs(most=20))
def test_any_trace_can_be_drawn(spans: list[Document]) -> None:
    """Whatever the ids and times are: every row is drawn, as shapes and as characters."""
    store = store_of(*spans)
    for trace in range(len(store.trace_table)):
        model = TraceModel(store, trace)
        picture = picture_of(model, Appearance(model))
        assert len(picture.rows) == len(model.rows)
        parsed(b"".join(svg_chunks([picture])))
        assert len([*picture_lines(picture)]) >= len(model.rows) + 3


@pytest.mark.parametrize("session", [True, False], ids=["with events", "without"])
def test_what_ray_says_of_waits_is_in_pictures(*, session: bool) -> None:
    """Letters begin the parts of waits where Ray's own events are beside the spans; only there."""
    folder = ROOT / "fixtures" / "ray-events-hook"
    store = load_store(folder if session else folder / "spans")
    (attempt, *_) = (
        row for row in range(len(store.spans)) if name_of(store, row) == "__main__.after ray.remote_worker"
    )
    lines = [*picture_lines(whole_picture(store, store.spans.trace[attempt], KnownCalls(store)), 100)]
    (drawn,) = (line for line in lines if line.startswith("  after"))
    assert bool(re.search(" a┈{30,}r┈{10,}[▐█▕]", drawn)) is session
    assert bool(re.search("  ┈{50,}[▐█▕]", drawn)) is not session
    assert ("┈ waiting before it ran   a arguments   r worker or resources" in lines[-1]) is session


def name_of(store: Store, row: int) -> str:
    """Return the name of a span."""
    return store.names.texts[store.spans.name[row]]
