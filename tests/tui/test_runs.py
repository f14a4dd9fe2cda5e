"""Runs of like siblings, one row each, and how much is looked at to show a long trace.

root
  leaf        × 12, one failed: folded
  other
  leaf        × 9: too few
"""

from __future__ import annotations

import random
from array import array
from operator import attrgetter
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Builder, store_of
from span_graphs import graphs
from spanview.analysis.intervals import Timed
from spanview.analysis.selftime import self_time, self_times
from spanview.analysis.window import Window
from spanview.display.cells import fitting
from spanview.index.tree import TraceTree
from spanview.model.codes import ERROR
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.row_texts import in_short, indent_of, lines_of_run
from spanview.tui.trace.runs import FEWEST_IN_RUN, marked
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.stitcher import Stitcher
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces.traces_screen import TracesScreen
from viewers import Growing, Look, looking_at, many_spans

if TYPE_CHECKING:
    from builders import Document

MANY: Final = 20_000


def _documents(build: Builder) -> list[Document]:
    return [
        build.span("root", span=1, start=0, duration=100),
        *[
            build.span("leaf", span=10 + at, parent=1, start=at, duration=at + 1, status="ERROR" if at == 4 else "OK")
            for at in range(12)
        ],
        build.span("below", span=30, parent=13, start=5),
        build.span("other", span=31, parent=1, start=20),
        *[build.span("leaf", span=40 + at, parent=1, start=40 + at) for at in range(9)],
    ]


def _rows(look: Look) -> list[str]:
    """Return the rows of the trace, without bars."""
    rows = look.screen.query_one(Waterfall)
    return [rows.segments_of(row, rows.line_width)[1].text.strip() for row in range(rows.row_count)]


def _name_here(look: Look) -> str:
    rows, store = look.screen.query_one(Waterfall), look.data.store
    assert rows.node is not None
    return store.names.texts[store.spans.name[rows.model.tree.rows[rows.node]]]


async def test_runs_are_folded_from_the_start() -> None:
    """One row with their number, errors and times; → opens it, R shows all, and folds them again."""
    async with looking_at(*_documents(Builder()), size=(140, 40)) as look:
        await look.press("enter")
        assert _rows(look) == ["root", "leaf", "other", *["leaf"] * 9]
        row = look.lines[look.line_of("▸ leaf")]
        assert "×12 ✖1 +1 max 12 µs p95 12 µs" in row
        assert "p50 6 µs" in row
        assert any(shade in row for shade in "░▒▓█")
        assert row.count("✖") == 2
        await look.press("down", "right")
        assert _rows(look)[:7] == ["root", "leaf", "leaf", "leaf", "leaf", "below", "leaf"]
        assert len(_rows(look)) == 24
        await look.press("R")
        assert "one row per sibling" in look.footer
        await look.press("R")
        assert len(_rows(look)) == 12
        await look.press("enter")
        assert look.is_on(TraceScreen)
        assert len(_rows(look)) == 24


async def test_a_run_is_no_span_to_copy() -> None:
    """Neither its id nor its JSON: the footer says what to do, and the clipboard stays as it is."""
    async with looking_at(*_documents(Builder()), size=(140, 40)) as look:
        await look.press("enter", "down", "y")
        assert "these are similar siblings, → expands them: nothing to copy" in look.footer
        await look.press("up", "y", "down", "Y")
        assert "these are similar siblings" in look.footer
        assert look.app.clipboard == f"{1:016x}"


async def test_a_click_on_the_arrow_opens_a_run() -> None:
    """As one on the arrow of a collapsed span does."""
    async with looking_at(*_documents(Builder()), size=(140, 40)) as look:
        await look.press("enter")
        y, x = look.line_of("▸ leaf"), look.lines[look.line_of("▸ leaf")].index("▸")
        await look.pilot.click(Waterfall, offset=(x, y - look.screen.query_one(Waterfall).region.y))
        assert len(_rows(look)) == 24


@pytest.mark.parametrize(
    ("gap", "length", "last", "expected"),
    [
        (10, 8, 8, "12 of this name and kind, one after the other"),
        (10, 10, 10, "12 of this name and kind, one after the other"),
        (10, 0, 0, "12 of this name and kind, one after the other"),
        (10, 11, 5, "12 of this name and kind, up to 2 at once"),
        (10, 25, 5, "12 of this name and kind, up to 3 at once"),
        (0, 5, 5, "12 of this name and kind, up to 12 at once"),
        (0, 0, 0, "12 of this name and kind, up to 12 at once"),
        (10, -3, -3, "12 of this name and kind, one after the other"),
        (10, 8, None, "12 of this name and kind"),
    ],
)
def test_one_after_the_other_is_what_does_not_overlap(gap: int, length: int, last: int | None, expected: str) -> None:
    """Siblings that touch don't overlap; where one has no end, nobody knows."""
    build = Builder()
    lengths = [*[length] * 11, last]
    spans = [build.span("leaf", parent=99, start=at * gap, duration=lasts) for at, lasts in enumerate(lengths)]
    model = TraceModel(store_of(*spans), 0)
    (run,) = model.stitched.runs
    assert lines_of_run(run, 0)[0] == ("siblings", expected)


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(-3, 9)), min_size=10, max_size=14))
def test_the_most_that_run_at_once(times: list[tuple[int, int]]) -> None:
    """It is the greatest number of siblings in one of twice as many moments as there are microseconds."""
    build = Builder()
    spans = [build.span("leaf", parent=99, start=start, duration=length) for start, length in times]
    (run,) = TraceModel(store_of(*spans), 0).stitched.runs
    ends = [(start, max(start, start + length)) for start, length in times]
    moments = [half / 2 for half in range(80)]
    counts = [sum(start <= time < end or start == time == end for start, end in ends) for time in moments]
    assert run.most_at_once == max(counts)


async def test_details_of_a_run(monkeypatch: pytest.MonkeyPatch) -> None:
    """All figures stand in the details of the row that is selected."""
    monkeypatch.setattr("spanview.tui.trace.details_below._CURSOR_RESTS_S", 0.001)
    async with looking_at(*_documents(Builder()), size=(140, 40)) as look:
        await look.press("enter", "down")
        await look.until_shown("leaf ×12   ✖ 1 error   INTERNAL", "p95    ", "total       78 µs", "errors      ✖ 1")
        await look.press("up")
        await look.until_shown("root   INTERNAL   100 µs")
        await look.press("down", "right")
        await look.until_shown("leaf   OK   INTERNAL   1 µs")
        await look.press("R", "R")
        await look.until_shown("leaf ×12   ✖ 1 error   INTERNAL")


WAYS: Final = [
    (("e",), "error 1 of 1"),
    (("w",), "span of this name 1 of 21"),
    (("slash", *"below", "enter"), "match 1 of 1"),
]


@pytest.mark.parametrize(("keys", "said"), WAYS)
async def test_what_is_gone_to_unfolds_its_run(keys: tuple[str, ...], said: str) -> None:
    """Just that run, and only where what is gone to lies in one."""
    more = [Builder().span("more", span=60 + at, parent=31, start=21) for at in range(12)]
    async with looking_at(*_documents(Builder()), *more, size=(140, 40)) as look:
        await look.press("enter", "down", *keys)
        await look.until(lambda: said in look.footer)
        assert _rows(look).count("leaf") == 21
        assert _rows(look).count("more") == 1


async def test_a_span_in_a_run_is_opened_at() -> None:
    """A link to a span that a run hides shows that span."""
    async with looking_at(*_documents(Builder()), size=(140, 40)) as look:
        row = next(row for row, span in enumerate(look.data.store.spans.span_id) if span == 15)
        await look.app.views.open_trace(0, at_row=row)
        await look.until(lambda: len(_rows(look)) == 24)
        assert _name_here(look) == "leaf"
        rows = look.screen.query_one(Waterfall)
        assert rows.model.tree.span_id(rows.node or 0) == 15


async def test_a_run_grows_in_place() -> None:
    """Earlier and later siblings join it; the cursor stays on its row, and on a sibling whose run has become one."""
    build = Builder()
    async with looking_at(*_documents(build), size=(140, 40)) as look:
        await look.press("enter", "down")
        await look.grow(*[build.span("leaf", parent=1, start=-1 - at) for at in range(3)])
        assert "×15" in look.lines[look.line_of("▸ leaf")]
        rows = look.screen.query_one(Waterfall)
        assert (rows.cursor, _name_here(look)) == (1, "leaf")
        await look.press("down", "down", "down")
        place = rows.model.rows[rows.cursor]
        assert place[1] == 1
        key = rows.model.stitched.key(place[0])
        await look.grow(build.span("leaf", parent=1, start=60))
        assert rows.row_count == 13
        assert rows.model.stitched.key(rows.model.rows[rows.cursor][0]) == key
        await look.press("g")
        await look.grow(*[build.span("third", span=90 + at, parent=1, start=70 + at) for at in range(9)])
        await look.grow(build.span("third", parent=1, start=80))
        assert _rows(look).count("third") == 1


async def test_errors_are_told_of_what_is_collapsed() -> None:
    """A collapsed row says how many spans it hides, and how many of them failed; in a run, too."""
    async with looking_at(*_documents(Builder()), size=(80, 24)) as look:
        await look.press("enter", "left")
        assert "+23 ✖1" in look.text


def test_marks_leave_room_for_names() -> None:
    """Numbers grow short before a name does."""
    assert [in_short(number) for number in (7, 999, 1_250, 98_765, 4_199_999)] == ["7", "999", "1.2k", "98k", "4.1M"]
    assert fitting(["+100,000 ✖12,345", "+100k ✖12k"], 12) == "+100k ✖12k"
    assert fitting(["a", "b"], 0) == "b"
    assert all(len(indent_of(depth, width)) <= max(8, width // 2) for depth in range(400) for width in range(24, 73))


# -- any tree ----------------------------------------------------------------------------------------------------------


def _runs_of(model: TraceModel, siblings: list[int], data: Growing) -> list[list[int]]:
    """Return runs of like siblings, the simple way."""
    spans, tree, runs = data.store.spans, model.tree, list[list[int]]()
    before: Any = None
    for node in siblings:
        like = None if tree.is_missing(node) else (spans.name[tree.rows[node]], spans.kind[tree.rows[node]])
        if like is None or like != before:
            runs.append([])
        runs[-1].append(node)
        before = like
    return [run for run in runs if len(run) >= FEWEST_IN_RUN]


class _Simple:
    """Which nodes are in sight, found out node by node."""

    def __init__(self, model: TraceModel, data: Growing) -> None:
        self.model, self.data = model, data
        self.closed: set[int] = set()
        self.unfolded: set[int] = set()
        self.folds = True

    def rows(self) -> list[tuple[int, int]]:
        """Return nodes and depths, from the top."""
        return self._among(self.model.tree.roots, 0)

    def _among(self, siblings: list[int], depth: int) -> list[tuple[int, int]]:
        runs = _runs_of(self.model, siblings, self.data) if self.folds else []
        folded = [run for run in runs if run[0] not in self.unfolded]
        firsts, others = {run[0] for run in folded}, {node for run in folded for node in run[1:]}
        found = []
        for node in siblings:
            if node not in others:
                found.append((node, depth))
                if node not in self.closed | firsts:
                    found += self._among(self.model.tree.children(node), depth + 1)
        return found

    def do(self, step: str, number: int) -> None:
        """Do one step with the model, and the same here."""
        model, tree = self.model, self.model.tree
        row = number % len(model.rows)
        node, run = model.rows[row][0], model.run(model.rows[row][0])
        if step == "[":
            model.collapse_all()
            self.closed = {each for each in range(len(tree)) if tree.children(each)}
        elif step == "]":
            model.expand_all()
            self.closed = set()
        elif step == "R":
            self.folds, self.unfolded = model.toggle_folds(), set()
        elif step == "-" and model.collapse(row):
            self.closed.add(node)
        elif step == "+" and model.expand(row):
            (self.unfolded.add if run else self.closed.discard)(run.members[0] if run else node)
        elif step == "r":
            self.reveal(number % len(tree))

    def reveal(self, node: int) -> None:
        """Bring a node into sight."""
        row = self.model.reveal(node)
        assert self.model.rows[row][0] == node
        above = [*self.model.stitched.with_those_above(node)]
        self.closed -= {*above[1:]}
        if self.folds:
            self.unfolded |= {run.members[0] for run in map(self.model.stitched.run_of.get, above) if run}


@given(st.integers(0, 10_000), st.lists(st.tuples(st.sampled_from("[]Rr+-"), st.integers(0, 200)), max_size=14))
def test_any_tree_is_folded_as_the_simple_way_does(seed: int, steps: list[tuple[str, int]]) -> None:
    """Whatever is pressed: the same rows as finding out node by node gives, and every count right."""
    dice, build = random.Random(seed), Builder()
    documents = [build.span("root", span=1, start=0)]
    for number in range(2, 90):
        parent = dice.choice((1, 1, dice.randint(max(1, number - 12), number - 1), 500 + number % 3))
        name, status = dice.choice("aaaaaaab"), dice.choice(("OK", "OK", "ERROR"))
        documents.append(build.span(name, span=number, parent=parent, start=number, status=status))
    data = Growing(*documents)
    model = TraceModel(data.store, 0)
    simple = _Simple(model, data)
    assert [*model.rows] == simple.rows()
    for step, number in steps:
        simple.do(step, number)
        assert [*model.rows] == simple.rows()
    statuses = data.store.spans.status
    for node in range(len(model.tree)):
        below = [each for each in range(len(model.tree)) if node in [*model.stitched.with_those_above(each)][1:]]
        assert model.below(node) == len(below)
        rows = [model.tree.rows[each] for each in below if not model.tree.is_missing(each)]
        assert model.errors_below(node) == sum(statuses[row] == ERROR for row in rows)


@given(graphs(most=20))
def test_self_time_of_one_span(documents: list[Document]) -> None:
    """Of one node it is what it is when that of all is found out."""
    store = store_of(*documents)
    for trace in range(len(store.trace_table)):
        tree = store.tree(trace)
        assert [self_time(tree, store.spans, node) for node in range(len(tree))] == self_times(tree, store.spans)


@given(
    st.lists(st.tuples(st.integers(-50, 150), st.integers(0, 60)), max_size=12), st.integers(1, 90), st.integers(1, 40)
)
def test_any_profile(pairs: list[tuple[int, int]], length: int, width: int) -> None:
    """How many spans touch each part, as counting them one by one gives."""
    window = Window(0, length)
    timed = Timed(
        array("q", sorted(start for start, _ in pairs)), array("q", sorted(start + lasts for start, lasts in pairs))
    )
    expected = []
    for part in range(width):
        # The last part has the window's end, too.
        inside = [ns for ns in range(length + 1) if min(width - 1, ns * width // length) == part]
        counted = [
            (start, lasts) for start, lasts in pairs if inside and start <= inside[-1] and start + lasts >= inside[0]
        ]
        expected.append(len(counted) if inside else None)
    profile = timed.profile(window, width)
    assert [number for number, known in zip(profile, expected, strict=True) if known is not None] == [
        known for known in expected if known is not None
    ]


def test_marks_are_thinned_out() -> None:
    """Few marks stay all; of many, one in four at the most, where there is most."""
    assert marked([0, 1, 0, 0, 2, 0, 0, 0]) == [False, True, False, False, True, False, False, False]
    assert marked([1, 1, 3, 1, 1, 0]) == [False, False, True, False, True, False]
    assert marked([]) == []


# -- how much is looked at ---------------------------------------------------------------------------------------------


def long_trace(count: int, *, is_deep: bool = False, services: tuple[str, ...] = ("service",)) -> Growing:
    """Return a trace of like siblings below one parent, or of a chain, whose spans come from services in turn."""
    return many_spans(
        [1] * count,
        range(count) if is_deep else [0, *[1] * (count - 1)],
        ["root", *["leaf"] * (count - 1)],
        [services[number % len(services)] for number in range(1, count + 1)],
    )


@pytest.fixture
def stitched(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list into which the spans of every tree that is stitched come, by their number."""
    counts: list[int] = []
    stitch = TraceTree._find_parents

    def find_parents(self: TraceTree, order: Any) -> list[int]:
        counts.append(len(self.rows))
        return stitch(self, order)

    monkeypatch.setattr(TraceTree, "_find_parents", find_parents)
    return counts


@pytest.mark.parametrize("is_deep", [False, True])
async def test_no_key_stitches_a_trace_again(stitched: list[int], *, is_deep: bool) -> None:
    """A long trace begins with its root, comes whole from a thread, and no key asks for more than its rows."""
    async with looking_at(data=long_trace(MANY, is_deep=is_deep)) as look:
        await look.press("enter")
        rows = look.screen.query_one(Waterfall)
        await look.until(lambda: rows.row_count == (MANY if is_deep else 2))
        assert stitched == [1, MANY]
        keys = ("]", "R", "[", "l", "R", "w", "W", "G", "g", "+", "f", "0", "1", "1", "C", "C", "C", "C", "p", "e")
        await look.press(*keys)
        assert stitched == [1, MANY]


async def test_keys_wait_for_the_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is pressed before a long trace is there acts on all of it; Esc doesn't wait."""
    data = long_trace(MANY)
    async with looking_at(data=data) as look:
        await look.send("enter", "R", "G")
        await look.until(lambda: look.is_on(TraceScreen) and look.screen.query_one(Waterfall).row_count == MANY)
        await look.until(lambda: look.screen.query_one(Waterfall).cursor == MANY - 1)
        await look.press("enter")
        assert look.is_on(SpanScreen)
        await look.press("escape", "escape")
        monkeypatch.setattr(Stitcher, "stitch", lambda _: None)
        await look.press("enter", "G")
        assert "stitching" in look.header
        assert look.screen.query_one(Waterfall).row_count == 1
        await look.press("escape")
        assert look.is_on(TracesScreen)


async def test_what_is_copied_waits_for_the_rows() -> None:
    """The text of a long trace has its rows, however early the key was pressed."""
    async with looking_at(data=long_trace(MANY)) as look:
        await look.send("enter", "R", "V")
        await look.until(lambda: bool(look.app.clipboard))
        lines = look.app.clipboard.splitlines()
        assert sum(line.startswith("│   leaf") for line in lines) == 149
        assert lines[-2] == f"… {MANY - 150:,} more spans: not drawn"


async def test_what_a_long_trace_is_shown_with(monkeypatch: pytest.MonkeyPatch) -> None:
    """What colours stand for is shown once there are several, and self times are found out for whatever is there."""
    monkeypatch.setattr("spanview.tui.trace.appearance.Appearance.find_beforehand", lambda *_: None)
    async with looking_at(data=long_trace(MANY, services=("one", "two")), size=(140, 40)) as look:
        await look.send("enter", "1")
        await look.until_shown("▸ leaf", "■ one", "■ two")
        await look.until_shown("SELF", "1 µs")
        assert "…  " not in look.lines[look.line_of("▾ root")]


async def test_a_long_trace_grows_behind_the_screen(stitched: list[int]) -> None:
    """What comes while it is stitched is stitched with the next; the screen has all of it in the end."""
    data = long_trace(MANY)
    async with looking_at(data=data) as look:
        await look.press("enter")
        rows = look.screen.query_one(Waterfall)
        await look.until(lambda: rows.row_count == 2)
        await look.press("down")
        build = Builder()
        for number in range(5):
            late = build.span("leaf", span=MANY + 1 + number, parent=1, start=MANY + number)
            await look.grow(late, path="spans/2.json")
        await look.until(lambda: len(rows.model.tree) == MANY + 5)
        assert rows.row_count == 2
        assert rows.cursor == 1
        assert f"×{MANY + 4:,}" in look.text
        assert len(stitched) <= 6


async def test_painting_looks_at_what_is_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """One repaint of a run of thousands asks for the times of none of them."""
    async with looking_at(data=long_trace(MANY)) as look:
        await look.press("enter")
        rows = look.screen.query_one(Waterfall)
        await look.until(lambda: rows.row_count == 2)
        asked: list[int] = []
        interval = StitchedTrace.interval

        def noted(self: StitchedTrace, node: int) -> tuple[int, int] | None:
            asked.append(node)
            return interval(self, node)

        monkeypatch.setattr(StitchedTrace, "interval", noted)
        await look.press("plus", "0")
        assert len(asked) <= 8


async def test_the_median_stands_apart() -> None:
    """However much is said before it of like siblings."""
    build, name = Builder(), "a name as long as the line has room, and longer than that by far " * 2
    leaves = [build.span(name, span=10 + at, parent=1, start=at, duration=1_000 + at) for at in range(20)]
    for width in (80, 120, 200):
        async with looking_at(build.span("root", span=1, duration=9_000), *leaves, size=(width, 24)) as look:
            await look.press("enter")
            await look.until_shown("×20")
            row = next(line for line in look.lines if "×20" in line)
            assert " p50 " in row or " 1.01 ms" in row
            rows = look.screen.query_one(Waterfall)
            width_of = {sum(map(attrgetter("cell_length"), rows.segments_of(at, rows.line_width))) for at in (0, 1)}
            assert width_of == {rows.line_width}


async def test_deep_names_stay_readable() -> None:
    """At the smallest size, however deep: the depth as a number, and the name."""
    build = Builder()
    chain = [build.span(f"step number {at:03d}", span=at + 1, parent=at or None, start=at) for at in range(301)]
    async with looking_at(*chain, size=(80, 24)) as look:
        await look.press("enter")
        for _ in range(3):
            await look.press(*["pagedown"] * 5)
            names = [line for line in look.lines[4:-1] if "step" in line]
            assert len(names) > 15
            assert all("step number" in line for line in names)
        await look.press("G", "left")
        assert "300│" in look.text
