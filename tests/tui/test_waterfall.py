"""The time side of a trace's rows, drawn cell by cell.

█ the span     ┈ waiting for a worker     ╌ inferred, not seen     ✖ failed     ‹ › out of sight
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import Builder
from pictures import ROOT, viewer_of
from spanview.tui.help.help_screen import KeyLines
from spanview.tui.trace.waterfall import Split, Waterfall
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from builders import Document


@pytest.mark.parametrize("width", [*range(1, 60), 79, 119, 199, 299])
def test_a_line_is_shared_out(width: int) -> None:
    """The names have most on a narrow screen, and never so much that no time is left."""
    split = Split.of(width)
    assert split.name >= 24
    assert split.time >= 8
    if width >= 46:
        assert split.name + 12 + split.time == width


@pytest.mark.parametrize("percent", [18, 60, 84])
def test_more_room_for_names(percent: int) -> None:
    """Names have what they are given, and times what they need."""
    for width in range(70, 240):
        split = Split.of(width, 20, percent)
        assert split.name + 12 + split.time == width - 20
        assert split.time >= 8
        assert split.name == max(24, min(round((width - 20) * percent / 100), width - 40))


async def test_names_get_more_room_and_keep_it() -> None:
    """`)` and `(` move where names end, as far as there is room; the next trace is shown like that, too."""
    name = "a name of forty characters, all together"
    async with looking_at(Builder().span(name), size=(80, 24)) as look:
        await look.press("enter")
        assert name not in look.body[3]
        await look.press(*[")"] * 3)
        assert "names have 47 cells" in look.footer
        assert name in look.body[3]
        ruler = look.line_of("DURATION")
        at = look.lines[ruler].index("DURATION") + len("DURATION")
        await look.press("escape", "enter")
        assert look.lines[ruler].index("DURATION") + len("DURATION") == at
        await look.press(*["("] * 12)
        assert "names have 24 cells, the limit" in look.footer
        assert name not in look.body[3]


def times(waterfall: Waterfall) -> list[str]:
    """Return the time side of each row."""
    width = waterfall.line_width
    lines = ["".join(part.text for part in waterfall.segments_of(row, width)) for row in range(waterfall.row_count)]
    return [line[-Split.of(width).time :].rstrip() for line in lines]


async def drawn(*documents: Document, keys: tuple[str, ...] = ()) -> list[str]:
    """Return the time side of the rows of a trace on a screen whose time side has 40 cells."""
    async with looking_at(*documents, size=(91, 24)) as look:
        await look.press("enter", *keys)
        waterfall = look.screen.query_one(Waterfall)
        cells = Split.of(waterfall.line_width).time
        assert cells == 40
        return times(waterfall)


async def test_bars() -> None:
    """Bars stand in their time, one cell being a fortieth of the trace."""
    documents = Builder().draw("a 0-400\n  b 100-200\n  c 205-215\n  d 399-400")
    assert await drawn(*documents) == [
        "█" * 40,
        " " * 10 + "█" * 10,
        " " * 20 + "▐▌",
        " " * 39 + "▕",
    ]


async def test_waiting_failing_and_what_was_not_seen() -> None:
    """Waiting stands before a bar, a cross behind it, and dashes where something is only inferred."""
    builder = Builder()
    documents = [
        builder.span("call", span=1, kind="PRODUCER", start=0, duration=100),
        builder.span("work", span=2, parent=1, kind="CONSUMER", start=300, duration=50, status="ERROR"),
        builder.span("open", span=3, parent=1, start=310, duration=None),
        builder.span("lost", span=4, parent=9, start=320, duration=80),
    ]
    assert await drawn(*documents) == [
        "█" * 10,
        " " * 10 + "┈" * 20 + "█" * 5 + "✖",
        " " * 31 + "╌" * 9,
        " " * 32 + "╌" * 8,
        " " * 32 + "█" * 8,
    ]


async def test_waiting_reaches_its_bar() -> None:
    """No cell stays free between the dots and a bar that begins at the very end of a cell."""
    builder = Builder()
    documents = [
        builder.span("call", span=1, kind="PRODUCER", start=0, duration=20),
        builder.span("work", span=2, parent=1, kind="CONSUMER", start=109.7, duration=290.3),
    ]
    assert (await drawn(*documents))[1] == "  " + "┈" * 9 + "█" * 29


def _calls(*starts: int, duration: int) -> list[Document]:
    """Return Ray calls that are submitted one µs after the other, and when each begins to run, in µs."""
    build = Builder()
    spans = [build.span("job", span=1, start=0, duration=400_000)]
    for call, start in enumerate(starts):
        submitted, attempt = 10 + 2 * call, 11 + 2 * call
        spans += [
            build.span("m.f ray.remote", span=submitted, parent=1, start=call, duration=1, kind="PRODUCER"),
            build.span(
                "m.f ray.remote_worker", span=attempt, parent=submitted, start=start, duration=duration, kind="CONSUMER"
            ),
        ]
    return spans


async def time_of(name: str, *documents: Document, keys: tuple[str, ...] = ()) -> str:
    """Return the time side of a row by its name, on a screen whose time side has 40 cells for calls."""
    async with looking_at(*documents, size=(103, 24)) as look:
        await look.press("enter", *keys)
        waterfall = look.screen.query_one(Waterfall)
        cells = waterfall.time_cells
        assert cells == 40
        width = waterfall.line_width
        lines = ["".join(part.text for part in waterfall.segments_of(row, width)) for row in range(waterfall.row_count)]
        return next(line[-cells:] for line in lines if f"{name} " in line)


async def test_zoomed_into_a_wait() -> None:
    """The dots are there whatever of the call is in sight."""
    documents = _calls(390_000, duration=10_000)
    assert await time_of("f", *documents) == "┈" * 39 + "█"
    assert await time_of("f", *documents, keys=(*"+++", *"<<")) == "┈" * 39 + "›"


async def test_similar_siblings_wait() -> None:
    """Dots stand where none runs yet, and between what runs where more wait than run."""
    # Ten calls of a worker, one after the other from half of the time on; then all of them at one time.
    one_by_one = _calls(*range(200_000, 300_000, 10_000), duration=9_000)
    assert await time_of("f", *one_by_one) == "┈" * 20 + "█┈█┈█┈█┈██" + " " * 10
    at_one_time = _calls(*[200_000] * 10, duration=99_000)
    assert await time_of("f", *at_one_time) == "┈" * 20 + "█" * 10 + " " * 10


async def lit(*documents: Document, keys: tuple[str, ...] = ()) -> list[int]:
    """Return how many cells of the time side of each row are lit as the critical path."""
    async with looking_at(*documents, size=(91, 24)) as look:
        await look.press("enter", *keys, "c")
        await look.until_shown("critical path: ", " span")
        waterfall = look.screen.query_one(Waterfall)
        width = waterfall.line_width
        rows = [waterfall._bar(node, Split.of(width).time) for node, _ in waterfall.model.rows]
        return [sum(len(part.text) for part in row if part.style and part.style.bold) for row in rows]


async def test_the_critical_path_is_lit_where_it_is_drawn() -> None:
    """A bar that is thinner than a cell is lit in the cell that it is drawn in, and what is out of sight isn't."""
    assert (await lit(*Builder().draw("a 0-400\n  b 109.7-110.5")))[1] == 1
    assert await lit(*Builder().draw("a 0-400\n  c 100-400\n    b 300-400"), keys=("G", "f")) == [0, 2, 39]


async def test_out_of_sight() -> None:
    """What lies before or behind the time that is shown leaves an arrow at that edge."""
    documents = Builder().draw("a 0-40000\n  b 0-100\n  c 10000-30000\n  d 39000-40000")
    rows = await drawn(*documents, keys=("down", "down", "f"))
    assert rows[1] == "‹"
    assert rows[3].strip() == "›"
    assert len(rows[3]) == 40
    assert rows[0] == "█" * 40


async def test_light_where_children_run() -> None:
    """The part of a bar in which children run is dim, the span's own part isn't."""
    documents = Builder().draw("a 0-400\n  b 100-200")
    async with looking_at(*documents, size=(91, 24)) as look:
        await look.press("enter")
        waterfall = look.screen.query_one(Waterfall)
        segments = waterfall.segments_of(0, waterfall.line_width)
        assert [(len(part.text), bool(part.style and part.style.dim)) for part in segments[-3:]] == [
            (10, False),
            (10, True),
            (20, False),
        ]


async def test_services_have_colours() -> None:
    """Where a trace has several services, spans of one have one colour; else spans of one file."""
    builder = Builder()
    data = Growing(
        builder.span("a", service="one", start=0, duration=100), builder.span("b", service="two", start=0, duration=100)
    )
    data.add(builder.span("c", service="one", start=0, duration=100), path="spans/2.json")
    async with looking_at(data=data) as look:
        await look.press("enter")
        waterfall = look.screen.query_one(Waterfall)
        colors = [waterfall._color_of(node) for node, _ in waterfall.model.rows]
        assert colors[0] == colors[2] != colors[1]


async def test_deep_traces_have_names() -> None:
    """However deep a span is, half of its column is left to its name."""
    builder = Builder()
    async with looking_at(*(builder.span(f"level {n}", parent=n or None) for n in range(400)), size=(80, 24)) as look:
        await look.press("enter", "G")
        await look.until(lambda: "level 399" in look.text)
        assert "399│" in look.text


@pytest.mark.parametrize("size", [(80, 24), (110, 32), (200, 50)], ids=["small", "usual", "large"])
async def test_what_ray_says_of_a_wait(size: tuple[int, int]) -> None:
    """Nine tenths of one call's wait were for its arguments, the rest for a free worker; the help has the letters."""
    app = viewer_of(str(ROOT / "fixtures" / "ray-events-hook"), query="name~main__.after")
    async with app.run_test(size=size) as pilot:
        look = Look(app, pilot, Growing())
        await look.until(lambda: not app.feed_state.loading)
        await look.press("enter")
        await look.until_shown("a┈┈", "r┈┈")
        before, _, after = times(look.screen.query_one(Waterfall))[0].partition("r")
        assert len(before) / len(before + after.rstrip("▐█▕ ")) == pytest.approx(0.88, abs=0.07)
        await look.press("question_mark")
        await look.until_shown("traces grouped by root name")
        signs = [text for _, shown, text in look.screen.query_one(KeyLines)._lines if "a┈┈r┈" in shown]
        assert "what for: t retry" in signs[0]


async def test_what_is_only_likely_stays_dots() -> None:
    """Without Ray's own events there are no letters, whatever the line above has found out."""
    app = viewer_of(str(ROOT / "fixtures" / "ray-events-hook" / "spans"), query="name~own_worker")
    async with app.run_test(size=(110, 32)) as pilot:
        look = Look(app, pilot, Growing())
        await look.until(lambda: not app.feed_state.loading)
        await look.press("enter")
        await look.until_shown("waiting before own_worker ran (likely")
        drawn = times(look.screen.query_one(Waterfall))[0]
        assert "┈┈┈" in drawn
        assert set(drawn).isdisjoint("tarcwql?")
