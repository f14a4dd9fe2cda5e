"""Further columns of a trace, and what its colours stand for.

root    0 - 100 µs   SERVER     shop    process 1   node n1
  work 10 -  40 µs   INTERNAL   shop    process 1   node n1
  pay  50 -  60 µs   CLIENT     bank    process 2   node n2
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import MICROSECOND, Builder, store_of, time_text
from spanview.analysis.ray.names import function_of
from spanview.tui.trace.appearance import AFTER, EXTRAS, PROCESS, SELF, SERVICE, SHARE, Appearance, ColorBy
from spanview.tui.trace.lit_path import LitPath
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.widgets.legend import Legend
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document


def _shop() -> list[Document]:
    build = Builder()
    return [
        build.span(
            "root", span=1, start=0, duration=100, kind="SERVER", service="shop", attributes={"ray.node_id": "n1"}
        ),
        build.span("work", span=2, parent=1, start=10, duration=30, service="shop", attributes={"ray.node_id": "n1"}),
    ]


def _bank() -> Document:
    return Builder().span(
        "pay", span=3, parent=1, start=50, duration=10, kind="CLIENT", service="bank", resource={"host.name": "n2"}
    )


@pytest.fixture(name="data")
def make_data() -> Growing:
    """Return the store of the drawing."""
    data = Growing()
    data.add(*_shop(), path="spans/1.json")
    data.add(_bank(), path="spans/2.txt")
    return data


def test_columns(data: Growing) -> None:
    """Each says of each span what it is called by."""
    appearance = Appearance(TraceModel(data.store, 0))
    texts = {number: [appearance.text_of(number, node) for node in range(3)] for number in range(len(EXTRAS))}
    assert texts[SELF] == ["60 µs", "30 µs", "10 µs"]
    assert texts[SHARE] == ["100.0%", "30.0%", "10.0%"]
    assert texts[AFTER] == ["+0 µs", "+10 µs", "+50 µs"]
    assert texts[SERVICE] == ["shop", "shop", "bank"]
    assert texts[PROCESS] == ["1", "1", "2"]
    assert [appearance.toggle_column(number) for number in (3, 0, 3)] == [True, True, False]
    assert appearance.columns == [0]
    assert (appearance.columns_in(54), appearance.columns_in(53)) == ([0], [])


def test_what_has_no_times() -> None:
    """Nothing is said of what isn't known."""
    data = Growing(Builder().span("odd", start=5, duration=None), Builder().span("none", span=2, start_time=None))
    appearance = Appearance(TraceModel(data.store, 0))
    assert [appearance.text_of(number, node) for number in (SELF, SHARE) for node in range(2)] == [""] * 4


def test_colors(data: Growing) -> None:
    """A number for each thing, and a legend, the most frequent first."""
    model = TraceModel(data.store, 0)
    appearance = Appearance(model)
    assert appearance.color_by is ColorBy.SERVICE
    seen = {}
    for color_by in (None, ColorBy.PROCESS, ColorBy.KIND, ColorBy.NODE):
        appearance.chosen = color_by
        numbers = [appearance.color_number(row) for row in model.tree.rows]
        names = [name for _, name in appearance.legend()]
        assert [number for number, _ in appearance.legend()] == [*dict.fromkeys(numbers)]
        seen[appearance.color_by] = names, len({*numbers})
    assert seen == {
        ColorBy.SERVICE: (["shop", "bank"], 2),
        ColorBy.PROCESS: (["1", "2"], 2),
        ColorBy.KIND: (["SERVER", "INTERNAL", "CLIENT"], 3),
        ColorBy.NODE: (["n1", "n2"], 2),
    }


async def test_keys_switch_them(data: Growing) -> None:
    """Columns come and go, colours change, and the screen says so."""
    async with looking_at(data=data, size=(120, 40)) as look:
        await look.press("enter")
        assert look.is_on(TraceScreen)
        assert "■ shop" in look.text
        assert "60 µs" not in look.body[3]
        await look.press("1", "2")
        assert "SELF" in look.body[2]
        assert "60 µs  100.0%" in look.body[3]
        assert "share shown" in look.footer
        await look.press("1", "C")
        assert "SELF" not in look.body[2]
        assert "coloured by process" in look.footer
        assert "■ 2" in look.text
        await look.press("escape")
    async with looking_at(data=data, size=(80, 24)) as look:
        await look.press("enter")
        assert not look.screen.query_one(Legend).display
        await look.press("1", "2", "3", "4", "5")
        assert all(len(line) <= 80 for line in look.lines)


async def test_the_critical_path_is_lit() -> None:
    """What is on it has a mark, the footer says what it takes, and it follows the trace as it grows."""
    build = Builder()
    documents = [
        build.span("root", span=1, start=0, duration=100),
        build.span("early", span=2, parent=1, start=10, duration=10),
        build.span("beside", span=3, parent=1, start=30, duration=20),
        build.span("long", span=4, parent=1, start=25, duration=60),
    ]
    async with looking_at(*documents, size=(140, 40)) as look:
        await look.press("enter", "c")
        await look.until_shown("critical path: 3 spans")
        marked = [line.split()[-1] for line in look.body[3:7] if "•" in line.split("µs")[0]]
        assert len(marked) == 3
        assert "•" not in look.lines[look.line_of("beside")]
        await look.grow(build.span("last", span=5, parent=1, start=90, duration=5))
        await look.until(lambda: any("last" in line and "•" in line for line in look.body))
        await look.press("c")
        assert "•" not in look.text
        assert "critical path off" in look.footer


@pytest.mark.parametrize(("submission_us", "others"), [(20, set()), (300, {"f"})])
def test_only_what_is_on_the_path_is_lit_of_a_call(submission_us: int, others: set[str]) -> None:
    """Its wait and its run are told apart; submitting a call lights its row only where that takes much of the path."""
    build = Builder()
    store = store_of(
        build.span("driver", span=1, start=0, duration=1_000),
        build.span("f ray.remote", span=2, parent=1, start=1, duration=submission_us, kind="PRODUCER"),
        build.span("f ray.remote_worker", span=3, parent=2, start=500, duration=20, kind="CONSUMER"),
        build.span("g ray.remote", span=4, parent=1, start=350, duration=10, kind="PRODUCER"),
        build.span("g ray.remote_worker", span=5, parent=4, start=700, duration=300, kind="CONSUMER"),
        build.span("work", span=6, parent=5, start=700, duration=300),
    )
    stitched = StitchedTrace(store, 0, store.tree(0), joins=True)
    path, texts = LitPath(store, stitched), store.names.texts
    nodes = {function_of(texts[store.spans.name[stitched.tree.rows[node]]]): node for node in stitched.order}
    assert {name for name, node in nodes.items() if node in path.waiting} == {"g"}
    assert {name for name, node in nodes.items() if node in path.running} - {"g"} == {"driver", "work"} | others
    assert bool(path.of(nodes["f"])) is bool(others)
    assert sum(end - start for node in nodes.values() for start, end in path.of(node)) == 1_000 * MICROSECOND


async def test_a_path_that_is_not_sure() -> None:
    """The footer says why."""
    async with looking_at(Builder().span("orphan", parent=9), size=(140, 40)) as look:
        await look.press("enter", "c")
        await look.until_shown("not sure: ")


async def test_events_have_marks() -> None:
    """Each event is a mark on the bar, at its time; those outside of what is shown have none."""
    events: list[Document] = [{"name": "e", "timestamp": time_text(us), "attributes": {}} for us in (25, 75, 5_000)]
    async with looking_at(Builder().span("root", start=0, duration=100, events=events), size=(120, 40)) as look:
        await look.press("enter")
        bar = look.body[3][look.body[3].index("100 µs") + 8 :].rstrip()
        assert [at for at, glyph in enumerate(bar) if glyph == "◆"] == [len(bar) // 4, len(bar) * 3 // 4]


async def test_only_what_matches_is_shown() -> None:
    """With what stands above it; an error elsewhere brings everything back, and so does the same key."""
    build = Builder()
    documents = [
        build.span("root", span=1, start=0, duration=100),
        build.span("left", span=2, parent=1, start=10),
        build.span("wanted", span=3, parent=2, start=11),
        build.span("right", span=4, parent=1, start=50),
        build.span("failed", span=5, parent=4, start=51, status="ERROR"),
    ]
    async with looking_at(*documents, size=(100, 40)) as look:
        await look.press("enter", "m")
        assert "nothing to repeat" in look.footer
        await look.press("slash")
        await look.type("wanted")
        await look.press("enter")
        await look.until_shown("1 match")
        await look.press("m")
        assert [line.split()[-3] for line in look.body[4:8] if "µs" in line]
        names = ("root", "left", "wanted", "right", "failed")
        assert [name for name in names if name in "\n".join(look.body[4:12])] == ["root", "left", "wanted"]
        await look.press("m")
        await look.until_shown("right")
        await look.press("m", "e")
        await look.until(lambda: "failed" in "\n".join(look.body[4:12]))
        await look.press("m", "escape")
        await look.until_shown("right")


async def test_columns_leave_room_for_durations_and_bars() -> None:
    """On a narrow screen a column that has no room is left out, and the footer says so; on a wide one it is there."""
    for width, has_room in ((80, False), (160, True)):
        async with looking_at(Builder().span("a"), size=(width, 24)) as look:
            await look.press("enter", "1", "2", "3", "4")
            assert ("service shown" in look.footer) == has_room
            assert ("service has no room here" in look.footer) == (not has_room)
            heads = look.lines[look.line_of("SPAN  ")].split()
            assert ("SERVICE" in heads) == has_room
            assert "DURATION" in heads
            assert "µs" in heads
