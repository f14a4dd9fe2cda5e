"""Traces by root name: figures, columns, order, marks, and what the keys do to a group.

in the store     start    duration
batch              10 µs      20 µs
batch              20 µs      30 µs   an error
batch              40 µs       2 s    two errors, a missing parent
quick              30 µs       5 µs
slow                0 µs     900 µs
delta              50 µs          –   no end
(no root)          60 µs      10 µs   its parent is missing
"""

from __future__ import annotations

import re
from dataclasses import replace
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, MICROSECOND, Builder, Document, store_of
from span_graphs import graphs
from spanview.analysis.failures import errors_made_good
from spanview.analysis.ray.unended import Fate, Unended
from spanview.analysis.trace_lists import TraceGroup
from spanview.api.trace import traces_of
from spanview.exports.losses import Losses
from spanview.exports.page.columns import Columns
from spanview.index.lives import OpenEnd
from spanview.model.times import NO_TIME
from spanview.reports import traces_model
from spanview.reports.traces import figure_text, groups_table, share_text, total_text
from spanview.reports.traces_model import TracesModel
from spanview.tui.app.feed import FeedState
from spanview.tui.flame.flame_screen import FlameScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces import traces_screen
from spanview.tui.traces.completeness import Completeness
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.plot import Plot
from spanview.tui.traces.plot_model import grid_of
from viewers import Growing, Look, looking_at

US_PER_S = 1_000_000


def documents() -> list[Document]:
    """Return the spans of the drawing."""
    builder = Builder()
    return [
        builder.span("slow", trace=1, start=0, duration=900),
        builder.span("batch", trace=2, start=10, duration=20),
        builder.span("batch", trace=3, span=3, start=20, duration=30),
        builder.span("bad step", trace=3, span=5, parent=3, start=21, duration=1, status="ERROR"),
        builder.span("quick", trace=4, start=30, duration=5),
        builder.span("batch", trace=5, start=40, duration=2 * US_PER_S, status="ERROR"),
        builder.span("worse step", trace=5, parent=77, start=41, duration=1, status="ERROR"),
        builder.span("delta", trace=6, start=50, duration=None),
        builder.span("lost", trace=7, parent=78, start=60, duration=10),
    ]


def groups_on(look: Look) -> GroupList:
    """Return the list of groups."""
    return look.screen.query_one(GroupList)


def order_on(look: Look) -> list[str | None]:
    """Return the names of the groups, from the top."""
    return [group.name for group in groups_on(look).items]


def row_on(look: Look, name: str) -> str:
    """Return the line of a group."""
    lists = groups_on(look).region
    return next(line for line in look.lines[lists.y : lists.bottom] if line.strip("● ").startswith(name))


# -- figures ----------------------------------------------------------------------------------------------------------


def slow_percentile(values: list[int], hundredths: int) -> int | None:
    """Return the least value that at least so many hundredths of all values don't exceed."""
    return min(
        (each for each in values if 100 * sum(other <= each for other in values) >= hundredths * len(values)),
        default=None,
    )


def slow_groups(growing: Growing, incomplete: bytes) -> dict[str | None, TraceGroup]:
    """Return the groups of a store, counted from its spans in the simplest way."""
    groups: dict[str | None, TraceGroup] = {}
    members: dict[str | None, list[int]] = {}
    for trace in traces_of(growing.store):
        roots = [node.span for node in trace.roots if node.span is not None and node.span.parent_id is None]
        members.setdefault(roots[0].name if roots else None, []).append(trace._number)
    for name, numbers in members.items():
        traces = [trace for trace in traces_of(growing.store) if trace._number in numbers]
        known = [trace.duration_ns for trace in traces if trace.duration_ns is not None and trace.duration_ns >= 0]
        p50_ns, p95_ns, p99_ns = (slow_percentile(known, percent) for percent in (50, 95, 99))
        groups[name] = TraceGroup(
            name,
            traces=len(traces),
            failed=sum(trace.error_count > 0 for trace in traces),
            incomplete=sum(incomplete[number] for number in numbers),
            p50_ns=p50_ns,
            p95_ns=p95_ns,
            p99_ns=p99_ns,
            max_ns=max(known, default=None),
            total_ns=sum(known),
            histogram=tuple(sum(1 for each in known if min(15, len(str(each)) - 1) == power) for power in range(16)),
            newest_ns=max((trace.start_ns for trace in traces if trace.start_ns is not None), default=NO_TIME),
        )
    return groups


@settings(max_examples=100, deadline=None)
@given(graphs(most=40))
def test_figures(documents: list[Document]) -> None:
    """Groups are what counting one trace after the other gives, percentiles by their definition; whatever is read."""
    growing = Growing(*documents)
    incomplete = Completeness(growing.store).flags()
    model = TracesModel(growing.store)
    model.refresh()
    groups = model.groups(incomplete)
    assert incomplete == bytes(not growing.store.tree(trace).complete for trace in range(len(incomplete)))
    assert {group.name: group for group in groups} == slow_groups(growing, incomplete)
    assert [group.traces for group in groups] == sorted((group.traces for group in groups), reverse=True)


def test_sums_of_any_size() -> None:
    """Totals are exact where 64 bits don't hold them."""
    builder = Builder()
    growing = Growing(*(builder.span("long", trace=1 + n, start=-4e15, duration=8e15) for n in range(3)))
    model = TracesModel(growing.store)
    model.refresh()
    (group,) = model.groups()
    assert group.max_ns is not None
    assert group.total_ns == 3 * group.max_ns
    assert group.total_ns > 2**63


def test_without_any_duration() -> None:
    """Traces without an end are counted, and have no figures."""
    model = TracesModel(Growing(Builder().span("open", duration=None)).store)
    model.refresh()
    (group,) = model.groups()
    assert (group.traces, group.total_ns, sum(group.histogram)) == (1, 0, 0)
    assert (group.p50_ns, group.p95_ns, group.p99_ns, group.max_ns) == (None,) * 4


def test_traces_that_run_or_were_lost() -> None:
    """They count until now, or as far as they were seen, as in the list of traces; figures say which."""
    build = Builder()
    growing = Growing(
        *(build.span("batch", trace=1 + n, start=0, duration=duration) for n, duration in enumerate((10, None, None))),
        build.span("other", trace=4, start=0, duration=7),
    )
    model = TracesModel(growing.store)
    model.known_until = {1: EPOCH_NS + 500 * MICROSECOND, 2: EPOCH_NS + 90 * MICROSECOND}
    model.open_ends = {1: OpenEnd.RUNS, 2: OpenEnd.EARLIEST}
    model.refresh()
    groups = {group.name: group for group in model.groups()}
    batch, other = groups["batch"], groups["other"]
    assert [figure_text(batch, ns) for ns in (batch.p50_ns, batch.max_ns)] == ["≥ 90 µs", "500 µs…"]
    assert (total_text(batch), total_text(other)) == ("600 µs…", "7 µs")
    assert figure_text(batch, 10 * MICROSECOND) == "10 µs"
    (column,) = (column for column in groups_table(str).columns if column.name == "unknown_ends")
    assert [column.json_value(group) for group in (batch, other)] == [True, False]
    assert [model.duration_ns(trace) for trace in (1, 2)] == [batch.max_ns, batch.p50_ns]


def retried_calls() -> list[Document]:
    """Return two calls that were tried twice, the first of which ended well."""
    build = Builder()
    spans = []
    for trace, last in (1, "UNSET"), (2, "ERROR"):
        at = 1_000 * trace
        call = build.span("flaky ray.remote", kind="PRODUCER", trace=trace, span=9 + trace, start=at, duration=9)
        spans.append(call)
        for start, status in (1, "ERROR"), (5, last):
            run = build.span(
                "flaky ray.remote_worker",
                kind="CONSUMER",
                trace=trace,
                parent=9 + trace,
                start=at + start,
                duration=2,
                status=status,
            )
            spans.append(run)
    return spans


async def test_a_trace_whose_failures_were_made_good_has_no_mark() -> None:
    """It says that something was retried; neither the plot nor the list of failures has it."""
    async with looking_at(*retried_calls(), size=(120, 40)) as look:
        await look.until_shown("flaky  retried", "✖ flaky")
        plot = look.screen.query_one(Plot).region
        assert "".join(look.lines[plot.y : plot.bottom]).count("✖") == 1
        await look.press("f")
        await look.until_shown("only what failed: 1 trace")


def test_what_was_lost_and_made_good_is_lost_all_the_same() -> None:
    """A trace says of an attempt without an end what became of it, though another one ended well."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=10, duration=None, kind="CONSUMER"),
        build.span("f ray.remote_worker", span=3, parent=1, start=20, duration=5, kind="CONSUMER"),
    )
    model = TracesModel(store)
    model.made_good = errors_made_good(store)
    assert model.state(0) == ("◌", "1 span without an end")
    model.mark_silent({}, {0: "1 lost"}, {1: Unended(Fate.LOST, "its process has ended")})
    assert model.state(0) == ("◌", "1 lost")


def test_what_is_tried_again_has_not_failed_yet() -> None:
    """A lost attempt whose next one waits, as Ray says, makes no failed trace of it: in list, groups and page."""
    build = Builder()
    store = store_of(
        build.span("f ray.remote", span=1, start=0, duration=5, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=2, parent=1, start=10, duration=None, kind="CONSUMER"),
    )
    model, lost = TracesModel(store), Unended(Fate.LOST, "its worker died, as Ray says", told_ns=EPOCH_NS + 50_000)
    model.refresh()
    for is_again in (False, True):
        unended = {1: replace(lost, is_tried_again=is_again)}
        model.mark_silent({}, {0: "1 lost"}, unended)
        assert [group.failed for group in model.groups()] == [0 if is_again else 1]
        assert model.state(0)[0] == ("◌" if is_again else "!")
        traces = Columns(store, [0], unended).overview(Losses("html"))["traces"]
        assert (traces["silent"], traces["lost"]) == ([0 if is_again else 1], [1])


def test_what_a_retry_made_good_is_no_failure() -> None:
    """A trace counts as failed where something lasted, not where the last attempt of the call ended well."""
    model = TracesModel(Growing(*retried_calls()).store)
    model.refresh()
    points = model.points()
    assert points is not None
    grid = grid_of(points, 9, 1)
    assert grid is not None
    assert len(grid.failed) == 2
    assert [group.failed for group in model.groups()] == [2]
    model.made_good = errors_made_good(model._store)
    assert [group.failed for group in model.groups()] == [1]
    points = model.points()
    assert points is not None
    grid = grid_of(points, 9, 1)
    assert grid is not None
    assert len(grid.failed) == 1
    model.only_failed = True
    model.refresh()
    assert [*model.order] == [1]
    overview = Columns(model._store, [0, 1], {}).overview(Losses("html"))["traces"]
    assert (overview["lasting"], overview["errors"]) == ([0, 2], [1, 2])


def test_completeness_is_found_anew_where_a_trace_grows() -> None:
    """A trace that a parent was missing of is complete when it comes; others are remembered."""
    builder = Builder()
    growing = Growing(builder.span("a", trace=1, span=1, parent=9), builder.span("b", trace=2, span=2))
    known = Completeness(growing.store)
    assert known.flags() == b"\x01\x00"
    growing.add(builder.span("root", trace=1, span=9), builder.span("c", trace=3, parent=8))
    assert known.flags() == b"\x00\x00\x01"
    assert known.flags() == b"\x00\x00\x01"


SHARES = [(0, 5, ""), (5, 5, "100 %"), (1, 3, "33.3 %"), (1, 100_000, "0.1 %"), (99_999, 100_000, "99.9 %")]


@pytest.mark.parametrize(("part", "whole", "expected"), SHARES)
def test_shares(part: int, whole: int, expected: str) -> None:
    """Something is never written as nothing, and not everything never as everything."""
    assert share_text(part, whole) == expected


# -- columns ----------------------------------------------------------------------------------------------------------


async def test_a_narrow_screen() -> None:
    """At 80 cells there are counts, errors, incomplete traces, three times, and the name."""
    async with looking_at(*documents(), size=(80, 24)) as look:
        await look.press("r")
        heads = look.lines[groups_on(look).heads.region.y].split()
        assert heads == ["ROOT", "TRACES", "▾", "FAILED", "INCOMPLETE", "P50", "P95", "MAX"]
        assert row_on(look, "batch").split() == ["batch", "3", "2", "◌1", "30", "µs", "2", "s", "2", "s"]
        assert row_on(look, "delta").split() == ["delta", "1", "–", "–", "–"]
        assert row_on(look, "? no root seen").split()[4:6] == ["1", "◌1"]


async def test_a_wide_screen() -> None:
    """At 200 cells there are all columns, and histograms."""
    async with looking_at(*documents(), size=(200, 50)) as look:
        await look.press("r")
        heads = look.lines[groups_on(look).heads.region.y].split()
        expected = "ROOT TRACES ▾ FAILED FAILED% INCOMPLETE P50 P95 P99 MAX TOTAL µs ms s NEWEST"
        assert heads == expected.split()
        line = row_on(look, "batch")
        assert "30 µs       2 s       2 s       2 s    2.00 s  " in line
        histogram = line[line.index("2.00 s  ") :].split()
        assert set("".join(histogram)) & set("▁▂▃▄▅▆▇█")


@given(st.integers(1, 300))
def test_columns_fit(width: int) -> None:
    """Whatever the width, names have room, and a wider screen never shows less."""
    groups = GroupList(TracesModel(Growing().store))
    shown, wider = groups.table.fit(width), groups.table.fit(width + 1)
    assert shown.cells[0][1] - 2 >= min(24, width - 4)
    assert {*shown.keys} <= {*wider.keys}


async def test_heads_stand_above_their_columns() -> None:
    """Heads end where their figures end."""
    for width in (80, 120, 200):
        async with looking_at(*documents(), size=(width, 50)) as look:
            await look.press("r")
            heads, row = look.lines[groups_on(look).heads.region.y], row_on(look, "batch")
            assert row.index("batch") == heads.index("ROOT")
            assert row[: heads.index("P95") + 3].endswith("2 s")
            assert row[: heads.index("INCOMPLETE") + 10].endswith("◌1")


# -- order ------------------------------------------------------------------------------------------------------------


async def test_each_column_sorts() -> None:
    """`s` goes through the columns that are shown, `S` turns the order; both say so in the heads."""
    async with looking_at(*documents(), size=(200, 50)) as look:
        await look.press("r")
        assert order_on(look) == ["batch", None, "delta", "quick", "slow"]
        for key in [*groups_on(look).table.fit(198).keys[2:], "root name"]:
            await look.press("s")
            groups = groups_on(look)
            assert groups.shown_order.key == key
            column = groups.table.column(key)
            assert column is not None
            assert column.value is not None
            assert re.search(f"{re.escape(column.head)} ?[{'▴' if key == 'root name' else '▾'}]", look.text)
            values = [column.value(group) for group in groups.items]
            known = [value for value in values if value is not None]
            assert known == sorted(known, reverse=key != "root name")
            await look.press("S")
            turned = [column.value(group) for group in groups_on(look).items]
            assert turned == values[::-1]
            assert re.search(f"{re.escape(column.head)} ?[{'▾' if key == 'root name' else '▴'}]", look.text)
        await look.press("s")
        assert groups_on(look).shown_order.key == "traces"


async def test_columns_that_are_not_shown_are_passed_over() -> None:
    """On a narrow screen nothing sorts by what can't be seen."""
    async with looking_at(*documents(), size=(80, 24)) as look:
        await look.press("r")
        seen = []
        for _ in range(7):
            await look.press("s")
            seen.append(groups_on(look).shown_order.key)
        figures = ["failed", "incomplete traces", "p50", "p95", "max"]
        assert seen == [*figures, "root name", "traces"]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_keys_can_come_before_the_groups_are_laid_out(size: tuple[int, int]) -> None:
    """What can be sorted by is the same before the first painting: the next key may be here already."""
    async with looking_at(*documents(), size=size) as look:
        await look.press("r")
        before = groups_on(look).fit(groups_on(look).line_width).keys
        await look.until_shown("TRACES")
        assert groups_on(look).fit(groups_on(look).line_width).keys == before


async def test_the_cursor_and_the_order() -> None:
    """Who is at the top stays there, to see the first; who has chosen a group stays on it, while more comes, too."""
    async with looking_at(*documents()) as look:
        await look.press("r", "s", "s", "s", "s")
        assert groups_on(look).cursor == 0
        assert order_on(look)[0] == "slow"
        await look.press("down", "S")
        chosen = groups_on(look).selected
        assert chosen is not None
        assert chosen.name == order_on(look)[-2]
        await look.grow(*(Builder().span("new", trace=50 + n, start=1, duration=3) for n in range(9)))
        assert "new" in order_on(look)
        selected = groups_on(look).selected
        assert selected is not None
        assert selected.name == chosen.name


async def test_groups_that_come_while_all_is_read() -> None:
    """Nobody has chosen the one that came first: the cursor is at the top when all was read."""
    builder = Builder()
    async with looking_at(builder.span("first", trace=90)) as look:
        await look.press("r")
        await look.grow(*(builder.span("many", trace=n + 1, span=n + 1) for n in range(9)))
        assert order_on(look) == ["many", "first"]
        assert groups_on(look).cursor == 0


async def test_the_lists_have_orders_of_their_own() -> None:
    """Sorting groups leaves the order of traces alone, and the other way round."""
    async with looking_at(*documents()) as look:
        await look.press("r", "s", "r")
        assert "START ▾" in look.text
        await look.press("s", "r")
        assert "FAILED▾" in look.text
        assert "DURATION" not in look.text


async def test_sorting_by_the_mouse() -> None:
    """A click on a head sorts by it, a second one turns the order; what is above histograms sorts by nothing."""
    async with looking_at(*documents(), size=(200, 50)) as look:
        await look.press("r")
        heads = look.lines[groups_on(look).heads.region.y]
        for text, order in (("MAX", "▾"), ("MAX", "▴"), ("NEWEST", "▾"), ("ROOT", "▴"), ("µs", "")):
            await look.pilot.click(groups_on(look).heads, offset=(heads.index(text) + 1, 0))
            if order:
                await look.until_shown(f"{text} {order}")
        assert groups_on(look).shown_order == ("root name", False)


# -- one group --------------------------------------------------------------------------------------------------------


async def test_the_newest_failure_of_a_group() -> None:
    """`e` opens the newest trace of the selected group that failed; without one, of the group where one failed last."""
    async with looking_at(*documents()) as look:
        await look.press("r", "e")
        assert look.is_on(TraceScreen)
        assert look.header.startswith(" ‹ batch   2 s")
        await look.press("escape", "G", "e")
        assert look.is_on(TraceScreen)
        await look.press("escape")
        group = groups_on(look).selected
        assert group is not None
        assert group.name == "batch"


async def test_failures_of_groups_one_after_the_other() -> None:
    """Behind the last failure of a trace comes the next older trace that failed, in whatever group it is."""
    build = Builder()
    spans = [
        build.span("new", trace=1, start=90, duration=9, status="ERROR"),
        build.span("old", trace=2, span=21, start=10, duration=40, status="ERROR"),
        build.span("step", trace=2, parent=21, start=11, duration=5, status="ERROR"),
        build.span("older", trace=3, start=5, duration=2, status="ERROR"),
        build.span("fine", trace=4, start=99),
    ]
    async with looking_at(*spans) as look:
        await look.press("r")
        groups_on(look).move_on(lambda group: group.name == "old")
        await look.press("e")
        await look.until_shown(" ‹ old", "error 1 of 2")
        await look.press("e")
        await look.until_shown("error 2 of 2")
        await look.press("e")
        await look.until_shown(" ‹ older")
        await look.press("e")
        await look.until_shown(" ‹ new")
        await look.press("escape")
        assert order_on(look)[groups_on(look).cursor] == "new"
        for name in ("old", "older", "new"):
            await look.press("e")
            await look.until_shown(f" ‹ {name} ")
            await look.press("escape")


async def test_blocks_of_a_group() -> None:
    """In a group that was opened, `F` merges its traces; among all groups, all traces."""
    async with looking_at(*documents()) as look:
        await look.press("r", "F")
        assert look.is_on(FlameScreen)
        assert "7 traces" in look.header
        await look.press("escape", "enter", "F")
        assert "3 traces" in look.header
        assert "in batch, 3 of 7" in look.bar


async def test_the_plot_sets_the_selected_group_off() -> None:
    """Above groups, the selected one's traces are drawn as blocks, all others as dots; above traces, all as blocks."""
    async with looking_at(*documents(), size=(120, 40)) as look:

        def drawn() -> str:
            return "".join(look.lines[look.screen.query_one(Plot).region.y :][:5])

        all_blocks = sum(drawn().count(each) for each in "▁▂▃▄▅▆▇█✖")
        assert "·" not in drawn()
        await look.press("r")
        assert drawn().count("·")
        assert drawn().count("✖") == 2
        await look.press("G")
        assert groups_on(look).selected is not None
        assert "✖" not in drawn()
        assert sum(drawn().count(each) for each in "▁▂▃▄▅▆▇█·") == all_blocks
        await look.press("r")
        assert "·" not in drawn()


# -- marks ------------------------------------------------------------------------------------------------------------


async def test_growing_groups_are_marked() -> None:
    """A group in which a trace has grown lately has a mark, and loses it."""
    async with looking_at(*documents()) as look:
        await look.press("r")
        assert "● " not in row_on(look, "quick")
        await look.grow(Builder().span("more", trace=4, span=99, start=31))
        assert "● quick" in row_on(look, "quick")
        assert "● " not in row_on(look, "slow")
        with patch("spanview.tui.traces.traces_screen._GROWTH_MARK_S", 0.0):
            await look.until(lambda: "● " not in row_on(look, "quick"))


async def test_loading_groups_are_not_incomplete() -> None:
    """While bytes are unread, nobody knows what is incomplete."""
    async with looking_at(*documents()) as look:
        await look.tell(FeedState(loading=True, bytes_read=1, bytes_total=2))
        await look.press("r")
        assert "◌" not in look.text
        assert row_on(look, "quick").split()[:3] == ["quick", "1", "…"]
        await look.tell(FeedState(loading=False))
        assert "◌1" in row_on(look, "batch")


async def test_incomplete_traces_are_counted_anew() -> None:
    """When the missing parent comes, the group has no incomplete trace any more."""
    async with looking_at(*documents()) as look:
        await look.press("r")
        assert "◌1" in row_on(look, "batch")
        await look.grow(Builder().span("there", trace=5, span=77, start=41, duration=2))
        assert "◌" not in row_on(look, "batch")


async def test_large_stores_are_counted_in_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where counting takes long, keys don't wait for it, and what comes of it is shown all the same."""
    for name in ("MANY_TRACES", "_QUICK"):
        monkeypatch.setattr(traces_model, name, 0)
    monkeypatch.setattr(traces_screen, "_STITCHED_AT_ONCE", 0)
    async with looking_at(*documents()) as look:
        await look.press("r")
        await look.until(lambda: "batch" in look.text and "◌1" in row_on(look, "batch"))
        assert order_on(look) == ["batch", None, "delta", "quick", "slow"]
        await look.grow(Builder().span("there", trace=5, span=77, start=41, duration=2))
        await look.until(lambda: "◌" not in row_on(look, "batch"))
        await look.press("slash")
        await look.type("quick")
        await look.until(lambda: order_on(look) == ["quick"])
