"""What the screens of the README's pictures say, row by row, of recorded spans."""

from __future__ import annotations

import os
import re
import time
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest

from pictures import ROOT, SHOTS, viewer_of
from spanview.tui.plot import ROWS
from viewers import Growing, Look

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

SIZE = (110, 40)


@pytest.fixture(autouse=True)
def utc(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Let the local zone be UTC, and the recordings be where the README says."""
    with monkeypatch.context() as patch:
        patch.setenv("TZ", "UTC")
        patch.chdir(ROOT)
        time.tzset()
        yield
    time.tzset()


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
        assert look.header.startswith(
            " spanview  fixtures/ray-tasks-bundled-hook/spans   10 files · 104 spans · 31 traces · 4 errors"
        )
        assert "✖" in "".join(look.lines[1 : 1 + ROWS])
        below = look.lines[1 + ROWS + 1 :]
        assert re.sub(" +", " ", below[0]).strip() == "START ▾ DURATION SPANS ERR PROC ROOT STATE"
        rows = [re.sub(" +", " ", line).strip() for line in below[1:32]]
        starts = [row.split()[0] for row in rows]
        assert starts == sorted(starts, reverse=True)
        assert sum("✖" in row for row in rows) == 3
        assert not any("incomplete" in row for row in rows)


async def test_a_trace() -> None:
    """The longest trace: waiting is drawn before the bars of what waited for a worker, and nowhere else."""
    async with recording("ray-tasks-bundled-hook") as look:
        await look.press("slash")
        await look.type("name~^pipeline$")
        await look.until_shown("1 of 31 traces")
        await look.press("enter", "enter")
        assert look.header.startswith(" ‹ pipeline   ")
        assert look.lines[2].startswith("SPAN")
        rows = [line for line in look.lines[3:25] if "ray.remote" in line or "pipeline" in line]
        assert rows[0].startswith("▾ pipeline ")
        waits = [row for row in rows if "┈" in row]
        assert waits
        for row in waits:
            assert "ray.remote_worker" in row
            bar = row[row.rindex("┈") + 1 :]
            assert bar[0] in "█▐▕▏▎▍▌▋▊▉", row


async def test_a_failure() -> None:
    """The newest failure is one key away, its stack trace another one."""
    async with recording("ray-tasks-bundled-hook") as look:
        await look.press("e")
        await look.until_shown("error 1 of 1")
        await look.press("enter", "tab")
        await look.until_shown("✖ ERROR", "exception", "Traceback (most recent call last):")


async def test_groups() -> None:
    """Requests of a Serve application by their root names, with failures and percentiles."""
    async with recording("serve") as look:
        await look.press("r")
        below = look.lines[1 + ROWS + 1 :]
        heads = below[0].split()
        assert heads == ["TRACES", "▾", "ERR", "ERR%", "INC", "P50", "P95", "P99", "MAX", "µs", "ms", "s", "ROOT"]
        counts = [int(line.split()[0].replace(",", "")) for line in below[1:11] if line.strip()]
        assert counts == sorted(counts, reverse=True)
        assert counts[0] > 1


@pytest.mark.parametrize("name", [shot[0] for shot in SHOTS])
def test_the_pictures_are_of_these_screens(name: str) -> None:
    """Each picture of the README is there and has a title that names it."""
    picture = (ROOT / "fixtures" / "pictures" / f"{name}.svg").read_text()
    assert picture.startswith("<svg")
    assert "spanview" in picture
