"""Every screen at every size: nothing is wider than the screen, and every screen can be walked."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from builders import Builder, Document, time_text
from seeds import sample
from spanview.tui.app.opening import Opening
from spanview.tui.keys import KEYS
from spanview.tui.traces.traces_screen import TracesScreen
from viewers import Look, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

SIZES = [(80, 24), (120, 40), (200, 50), (300, 80)]
TINY = [(20, 5), (40, 10), (1, 1)]
WIDE = "漢字とかな✖" * 30


def documents() -> Iterator[Document]:
    """Yield traces that fill every column: many, days apart, wide, deep, failed, broken."""
    builder = Builder()
    for number in range(90):
        yield builder.span(f"{number} {WIDE}", trace=2 + number, start=number * 40_000e6, duration=number * 1e6)
    stack = "Traceback:\n" + f'\tFile "{WIDE}"\n' * 40
    event = {"name": "exception", "timestamp": time_text(5), "attributes": {"exception.stacktrace": stack}}
    yield builder.span(
        f"wide {WIDE}",
        trace=1,
        span=5_000,
        start=4_000_000e6,
        attributes={WIDE: WIDE * 9} | {f"key {n}": n for n in range(50)},
        events=[event],
        status="ERROR",
        description=WIDE,
        service=WIDE,
        resource={WIDE: WIDE},
    )
    for number in range(1, 120):
        parent = 5_000 if number % 40 == 1 else 4_999 + number
        yield builder.span(f"deep {WIDE}", trace=1, span=5_000 + number, parent=parent, start=4_000_000e6 + number)
    yield builder.span("lost", trace=1, parent=4_000, start=4_000_000e6, duration=None, status="ERROR")


def check(look: Look, size: tuple[int, int]) -> None:
    """See to it that the screen has just its lines, each just as wide as it is."""
    lines = look.lines
    assert len(lines) == size[1]
    for line in lines:
        assert cell_len(line) == size[0], line


def keys_to_walk() -> list[str]:
    """Return every key of the table that leads nowhere else."""
    names = [key.keys.split(",")[0] for key in KEYS]
    away = ("question_mark", "enter", "escape", "q", "slash", "colon", "o")
    return [name for name in names if name not in away]


@pytest.mark.shortened
@pytest.mark.parametrize("size", sample([*SIZES, *TINY], 2))
async def test_every_screen_fits_and_can_be_walked(
    size: tuple[int, int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the list over groups, filter, trace, details and help: no line is longer or shorter than the screen."""
    # One of the keys writes a picture into the current folder.
    monkeypatch.chdir(tmp_path)
    opening = Opening(("a place with a long name " * 20,))
    async with looking_at(*documents(), size=size, opening=opening) as look:
        check(look, size)
        for keys in (
            ["slash", "d", "=", "escape"],
            ["r", "down", "enter", "q", "escape"],
            ["s", "s", "G", "g"],
            ["question_mark", "G", "escape"],
            keys_to_walk(),
            ["g", "enter"],
            keys_to_walk(),
            ["slash", "d", "e", "enter", "n", "escape"],
            ["0", "right_square_bracket", "G", "pageup", "g"],
            ["enter", "tab"],
            keys_to_walk(),
            ["o", "G", "escape", "escape"],
        ):
            await look.send(*keys)
            # A screen that has just come has no lines yet.
            await look.until(lambda: look.lines)
            check(look, size)
            assert look.app.is_running
        while not look.is_on(TracesScreen):
            await look.press("q")
            check(look, size)


async def test_an_answer_has_two_lines() -> None:
    """Where one has no room for a cause and a doubt, both have a second line, and what is below has one less."""
    builder, spans = Builder(), list[Document]()
    for number, name in ((1, "m.prepare_everything"), (3, "m.lost_somewhere")):
        spans.append(builder.span(f"{name} ray.remote", span=number, parent=9, start=0, duration=9, kind="PRODUCER"))
    spans.append(builder.span("driver", span=9, start=0, duration=900))
    spans.append(
        builder.span(
            "m.prepare_everything ray.remote_worker", span=2, parent=1, start=700, duration=150, kind="CONSUMER"
        )
    )
    async with looking_at(*spans, size=(200, 24)) as look:
        await look.press("enter")
        await look.until_shown("not sure: lost_somewhere left no attempt")
        assert "waiting before prepare_everything" in look.body[0]
        assert "left no attempt" in look.body[0]
        await look.pilot.resize_terminal(80, 24)
        await look.until(lambda: "not sure" in look.body[1])
        assert look.body[0].startswith(" 900 µs = ")
        assert "not sure: lost_somewhere left no attempt" in " ".join(look.body[:2])
        await look.until(lambda: " ? help" in look.lines[-1])
        await look.pilot.resize_terminal(200, 24)
        await look.until(lambda: "left no attempt" in look.body[0])


LISTS = [
    # keys, the line of the heads below the bar, width, what stands there besides the name
    ((), 0, 80, "START DURATION SPANS ERR PROCS TRACE"),
    ((), 0, 60, "START DURATION SPANS ERR TRACE"),
    ((), 0, 50, "START DURATION TRACE"),
    ((), 0, 40, "DURATION TRACE"),
    ((), 0, 20, "TRACE"),
    (("r",), 2, 80, "ROOT TRACES FAILED INCOMPLETE P50 P95 MAX"),
    (("r",), 2, 60, "ROOT TRACES FAILED P95 MAX"),
    (("r",), 2, 40, "ROOT TRACES P95"),
    (("d", "down", "d"), 5, 80, "SELF A CHANGE SELF B COUNT ERRORS PATH"),
    (("d", "down", "d"), 5, 60, "SELF A CHANGE SELF B PATH"),
    (("d", "down", "d"), 5, 40, "CHANGE PATH"),
]


@pytest.mark.parametrize(("keys", "at", "width", "heads"), LISTS)
async def test_the_name_is_the_last_to_go(keys: tuple[str, ...], at: int, width: int, heads: str) -> None:
    """Where there is little room, columns give way to the name, and their heads with them."""
    builder = Builder()
    name = "Counter.increment"
    spans = [builder.span(name, trace=1, duration=5, status="ERROR"), builder.span(name, trace=2, duration=7)]
    async with looking_at(*spans, size=(width, 24)) as look:
        await look.press(*keys)
        await look.until_shown(heads.rsplit(maxsplit=1)[-1] if keys else "TRACE")
        await look.app.workers.wait_for_complete()
        assert look.body[at].replace("▾", "").split() == heads.split()
        assert (name if width > 30 else "ment") in look.body[at + 1]


@pytest.mark.parametrize("width", [90, 60, 28])
async def test_a_state_without_room_is_its_mark(width: int) -> None:
    """What a trace's state says in words, its mark says where there is no room for them."""
    async with looking_at(Builder().span("a", parent=9), size=(width, 24)) as look:
        assert "◌ ? parent not" in look.body[1]
        assert ("incomplete" in look.body[1]) == (width == 90)


SPANS = [(80, True, True), (60, True, False), (40, False, False)]


@pytest.mark.parametrize(("width", "has_start", "has_root"), SPANS)
async def test_the_name_of_a_span_is_the_last_to_go(width: int, *, has_start: bool, has_root: bool) -> None:
    """In the list of spans the root goes first, then the start."""
    name = "Counter.incr.now"
    async with looking_at(Builder().span(name), size=(width, 24)) as look:
        await look.press("t", "enter")
        await look.until_shown("1 span")
        line = look.body[1]
        assert name in line
        assert ("2023-11-14" in line) == has_start
        assert ("in Counter" in line) == has_root
