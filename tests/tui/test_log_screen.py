"""Logs beside spans: the section of the details, the line of a call, and the pager that they lead to."""

from __future__ import annotations

import os
import shutil
from typing import TYPE_CHECKING, Final

import pytest

from builders import Builder
from hostile import ALL
from spanview.display.span_text import LOG, SECTIONS
from spanview.tui.app.opening import Opening
from spanview.tui.calls.function_calls_screen import FunctionCallsScreen
from spanview.tui.log import log_window
from spanview.tui.log.log_screen import LogScreen
from spanview.tui.span.details import Details
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Document

pytestmark = pytest.mark.usefixtures("universal_time")
NAME: Final = "worker-ab12-01000000-7"
OF_WORKER: Final = {"ray.worker_id": "ab12", "ray.pid": "7", "ray.job_id": "01000000"}
# The builder's time 0 is 22:13:20, and the span lasts 1 ms.
ERR: Final = """\
:job_id:01000000
2023-11-14 22:13:18,000 INFO root before
2023-11-14 22:13:20,000 INFO root loading
2023-11-14 22:13:20,000 ERROR root caught
Traceback (most recent call last):
ValueError: bad
2023-11-14 22:13:24,000 INFO root behind
"""


@pytest.fixture
def session(tmp_path: Path) -> Path:
    """Return a folder of logs."""
    folder = tmp_path / "session" / "logs"
    (folder / "spans").mkdir(parents=True)
    (folder / f"{NAME}.err").write_text(ERR)
    (folder / f"{NAME}.out").write_text("printed\n")
    return folder


def data_of(session: Path, *documents: Document) -> Growing:
    """Return spans of the worker, as if they had been read beside its logs."""
    data = Growing()
    data.add(*documents or [a_call()], path=str(session / "spans" / "7.txt"))
    return data


def a_call() -> Document:
    """Return a span of the worker, which lasts a millisecond."""
    return Builder().span("add", start=0, duration=1000, attributes=OF_WORKER)


def under_cursor(look: Look) -> str:
    """Return the line under the pager's cursor."""
    screen = look.screen
    assert isinstance(screen, LogScreen)
    return screen.rows.text_of(screen.rows.cursor)


async def until_under_cursor(look: Look, end: str) -> None:
    """Wait until the line under the pager's cursor ends so."""
    await look.until(lambda: under_cursor(look).endswith(end))


async def open_section(look: Look) -> None:
    """Go on to the section of logs, once it is known."""
    await look.until_shown("Log ")
    for _ in SECTIONS:
        if look.screen.query_one(Details).section == LOG:
            return
        await look.press("tab")
    raise AssertionError("Tab doesn't lead to the section")


async def open_log(look: Look) -> LogScreen:
    """Open the log of the first trace's root."""
    await look.press("enter", "v")
    await look.until(lambda: look.is_on(LogScreen))
    screen = look.screen
    assert isinstance(screen, LogScreen)
    return screen


# -- the section ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_the_section_has_the_lines_of_the_span(session: Path, size: tuple[int, int]) -> None:
    """With their count in its title, what can't be told apart marked so; Enter and v open the log at a line."""
    async with looking_at(data=data_of(session), size=size) as look:
        await look.press("enter", "enter")
        await look.until_shown("Log 5")
        await open_section(look)
        await look.until_shown("Log 5", "INFO root loading", "ValueError: bad", "printed")
        assert "no times were found" in look.text
        assert not {"before", "behind"} & {word for line in look.lines for word in line.split()}
        await look.press("j", "enter")
        await look.until(lambda: look.is_on(LogScreen))
        assert under_cursor(look).endswith("ERROR root caught")
        assert "▌ 4 lines of add" in look.header or size[0] < 100
        await look.press("escape", "v")
        await look.until(lambda: look.is_on(LogScreen))
        assert under_cursor(look).endswith("ERROR root caught")


async def test_a_long_line_is_copied_whole(session: Path) -> None:
    """Its beginning is shown, in as many lines as that takes."""
    line = "\x1b[31mlong " + "é" * 20_000
    (session / f"{NAME}.out").write_text(f"{line}\n")
    (session / f"{NAME}.err").unlink()
    async with looking_at(data=data_of(session), size=(200, 50)) as look:
        await look.press("enter", "enter")
        await open_section(look)
        await look.until_shown("long éé")
        lines = look.screen.query_one(Details).lines.lines
        assert sum(line.text.count("é") for line in lines) == 10_000 - len("long …")
        assert any(line.text.endswith("é…") for line in lines)
        await look.press("j", "y")
        assert look.app.clipboard == line.removeprefix("\x1b[31m")


async def test_many_wide_lines_are_cut(session: Path) -> None:
    """Measuring them takes long: of a few all is shown, of many the beginning."""
    (session / f"{NAME}.out").write_text(f"{'漢' * 1_000}\n" * 100)
    (session / f"{NAME}.err").unlink()
    async with looking_at(data=data_of(session), size=(200, 50)) as look:
        await look.press("enter", "enter")
        await open_section(look)
        await look.until_shown("漢漢")
        shown = sum(line.text.count("漢") for line in look.screen.query_one(Details).lines.lines)
        assert shown == 10 * 1_000 + 90 * 200
        assert "1,000 characters in all; y copies them" in "".join(
            line.text for line in look.screen.query_one(Details).lines.lines
        )


async def test_a_span_without_a_log_says_why() -> None:
    """In the section, which is dim, and where its log is asked for; nothing is opened."""
    async with looking_at(Builder().span("a"), size=(110, 32)) as look:
        await look.press("enter")
        reason = "the span names no worker of Ray and no request of Ray Serve"
        await look.press("v")
        await look.until_shown(f"no log: {reason}")
        look.screen.query_one(Details).open_section(LOG)
        await look.until(lambda: look.line_of(reason) < len(look.lines) - 1)
        assert look.is_on(TraceScreen)


async def test_a_log_that_goes_on_is_looked_at_again(session: Path) -> None:
    """When spans come, and the section is open."""
    data = data_of(session)
    opening = Opening(("spans",), follow=True)
    async with looking_at(data=data, opening=opening, size=(110, 32)) as look:
        await look.press("enter", "enter")
        await look.until_shown("Log 5")
        await open_section(look)
        with (session / f"{NAME}.out").open("a") as log:
            log.write("printed later\n")
        details = look.screen.query_one(Details)
        assert details.subject is not None
        details.show(details.subject)
        await look.until_shown("Log 6", "printed later")
        assert look.is_on(SpanScreen)


async def test_a_call_names_its_log(session: Path) -> None:
    """Below the list of a function's calls; v opens it."""
    build = Builder()
    call = build.span("add ray.remote", span=1, kind="PRODUCER", start=-10, duration=5, attributes=OF_WORKER)
    attempt = build.span(
        "add ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=0, duration=1000, attributes=OF_WORKER
    )
    async with looking_at(data=data_of(session, call, attempt), size=(120, 30)) as look:
        await look.press("A", "enter")
        await look.until(lambda: look.is_on(FunctionCallsScreen))
        await look.until_shown(f"{NAME}.err   4 lines of this call, 1 more log   v opens it")
        await look.press("v")
        await look.until(lambda: look.is_on(LogScreen))
        assert under_cursor(look).endswith("root loading")


# -- the pager --------------------------------------------------------------------------------------------------------


async def test_the_pager_begins_at_the_lines_of_the_span(session: Path) -> None:
    """They have a bar before them; the keys lead through them, to the ends, and to the other log."""
    async with looking_at(data=data_of(session), size=(100, 24)) as look:
        await open_log(look)
        assert under_cursor(look).endswith("root loading")
        assert [line[:20] for line in look.lines if line.startswith("▌")] == [
            *("▌2023-11-14 22:13:20", "▌2023-11-14 22:13:20", "▌Traceback (most rec", "▌ValueError: bad    ")
        ]
        await look.press("G")
        assert under_cursor(look).endswith("root behind")
        assert "100%" in look.header
        await look.press("W")
        assert under_cursor(look).endswith("root loading")
        await look.press("w")
        assert "no more lines of the span" in look.footer
        await look.press("g", "y")
        assert look.app.clipboard == ":job_id:01000000"
        await look.press("tab")
        assert under_cursor(look) == "printed"
        assert f"{NAME}.out" in look.header
        assert "no times" in look.header


async def test_searching(session: Path) -> None:
    """Small letters match both; n and N go on, round the end if need be; Esc ends it."""
    async with looking_at(data=data_of(session), size=(100, 24)) as look:
        screen = await open_log(look)
        await look.press("slash", *"root", "enter")
        await look.until_shown(" n N ")
        assert under_cursor(look).endswith("root loading")
        for key, end in (("n", "root caught"), ("n", "root behind"), ("n", "root before"), ("N", "root behind")):
            await look.press(key)
            await until_under_cursor(look, end)
        await look.press("slash", *["backspace"] * 4, *"ROOT", "enter")
        await look.until_shown("no match")
        await look.press("escape")
        assert screen.rows.found is None
        assert look.is_on(LogScreen)
        await look.press("n")
        assert "nothing to repeat" in look.footer
        await look.press("escape")
        assert look.is_on(TraceScreen)


async def test_what_is_appended_comes_in_sight(session: Path) -> None:
    """As it is written, where the cursor is on the last line; a pause holds it."""
    path, opening = session / f"{NAME}.err", Opening(("spans",), follow=True)
    async with looking_at(data=data_of(session), opening=opening, size=(100, 24)) as look:
        screen = await open_log(look)
        await look.press("G")
        with path.open("a") as log:
            log.write("one m")
            log.flush()
            screen._look()
            await look.until_shown("one m")
            log.write("ore\n" + "and more\n" * 1200)
        screen._look()
        assert under_cursor(look) == "and more"
        assert screen.rows.is_at_end
        await look.press("k")
        with path.open("a") as log:
            log.write("last\n")
        screen._look()
        assert under_cursor(look) == "and more"
        look.app.toggle_pause()
        with path.open("a") as log:
            log.write("after the pause\n")
        screen._look()
        await look.press("G")
        assert under_cursor(look) == "last"


@pytest.mark.parametrize("change", ["truncated", "rotated", "removed"])
async def test_a_log_that_is_replaced(session: Path, change: str) -> None:
    """What is there now is shown, and said to be; of a removed one what was there."""
    path = session / f"{NAME}.err"
    async with looking_at(data=data_of(session), size=(100, 24)) as look:
        screen = await open_log(look)
        if change == "truncated":
            path.write_text("new\n")
        else:
            path.rename(path.with_suffix(".err.1"))
            if change == "rotated":
                path.write_text("new\n")
        screen._look()
        await look.pilot.pause()
        assert (under_cursor(look) == "new") == (change != "removed")
        assert ("replaced or truncated" in look.footer) == (change != "removed")
        await look.press("tab")
        assert under_cursor(look) == "printed"


async def test_long_logs_are_read_where_they_are_looked_at(session: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whichever way one goes through them, no more than a part of the lines is known at a time."""
    monkeypatch.setattr(log_window, "_MOST", 2000)
    lines = [f"line {number}" for number in range(30_000)]
    (session / f"{NAME}.err").write_text("".join(f"{line}\n" for line in lines))
    async with looking_at(data=data_of(session), size=(100, 24)) as look:
        screen = await open_log(look)
        rows = screen.rows
        shown = int(under_cursor(look).split()[1])
        assert (shown, rows.row_count) == (0, 500)
        for _ in range(200):
            rows.action_page(1)
        assert under_cursor(look) == f"line {200 * (rows.size.height - 1)}"
        assert rows.row_count <= 2000
        for _ in range(150):
            rows.action_page(-1)
        assert under_cursor(look) == f"line {50 * (rows.size.height - 1)}"
        rows.action_edge(1)
        assert under_cursor(look) == "line 29999"
        rows.action_move(-700)
        rows.action_move(-1)
        await look.press("slash", *"line 777", "enter")
        await look.until(lambda: under_cursor(look) == "line 777")
        rows.action_edge(0)
        assert under_cursor(look) == "line 0"
        for _ in range(3):
            # As the wheel does.
            rows.scroll_to(y=rows.max_scroll_y, animate=False, immediate=True)
            await look.pilot.pause()
        assert rows.row_count > 1000
        assert under_cursor(look) == "line 0"
        for _ in range(20):
            rows.scroll_relative(y=50, animate=False)
        await look.pilot.pause()
        top = int(rows.text_of(rows.scroll_offset.y).split()[1])
        assert 1000 < top < 4000


async def test_rubbish_is_harmless(session: Path) -> None:
    """What a terminal would act on is shown as what it is, colours are left out, and lines of any length are cut."""
    hostile = (
        ALL.encode("utf-8", "surrogatepass")
        + b"\n\x1b[31mred\x1b[0m \x1b]0;title\x07 \x00\xff\xfe\xc2\x9b1m \xe2\x80\xae \r over\n"
        + b"x" * 300_000
    )
    (session / f"{NAME}.err").write_bytes(hostile)
    (session / f"{NAME}.out").write_bytes(os.urandom(20_000))
    async with looking_at(data=data_of(session), size=(100, 24)) as look:
        await open_log(look)
        assert "red ␛]0;title␇ ␀��\\x9b1m \\u202e ␍ over" in look.text
        await look.press("l", "G", "tab", "G", "k", "l", "h", "w", "N")
        assert look.is_on(LogScreen)
        assert all(line.isprintable() for line in look.lines)
        await look.press("q", "enter")
        await open_section(look)
        assert all(line.isprintable() for line in look.lines)


async def test_long_lines_move(session: Path) -> None:
    """To the right as far as there is text, and back."""
    (session / f"{NAME}.err").write_text("short\n" + "".join(f"{number:04}" for number in range(60)) + "\n")
    async with looking_at(data=data_of(session), size=(80, 24)) as look:
        await open_log(look)
        assert ("0017" in look.text, "0059" in look.text) == (True, False)
        for _ in range(20):
            await look.press("l")
        assert "0059" in look.text
        assert "short" not in look.text
        for _ in range(20):
            await look.press("h")
        assert "short" in look.text


async def test_a_log_that_is_gone(session: Path) -> None:
    """Between being found and being opened."""
    async with looking_at(data=data_of(session), size=(110, 32)) as look:
        await look.press("enter", "enter")
        await look.until_shown("Log 5")
        await open_section(look)
        shutil.rmtree(session)
        await look.press("v")
        assert f"{NAME}.err: No such file or directory" in look.footer
        assert look.is_on(SpanScreen)
