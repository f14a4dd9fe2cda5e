"""A trace as rows, drawn: an arrow down is open, to the right is collapsed, a dot has no children, ? is missing.

▾ a
  ▸ b      b's children are hidden
  · c
"""

from __future__ import annotations

from textwrap import dedent
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, file_of, store_of_files, time_text
from span_graphs import graphs
from spanview.analysis.window import Window
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from viewers import Growing

if TYPE_CHECKING:
    from builders import Document

TREE = """
    a 0-100
      b 10-40
        c 12-20
        d 14-30
          e 15-16
      f 50-90
        g 60-70
"""


def drawn(model: TraceModel, data: Growing) -> str:
    """Return the rows as the module's docstring draws them."""
    lines = []
    for node, depth in model.rows:
        arrow = "·" if not model.tree.children(node) else "▸" if model.is_collapsed(node) else "▾"
        spans, names = data.store.spans, data.store.names.texts
        name = "?" if model.tree.is_missing(node) else names[spans.name[model.tree.rows[node]]]
        lines.append(f"{'  ' * depth}{arrow} {name}")
    return "\n".join(lines)


def stitch_anew(model: TraceModel) -> None:
    """Let a model show its trace as it is now."""
    model.take(StitchedTrace(model.store, model.trace, model.store.tree(model.trace)))


def model_of(drawing: str) -> tuple[TraceModel, Growing]:
    """Return the model of a drawn trace."""
    data = Growing(*Builder().draw(drawing))
    return TraceModel(data.store, 0), data


def row_of(model: TraceModel, data: Growing, name: str) -> int:
    """Return the row of a span by its name."""
    return next(at for at, line in enumerate(drawn(model, data).split("\n")) if line.split()[-1] == name)


def node_of(model: TraceModel, data: Growing, name: str) -> int:
    """Return the node of a span by its name, in sight or not."""
    texts, names = data.store.names.texts, data.store.spans.name
    return next(node for node, row in enumerate(model.tree.rows) if texts[names[row]] == name)


def is_drawn(model: TraceModel, data: Growing, drawing: str) -> bool:
    """Compare the rows with a drawing."""
    assert drawn(model, data) == dedent(drawing).strip()
    return True


# -- folding ----------------------------------------------------------------------------------------------------------


def test_everything_is_open_at_first() -> None:
    """A trace begins with all its spans in sight, children below their parents by start."""
    assert is_drawn(
        *model_of(TREE),
        """
        ▾ a
          ▾ b
            · c
            ▾ d
              · e
          ▾ f
            · g
        """,
    )


def test_collapse_and_expand() -> None:
    """What is below a row goes out of sight, and comes back as it was."""
    model, data = model_of(TREE)
    assert model.collapse(row_of(model, data, "d"))
    assert model.collapse(row_of(model, data, "b"))
    assert is_drawn(
        model,
        data,
        """
        ▾ a
          ▸ b
          ▾ f
            · g
        """,
    )
    assert model.expand(row_of(model, data, "b"))
    assert is_drawn(
        model,
        data,
        """
        ▾ a
          ▾ b
            · c
            ▸ d
          ▾ f
            · g
        """,
    )


def test_what_can_not_be_folded() -> None:
    """A span without children can't be collapsed, nor a collapsed one again; an open one can't be expanded."""
    model, data = model_of(TREE)
    assert not model.collapse(row_of(model, data, "c"))
    assert not model.expand(row_of(model, data, "b"))
    assert model.collapse(row_of(model, data, "b"))
    assert not model.collapse(row_of(model, data, "b"))


def test_all_at_once() -> None:
    """All can be collapsed to the roots; expanding one level leaves the next one collapsed."""
    model, data = model_of(TREE)
    model.collapse_all()
    assert is_drawn(model, data, "▸ a")
    model.expand(0)
    assert is_drawn(
        model,
        data,
        """
        ▾ a
          ▸ b
          ▸ f
        """,
    )
    model.expand_all()
    assert len(model.rows) == 7


def test_reveal() -> None:
    """What hides a node is expanded, and nothing else."""
    model, data = model_of(TREE)
    model.collapse_all()
    assert model.reveal(node_of(model, data, "d")) == 3
    assert is_drawn(
        model,
        data,
        """
        ▾ a
          ▾ b
            · c
            ▸ d
          ▸ f
        """,
    )
    assert model.reveal(node_of(model, data, "d")) == 3


def test_parents() -> None:
    """The row of a parent is the nearest one above that is less deep; a root has none."""
    model, data = model_of(TREE)
    rows = {name: row_of(model, data, name) for name in "abcdefg"}
    assert model.parent_row(rows["g"]) == rows["f"]
    assert model.parent_row(rows["f"]) == rows["a"]
    assert model.parent_row(rows["a"]) is None


def test_what_is_below() -> None:
    """Every node knows how many spans, and how many errors, hang below it."""
    builder = Builder()
    data = Growing(
        builder.span("a", status="ERROR"),
        builder.span("b", parent=1),
        builder.span("c", parent=2, status="ERROR"),
        builder.span("d", parent=9, status="ERROR"),
    )
    model = TraceModel(data.store, 0)
    below = {
        drawn(model, data).split("\n")[at].split()[-1]: model.below(node) for at, (node, _) in enumerate(model.rows)
    }
    assert below == {"a": 2, "b": 1, "c": 0, "?": 1, "d": 0}
    assert [model.errors_below(node) for node, _ in model.rows] == [1, 1, 0, 1, 0]


@given(graphs(), st.lists(st.integers(0, 30), max_size=12))
def test_any_folding_shows_each_node_once_or_hides_it_below_a_collapsed_one(
    documents: list[Document], rows: list[int]
) -> None:
    """Whatever the ids say and whatever is folded: a node is in sight once, or below one that is collapsed."""
    data = Growing(*documents)
    for trace in range(len(data.store.trace_table)):
        model = TraceModel(data.store, trace)
        for number, row in enumerate(rows):
            (model.expand if number % 3 == 2 else model.collapse)(row % len(model.rows))
        seen = [node for node, _ in model.rows]
        assert len(seen) == len(set(seen))
        hidden = set(range(len(model.tree))) - set(seen)
        for node in hidden:
            parent = model.tree.parents[node]
            assert parent in hidden or model.is_collapsed(parent)


# -- growing ----------------------------------------------------------------------------------------------------------


def test_folding_outlives_growth() -> None:
    """What was collapsed stays so when the trace is stitched anew and its nodes get other numbers."""
    builder = Builder()
    data = Growing(
        builder.span("a", span=1, start=10, duration=50),
        builder.span("b", span=2, parent=1, start=20),
        builder.span("c", span=3, parent=2, start=21),
    )
    model = TraceModel(data.store, 0)
    model.collapse(1)
    key = model.stitched.key(model.rows[1][0])
    data.add(builder.span("early", span=4, start=0), builder.span("d", span=5, parent=2, start=19))
    stitch_anew(model)
    assert is_drawn(
        model,
        data,
        """
        · early
        ▾ a
          ▸ b
        """,
    )
    assert model.row_of_key(key, 0) == 2


def test_a_parent_that_comes_takes_the_place_of_its_placeholder() -> None:
    """A placeholder that was collapsed and looked at is so still when the span it stood for has come."""
    builder = Builder()
    data = Growing(
        builder.span("other", span=8), builder.span("a", span=1, parent=9), builder.span("b", span=2, parent=9)
    )
    model = TraceModel(data.store, 0)
    row = row_of(model, data, "?")
    model.collapse(row)
    key = model.stitched.key(model.rows[row][0])
    data.add(builder.span("late", span=9, start=0))
    stitch_anew(model)
    assert is_drawn(
        model,
        data,
        """
        · other
        ▸ late
        """,
    )
    assert model.row_of_key(key, 0) == 1


def test_a_row_that_is_gone() -> None:
    """A key that is in sight no more gives the row that is asked for instead."""
    model, data = model_of(TREE)
    key = model.stitched.key(node_of(model, data, "c"))
    model.collapse_all()
    assert model.row_of_key(key, 0) == 0
    assert model.row_of_key(None, 5) == 5


# -- time -------------------------------------------------------------------------------------------------------------

OWN = [
    ("a 0-10", [(0, 10)]),
    ("a 0-10\n  b 2-5", [(0, 2), (5, 10)]),
    ("a 0-10\n  b 2-5\n  c 7-8", [(0, 2), (5, 7), (8, 10)]),
    ("a 0-10\n  b 2-5\n  c 4-8", [(0, 2), (8, 10)]),
    ("a 0-10\n  b 2-8\n  c 3-4\n  d 8-9", [(0, 2), (9, 10)]),
    ("a 0-10\n  b 2-?\n  c 3-4", [(0, 3), (4, 10)]),
    ("a 0-10\n  b 2-5\n    c 6-7", [(0, 2), (5, 6), (7, 10)]),
    ("a 2-10\n  b 0-4", [(4, 10)]),
    ("a 0-10\n  b 6-3", [(0, 10)]),
    ("a 10-0", []),
]
"""A drawing, and when a runs and nothing below it does, in microseconds."""


@pytest.mark.parametrize(("drawing", "expected"), OWN)
def test_when_a_span_runs_alone(drawing: str, expected: list[tuple[int, int]]) -> None:
    """What runs below a span, in however many levels, leaves it the rest."""
    model, _ = model_of(drawing)
    node = model.tree.roots[0]
    own = model.stitched.own_times(node)
    pairs = zip(own.starts, own.ends, strict=True)
    assert [((a - EPOCH_NS) // 1000, (b - EPOCH_NS) // 1000) for a, b in pairs] == expected
    assert own.sums[-1] == model.stitched.own[node]
    assert model.stitched.own_times(node) is own


def test_when_a_span_runs_alone_as_the_trace_grows() -> None:
    """It is asked anew when the trace has grown."""
    builder = Builder()
    data = Growing(builder.span("a", span=1, start=0), builder.span("b", parent=1, start=2, duration=2))
    model = TraceModel(data.store, 0)
    assert len(model.stitched.own_times(0).starts) == 2
    data.add(builder.span("c", parent=1, start=6, duration=2))
    stitch_anew(model)
    assert len(model.stitched.own_times(0).starts) == 3


def test_a_placeholders_interval() -> None:
    """A parent that wasn't seen lasts at least from the start of its first child to the end of its last."""
    builder = Builder()
    data = Growing(
        builder.span(parent=9, start=5, duration=30),
        builder.span(parent=9, start=7, duration=8),
        builder.span(parent=9, start=8, duration=None),
    )
    model = TraceModel(data.store, 0)
    assert model.stitched.interval(model.tree.roots[0]) == (EPOCH_NS + 5_000, EPOCH_NS + 35_000)


@pytest.mark.parametrize(
    ("start", "end", "expected"),
    [
        (time_text(3), time_text(9), (3, 9)),
        (time_text(3), time_text(3), (3, 3)),
        (time_text(9), time_text(3), (9, 9)),
        (None, time_text(9), None),
        (time_text(3), None, None),
        (None, None, None),
    ],
)
def test_a_spans_interval(start: str | None, end: str | None, expected: tuple[int, int] | None) -> None:
    """A span's interval isn't known without both times, and is never negative."""
    data = Growing(Builder().span(start_time=start, end_time=end))
    interval = TraceModel(data.store, 0).stitched.interval(0)
    us = None if interval is None else ((interval[0] - EPOCH_NS) // 1000, (interval[1] - EPOCH_NS) // 1000)
    assert us == expected


@pytest.mark.parametrize(
    ("start", "end"), [(None, None), (time_text(3), None), (None, time_text(3)), (time_text(5), time_text(5))]
)
def test_the_whole_is_never_empty(start: str | None, end: str | None) -> None:
    """A trace without times, or of one moment, still has a window to draw in."""
    data = Growing(Builder().span(start_time=start, end_time=end))
    model = TraceModel(data.store, 0)
    assert model.whole.length_ns >= 1
    assert model.shown == model.whole


def test_places_in_a_window() -> None:
    """A time lies in proportion between the window's edges, and may lie outside."""
    window = Window(1_000, 2_000)
    assert [window.place(ns, 10) for ns in (1_000, 1_500, 2_000, 0, 3_000)] == [0, 5, 10, -10, 20]


def test_several_services() -> None:
    """Only spans of more than one service are told apart by it."""
    builder = Builder()
    data = Growing(builder.span(service="a"), builder.span(service="a"))
    model = TraceModel(data.store, 0)
    assert len(model.stitched.tally("service")[0]) == 1
    data.add(builder.span(service="b"))
    stitch_anew(model)
    assert len(model.stitched.tally("service")[0]) == 2


def test_processes() -> None:
    """Files are processes, and in each of them its services are."""
    builder = Builder()
    web, db, other = (builder.span(service=service) for service in ("web", "db", "web"))
    for files, processes in (([[web], [other]], 2), ([[web, db]], 2), ([[web, db], [other]], 3)):
        store = store_of_files({str(at): file_of(documents) for at, documents in enumerate(files)})
        assert TraceModel(store, 0).stitched.processes == processes
