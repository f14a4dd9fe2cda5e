"""What the screens of the README's pictures say, row by row, of recorded spans."""

from __future__ import annotations

import os
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from pictures import (
    README_SHOTS,
    ROOT,
    SHOTS,
    SNAPSHOT_SIZE,
    SNAPSHOTS,
    WATERFALL,
    WATERFALL_WORDS,
    Shot,
    picture_of,
    viewer_of,
    walked,
)
from programs import spanview
from spanview.tui.traces.plot import ROWS
from svgs import parsed
from viewers import Growing, Look, screen_lines

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SIZE = (110, 40)


pytestmark = pytest.mark.usefixtures("universal_time")


@pytest.fixture(autouse=True)
def in_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the recordings be where the README says."""
    monkeypatch.chdir(ROOT)


@asynccontextmanager
async def recording(folder: str, size: tuple[int, int] = SIZE) -> AsyncIterator[Look]:
    """Look at the spans of a fixture, all of which were read."""
    app = viewer_of(os.path.join("fixtures", folder, "spans"))
    async with app.run_test(size=size) as pilot:
        look = Look(app, pilot, Growing())
        await look.until(lambda: not app.feed_state.loading)
        yield look


async def test_traces() -> None:
    """The list of a Ray program's traces: when, how long, how big, failed or not, what."""
    async with recording("ray-tasks-bundled-hook") as look:
        # What a retry made good is marked otherwise, once that is known.
        await look.until(lambda: look.app.first_screen.marks.are_known)
        assert look.header.startswith(
            " spanview  fixtures/ray-tasks-bundled-hook/spans   31 traces · 104 spans   ✖ 4 errors"
        )
        assert "✖" in "".join(look.body[: ROWS + 1])
        below = look.body[ROWS + 1 :]
        assert re.sub(" +", " ", below[0]).strip() == "START ▾ DURATION SPANS ERR PROCS TRACE"
        rows = [re.sub(" +", " ", line).strip() for line in below[1:31]]
        starts = [row.split()[0] for row in rows]
        assert starts == sorted(starts, reverse=True)
        assert sum("✖" in row for row in rows) == 2
        assert sum(row.endswith(" retried") for row in rows) == 1
        assert not any("incomplete" in row for row in rows)


async def test_a_trace() -> None:
    """The longest trace: waiting is drawn before the bars of what waited for a worker, and nowhere else."""
    async with recording("ray-tasks-bundled-hook") as look:
        await look.press("slash")
        await look.type("name~^pipeline$")
        await look.until_shown("1 of 31 traces")
        await look.press("enter", "enter")
        assert look.header.startswith(" ‹ pipeline   ")
        heads = look.line_of("CALL")
        rows = look.lines[heads + 1 : heads + 22]
        assert rows[0].startswith("▾ pipeline ")
        waits = [row for row in rows if "┈" in row]
        assert waits
        for row in waits:
            assert row.split()[1] in {"leaf", "Counter.incr"}
            bar = row[row.rindex("┈") + 1 :]
            assert bar[0] in "█▐▕▏▎▍▌▋▊▉", row


async def test_a_failure() -> None:
    """The newest failure is one key away, with the line of code that failed; what was recorded is further down."""
    async with recording("ray-tasks-bundled-hook") as look:
        await look.press("e")
        await look.until_shown("error 1 of 1")
        await look.until_shown("✖ KeyError: 'nope'", 'prog_tasks.py:67 fail     raise KeyError("nope")')
        await look.press("enter", "G", "k", "enter")
        await look.until_shown("Traceback (most recent call last):")


QUESTIONS = [
    # what somebody wants to know, the recording, the keys, and what answers it
    ("slowest trace and why", "ray-tasks-bundled-hook", "s enter", (" = ", "waiting before ")),
    ("newest failure's line of code", "ray-tasks-bundled-hook", "e", ('raise KeyError("nope")',)),
    ("which function waited most, for what", "ray-tasks-docs-hook", "A", ("TOTAL WAIT ▾", "waiting: likely")),
    ("a request's queue", "serve", "H", ("QUEUE P95", " queue + ")),
    ("each request's queue", "serve", "H enter", ("QUEUE", "REQUEST ID")),
    (
        "slowest against the others",
        "ray-tasks-bundled-hook",
        "D enter",
        ("the slowest tenth", "all others", "waiting"),
    ),
]


@pytest.mark.parametrize(("folder", "keys", "answers"), [question[1:] for question in QUESTIONS])
async def test_few_keys_answer(folder: str, keys: str, answers: tuple[str, ...]) -> None:
    """What people ask first takes two keys at the most, on 80 cells."""
    async with recording(folder, (80, 24)) as look:
        for key in keys.split():
            await look.press(key)
            await look.rest()
        await look.until_shown(*answers)


async def test_groups() -> None:
    """Requests of a Serve application by their root names, with failures and percentiles."""
    async with recording("serve") as look:
        await look.press("r")
        below = look.lines[look.line_of("ROOT") :]
        heads = below[0]
        assert heads.split() == ["ROOT", "TRACES", "▾", "FAILED", "FAILED%", "INCOMPLETE", "P50", "P95", "MAX"]
        end = heads.index("TRACES") + len("TRACES ▾")
        counts = [int(line[:end].split()[-1].replace(",", "")) for line in below[1:11] if line.strip()]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 1


MARKS: dict[str, tuple[str, ...]] = {
    "traces": ("31 traces", "START ▾", "pipeline"),
    "groups": ("TRACES", "P95", "GET /p"),
    "filter": ("╱ name~Async duration>10ms", "7 of 31 traces"),
    "trace": ("‹ pipeline", "│   leaf  ", "119 ms = 104 ms waiting before 2 calls ran", "┈"),
    "critical": ("critical path: ", "•"),
    "span": ("‹ pipeline › __main__.leaf", "ray.function"),
    "error": ("✖ KeyError", "prog_tasks.py:67 fail"),
    "statistics": ("statistics of 31 traces", "TOTAL ▾"),
    "flame": ("flame graph of 96 traces", "GET /slow"),
    "calls": ("Ray calls of 31 traces", "leaf"),
    "requests": ("Serve requests of 96 traces", "Ingress"),
    "workers": ("workers in 31 traces", "Counter"),
    "comparison": ("‹ comparison", "pipeline"),
    "check": ("‹ check", "sampl"),
    "help": ("on this screen", "this help"),
}
"""What each screen has at any size."""


@pytest.mark.parametrize("shot", SHOTS, ids=lambda shot: shot.name)
async def test_every_screen_is_as_it_was(shot: Shot) -> None:
    """Each screen is painted as the picture that is kept of it, and laid out again where the terminal grows.

    Where that is meant to change, `python tests/pictures.py --snapshots` keeps new pictures, to be looked at.
    """
    async with walked(shot, SNAPSHOT_SIZE) as (app, pilot):
        picture = picture_of(app)
        parsed(picture)
        assert picture == (SNAPSHOTS / f"{shot.name}.svg").read_text(), "\n".join(screen_lines(app.screen))
        await pilot.resize_terminal(200, 50)
        await app.workers.wait_for_complete()
        await pilot.pause()
        text = "\n".join(screen_lines(app.screen))
        assert all(mark in text for mark in MARKS[shot.name]), text


@pytest.mark.parametrize("name", [WATERFALL, *(shot.name for shot in README_SHOTS)])
def test_the_readme_shows_its_pictures(name: str) -> None:
    """Each picture of the README is there, is one by itself, and asks no other place for anything."""
    picture = (ROOT / "fixtures" / "pictures" / f"{name}.svg").read_text()
    parsed(picture)
    assert f"(fixtures/pictures/{name}.svg)" in (ROOT / "README.md").read_text()


def test_no_other_pictures_are_kept() -> None:
    """What the README doesn't show is made when somebody wants to look at it."""
    kept = {path.stem for path in (ROOT / "fixtures" / "pictures").iterdir()}
    assert kept == {WATERFALL, *(shot.name for shot in README_SHOTS)}


def test_the_waterfall_is_what_the_command_writes() -> None:
    """The README's waterfall is that of its recording, whatever the zone and the interpreter's seed."""
    done = spanview(*WATERFALL_WORDS, "-", folder=ROOT, environment={"TZ": "Asia/Tokyo", "PYTHONHASHSEED": "7"})
    assert done.output == (ROOT / "fixtures" / "pictures" / f"{WATERFALL}.svg").read_bytes()
