"""The list of traces as a function of the store.

in the store     start    duration   spans   errors
alpha              0 µs     100 µs       1        0
beta              10 µs      40 µs       2        1
gamma             20 µs     200 µs       3        0
delta             30 µs          –       1        0    no end
(no root)         40 µs      10 µs       1        1    its parent is missing
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder
from one_by_one import matches_trace
from span_graphs import graphs
from spanview.analysis import failures
from spanview.analysis.failures import failed_rows
from spanview.analysis.query.query import parse_query
from spanview.analysis.trace_lists import FailedSilently, TraceColumn
from spanview.model.times import NO_TIME
from spanview.reports import traces_model
from spanview.reports.traces import name_pieces
from spanview.reports.traces_model import TracesModel
from spanview.tui.traces.plot_model import grid_of
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Document

DAY_US = 86_400 * 1_000_000


@pytest.fixture(name="data")
def make_data() -> Growing:
    """Return the store of the drawing."""
    builder = Builder()
    return Growing(
        builder.span("gamma", trace=3, span=1, start=20, duration=200),
        builder.span("alpha", trace=1, start=0, duration=100),
        builder.span("beta", trace=2, span=2, start=10, duration=40),
        builder.span("child", trace=2, parent=2, start=15, status="ERROR"),
        builder.span("child", trace=3, parent=1, start=25),
        builder.span("child", trace=3, parent=1, start=35),
        builder.span("delta", trace=4, start=30, duration=None),
        builder.span("orphan", trace=5, parent=77, start=40, status="ERROR"),
    )


@pytest.fixture(name="model")
def make_model(data: Growing) -> TracesModel:
    """Return a model that has taken the store in."""
    model = TracesModel(data.store)
    model.refresh()
    return model


def names(model: TracesModel) -> list[str]:
    """Return the root names of the listed traces, from the top."""
    return [model.root_name(trace) or "(no root)" for trace in model.order]


def trace_named(model: TracesModel, name: str) -> int:
    """Return a listed trace by its root name."""
    return model.order[names(model).index(name)]


# -- order ------------------------------------------------------------------------------------------------------------

ORDERS = [
    (TraceColumn.START, ["(no root)", "delta", "gamma", "beta", "alpha"]),
    (TraceColumn.DURATION, ["gamma", "alpha", "beta", "(no root)", "delta"]),
    (TraceColumn.SPANS, ["gamma", "beta"]),
    (TraceColumn.ERRORS, []),
    (TraceColumn.ROOT, ["gamma", "delta", "beta", "alpha", "(no root)"]),
]
"""A column, and the traces from its greatest value down, as far as no two have the same."""


@pytest.mark.parametrize(("column", "expected"), ORDERS)
def test_orders(model: TracesModel, column: TraceColumn, expected: list[str]) -> None:
    """Each column sorts down and up."""
    model.sort = column
    model.refresh()
    assert names(model)[: len(expected)] == expected
    values = [*map(key_of(model), model.order)]
    assert values == sorted(values, reverse=True)
    model.descending = False
    model.refresh()
    assert [*map(key_of(model), model.order)] == values[::-1]


def test_the_newest_is_first(model: TracesModel) -> None:
    """Without being asked, the list has the newest trace at its top."""
    assert names(model)[0] == "(no root)"
    assert model.longest_ns == 200_000


def test_new_traces_take_their_places(data: Growing, model: TracesModel) -> None:
    """What comes later is put where it belongs, also when only the new traces are looked at."""
    builder = Builder()
    data.add(builder.span("between", trace=6, span=50, start=12), builder.span("new", trace=7, span=51, start=99))
    model.refresh()
    assert names(model) == ["new", "(no root)", "delta", "gamma", "between", "beta", "alpha"]
    model.refresh()
    assert len(model.order) == 7


def test_growth_changes_the_order(data: Growing, model: TracesModel) -> None:
    """A trace that has grown is put in order anew."""
    model.sort = TraceColumn.SPANS
    model.refresh()
    data.add(*(Builder().span("more", trace=1, span=60 + number, start=5) for number in range(9)))
    model.refresh()
    assert names(model)[0] == "alpha"


@pytest.mark.parametrize(("last_us", "expected"), [(50, False), (DAY_US - 1, False), (DAY_US + 1, True)])
def test_dates_are_shown_where_they_tell_something(data: Growing, last_us: int, expected: bool) -> None:  # noqa: FBT001 - a table
    """Starts have their date when they are more than a day apart."""
    data.add(Builder().span("late", trace=9, span=70, start=last_us))
    model = TracesModel(data.store)
    model.refresh()
    assert model.spans_days is expected


# -- groups -----------------------------------------------------------------------------------------------------------


def test_groups_of_nothing() -> None:
    """Without traces there are no groups."""
    assert TracesModel(Growing().store).groups() == []


def test_failures_are_put_in_order_once(data: Growing, model: TracesModel) -> None:
    """They are put in order anew when there are more, or when more is known of them, and only then."""
    with patch.object(failures, "newest_failures", wraps=failures.newest_failures) as ordered:
        first = model.next_failure()
        second = model.next_failure(after=first)
        assert [first, second, model.next_failure(after=second)] == [4, 2, 4]
        assert model.next_failure(after=second, by=-1) == first
        assert ordered.call_count == 1
        model.silent = {0: FailedSilently("silent", lasted=True, newest_ns=0)}
        assert model.next_failure(after=second) == 0
        data.add(Builder().span("zeta", trace=6, start=900, status="ERROR"))
        model.refresh()
        assert model.next_failure() == 5
        assert ordered.call_count == 3


def test_groups_are_counted_once(data: Growing, model: TracesModel) -> None:
    """They are counted anew when there is more to count, or other traces are listed, and only then."""
    groups = model.groups()
    assert model.groups() is groups
    assert [group.incomplete for group in model.groups(b"\1" * 5)] == [1] * 5
    data.add(Builder().span("alpha", trace=6, start=50))
    model.refresh()
    assert {group.name: group.traces for group in model.groups()}["alpha"] == 2
    model.matching = {0}
    model.refresh()
    assert [group.traces for group in model.groups()] == [1]


@pytest.mark.parametrize(("name", "expected"), [("beta", ["beta"]), (None, ["(no root)"]), ("nobody", [])])
def test_drilling_down(model: TracesModel, name: str | None, expected: list[str]) -> None:
    """Of a group that is opened only its traces are listed."""
    model.only_root, model.is_drilled = name, True
    model.refresh()
    assert names(model) == expected


def test_a_root_that_comes_late_joins_its_group(data: Growing, model: TracesModel) -> None:
    """In an open group, a trace appears once its root is known, which ends after all its children; and leaves `?`."""
    model.only_root, model.is_drilled = "alpha", True
    model.refresh()
    builder = Builder()
    data.add(builder.span("child", trace=8, span=81, parent=80, start=90))
    model.refresh()
    assert names(model) == ["alpha"]
    data.add(builder.span("alpha", trace=8, span=80, start=89))
    model.refresh()
    assert names(model) == ["alpha", "alpha"]
    model.only_root = None
    model.refresh()
    assert names(model) == ["(no root)"]


# -- what is listed at all --------------------------------------------------------------------------------------------


def test_what_matches(data: Growing, model: TracesModel) -> None:
    """A filter lists what was found so far; what is found later comes in its place."""
    model.matching = set()
    model.refresh()
    assert names(model) == []
    query = parse_query("status=ERROR")
    model.add_matching(trace for trace in range(5) if matches_trace(query, data.store, trace))
    model.refresh()
    assert names(model) == ["(no root)", "beta"]
    model.add_matching(model.order)
    model.refresh()
    assert names(model) == ["(no root)", "beta"]
    model.matching = None
    model.refresh()
    assert len(model.order) == 5


def test_what_was_found_before_it_was_seen(data: Growing, model: TracesModel) -> None:
    """A trace that the filter finds before the list has taken it in is listed once."""
    model.matching = set()
    model.refresh()
    data.add(Builder().span("new", trace=7, span=51, start=99))
    model.add_matching([5])
    model.refresh()
    assert names(model) == ["new"]


def test_a_limit_holds_for_what_is_there(data: Growing, model: TracesModel) -> None:
    """A limit leaves out traces that are there already, and lets all come that are new."""
    model.limit_to({trace_named(model, "beta")})
    model.refresh()
    assert names(model) == ["beta"]
    data.add(Builder().span("new", trace=7, span=51, start=99))
    model.refresh()
    assert names(model) == ["new", "beta"]
    model.limit_to(None)
    model.refresh()
    assert len(model.order) == 6


def test_filter_limit_and_group_together(model: TracesModel) -> None:
    """A trace is listed when nothing leaves it out."""
    alpha, beta = trace_named(model, "alpha"), trace_named(model, "beta")
    model.limit_to({alpha, beta})
    model.matching = {beta, trace_named(model, "gamma")}
    model.refresh()
    assert names(model) == ["beta"]
    model.only_root, model.is_drilled = "alpha", True
    model.refresh()
    assert names(model) == []


# -- facts ------------------------------------------------------------------------------------------------------------


def test_facts() -> None:
    """A file that is named after a process is one; a missing parent is named and leaves the trace incomplete."""
    builder = Builder()
    data = Growing(builder.span("a", span=1, service="one"), builder.span("b", span=2, parent=1, service="two"))
    data.add(builder.span("c", span=3, parent=9, service="one"), path="spans/2.json")
    model = TracesModel(data.store)
    facts = model.facts(0)
    assert facts is not None
    assert (facts.processes, facts.complete, facts.missing) == (2, False, f"{9:016x}")
    assert model.facts(0) is facts
    data.add(builder.span("d", span=9, service="one"))
    later = model.facts(0)
    assert later is not None
    assert (later.processes, later.complete, later.missing) == (2, True, "")


def test_a_huge_trace_is_not_stitched_while_painting(monkeypatch: pytest.MonkeyPatch, data: Growing) -> None:
    """A trace above the limit has no facts; what was known of it before it grew above stays."""
    monkeypatch.setattr(traces_model, "HUGE", 2)
    model = TracesModel(data.store)
    model.refresh()
    gamma = trace_named(model, "gamma")
    assert model.facts(gamma) is None
    monkeypatch.setattr(traces_model, "HUGE", 3)
    assert model.facts(gamma) is not None
    data.add(Builder().span("more", trace=3, span=90, parent=1))
    assert model.facts(gamma) is not None


def test_durations(model: TracesModel) -> None:
    """A trace without an end has no duration, which sorts below all others."""
    assert model.duration_ns(trace_named(model, "delta")) == -1
    assert model.duration_ns(trace_named(model, "beta")) == 40_000


# -- any traces -------------------------------------------------------------------------------------------------------


@settings(max_examples=200)
@given(graphs(most=40), st.data())
def test_any_traces(documents: list[Document], data: st.DataObject) -> None:
    """The list is what asking one trace after the other gives, whatever is in it, and while it grows."""
    growing = Growing()
    store = growing.store
    model = TracesModel(store)
    limit, limit_end = None, 0
    piece = max(1, len(documents) // 3)
    for first in range(0, len(documents), piece):
        growing.add(*documents[first : first + piece])
        count = len(store.trace_table)
        some = data.draw(st.none() | st.sets(st.integers(0, count - 1)))
        changes: dict[str, Any] = {
            "sort": data.draw(st.sampled_from(TraceColumn)),
            "descending": data.draw(st.booleans()),
            "matching": some,
            "is_drilled": data.draw(st.booleans()),
            "only_failed": data.draw(st.booleans()),
            "silent": data.draw(
                st.dictionaries(
                    st.integers(0, count - 1),
                    st.builds(
                        FailedSilently,
                        label=st.just("HTTP 500"),
                        lasted=st.booleans(),
                        newest_ns=st.integers(EPOCH_NS, EPOCH_NS + 10**6),
                    ),
                )
            ),
            "known_until": data.draw(
                st.dictionaries(st.integers(0, count - 1), st.integers(EPOCH_NS, EPOCH_NS + 10**9))
            ),
            "made_good": data.draw(st.sets(st.sampled_from(failed_rows(store).tolist())))
            if store.trace_table.error_count and any(store.trace_table.error_count)
            else (),
            "only_root": model.root_name(data.draw(st.integers(0, count - 1))),
        }
        times = st.none() | st.integers(-3, 200).map(lambda us: EPOCH_NS + us * 1_000)
        changes["picked"] = data.draw(times), data.draw(times)
        if data.draw(st.booleans()):
            limit, limit_end = data.draw(st.none() | st.sets(st.integers(0, count - 1))), count
            model.limit_to(limit)
        for name, value in changes.items():
            setattr(model, name, value)
        before = [*model.order]
        model.refresh()
        of_limit = range(count) if limit is None else {*limit, *range(limit_end, count)}
        plotted = [trace for trace in range(count) if trace in of_limit and is_chosen(model, trace)]
        listed = [
            trace for trace in [*before, *({*plotted} - {*before})] if trace in plotted and is_picked(model, trace)
        ]
        assert [*model.order] == sorted(listed, key=key_of(model), reverse=model.descending)
        assert model.longest_ns == max([1, *map(model.duration_ns, listed)])
        named = [trace for trace in model.order if model.group_name(trace) == model.only_root]
        assert [*model.named(model.only_root)] == named
        assert model.group_names(model.order) == {*map(model.group_name, model.order)}
        visited = {trace for trace in named if model.is_visited(trace)}
        newest = model.next_failure((model.only_root,))
        assert newest in visited if visited else newest is None
        points, starts = model.points((model.only_root,)), store.trace_table.start_ns
        grid = None if points is None else grid_of(points, 7, 3)
        drawn = [trace for trace in plotted if starts[trace] != NO_TIME and model.group_name(trace) == model.only_root]
        assert sum(grid.counts.values() if grid else ()) == len(drawn)


def is_chosen(model: TracesModel, trace: int) -> bool:
    """Return whether a trace is listed, whenever it starts."""
    is_matching = model.matching is None or trace in model.matching
    is_of_group = not model.is_drilled or model.group_name(trace) == model.only_root
    return is_matching and is_of_group and (model.has_failed(trace) or not model.only_failed)


def is_picked(model: TracesModel, trace: int) -> bool:
    """Return whether a trace starts in the picked range."""
    (start, end), ns = model.picked, model._store.trace_table.start_ns[trace]
    return (start is None or ns >= start) and (end is None or ns <= end)


def key_of(model: TracesModel) -> Callable[[int], Any]:
    """Return what traces are sorted by, as a function of a trace."""
    table = model._store.trace_table
    columns: dict[TraceColumn, Callable[[int], Any]] = {
        TraceColumn.DURATION: model.duration_ns,
        TraceColumn.SPANS: table.span_count.__getitem__,
        TraceColumn.ERRORS: table.error_count.__getitem__,
        TraceColumn.ROOT: lambda trace: model.root_name(trace) or "",
    }
    return columns.get(model.sort, table.start_ns.__getitem__)


def test_a_trace_whose_first_span_is_being_entered(data: Growing, model: TracesModel) -> None:
    """The reading thread enters a trace before its spans: it may be painted in between, and is known afterwards."""
    trace = data.store.trace_table.append(0, 6)
    model.refresh()
    assert trace in model.order
    assert model.facts(trace) is None
    # The place is taken, as when the thread goes on.
    data.store.intake.trace_slots.insert(trace)
    data.add(Builder().span("late", trace=6))
    facts = model.facts(trace)
    assert facts is not None
    assert facts.complete


@pytest.mark.parametrize(
    ("cells", "shown"),
    [(50, "! alpha  waited for 1 GPU (no node has that)"), (24, "! alpha  waited for 1 G…"), (20, "! alpha")],
)
def test_how_it_failed_is_cut_where_it_has_no_room(model: TracesModel, cells: int, shown: str) -> None:
    """Its beginning says more than a mark alone, where there is room for some words."""
    alpha = next(trace for trace in model.order if model.root_name(trace) == "alpha")
    model.silent = {alpha: FailedSilently("waited for 1 GPU (no node has that)", lasted=True, newest_ns=0)}
    assert "".join(piece.text for piece in name_pieces(model, alpha, cells)).rstrip() == shown


@pytest.mark.parametrize(
    ("cells", "shown"),
    [(50, "● alpha  still coming in, actor died"), (30, "● alpha  still coming in"), (20, "● alpha")],
)
def test_that_something_runs_comes_before_what_failed(model: TracesModel, cells: int, shown: str) -> None:
    """Where there is no room for both, the first is there."""
    alpha = next(trace for trace in model.order if model.root_name(trace) == "alpha")
    model.silent = {alpha: FailedSilently("actor died", lasted=True, newest_ns=0)}
    model.growing = {alpha}
    assert "".join(piece.text for piece in name_pieces(model, alpha, cells)).rstrip() == shown
