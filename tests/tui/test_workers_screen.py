"""Lanes as rows, and their screen.

file 1                     file 2
------                     ------
main    0 -  40            work   20 - 50   (child of call)
  call  5 -   6              step 30 - 60
last   90 - 100            work   80 - 85   an error (child of call)
"""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import EPOCH_NS, Builder, file_of, store_of_files
from slow_lanes import shown_at
from spanview.analysis.ray.lanes import lanes_in
from spanview.analysis.ray.running import RunsNow
from spanview.analysis.window import Window
from spanview.index.forest import forest_of
from spanview.reports.workers import workers_table
from spanview.reports.workers_model import Heading, Identities, Sort, WorkersModel, WorkersShape
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.widgets.header import Said
from spanview.tui.widgets.legend import Legend
from spanview.tui.workers.worker_bars import NOBODY, cells_of, hatch_from, hatch_until, shown_blocks
from spanview.tui.workers.worker_lines import WorkerHeads, WorkerLines
from spanview.tui.workers.workers_screen import WorkersScreen
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document
    from spanview.analysis.ray.lanes import Blocks, Lane
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
def test_the_blocks_of_all_cells(drawn_spans: list[tuple[int, int, str]], window: tuple[int, int], width: int) -> None:
    """They are what looking at one cell after the other gives."""
    spans = [((start, start + length), name) for start, length, name in drawn_spans]
    _, lane = lane_of([times for times, _ in spans], "".join(name for _, name in spans))
    begin, length = (1000 * ns for ns in window)
    edges = [EPOCH_NS + begin + cell * length // width for cell in range(width + 1)]
    shown, starts = shown_blocks(lane.blocks, edges, range(4)), [*lane.blocks.starts]
    for cell, (start, end) in enumerate(pairwise(edges)):
        began = [place for place, ns in enumerate(starts) if start <= ns < end + (cell == width - 1)]
        running = running_at(lane.blocks, start)
        assert (shown.started[cell + 1] - shown.started[cell], shown.running[cell]) == (len(began), running)
        if began:
            looked_at = [*([running] if running != NOBODY else []), *began[:: len(began) // 5 or 1]]
            assert shown.longest[cell] == longest_of(lane.blocks, looked_at, start, end)


def running_at(blocks: Blocks, ns: int) -> int:
    """Return the block that runs on at a time: the last that started before, else the last of those that end last."""
    before = [place for place, start in enumerate(blocks.starts) if start < ns]
    running = [place for place in before if blocks.ends[place] > ns]
    if not running or running[-1] == before[-1]:
        return running[-1] if running else NOBODY
    return max(before, key=lambda place: (blocks.ends[place], place))


def longest_of(blocks: Blocks, places: list[int], start: int, end: int) -> int:
    """Return the block that takes most of a cell, if a function takes half of what is taken."""
    taken, of_functions = list[int](), Counter[int]()
    for place in places:
        taken.append(min(blocks.ends[place], end) - max(blocks.starts[place], start))
        of_functions[blocks.names[place]] += taken[-1]
    return NOBODY if 2 * max(of_functions.values()) < sum(taken) else places[taken.index(max(taken))]


def test_the_selected_one_is_shown_wherever_it_runs() -> None:
    """However many run at once."""
    _, lane = lane_of([(0, 100), (10, 90), (20, 30)])
    window = Window(EPOCH_NS, EPOCH_NS + 100_000)
    assert cells_of(lane, window, 10, SAME, 2).places.count(2) == 1
    assert cells_of(lane, window, 10, SAME, 0).places == [0] * 10


# -- rows --------------------------------------------------------------------------------------------------------------


def model_of(store: Store) -> WorkersModel:
    """Return the workers of a store."""
    model = WorkersModel(store)
    model.take(WorkersShape.of(store, Identities(store), None, lambda _share: None))
    return model


def ran(build: Builder, *, start: int, duration: int = 1, **attributes: str) -> Document:
    """Return a task or a method that a worker of Ray has run."""
    names = {f"ray.{name}": value for name, value in attributes.items()}
    return build.span(
        f"{attributes.get('actor_class', '__main__')}.f ray.remote_worker",
        start=start,
        duration=duration,
        kind="CONSUMER",
        attributes={"ray.remote": "function", **names},
    )


def test_orders() -> None:
    """By first start, name, and figures, what is most first; and the other way round."""
    build = Builder()
    files = {
        "1.txt": [build.span(start=5, duration=50)],
        "10.txt": [build.span(start=0, duration=1, status="ERROR"), build.span(start=90, duration=1)],
        "2.txt": [build.span(start=7, duration=5), *(build.span(start=9 + at, duration=1) for at in range(3))],
        "3.txt": [build.span(duration=None) | {"start_time": None}],
    }
    model = model_of(store_of_files({path: file_of(spans) for path, spans in files.items()}))
    orders = {}
    for by in Sort:
        model.sort(by)
        orders[by] = [model.labels(index)[0] for index in model.order]
    assert orders == {
        Sort.START: ["10", "1", "2", "3"],
        Sort.NAME: ["1", "2", "3", "10"],
        Sort.SPANS: ["2", "10", "1", "3"],
        Sort.ERRORS: ["10", "1", "2", "3"],
        Sort.BUSY: ["1", "2", "10", "3"],
        Sort.GAP: ["10", "1", "2", "3"],
    }
    model.sort(Sort.NAME, is_reversed=True)
    assert [model.labels(index)[0] for index in model.order] == ["10", "3", "2", "1"]


def test_a_driver_is_not_busy_while_it_waits() -> None:
    """The spans of a driver that calls wait for its calls, too: it comes last, in either order; another is busy."""
    build, calls = Builder(), {"ray.worker_id": "01000000" + "f" * 48}
    files = {
        "1.txt": [
            build.span("main", span=1, start=0, duration=90, attributes=calls),
            build.span("f ray.remote", parent=1, duration=1, kind="PRODUCER", attributes=calls),
        ],
        "2.txt": [ran(build, start=1, duration=20)],
        "3.txt": [ran(build, start=1, duration=40)],
        "4.txt": [build.span("main", duration=80, attributes={"ray.worker_id": "02000000" + "f" * 48})],
    }
    model = model_of(store_of_files({path: file_of(spans) for path, spans in files.items()}))
    figure = next(column for column in workers_table(model).columns if column.head == "BUSY")
    for is_reversed, order in ((False, "4321"), (True, "2341")):
        model.sort(Sort.BUSY, is_reversed=is_reversed)
        assert "".join(model.labels(index)[0][-1] for index in model.order) == order
    assert [figure.text(index) for index in model.order] == ["22%", "44%", "89%", "–"]
    only_calls = files | {"1.txt": files["1.txt"][1:]}
    model = model_of(store_of_files({path: file_of(spans) for path, spans in only_calls.items()}))
    assert all(map(model.is_busy_known, model.order))


def test_names_of_serve() -> None:
    """Files of the hook are named after processes: what these run of Serve says who they are."""
    build, files = Builder(), {}
    for pid, name, own in (
        (11, "proxy_http_request Chat GET", {}),
        (12, "replica_handle_request Chat f", {"app": "shop", "deployment": "Chat", "replica_id": "abc"}),
        (13, "replica_handle_request Find f", {"deployment": "Find", "replica_id": "def"}),
        (14, "something else", {"app": "shop", "deployment": "Chat"}),
    ):
        resource = {"process.pid": pid, "service.name": "default_worker"}
        files[f"{pid}.txt"] = file_of([build.span(name, attributes=own, resource=resource)])
    model = model_of(store_of_files(files))
    assert [model.labels(index) for index in range(4)] == [
        ["proxy 11"],
        ["shop/Chat abc", "Chat abc", "Chat"],
        ["Find def", "Find def", "Find"],
        ["default_worker 14"],
    ]


def test_names_of_serve_where_ray_is_traced_too() -> None:
    """Ray's spans name the actors that proxies and replicas are: by classes that say which."""
    build, files = Builder(), {}
    for pid, actor in ((11, "ProxyActor"), (12, "ServeReplica:shop:Chat"), (13, "ServeController")):
        method = ran(build, start=pid, actor_class=actor, actor_id=f"{pid:04}", pid=f"{pid}")
        files[f"{pid}.txt"] = file_of([method])
    model = model_of(store_of_files(files))
    assert [model.labels(index) for index in range(3)] == [
        ["proxy 11"],
        ["shop/Chat (actor 0012)", "Chat (actor 0012)", "Chat"],
        ["ServeController (actor 0013)"],
    ]


def test_empty_files() -> None:
    """A process whose file is empty has no line, but is counted; output of Ray's workers is empty for other reasons."""
    spans = file_of([ran(Builder(), start=1, duration=20)])
    files = {"1.txt": spans, "1.log": b"", "2.txt": b"", "notes.txt": b"", f"worker-{'a' * 8}-01000000-3.out": b""}
    assert model_of(store_of_files(files)).shape.empty_files == 1


def test_nodes() -> None:
    """Workers are below their nodes, the driver's first; where figures are compared, those of all nodes are."""
    build, nodes = Builder(), {name: f"{name}{'0' * 20}" for name in ("abcdef", "abcdee")}
    driver = {"ray.worker_id": "01000000" + "f" * 48, "ray.node_id": nodes["abcdef"]}
    files = {
        "1.txt": [ran(build, start=0, duration=9, node_id=nodes["abcdee"])],
        "2.txt": [build.span("f ray.remote", start=1, duration=1, kind="PRODUCER", attributes=driver)],
        "3.txt": [ran(build, start=2, node_id=nodes["abcdef"])],
        "4.txt": [build.span("elsewhere", start=3, duration=1)],
    }
    model = model_of(store_of_files({path: file_of(spans) for path, spans in files.items()}))

    def lines() -> list[str]:
        return [
            f"{model.node_text(line.node)}: {line.processes}" if isinstance(line, Heading) else model.labels(line)[0]
            for line in model.lines
        ]

    assert lines() == [
        *("abcdef: 1 worker and the driver", "driver 2", "worker 3"),
        *("abcdee: 1 worker", "worker 1", ": 1 worker", "4"),
    ]
    model.sort(Sort.BUSY)
    assert lines()[0] == "worker 1 abcdee"
    assert len(lines()) == 4


def test_labels() -> None:
    """What a worker does in Ray and its pid; an actor's class and id; of others the service, the pid or the file."""
    build = Builder()
    services = {"11.txt": "unknown_service:python", "22.txt": "cart", "spans.json": "cart"}
    services |= {"a.json": "shop", "b.json": "shop", "all.json": ""}
    paths = (*services, "replica_app_Model_x6aahas8_tracing.json", "proxy_192.0.2.2_tracing.json")
    files = {path: file_of([build.span(service=services.get(path, ""))]) for path in paths}
    ids = ["abcdef" + "0" * 20, "abcdee" + "0" * 20]
    files |= {
        f"{pid}.txt": file_of([ran(build, start=9, actor_class="A", actor_id=actor)])
        for pid, actor in zip((31, 32), ids, strict=True)
    }
    model = model_of(store_of_files(files))
    assert {model.labels(index)[0] for index in model.order} == {
        "11",
        "cart 22",
        "cart",
        "shop a",
        "shop b",
        "all",
        "app/Model x6aahas8",
        "proxy 192.0.2.2",
        "A (actor abcdef)",
        "A (actor abcdee)",
    }


def test_an_actor_that_was_restarted() -> None:
    """All of its processes are one line, with a mark where a further one begins."""
    build, actor = Builder(), "cf6c" + "0" * 20
    files = {
        f"{pid}.txt": file_of([ran(build, start=start, duration=10, actor_class="A", actor_id=actor)])
        for pid, start in ((1, 0), (2, 50), (3, 90))
    }
    model = model_of(store_of_files(files))
    assert [model.labels(index)[0] for index in model.order] == ["A (actor cf6c)"]
    assert model.shape.workers[0].pid == "3"
    cells = cells_of(model.lane(0), model.whole, 10, model.shape.numbers)
    assert "".join(cells.glyphs) == "█    ↻   ↻"


def test_a_process_that_writes_several_files() -> None:
    """It is one line, as far as its spans say that it is one process, and no other process took over."""
    build, of_exporter = Builder(), {"service.instance.id": "e1"}

    def of_ray(start: int, node: str = "ab") -> Document:
        return ran(build, start=start, duration=10, pid="7", node_id=node * 14, worker_id="cd" * 14)

    files = {
        # Two hooks, and the second one's file was rotated twice.
        "hook/7.txt": file_of([of_ray(0)]),
        "mine/7.json": file_of([of_ray(40), build.span("mine", start=20, duration=10, resource=of_exporter)]),
        "mine/7.json.1": file_of([build.span("mine", start=60, duration=10, resource=of_exporter)]),
        "mine/7.json.2": file_of([build.span("mine", start=80, duration=20, resource=of_exporter, service="other")]),
        # A process that was forked from it has its instance, one of another session its id.
        "mine/8.json": file_of([build.span("mine", start=30, resource=of_exporter)]),
        "later/7.txt": file_of([of_ray(200, "ef")]),
    }
    model = model_of(store_of_files(files))
    assert [model.labels(index)[-1] for index in model.order] == ["worker 7", "worker 7", "8"]
    index = model.order[0]
    assert (model.lane(index).spans, model.lane(index).restarts) == (5, ())
    cells = cells_of(model.lane(index), Window(EPOCH_NS, EPOCH_NS + 100_000), 10, model.shape.numbers)
    assert "".join(cells.glyphs).replace("▏", "█") == "█ █ █ █ ██"


def test_what_has_no_end() -> None:
    """It is hatched where nothing else runs, and gaps beside it are no longer than that at the most."""
    build = Builder()
    spans = [
        build.span("a", start=0, duration=20),
        build.span("open", start=30, duration=None),
        build.span("b", start=60, duration=20),
        build.span("c", start=90, duration=10),
    ]
    model = model_of(store_of_files({"1.txt": file_of(spans)}))
    cells = cells_of(model.lane(0), model.whole, 10, model.shape.numbers)
    assert "".join(cells.glyphs) == "██ ▏░░██░█"
    assert cells.places[5] == 1
    assert model.at_most(0)


def test_what_was_lost_is_hatched_until_it_was_lost() -> None:
    """And no further, where the worker runs something else later that has no end, either, and may run on."""
    build = Builder()
    spans = [
        build.span("a", start=0, duration=20),
        build.span("lost", start=20, duration=None),
        build.span("open", start=70, duration=None),
        build.span("b", start=90, duration=10),
    ]
    model = model_of(store_of_files({"1.txt": file_of(spans)}))
    for known, drawn in (({1: 45}, "██▏░░  ▏░█"), ({1: 45, 2: 70}, "██▏░░  ▏ █"), ({2: 70}, "██▏░░░░▏░█")):
        model.take_running([], {row: EPOCH_NS + us * 1_000 for row, us in known.items()}, EPOCH_NS + 100_000)
        lane = model.lane(0)
        cells = cells_of(lane, model.whole, 10, model.shape.numbers)
        hatch_until(cells, model.whole, lane.blocks.unended, model.known_until(0))
        assert "".join(cells.glyphs) == drawn
    # It may have outlasted all that has an end.
    model.take_running([], {2: EPOCH_NS + 130_000}, EPOCH_NS + 200_000)
    assert model.whole.end_ns == EPOCH_NS + 130_000


def test_what_runs_now() -> None:
    """A worker is hatched from when it began that until now; one of which no span is told has a line, too."""
    build = Builder()
    model = model_of(store_of_files({"7.txt": file_of([ran(build, start=0, duration=20, pid="7")])}))
    running = [RunsNow(pid, "f", EPOCH_NS + 20_000) for pid in (7, 8)]
    assert model.take_running(running, {}, EPOCH_NS + 100_000)
    assert [model.labels(index)[0] for index in model.order] == ["worker 7", "worker 8"]
    drawn = []
    for index in range(2):
        cells, runs = cells_of(model.lane(index), model.whole, 10, model.shape.numbers), model.runs_now(index)
        assert runs is not None
        hatch_from(cells, model.whole, runs.since_ns)
        drawn.append("".join(cells.glyphs))
    assert drawn == ["██▒▒▒▒▒▒▒▒", "  ▒▒▒▒▒▒▒▒"]
    assert [model.own_time(index) for index in range(2)] == [(100_000, 100_000), (80_000, 80_000)]
    assert model.take_running([], {}, EPOCH_NS + 200_000)
    assert len(model.order) == 1
    assert not model.take_running([], {}, EPOCH_NS + 300_000)


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


@pytest.mark.parametrize(
    ("columns", "start", "busy"),
    [
        (84, 2e6 - 1, "≥ 0.0% of 2.00 s (≥ 0.0% of view)"),
        (70, 2e6 - 1, "≥ 0.0% of 2.00 s"),
        # How long it was there isn't known.
        (84, 2e6, "≥ 0.0% of view"),
    ],
)
async def test_where_the_longest_gap_is_has_room(columns: int, start: float, busy: str) -> None:
    """What else there is is cut, and the share of the view gives way to it."""
    build = Builder()
    ends = [build.span(name, start=start, duration=0.5) for name, start in (("a", 0), ("b", 1_234_567.5), ("c", 2e6))]
    runs = build.span("open", start=start, duration=None)
    async with looking_at(*ends, runs, size=(columns, 24)) as look:
        await open_workers(look)
        await look.until_shown(f"busy {busy}   longest gap at most 1.23 s from +500 ns")


async def open_workers(look: Look, *keys: str) -> WorkerLines:
    """Open the lanes, and let it find out who they are."""
    await look.press(*keys, "L")
    await look.until(lambda: isinstance(look.screen, WorkersScreen) and look.screen.live.has_answer)
    await look.pilot.pause()
    return look.screen.query_one(WorkerLines)


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_by_keys(size: tuple[int, int]) -> None:
    """From block to block, from lane to lane at the same time, to errors, and into the trace."""
    async with looking_at(data=of_drawing(), size=size) as look:
        rows = await open_workers(look)
        assert "workers in 2 traces   2 workers   by first start   1 worker's file is empty" in look.header
        assert "earlier waits" in look.body[2]
        assert "1 at once" in look.body[2]
        first, second = look.body[3:5]
        assert first.split()[0] == "11"
        assert second.startswith("Act[or] (actor a1)")
        assert "main" in first
        block = look.lines[-2]
        assert "main   +0 µs   40 µs   first span of this worker" in block
        assert "1 of 2" in block
        assert "busy ~ 16.0% of 100 µs (~ 16.0% of view)   longest gap 50 µs from +40 µs " in look.lines[-3]
        await look.press("right")
        assert "last   +90 µs   10 µs   idle 50 µs before" in look.lines[-2]
        await look.press("l")
        assert "this is the last block" in look.footer
        await look.press("j")
        # Its middle is at 95: what is nearest ended at 85.
        assert (rows.cursor, rows.block) == (1, 1)
        assert "waited 30 µs" in look.lines[-2]
        assert "idle 20 µs before" in look.lines[-2]
        assert "✖ call" in look.lines[-2]
        await look.press("h", "k")
        assert (rows.cursor, rows.block) == (0, 0)
        await look.press("e")
        assert look.is_on(TraceScreen)
        assert "error 1 of 1" in look.footer
        await look.press("escape")
        assert (rows.cursor, rows.block) == (1, 1)
        await look.press("y")
        assert "copied the span id" in look.footer
        await look.press("enter")
        assert look.is_on(TraceScreen)
        await look.until(lambda: any("call ✖   waited" in line for line in look.lines) or size[1] < 30)
        await look.press("escape")
        assert look.is_on(WorkersScreen)
        await look.press("escape")
        await open_workers(look, "enter")
        assert "workers in last   1 worker" in look.header


async def test_a_notice_leaves_what_colours_stand_for() -> None:
    """What a key did stands above the legend, and above what is said of worker and block."""
    async with looking_at(data=of_drawing(), size=(80, 24)) as look:
        await open_workers(look)
        await look.press("z")
        said = look.screen.query_one(Said)
        assert said.display
        assert said.region.bottom == look.screen.query_one(Legend).region.y


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
        assert "‹" in look.body[4]
        await look.press("left")
        # From 14.5 to 25.5 µs.
        assert shown() == (14, 26)
        assert "main" in look.body[3]
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
        left, width, top = rows.line_width - rows.time_cells, rows.time_cells, rows.region.y
        await look.pilot.click(offset=(left + round(width * 0.6), top))
        await look.until(lambda: rows.block == 1)
        await look.pilot.click(offset=(left + 3, top))
        await look.until(lambda: rows.block == 0)
        await look.pilot.click(offset=(left + round(width * 0.82), top + 1))
        await look.until(lambda: (rows.cursor, rows.block) == (1, 1))
        await look.pilot.click(offset=(5, top))
        await look.until(lambda: rows.cursor == 0)
        await look.pilot.mouse_down(offset=(10, 2))
        await look.pilot.mouse_up(offset=(20, 2))
        await look.until(lambda: screen_of(look).zoom.zoomable.window is not None)
        await look.press("0")
        await look.pilot.click(offset=(left + 3, top))
        await look.pilot.click(offset=(left + 3, top))
        await look.until(lambda: look.is_on(TraceScreen))


async def test_sorting_stays_on_the_lane() -> None:
    """The cursor goes along with its lane, and the block stays selected."""
    async with looking_at(data=of_drawing(), size=(100, 30)) as look:
        rows = await open_workers(look)
        await look.press("down", "h", "s", "s")
        assert "sorted by spans" in look.footer
        assert "SPANS ▾" in look.body[1]
        assert (rows.index, rows.block) == (1, 0)
        # A click on a head sorts, another one reverses; where it was sorted by first start, one on names is for them.
        heads = look.screen.query_one(WorkerHeads).region
        await look.pilot.click(offset=(look.body[1].index("ERR"), heads.y))
        await look.until(lambda: "sorted by errors" in look.footer)
        assert (rows.cursor, rows.index, rows.block) == (0, 1, 0)
        await look.pilot.click(offset=(look.body[1].index("ERR"), heads.y))
        await look.until(lambda: "sorted by errors, reversed" in look.footer)
        assert (rows.cursor, rows.index, rows.block) == (1, 1, 0)
        await look.pilot.click(offset=(2, heads.y))
        await look.until(lambda: "sorted by first start" in look.footer)
        await look.press("S")
        assert "sorted by first start, reversed" in look.footer
        assert (rows.cursor, rows.index) == (0, 1)


async def test_headings_are_passed_over() -> None:
    """Keys and clicks go from worker to worker; the first heading comes into sight with what is below it."""
    build, data = Builder(), Growing()
    for number in range(30):
        data.add(ran(build, start=number, node_id=f"{number % 3}{'a' * 20}"), path=f"spans/{number}.txt")
    async with looking_at(data=data, size=(100, 20)) as look:
        rows = await open_workers(look)
        assert look.body[2].startswith("node 0aaa   10 workers")
        assert rows.cursor == 1
        await look.press("k")
        assert rows.cursor == 1
        await look.press(*["j"] * 10)
        assert (rows.cursor, rows.index) == (12, 1)
        await look.press("k", "G", "g")
        assert rows.cursor == 1
        assert look.body[2].startswith("node 0aaa")
        await look.pilot.click(offset=(3, rows.region.y))
        await look.press()
        assert (rows.cursor, look.is_on(WorkersScreen)) == (1, True)


async def test_without_rays_own() -> None:
    """`x` leaves out what is Ray's own, and keeps to it."""
    build, data = Builder(), Growing()
    data.add(ran(build, start=0), path="spans/1.txt")
    data.add(ran(build, start=5, actor_class="_StatsActor"), path="spans/2.txt")
    async with looking_at(data=data, size=(100, 20)) as look:
        await open_workers(look)
        assert "2 workers" in look.header
        await look.press("x")
        await look.until(lambda: "1 worker, without Ray's own" in look.header)
        assert "_StatsActor" not in look.text
        await look.press("escape")
        await open_workers(look)
        await look.until(lambda: "1 worker, without Ray's own" in look.header)
        await look.press("x")
        await look.until(lambda: "2 workers   by" in look.header)


async def test_what_is_listed_counts() -> None:
    """A filter and a group say which traces count."""
    async with looking_at(data=of_drawing(), size=(100, 30)) as look:
        await look.press("slash")
        await look.type("last")
        await look.until_shown("1 of 2 traces")
        await look.press("enter")
        await open_workers(look)
        assert "workers in 1 trace   1 worker" in look.header
        assert "in last, 1 of 2" in look.bar


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
        assert "no traces listed" in look.footer
        assert not look.is_on(WorkersScreen)


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
        await look.until(lambda: "1 worker, 2 calls not traced" in look.header)


async def test_blocks_and_colours_show_which_method_it_is() -> None:
    """Methods of one actor differ in their ends, which a name that has no room keeps."""
    build, data = Builder(), Growing()
    methods = [f"ServeReplica:application:Recommendation.{method}" for method in ("check_health", "reconfigure")]
    ran = (build.span(name, start=8 * number, duration=8) for number, name in enumerate(methods))
    data.add(*ran, path="spans/1.txt")
    async with looking_at(data=data, size=(90, 24)) as look:
        await open_workers(look)
        await look.until_shown("▏ServeRe…ion.check_health▏ServeRe…ion.reconfigure ")
        await look.until_shown("■ ServeRepl…ndation.check_health  ■ ServeRepl…endation.reconfigure ")


@pytest.mark.parametrize(("attempt_us", "said"), [(40, "~ 45%"), (None, "~ 85%"), (0, "≤ 100%")])
def test_who_awaits_a_lost_call_may_be_idle(attempt_us: int | None, said: str) -> None:
    """While it waited and ran, likely; where nobody knows how long it ran, or whether, at any time since, perhaps."""
    build = Builder()
    main = build.span("main", span=1, start=0, duration=100)
    call = build.span("f ray.remote", span=2, parent=1, start=5, duration=5, kind="PRODUCER")
    ran = build.span("f ray.remote_worker", parent=2, start=25, duration=attempt_us, kind="CONSUMER")
    files = {"1.txt": file_of([main, call])} | ({} if attempt_us == 0 else {"2.txt": file_of([ran])})
    model = model_of(store_of_files(files))
    texts = {column.head: column.said(0) for column in workers_table(model).columns if column.parts is None}
    assert texts["OF OWN"] == said


def test_what_was_lost_counts_everywhere() -> None:
    """A block that was lost was busy until its process was last seen: in both shares, for gaps, and before others."""
    build = Builder()
    spans = [
        build.span("first", start=0, duration=10),
        build.span("lost", start=20, duration=None),
        build.span("then", start=95, duration=5),
    ]
    store = store_of_files({"1.txt": file_of(spans)})
    model = model_of(store)
    (row,) = (row for row in range(len(store.spans)) if store.names.texts[store.spans.name[row]] == "lost")
    assert (model.own_time(0), model.gap_ns(0)) == ((15_000, 100_000), 85_000)
    assert model.take_running([], {row: EPOCH_NS + 70_000}, EPOCH_NS + 100_000)
    assert (model.own_time(0), model.shown_share(0)) == ((65_000, 100_000), 0.65)
    assert model.gap(0) == (EPOCH_NS + 70_000, EPOCH_NS + 95_000)
    starts = [EPOCH_NS + us * 1_000 for us in (0, 20, 95)]
    assert [model.idle_before(0, ns) for ns in starts] == [None, 10_000, 25_000]
    # It may have run on, as it is said of the gap.
    texts = {column.head: column.said(0) for column in workers_table(model).columns if column.parts is None}
    assert (texts["BUSY"], texts["OF OWN"], texts["MAX GAP"]) == ("≥ 65%", "≥ 65%", "≤ 25 µs")
    assert texts["CONCURRENT"] == "≥ 1"
    assert [column.json_value(0) for column in workers_table(model).columns if column.name == "unknown_ends"] == [True]
    assert (model.bound_text(0, 0.65), model.bound_text(0, 1.0)) == ("≥ ", "")
    # What ended while nobody looked may have lived for much longer than it is known to have.
    last = model_of(store_of_files({"1.txt": file_of(spans[:2])}))
    texts = {column.head: column.said(0) for column in workers_table(last).columns if column.parts is None}
    assert (texts["BUSY"], texts["OF OWN"]) == ("≥ 50%", "–")
