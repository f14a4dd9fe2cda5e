"""Lanes as rows, and their screen.

file 1                     file 2
------                     ------
main    0 -  40            work   20 - 50   (child of call)
  call  5 -   6              step 30 - 60
last   90 - 100            work   80 - 85   an error (child of call)
"""

from __future__ import annotations

from array import array
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, file_of, store_of_files
from slow_lanes import shown_at
from spanview.analysis.lanes import lanes_in
from spanview.analysis.workers import Worker
from spanview.index.forest import forest_of
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.widgets.window import Window
from spanview.tui.workers import choosing_bulk, worker_bars
from spanview.tui.workers.choosing import NOBODY
from spanview.tui.workers.worker_bars import cells_of
from spanview.tui.workers.worker_lines import WorkerLines
from spanview.tui.workers.workers_model import Sort, WorkersModel, WorkersShape, key_of
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from spanview.analysis.lanes import Lane
    from spanview.index.store import Store
    from viewers import Look


def of_drawing() -> Growing:
    """Return what was read from both files."""
    build, data = Builder(), Growing()
    ray = {"ray.pid": "22", "ray.node_id": "ab" * 14, "ray.actor_class": "Act[or]", "ray.actor_id": "a1"}
    data.add(
        build.span("call ray.remote", span=2, parent=1, start=5, duration=1, kind="PRODUCER"),
        build.span("main", span=1, start=0, duration=40),
        build.span("last", trace=2, start=90, duration=10),
        path="spans/11.txt",
    )
    data.add(
        build.span("call ray.remote_worker", span=4, parent=2, start=20, duration=30, kind="CONSUMER", attributes=ray),
        build.span("step", span=5, parent=4, start=30, duration=30),
        build.span("call ray.remote_worker", span=6, parent=2, start=80, duration=5, kind="CONSUMER", status="ERROR"),
        path="spans/22.txt",
    )
    return data


# -- one line ----------------------------------------------------------------------------------------------------------


def lane_of(intervals: list[tuple[int, int]], names: str = "") -> tuple[Store, Lane]:
    """Return a lane of spans without parents, in microseconds."""
    build = Builder()
    spans = [
        build.span(name, start=start, duration=end - start)
        for (start, end), name in zip(intervals, names or "a" * len(intervals), strict=True)
    ]
    store = store_of_files({"1.txt": file_of(spans)})
    return store, lanes_in(forest_of(store)).lanes[0]


def drawn(intervals: list[tuple[int, int]], width: int, window: tuple[int, int], selected: int = NOBODY) -> str:
    """Return the glyphs of a lane."""
    _, lane = lane_of(intervals)
    start, end = window
    cells = cells_of(lane, Window(EPOCH_NS + 1000 * start, EPOCH_NS + 1000 * end), width, SAME, selected)
    return "".join(cells.glyphs)


SAME: Final = [0]
"""The one function of all spans with the one name."""
LINES: Final = [
    ([(0, 100)], "██████████"),
    ([(0, 50)], "█████     "),
    ([(5, 45)], "▐███▌     "),
    ([(0, 10), (20, 30), (90, 100)], "█ █      █"),
    ([(0, 2), (4, 6), (8, 10), (50, 51)], "▅    ▁    "),
    # Neither a gap nor a block is lost, however short.
    ([(0, 49), (50, 100)], "████▉█████"),
    ([(50, 50)], "     ▏    "),
    ([(100, 100)], "         ▏"),
]


@pytest.mark.parametrize(("intervals", "expected"), LINES)
def test_lines(intervals: list[tuple[int, int]], expected: str) -> None:
    """Blocks by eighths, density where they are narrower than a cell, and blanks for gaps."""
    assert drawn(intervals, 10, (0, 100)) == expected


def test_a_part_of_the_time() -> None:
    """What lies before or behind what is shown is told by an arrow; what reaches into it is cut."""
    assert drawn([(0, 100)], 4, (200, 300)) == "‹   "
    assert drawn([(400, 500)], 4, (200, 300)) == "   ›"
    assert drawn([(0, 250)], 4, (200, 300)) == "██  "


@settings(max_examples=300, deadline=None)
@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20)), min_size=1, max_size=25),
    st.tuples(st.integers(0, 40), st.integers(5, 60)),
    st.integers(1, 30),
)
def test_cells_are_what_runs(drawn_spans: list[tuple[int, int]], window: tuple[int, int], width: int) -> None:
    """A cell is full where all of it is covered, blank where nothing runs; it shows a block that runs in it."""
    intervals = [(start, start + length) for start, length in drawn_spans]
    store, lane = lane_of(intervals)
    begin, length = EPOCH_NS + 1000 * window[0], 1000 * window[1]
    cells = cells_of(lane, Window(begin, begin + length), width, SAME)
    assert len(cells.glyphs) == len(cells.places) == width
    if lane.end_ns < begin or lane.start_ns > begin + length:
        return
    times = [(store.spans.start_ns[row], store.spans.end_ns[row]) for row in lane.blocks.rows]
    for at in range(width):
        start, end = begin + at * length // width, begin + (at + 1) * length // width
        covered = shown_at(times, start, end)
        # What begins in the first eighth is drawn as beginning with the cell.
        assert covered < end - start or cells.glyphs[at] == "█"
        assert covered >= 0.8 * (end - start) or cells.glyphs[at] != "█"
        begins = any(start <= first < end + (at == width - 1) for first, _ in times)
        assert (cells.glyphs[at] == " ") == (not covered and not begins)
        assert (cells.places[at] == NOBODY) == (cells.glyphs[at] == " ")
        if cells.places[at] != NOBODY:
            first, last = times[cells.places[at]]
            assert first <= end
            assert last >= start


def test_the_one_that_takes_most_is_shown() -> None:
    """Of several in a cell the longest; where no function has half of it, the cell is of none of them."""
    _, lane = lane_of([(0, 1), (2, 8), (9, 10)])
    window = Window(EPOCH_NS, EPOCH_NS + 10_000)
    assert cells_of(lane, window, 1, SAME).places == [1]
    _, lane = lane_of([(0, 3), (3, 6), (6, 9)], "abc")
    assert cells_of(lane, window, 1, range(3)).mixed == [True]
    assert cells_of(lane, window, 1, [0] * 3).mixed == [False]


@given(
    st.lists(st.tuples(st.integers(0, 60), st.integers(0, 20), st.sampled_from("abcd")), min_size=1, max_size=60),
    st.tuples(st.integers(0, 40), st.integers(1, 60)),
    st.integers(1, 30),
)
def test_both_ways_show_the_same(drawn_spans: list[tuple[int, int, str]], window: tuple[int, int], width: int) -> None:
    """What is found for all cells of a lane with many blocks at once is what is found for one after the other."""
    spans = [((start, start + length), name) for start, length, name in drawn_spans]
    _, lane = lane_of([times for times, _ in spans], "".join(name for _, name in spans))
    shown = Window(EPOCH_NS + 1000 * window[0], EPOCH_NS + 1000 * sum(window))
    numbers = array("I", range(4))
    expected = cells_of(lane, shown, width, numbers)
    with (
        patch.object(worker_bars, "_FEWEST_AT_ONCE", 0),
        patch.object(choosing_bulk, "all_at_once", wraps=choosing_bulk.all_at_once) as called,
    ):
        assert cells_of(lane, shown, width, numbers) == expected
    assert called.called


def test_the_selected_one_is_shown_wherever_it_runs() -> None:
    """However many run at once."""
    _, lane = lane_of([(0, 100), (10, 90), (20, 30)])
    window = Window(EPOCH_NS, EPOCH_NS + 100_000)
    assert cells_of(lane, window, 10, SAME, 2).places.count(2) == 1
    assert cells_of(lane, window, 10, SAME, 0).places == [0] * 10


# -- rows --------------------------------------------------------------------------------------------------------------


def model_of(store: Store) -> WorkersModel:
    """Return the lanes of a store."""
    model = WorkersModel(store)
    model.take(WorkersShape.of(store, None, lambda _share: None))
    return model


def know(model: WorkersModel, workers: list[Worker]) -> None:
    """Tell who the lanes are."""
    lanes = model.shape.lanes
    model.know({key_of(lane): (worker, lane.spans) for lane, worker in zip(lanes, workers, strict=True)})


def test_orders() -> None:
    """By first start, busy time, longest gap, spans and node, what is most first."""
    build = Builder()
    files = {
        "1.txt": [build.span(start=5, duration=50)],
        "2.txt": [build.span(start=0, duration=1), build.span(start=90, duration=1)],
        "3.txt": [build.span(start=7, duration=5), *(build.span(start=9 + at, duration=1) for at in range(3))],
        "4.txt": [build.span(duration=None) | {"start_time": None}],
    }
    model = model_of(store_of_files({path: file_of(spans) for path, spans in files.items()}))
    orders = {}
    for by in Sort:
        model.sort(by)
        orders[by] = [*model.order]
    assert orders == {
        Sort.START: [1, 0, 2, 3],
        Sort.BUSY: [0, 2, 1, 3],
        Sort.GAP: [1, 0, 2, 3],
        Sort.SPANS: [2, 1, 0, 3],
        Sort.NODE: [0, 1, 2, 3],
    }
    know(model, [Worker(node="b"), Worker(node="a"), Worker(), Worker(node="a")])
    assert model.order == [1, 3, 0, 2]


def test_labels() -> None:
    """Node, pid and actor; a node's id is as short as tells it from the others."""
    build = Builder()
    paths = (
        "11.txt",
        "22.txt",
        "spans.json",
        "replica_app_Model_x6aahas8_tracing.json",
        "proxy_192.0.2.2_tracing.json",
    )
    services = ("unknown_service:python", "", "cart", "", "")
    files = {path: file_of([build.span(service=service)]) for path, service in zip(paths, services, strict=True)}
    model = model_of(store_of_files(files))
    assert [model.labels(at)[0] for at in range(len(paths))] == [
        "11",
        "22",
        "192.0.2.2 proxy",
        "app/Model x6aahas8",
        "cart spans",
    ]
    ids = ["abcdef" + "0" * 20, "abcdee" + "0" * 20]
    know(model, [Worker(pid="11", node=ids[0], actor="A"), Worker(pid="22", node=ids[1]), *[Worker()] * 3])
    assert model.labels(0) == ["abcdef 11 A", "11 A"]


def test_functions() -> None:
    """A function is one, submitted or run; the most frequent is the first."""
    model = model_of(of_drawing().store)
    assert model.legend() == [(0, "call"), (1, "last"), (2, "main")]
    lane = model.lane(1)
    assert {model.function_text(row) for row in lane.blocks.rows} == {"call"}


# -- the screen --------------------------------------------------------------------------------------------------------


def screen_of(look: Look) -> WorkersScreen:
    """Return the screen."""
    assert isinstance(look.screen, WorkersScreen)
    return look.screen


async def open_workers(look: Look, *keys: str) -> WorkerLines:
    """Open the lanes, and let it find out who they are."""
    await look.press(*keys, "L")
    await look.until(lambda: isinstance(look.screen, WorkersScreen) and look.screen.is_known)
    await look.pilot.pause()
    return look.screen.query_one(WorkerLines)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_by_keys(size: tuple[int, int]) -> None:
    """From block to block, from lane to lane at the same time, to errors, and into the trace."""
    async with looking_at(data=of_drawing(), size=size) as look:
        rows = await open_workers(look)
        assert "workers in 2 traces   2 workers   by first start" in look.header
        first, second = look.body[2:4]
        assert [word for word in first.split() if word.isdigit()][:2] == ["11", "3"]
        assert "22" in second
        assert "Act[or]" in second
        assert "main" in first
        block = look.lines[-2]
        assert "main   +0 µs   40 µs   the first here" in block
        assert "1 of 2" in block
        assert "busy 50.0% of 100 µs (50.0% of view)" in look.lines[-3]
        await look.press("right")
        assert "last   +90 µs   10 µs   idle 50 µs before" in look.lines[-2]
        await look.press("l")
        assert "this is the last block" in look.footer
        await look.press("j")
        # Its middle is at 95: what is nearest ended at 85.
        assert (rows.cursor, rows.block) == (1, 1)
        assert "waited 74 µs" in look.lines[-2]
        assert "idle 20 µs before" in look.lines[-2]
        assert "✖ call" in look.lines[-2]
        await look.press("h", "k")
        assert (rows.cursor, rows.block) == (0, 0)
        await look.press("e")
        assert "error 1 of 1" in look.footer
        assert (rows.cursor, rows.block) == (1, 1)
        await look.press("y")
        assert "copied the span id" in look.footer
        await look.press("enter")
        assert look.is_on(TraceScreen)
        await look.until(
            lambda: any("✖ ERROR" in line and "call ray.remote_worker" in line for line in look.lines) or size[1] < 30
        )
        await look.press("escape")
        assert look.is_on(WorkersScreen)
        await look.press("escape")
        await open_workers(look, "enter")
        assert "workers in last   1 worker" in look.header


async def test_zooming() -> None:
    """Less time, another part of it, a block alone, all again; a block out of sight is brought into it."""
    async with looking_at(data=of_drawing(), size=(100, 30)) as look:
        await open_workers(look)
        model = screen_of(look).zoom.zoomable
        await look.press("right", "f")

        def shown() -> tuple[int, int]:
            times = (model.shown.start_ns, model.shown.end_ns)
            return round((times[0] - EPOCH_NS) / 1000), round((times[1] - EPOCH_NS) / 1000)

        assert shown() == (89, 100)
        assert "from +89" in look.footer
        assert "‹" in look.body[3]
        await look.press("left")
        # From 14.5 to 25.5 µs.
        assert shown() == (14, 26)
        assert "main" in look.body[2]
        await look.press("0")
        assert "the whole time" in look.footer
        assert model.window is None
        await look.press("plus")
        assert shown() == (8, 68)
        await look.press("greater_than_sign")
        assert shown() == (23, 83)


async def test_by_mouse() -> None:
    """A click selects a block, in a gap the one behind it, a second one opens it; the minimap picks a time."""
    async with looking_at(data=of_drawing(), size=(100, 30)) as look:
        rows = await open_workers(look)
        left = look.body[2].index("▏main")
        width = 99 - left
        await look.pilot.click(offset=(left + round(width * 0.6), 4))
        await look.until(lambda: rows.block == 1)
        await look.pilot.click(offset=(left + 3, 4))
        await look.until(lambda: rows.block == 0)
        await look.pilot.click(offset=(left + round(width * 0.82), 5))
        await look.until(lambda: (rows.cursor, rows.block) == (1, 1))
        await look.pilot.click(offset=(5, 4))
        await look.until(lambda: rows.cursor == 0)
        await look.pilot.mouse_down(offset=(10, 2))
        await look.pilot.mouse_up(offset=(20, 2))
        await look.until(lambda: screen_of(look).zoom.zoomable.window is not None)
        await look.press("0")
        await look.pilot.click(offset=(left + 3, 4))
        await look.pilot.click(offset=(left + 3, 4))
        await look.until(lambda: look.is_on(TraceScreen))


async def test_sorting_stays_on_the_lane() -> None:
    """The cursor goes along with its lane, and the block stays selected."""
    async with looking_at(data=of_drawing(), size=(100, 30)) as look:
        rows = await open_workers(look)
        await look.press("down", "h", "s", "s", "s")
        assert "sorted by spans" in look.footer
        assert (screen_of(look)._model.order[rows.cursor], rows.block) == (1, 0)
        await look.press("s")
        # The node of one of them is known, and stands first.
        assert (screen_of(look)._model.order, rows.cursor, rows.block) == ([1, 0], 0, 0)


async def test_what_is_listed_counts() -> None:
    """A filter and a group say which traces count."""
    async with looking_at(data=of_drawing(), size=(100, 30)) as look:
        await look.press("slash")
        await look.type("last")
        await look.until_shown("1 of 2 traces")
        await look.press("enter")
        await open_workers(look)
        assert "workers in 1 trace   1 worker" in look.header
        await look.press("escape", "escape", "r")
        await look.until_shown("P95")
        await open_workers(look)
        assert "workers in 1 trace of " in look.header


async def test_nothing_to_show() -> None:
    """Without spans, or without a start, each key says so."""
    build = Builder()
    async with looking_at(build.span(duration=None) | {"start_time": None}, size=(100, 30)) as look:
        await open_workers(look)
        assert "no span of this worker has a start" in look.lines[-2]
        for key, said in (
            ("right", "has no block"),
            ("f", "no time to show"),
            ("e", "no error"),
            ("enter", "nothing to open"),
            ("y", "nothing to copy"),
        ):
            await look.press(key)
            assert said in look.footer
        await look.press("escape", "slash")
        await look.type("zzz")
        await look.until_shown("no trace matches")
        await look.press("enter", "L")
        await look.until(lambda: "0 workers" in look.header)
        await look.press("down", "right", "e", "f", "s", "plus", "G", "enter")
        assert look.is_on(WorkersScreen)


async def test_hostile_names() -> None:
    """What a terminal or markup would act on is shown, not done."""
    build = Builder()
    bad = "\x1b[31m[red]x\u202e"
    attributes = {"ray.pid": bad, "ray.node_id": bad, "ray.actor_class": bad, "ray.actor_id": bad}
    data = Growing()
    data.add(build.span(bad, kind="CONSUMER", attributes=attributes), path=f"spans/{bad}.json")
    async with looking_at(data=data, size=(200, 30)) as look:
        await open_workers(look)
        assert "\x1b" not in look.text
        assert "\u202e" not in look.text
        assert "[red]x" in look.body[2]
        assert "[red]x" in look.lines[-2]


async def test_blocks_of_generators() -> None:
    """Their ends aren't known, and a lane that has some isn't known to be idle beside them."""
    build, data = Builder(), Growing()
    name = "ray.data._internal.x._map_task ray.remote_worker"
    data.add(build.span(name, start=0, duration=2, kind="CONSUMER"), build.span("b", start=8), path="spans/1.txt")
    async with looking_at(data=data, size=(120, 24)) as look:
        await look.press("L")
        await look.until_shown("busy", "without generators", "a generator: end not known")
        await look.until_shown("longest gap at most 6 µs", "≤ 6 µs")


async def test_calls_that_are_no_blocks() -> None:
    """Those that tracing leaves out run all the same, and it is said how many there are."""
    build, data = Builder(), Growing()
    for number in (1, 2):
        call = build.span(
            "MapWorker(MapBatches(x.M)).submit ray.remote",
            trace=number,
            kind="PRODUCER",
            attributes={"ray.remote": "actor", "ray.actor_id": "a"},
        )
        data.add(call, path="spans/1.txt")
    async with looking_at(data=data, size=(120, 24)) as look:
        await look.press("L")
        await look.until(lambda: "1 worker, 2 untraced calls" in look.header)
