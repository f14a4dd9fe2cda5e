"""Comparing traces and groups in the viewer.

trace 1                     trace 2                     trace 3
order  0 - 100 µs           order  200 - 400 µs         other  500 - 510 µs   ERROR
  cart   10 -  30 µs          cart   210 - 370 µs
    pay    15 - 20 µs         mail   380 - 390 µs
"""

from __future__ import annotations

import threading
from fractions import Fraction
from functools import partial
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from builders import Builder, file_of, store_of, store_of_files
from span_graphs import forests
from spanview.analysis.diff_groups import DiffBy, by_total, diff_groups, groups_of_side
from spanview.analysis.flame import flame, located
from spanview.index.tree import ROOT
from spanview.reports.comparison import Order
from spanview.tui.diff import diff_model, diff_screen, pairs
from spanview.tui.diff.diff_model import DiffModel
from spanview.tui.diff.diff_screen import DiffScreen
from spanview.tui.diff.pairs import pairs_of
from spanview.tui.stats.spans_screen import SpansScreen
from spanview.tui.stats.stats_screen import StatsScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from builders import Document
    from spanview.analysis.diff import PathDiff
    from spanview.analysis.flame import Located


def _documents() -> list[Document]:
    build = Builder()
    return [
        build.span("order", trace=1, span=1, start=0, duration=100),
        build.span("cart", trace=1, span=2, parent=1, start=10, duration=20),
        build.span("pay", trace=1, span=3, parent=2, start=15, duration=5),
        build.span("order", trace=2, span=4, start=200, duration=200),
        build.span("cart", trace=2, span=5, parent=4, start=210, duration=160),
        build.span("mail", trace=2, span=6, parent=4, start=380, duration=10),
        build.span("other", trace=3, span=7, start=500, duration=10, status="ERROR"),
    ]


async def _is_compared(look: Look) -> None:
    await look.until(lambda: look.is_on(DiffScreen) and _screen(look).rows.model is not None)
    await look.press()


def _screen(look: Look) -> DiffScreen:
    assert isinstance(look.screen, DiffScreen)
    return look.screen


def _has_order(look: Look, order: Order) -> bool:
    return _screen(look).rows.by is order


def _change_of_p50(path: PathDiff) -> int | None:
    a, b = (None if side is None else side.p50_ns for side in (path.a, path.b))
    return None if a is None or b is None else b - a


def _names(look: Look) -> list[str | None]:
    return [path.name for path in _screen(look).rows.items]


@settings(max_examples=100, deadline=None)
@given(forests(traces=4, most=20), st.integers(1, 8), st.sampled_from([1, 3, 10_000]))
def test_orders_and_spans(documents: list[Document], most: int, piece: int) -> None:
    """Each order has every path; the spans of all paths are those of both sides, each with its sides."""
    store = store_of(*documents)
    traces = range(len(store.trace_table))
    with patch.object(diff_model, "_PIECE", piece):
        model = DiffModel(store, (located(store, traces[:-1]), located(store, traces[-2:])))
    assert model.orders[Order.CHANGE] == model.diff.by_change()
    for order, paths in model.orders.items():
        assert sorted(path.number for path in paths) == [*range(len(model.diff.paths))]
        if order in (Order.A, Order.B):
            own = [(path.a, path.parts[0]) if order is Order.A else (path.b, path.parts[1]) for path in paths]
            times = [-1 if each is None else round(Fraction(each.self_ns, of)) for each, of in own]
            assert times == sorted(times, reverse=True)
    changes = [_change_of_p50(path) for path in model.orders[Order.P50]]
    known = [change for change in changes if change is not None]
    assert [abs(change) for change in known] == sorted(map(abs, known), reverse=True)
    assert changes[len(known) :] == [None] * (len(changes) - len(known))
    above = [ROOT]
    siblings: dict[int, list[int]] = {}
    for path in model.orders[Order.TREE]:
        del above[path.depth + 1 :]
        assert path.parent == above[-1]
        above.append(path.number)
        totals = (0 if side is None else side.total_ns for side in (path.a, path.b))
        siblings.setdefault(path.parent, []).append(max(map(round, map(Fraction, totals, path.parts))))
    assert all(totals == sorted(totals, reverse=True) for totals in siblings.values())
    spans, found = store.spans, 0
    for path in model.diff.paths:
        listed = model.spans_of(path, 1_000)
        lengths = [spans.end_ns[row] - spans.start_ns[row] for row in listed.rows]
        assert listed.sides is not None
        assert lengths == sorted(lengths, reverse=True)
        assert model.spans_of(path, most).rows == listed.rows[:most]
        for letter, side, chosen in (("A", path.a, traces[:-1]), ("B", path.b, traces[-2:])):
            rows = [row for row in listed.rows if letter in listed.sides[row]]
            assert all(store.names.texts[spans.name[row]] == path.name for row in rows)
            assert all(spans.trace[row] in chosen for row in rows)
            assert len(rows) == (len(side.durations) if side is not None else 0)
        found += len(listed.rows)
    assert found <= len(spans)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_two_traces(size: tuple[int, int]) -> None:
    """`d` marks one and compares it with the next; the lines, their orders, and the spans behind them."""
    async with looking_at(*_documents(), size=size) as look:
        await look.press("j", "j", "d")
        assert "marked trace 00000000 order; press d on another to compare" in look.footer
        marked = [line for line in look.lines if "◆ order" in line]
        assert ["100 µs" in line for line in marked] == [True]
        await look.press("k", "d")
        await _is_compared(look)
        assert "4 call paths   by the change of self time" in look.header
        assert "as of" not in look.header
        assert look.body[1].split()[:7] == ["A", "1", "3", "0", "100", "µs", "100"]
        assert look.body[2].split()[:7] == ["B", "1", "3", "0", "200", "µs", "200"]
        assert look.body[3].split() == ["+100", "µs", "+100", "µs", "change"]
        assert look.body[4].strip() == "order › cart"
        assert _names(look) == ["cart", "order", "mail", "pay"]
        lines = [look.line_of(name) for name in ("15 µs", "80 µs", "only B", "only A")]
        assert look.lines[lines[0]].split()[:8] == ["15", "µs", "+145", "µs", "×11", "160", "µs", "1"]
        assert look.lines[lines[1]].split()[:5] == ["80", "µs", "-50", "µs", "-62"]
        assert "mail" in look.lines[lines[2]]
        assert "pay" in look.lines[lines[3]]
        assert ("P95 B" in look.text) == (size[0] == 200)
        assert all(cell_len(line) == size[0] for line in look.lines)
        await look.press("j", "s")
        assert "sorted by the change of P50" in look.footer
        assert _names(look) == ["cart", "order", "pay", "mail"]
        await look.press("s")
        assert "sorted by B's self time" in look.footer
        assert _names(look) == ["cart", "order", "mail", "pay"]
        assert _screen(look).rows.selected == _screen(look).rows.items[1]
        await look.press("s")
        assert _names(look) == ["order", "cart", "pay", "mail"]
        await look.press("s")
        assert _names(look) == ["order", "cart", "pay", "mail"]
        assert "    pay" in look.lines[look.line_of("only A")]
        await look.press("g", "y")
        assert "copied the line" in look.footer
        text = "order: self 80 µs → 30 µs (-50 µs, -62 %), count 1, total 100 µs → 200 µs"
        assert look.app.clipboard == text
        await look.press("j", "enter")
        assert look.is_on(SpansScreen)
        assert [line.split()[:3] for line in look.body[1:3]] == [["B", "160", "µs"], ["A", "20", "µs"]]
        await look.press("j", "enter")
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        assert screen.rows.node is not None
        assert screen._model.stitched.key(screen.rows.node) == 1
        await look.press("escape", "escape", "escape")
        assert look.is_on(TracesScreen)


def _unequal() -> list[Document]:
    """Return three quick traces of `old`, one of which failed, and one trace of `new` that takes longer."""
    build = Builder()
    return [
        *(
            span
            for trace, status in ((1, "OK"), (2, "OK"), (3, "ERROR"))
            for span in (
                build.span("old", trace=trace, span=10 * trace, start=0, duration=0),
                build.span("load", trace=trace, parent=10 * trace, start=0, duration=100, status=status),
                build.span("save", trace=trace, parent=10 * trace, start=0, duration=40),
            )
        ),
        build.span("old", trace=4, span=40, start=500, duration=0),
        build.span("load", trace=4, parent=40, start=500, duration=110),
        build.span("save", trace=4, parent=40, start=500, duration=81),
        build.span("new", trace=4, parent=40, start=500, duration=20),
        build.span("new", trace=4, parent=40, start=500, duration=None),
    ]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_sides_of_unequal_size(size: tuple[int, int]) -> None:
    """What is summed up is per trace, in order, colour and change; the screen says so, and of what."""
    async with looking_at(*_unequal(), size=size) as look:
        await look.press("d", "D", "slash")
        await look.type("trace.spans=3")
        await look.press("enter")
        await _is_compared(look)
        is_wide = size[0] == 200
        assert "by the change of self time per trace" in look.header
        assert [line.split()[1] for line in look.body[1:3]] == ["1", "3"]
        assert " ".join(look.body[3].split()) == "+2 -2 +0.33 -71 µs -10 µs -10 µs change per trace"
        assert look.body[4].rstrip().endswith(f"SELF, COUNT, ERRORS{', TOTAL' if is_wide else ''} per trace")
        assert _names(look) == ["save", "new", "load", "old"]
        at = look.line_of("CHANGE ▾")
        assert look.lines[at + 1].split()[:8] == ["81", "µs", "-41", "µs", "-51", "%", "40", "µs"]
        assert "2 → –" in look.lines[at + 2]
        assert "0 → 0.33" in look.lines[at + 3] or "+0.33" in look.lines[at + 3]
        assert all(cell_len(line) == size[0] for line in look.lines)
        for order in ("B's self time per trace", "A's self time per trace", "what calls what"):
            await look.press(*["s"] * (2 if order[0] == "B" else 1))
            assert f"sorted by {order.removesuffix(' per trace')}" in look.footer
            assert f"   by {order}  " in look.header
        assert _names(look) == ["old", "load", "save", "new"]


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_by_the_change_of_p50(size: tuple[int, int]) -> None:
    """The P50 of both sides stands in the first columns, with its change; what one side lacks comes last."""
    async with looking_at(*_unequal(), size=size) as look:
        await look.press("d", "D", "slash")
        await look.type("trace.spans=3")
        await look.press("enter")
        await _is_compared(look)
        await look.press("s")
        assert "by the change of P50  " in look.header
        assert _names(look) == ["save", "load", "old", "new"]
        at = look.line_of("▾")
        assert look.lines[at].split()[:8] == ["P50", "A", "CHANGE", "▾", "P50", "B", "COUNT", "ERRORS"]
        assert ("SELF B" in look.lines[at]) == (size[0] == 200)
        assert (
            look.body[4]
            .rstrip()
            .endswith("COUNT, ERRORS, SELF, TOTAL per trace" if size[0] == 200 else "  COUNT, ERRORS per trace")
        )
        assert look.lines[at + 1].split()[:8] == ["81", "µs", "-41", "µs", "-51", "%", "40", "µs"]
        assert look.lines[at + 4].split()[:5] == ["20", "µs", "only", "A", "–"]
        assert all(cell_len(line) == size[0] for line in look.lines)
        # Columns of other times stand where there is room, and what is per trace is said of those.
        await look.pilot.resize_terminal(*((80, 24) if size[0] == 200 else (200, 50)))
        await look.until_shown(*(["COUNT, ERRORS, SELF"] if size[0] == 80 else ["  COUNT, ERRORS per trace"]))


async def test_by_name_and_by_function() -> None:
    """Ray functions come first, and `b` compares paths and names, with the figures of `spanview diff --by`."""
    build = Builder()
    spans: list[Document] = []
    for trace, run, status in ((1, 20, "OK"), (2, 70, "ERROR")):
        call: dict[str, Any] = {"trace": trace, "span": 10 * trace}
        spans += [
            build.span("m.f ray.remote", **call, start=0, duration=1, kind="PRODUCER"),
            build.span(
                "m.f ray.remote_worker",
                trace=trace,
                parent=10 * trace,
                start=5,
                duration=run,
                kind="CONSUMER",
                status=status,
            ),
        ]
    async with looking_at(*spans, size=(120, 40)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        await look.until_shown("1 function   by the change of total time", "FUNCTION")
        await look.press("b")
        await look.until_shown("2 call paths   by the change of self time", "PATH")
        await look.press("b")
        await look.until_shown("2 names   by the change of total time", "NAME", "by name")
        store, a, b = look.data.store, [0], [1]
        for by, order in (
            (DiffBy.NAME, ["m.f ray.remote_worker", "m.f ray.remote"]),
            (DiffBy.RAY, ["m.f", "waiting", "submitting"]),
        ):
            sides = [(flame(store, side), groups_of_side(store, by, flame(store, side), side).flame) for side in (a, b)]
            merged = by_total(diff_groups(sides[0], sides[1]))
            paths = _screen(look).rows.items
            assert _names(look) == order
            assert [path.sides("total_ns") for path in paths] == [path.sides("total_ns") for path in merged]
            await look.press("enter")
            assert look.is_on(SpansScreen)
            assert {line.split()[0] for line in look.body[1:3]} == {"A", "B"}
            await look.press("escape", "e")
            assert look.is_on(TraceScreen)
            assert "error 1 of 1" in look.footer
            await look.press("escape", "b")
            await look.rest()
        await look.until_shown("2 call paths   by the change of self time", "PATH")


async def test_waits_stand_behind_what_waited() -> None:
    """A function's waits come behind its runs, whatever they come to; by their P50, each has its function's name."""
    build = Builder()
    spans: list[Document] = []
    for trace in (1, 2):
        for number, (name, wait, run) in enumerate((("f", 4, 10 * trace), ("g", 90 * trace, 50)), 10 * trace):
            spans += [
                build.span(f"m.{name} ray.remote", trace=trace, span=number, start=0, duration=1, kind="PRODUCER"),
                build.span(
                    f"m.{name} ray.remote_worker",
                    trace=trace,
                    parent=number,
                    start=1 + wait,
                    duration=run,
                    kind="CONSUMER",
                ),
            ]
    async with looking_at(*spans, size=(120, 40)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        lines = [line.split()[0] for line in look.body[6:12]]
        assert lines == ["f", "waiting", "submitting", "g", "waiting", "submitting"]
        await look.press("s")
        await look.until_shown("by the change of P50")
        assert [line.partition("  ")[0].strip() for line in look.body[6:8]] == ["g › waiting", "f"]


async def test_the_middle_of_a_path_goes_first() -> None:
    """What tells paths apart is at their ends."""
    build = Builder()
    names = [f"run_{'of_something_long_' * 4}{end}" for end in ("first", "second")]
    spans = [build.span(name, trace=trace, start=0, duration=9) for trace in (1, 2) for name in names]
    async with looking_at(*spans, size=(80, 24)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        for end in ("first", "second"):
            assert sum(line.rstrip().endswith(end) for line in look.body[5:]) == 1
        await look.press("s", "s", "s", "s")
        assert _has_order(look, Order.TREE)
        assert sum(line.rstrip().endswith("second") for line in look.body[5:]) == 1


async def test_the_mark() -> None:
    """It stays on its trace, on both screens, until it is taken off there, or by Esc."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("d", "j", "enter")
        assert "marked" not in look.header
        await look.press("d")
        await _is_compared(look)
        assert "trace 00000000 other" in look.body[1]
        await look.press("q", "q", "g")
        assert "◆ other" in look.text
        await look.press("enter")
        assert "◆ marked" in look.header
        await look.press("d")
        assert "no longer marked" in look.footer
        assert "◆ marked" not in look.header
        await look.press("q")
        assert "◆" not in look.text
        await look.press("d", "escape")
        assert "mark removed" in look.footer
        assert "◆" not in look.text


async def test_groups() -> None:
    """A group is marked by its root's name, and is compared with a group or with a trace."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("r", "d")
        assert "marked traces of order" in look.footer
        assert "◆ order" in look.text
        await look.press("d")
        assert "no longer marked" in look.footer
        await look.press("d", "j", "d")
        await _is_compared(look)
        assert look.body[1].split()[:4] == ["A", "2", "6", "0"]
        assert look.body[2].split()[:4] == ["B", "1", "1", "1"]
        assert look.body[2].rstrip().endswith("traces of other")
        failed = look.lines[look.line_of("0 → 1")]
        assert "other" in failed
        await look.press("escape", "r", "G", "d")
        await _is_compared(look)
        await look.press("enter")
        sides = {line.split()[1] if line.startswith(" A B") else "" for line in look.body[:2]}
        assert sides <= {"B", ""}
        assert " A B " in look.text


async def test_the_filter_against_the_rest() -> None:
    """`D` and Enter compare what is listed with everything else, and say what is lacking."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("slash")
        await look.type("name=cart")
        await look.press("enter")
        await look.until_shown("2 of 3 traces")
        await look.press("D")
        assert "‹ compare listed: name=cart with …" in look.header
        await look.press("enter")
        await _is_compared(look)
        assert look.body[1].split()[:4] == ["A", "2", "6", "0"]
        assert look.body[1].rstrip().endswith("listed: name=cart")
        assert look.body[2].split()[:4] == ["B", "1", "1", "1"]
        assert look.body[2].rstrip().endswith("all others")
        await look.press("escape", "slash")
        await look.type("zzz")
        await look.press("enter")
        await look.until_shown("0 of 3 traces")
        await look.press("D", "d")
        assert "nothing selected" in look.footer


async def test_one_query_against_another() -> None:
    """`D` takes a query for the other side, with what can be proposed; Enter compares, and Esc leads back."""
    async with looking_at(*_documents(), size=(80, 24)) as look:
        await look.press("slash")
        await look.type("name=cart")
        await look.press("enter")
        await look.until_shown("2 of 3 traces")
        await look.press("D", "slash")
        await look.type("na")
        await look.until_shown("›name")
        await look.type("me=zz")
        await look.until_shown("0 of 3 traces")
        await look.press("enter")
        assert "no trace matches" in look.text
        await look.press(*["backspace"] * 2)
        await look.type("other )")
        await look.until_shown("query, character")
        await look.press("enter", *["backspace"] * 2)
        await look.press("enter")
        await _is_compared(look)
        assert look.body[1].rstrip().endswith("listed: name=cart")
        assert look.body[2].rstrip().endswith("name=other")
        assert [line.split()[1] for line in look.body[1:3]] == ["2", "1"]
        await look.press("escape")
        assert "2 of 3 traces" in look.text
        await look.press("D", "slash")
        await look.type("colour=red")
        await look.until_shown("0 of 3 traces")
        await look.press("enter")
        await look.until_shown("no trace matches; no span has colour")
        await look.press("escape", "escape")
        assert "2 of 3 traces" in look.text


async def test_two_traces_with_other_roots() -> None:
    """Two marked traces are compared from their roots on, whatever these are called."""
    build = Builder()
    documents = [*build.draw("batch 0 0-9\n  put 1-3", trace=1), *build.draw("batch 1 20-29\n  put 21-27", trace=2)]
    async with looking_at(*documents, size=(120, 40)) as look:
        await look.press("d", "down", "d")
        await _is_compared(look)
        assert {path.only_in for path in _screen(look).rows.items} == {None}
        await look.until_shown("batch 1 → batch 0 › put")


async def test_what_is_marked_against_a_query() -> None:
    """What is marked is A, whatever is listed."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("d", "D", "slash")
        await look.type("trace.errors>0")
        await look.press("enter")
        await _is_compared(look)
        assert " trace 0000" in look.body[1]
        assert look.body[2].rstrip().endswith("trace.errors>0")
        await look.press("escape", "D", "enter")
        await _is_compared(look)
        assert look.body[2].split()[:2] == ["B", "2"]


def test_pairs() -> None:
    """Folders with traces of their own, older ones first; what failed; the slowest tenth of twenty or more."""
    build = Builder()
    assert pairs_of(store_of()) == pairs_of(store_of(build.span("a"))) == []
    files = {
        "runs/new/1.json": [build.span("a", trace=1, start=50), build.span("a", trace=2, start=60, status="ERROR")],
        "runs/old/x/2.json": [build.span("a", trace=3, start=0, parent=77)],
    }
    store = store_of_files({path: file_of(spans) for path, spans in files.items()})
    pairs = [(pair.a.what, [*pair.a.traces()], pair.b.what, [*pair.b.traces()]) for pair in pairs_of(store)]
    assert pairs == [("old", [2], "new", [0, 1]), ("without an error, same root", [0], "with an error", [1])]
    beside = store_of_files({path: file_of([build.span("a", trace=1)]) for path in ("runs/1.json", "runs/old/2.json")})
    assert pairs_of(beside) == []
    many = [build.span("a", trace=1 + number, duration=10 + number) for number in range(20)]
    assert pairs_of(store_of(*many[1:])) == []
    (pair,) = pairs_of(store_of(*many))
    assert (pair.a.what, pair.b.what) == ("all others", "the slowest tenth, 28 µs or more")
    assert [*pair.b.traces()] == [18, 19]


def test_pairs_are_of_the_same_roots() -> None:
    """What failed isn't compared with traces of other roots, nor the slowest tenth."""
    build = Builder()
    failed = [build.span("day", trace=number, status="ERROR" if number == 1 else "OK") for number in (1, 2)]
    store = store_of(*failed, *(build.span("made", trace=number) for number in (3, 4)))
    (pair,) = pairs_of(store)
    assert (pair.a.what, [*pair.a.traces()], [*pair.b.traces()]) == ("without an error, same root", [1], [0])
    assert pairs_of(store_of(failed[0], build.span("made", trace=5))) == []
    fast = [build.span("fast", trace=number, duration=1) for number in range(1, 19)]
    slow = [build.span("slow", trace=number, duration=10 + number) for number in (19, 20, 21)]
    (pair,) = pairs_of(store_of(*fast, *slow))
    assert (pair.a.what, [*pair.a.traces()], [*pair.b.traces()]) == ("all others, same root", [18], [19, 20])


async def test_runs_with_the_same_ids_are_in_no_pair() -> None:
    """Such a trace would be of both runs; it is said how these are compared."""
    build = Builder()
    runs = [build.span("a", trace=1, span=1, start=start, duration=5, status="ERROR") for start in (0, 9_000_000)]
    data = Growing()
    data.add(runs[0], build.span("a", trace=2, span=2, start=10), path="runs/before/1.json")
    data.add(runs[1], build.span("a", trace=3, span=3, start=9_000_010), path="runs/after/1.json")
    pairs = [(pair.a.what, [*pair.a.traces()], pair.b.what, [*pair.b.traces()]) for pair in pairs_of(data.store)]
    assert pairs == [("before", [1], "after", [2])]
    async with looking_at(data=data, size=(80, 24)) as look:
        await look.press("D")
        await look.until_shown("1 trace is likely several runs with the same ids", "spanview diff A B")


async def test_a_pair_is_chosen() -> None:
    """With nothing typed, arrows choose what Enter compares; what is typed counts instead, and has the arrows."""
    data = Growing()
    build = Builder()
    data.add(build.span("a", trace=1, start=0, duration=10), path="runs/before/1.json")
    data.add(build.span("a", trace=2, start=50, duration=30, status="ERROR"), path="runs/after/1.json")
    async with looking_at(data=data, size=(80, 24)) as look:
        await look.press("D")
        await look.until_shown("before → after", "without an error → with an error")
        await look.press("down", "enter")
        await _is_compared(look)
        assert look.body[1].rstrip().endswith("without an error")
        await look.press("escape", "D", "enter")
        await _is_compared(look)
        assert look.body[1].rstrip().endswith("before")
        assert look.body[2].rstrip().endswith("after")
        await look.press("escape", "D", "slash")
        await look.type("name=zz")
        await look.until_shown("0 of 2 traces")
        assert "before → after" not in look.text
        await look.press("enter")
        assert "no trace matches" in look.text
        await look.press("escape", "escape", "D", "slash")
        await look.type("na")
        await look.until_shown("›name")
        await look.press("ctrl+u")
        await look.until_shown("before → after")
        # Keys of the bar are keys where nothing is being typed.
        await look.press("escape", "t")
        assert look.is_on(StatsScreen)


async def test_all_traces_against_a_query() -> None:
    """Where all are listed and a query is typed, it divides them, and the older ones are A: no trace is in both."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("D")
        await look.until_shown("Enter compares what matches with the rest")
        await look.press("slash")
        await look.type("trace.errors>0")
        await look.press("enter")
        await _is_compared(look)
        a, b = _screen(look)._given
        # The failed one is the newest.
        assert (a.what, b.what) == ("not trace.errors>0", "trace.errors>0")
        errors = look.data.store.trace_table.error_count
        assert [*b.traces()] == [trace for trace, number in enumerate(errors) if number]
        assert [*a.traces()] == [trace for trace, number in enumerate(errors) if not number]
        assert look.body[1].rstrip().endswith("not trace.errors>0")
        await look.press("escape", "D", "slash")
        await look.type("trace.errors>=0")
        await look.press("enter")
        await look.until_shown("every trace matches: nothing left to compare with")


async def test_the_traces_that_match_while_spans_come() -> None:
    """Both sides take in what has come, each trace on one of them."""
    async with looking_at(*_documents(), size=(120, 40)) as look:
        await look.press("D", "slash")
        await look.type("trace.errors>0")
        await look.press("enter")
        await _is_compared(look)
        a, b = _screen(look)._given
        number = len(look.data.store.trace_table)
        await look.grow(
            Builder().span("new", trace=80, span=90, status="ERROR"), Builder().span("new", trace=81, span=91)
        )
        assert {number, number + 1} & {*b.traces()} == {number}
        assert {number, number + 1} & {*a.traces()} == {number + 1}
        await look.until(lambda: sum(side.traces for side in _sides(look)) == number + 2)


def _sides(look: Look) -> tuple[Any, Any]:
    model = _screen(look).rows.model
    assert model is not None
    return model.diff.a, model.diff.b


async def test_what_has_nothing_to_open() -> None:
    """Parents that no file holds, and spans without an end."""
    build = Builder()
    documents = [
        build.span("lost", trace=1, span=1, parent=70, start=0, duration=None),
        build.span("root", trace=2, span=2, start=5),
    ]
    async with looking_at(*documents, size=(80, 24)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        paths = _screen(look).rows.items
        for name, said in ((None, "these parents were not seen"), ("lost", "no span of this path has an end yet")):
            at = next(number for number, path in enumerate(paths) if path.name == name)
            _screen(look).rows.move_to(at)
            await look.press("enter")
            assert said in look.footer
            assert look.is_on(DiffScreen)


async def test_by_mouse() -> None:
    """A click on a column puts the paths in its order, a second one on a row opens it."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        heads = look.line_of("SELF A")
        for x, order in ((3, Order.A), (15, Order.CHANGE), (35, Order.B), (90, Order.TREE)):
            await look.pilot.click(offset=(x, heads))
            await look.until(partial(_has_order, look, order))
            assert look.lines[heads].count("▾") == 1
        assert "this order can't be reversed" not in look.footer
        await look.press("S")
        assert "this order can't be reversed" in look.footer
        before = _names(look)
        await look.press("s", "S")
        assert "the change of self time, smallest first" in look.footer
        assert {*_names(look)} == {*before}
        await look.pilot.click(offset=(5, heads + 1), times=2)
        await look.until(lambda: look.is_on(SpansScreen))


async def test_by_mouse_where_all_times_are() -> None:
    """The columns of P50 put the paths in its order; those of times that no order is of do nothing."""
    async with looking_at(*_documents(), size=(200, 50)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        heads = look.line_of("SELF A")
        for text, order in (
            ("TOTAL A", Order.CHANGE),
            ("ERRORS", Order.CHANGE),
            ("P50 B", Order.P50),
            ("P95 A", Order.P50),
            ("SELF B", Order.B),
            ("PATH", Order.TREE),
        ):
            await look.pilot.click(offset=(look.lines[heads].index(text), heads))
            await look.press()
            assert _has_order(look, order)
            assert look.lines[heads].count("▾") == 1


async def test_it_is_ended() -> None:
    """While it is being merged the header says how far it is; Esc ends it, and the thread too."""
    going, ended = threading.Event(), threading.Event()

    def slow(_store: Any, _traces: Any, tell: Any) -> Located:
        going.set()
        try:
            while True:
                tell(0.5)
                threading.Event().wait(0.001)
        finally:
            ended.set()

    async with looking_at(*_documents(), size=(100, 30)) as look:
        with patch.object(diff_screen, "located", slow):
            await look.press("d", "j", "d")
            await look.until(going.is_set)
            await look.until_shown("‹ comparison   merging … 15%")
            for key in ("s", "y", "enter", "j"):
                # One at a time: between keys that are pressed together, what is worked on is waited for.
                await look.press(key)
            assert look.is_on(DiffScreen)
            await look.press("escape")
            assert look.is_on(TracesScreen)
            await look.until(ended.is_set)


async def test_of_many_spans_they_are_looked_for_in_a_thread() -> None:
    """Where it would take long, the spans of a path come when they are found."""
    async with looking_at(*_documents(), size=(100, 30)) as look:
        await look.press("d", "j", "d")
        await _is_compared(look)
        with patch.object(diff_screen, "_MOST_SPANS_AT_ONCE", 0):
            await look.press("enter")
            await look.until(lambda: look.is_on(SpansScreen))


def test_what_can_be_compared_is_found_while_traces_come(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whenever one comes: between any two columns that are looked at."""
    build, ask = Builder(), pairs._columns
    first = range(1, 30)
    data = Growing(*(build.span("a", trace=one, duration=one, status="ERROR" if one < 5 else "OK") for one in first))
    data.add(*(build.span("a", trace=trace) for trace in range(30, 40)), path="other/1.json")

    def grown(*asked: Any) -> Any:
        columns = ask(*asked)
        data.add(build.span("a", trace=100 + len(data.store.trace_table)))
        return columns

    monkeypatch.setattr(pairs, "_columns", grown)
    found = pairs_of(data.store)
    assert [pair.a.what for pair in found] == ["spans", "without an error", "all others"]
    for pair in found:
        assert {*pair.a.traces()}.isdisjoint(pair.b.traces())
