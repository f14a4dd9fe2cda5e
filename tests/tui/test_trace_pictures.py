"""What is shown of a trace, taken along: `i` into a file, `V` to the clipboard."""

from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder
from spanview.exports import files
from spanview.model.ids import format_trace_id
from spanview.tui.trace import trace_picture
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen
from svgs import parsed, texts, titles
from viewers import Look, looking_at

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Document

NAME = "trace-12345678.svg"
TRACE = int("12345678" + "0" * 23 + "1", 16)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Let the current folder be a new one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def documents() -> list[Document]:
    """Return a trace of five spans."""
    return Builder().draw("run 0-1000\n  load 100-300\n    read 120-200\n  work 400-900\n    step 410-500", trace=TRACE)


async def test_a_picture(folder: Path) -> None:
    """`i` draws what is shown, as it is folded and zoomed, into a file that wasn't there, and says which."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "i")
        await look.until(lambda: "wrote " in look.footer)
        assert f"/{NAME}" in look.footer
        root = parsed((folder / NAME).read_bytes())
        assert format_trace_id(TRACE) in " ".join(texts(root))
        assert [title.split("\n")[0] for title in titles(root)] == ["run", "load", "read", "work", "step"]
        await look.press("down", "left", "i")
        await look.until(lambda: "-2.svg" in look.footer)
        root = parsed((folder / "trace-12345678-2.svg").read_bytes())
        assert [title.split("\n")[0] for title in titles(root)] == ["run", "load", "work", "step"]
        assert "+1" in texts(root)
        await look.press("f", "i")
        await look.until(lambda: "-3.svg" in look.footer)
        root = parsed((folder / "trace-12345678-3.svg").read_bytes())
        assert "1 ms" not in texts(root)[2:5]
        assert "›" in texts(root)
        assert len(os.listdir(folder)) == 3


async def test_nothing_is_overwritten(folder: Path) -> None:
    """A name that is taken, be it by a link that leads nowhere, stays what it is."""
    (folder / NAME).write_bytes(b"precious")
    (folder / "trace-12345678-2.svg").symlink_to("nowhere")
    async with looking_at(*documents()) as look:
        await look.press("enter", "i")
        await look.until(lambda: "-3.svg" in look.footer)
    assert (folder / NAME).read_bytes() == b"precious"
    assert not (folder / "nowhere").exists()


async def test_pressed_often(folder: Path) -> None:
    """However quickly the key is pressed, each picture is whole and has its own name."""
    async with looking_at(*documents()) as look:
        await look.press("enter")
        await look.send(*["i"] * 5)
        await look.until(lambda: len(os.listdir(folder)) == 5)
        await look.app.workers.wait_for_complete()
    for name in os.listdir(folder):
        parsed((folder / name).read_bytes())


@pytest.mark.skipif(os.name != "posix", reason="folders can't be removed here while they are the current one")
async def test_a_folder_that_takes_no_file(folder: Path) -> None:
    """Where no file can be written, the footer says why, and the viewer goes on."""
    gone = folder / "gone"
    gone.mkdir()
    os.chdir(gone)
    gone.rmdir()
    async with looking_at(*documents()) as look:
        await look.press("enter", "i")
        await look.until(lambda: f"can't write {NAME}: its folder doesn't exist" in look.footer)
        await look.press("down")
        assert look.is_on(TraceScreen)


async def test_a_slow_disk_holds_no_key(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While a picture is written the viewer goes on, and says what became of it on whatever screen."""
    may_write, fill = threading.Event(), files._fill

    def slowly(*arguments: Any) -> None:
        may_write.wait(20)
        fill(*arguments)

    monkeypatch.setattr(files, "_fill", slowly)
    async with looking_at(*documents()) as look:
        await look.press("enter", "i")
        for key in ("down", "escape"):
            # One at a time: between keys that are pressed together, what is worked on is waited for.
            await look.press(key)
        assert look.is_on(TracesScreen)
        assert NAME not in os.listdir(folder)
        may_write.set()
        await look.until(lambda: "wrote " in look.footer)
        parsed((folder / NAME).read_bytes())


async def test_a_trace_without_an_id(folder: Path) -> None:
    """Spans without a usable trace id are drawn under a name that says so."""
    document = Builder().span()
    document["context"]["trace_id"] = "0x" + "0" * 32
    async with looking_at(document) as look:
        await look.press("enter", "i")
        await look.until(lambda: "trace-without-id.svg" in look.footer)
    assert os.listdir(folder) == ["trace-without-id.svg"]


async def copied(look: Look) -> list[str]:
    """Press `V` and return the lines on the clipboard."""
    await look.press("V")
    await look.until(lambda: "copied the waterfall as text" in look.footer)
    return look.app.clipboard.splitlines()


async def test_the_text(folder: Path) -> None:
    """`V` copies what is shown as lines of 100 columns, as it is folded."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "down", "left")
        title, *_ = lines = await copied(look)
        assert title.startswith(f"trace {format_trace_id(TRACE)} · ")
        assert lines[1].startswith("1 ms = 410 µs in work + ")
        assert [line[:16].rstrip() for line in lines[3:7]] == ["▾ run", "│ ▸ load +1", "│ ▾ work", "│ │   step"]
        assert max(map(len, lines)) == 100
    assert os.listdir(folder) == []


async def test_a_long_text_has_an_end() -> None:
    """Of many rows as many are copied as terminals take, and how many are not is said in the text and the footer."""
    build = Builder()
    spans = [build.span("o" + "\u0308" * 300, start=at, duration=1000) for at in range(1000)]
    async with looking_at(*spans) as look:
        await look.press("enter", "R")
        lines = await copied(look)
        assert len("\n".join(lines).encode()) < 48_000
        assert "of 1,000 rows" in look.footer
        assert any(line.startswith("… ") and line.endswith(" more spans: not drawn") for line in lines)


async def test_what_was_left_copies_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A text that isn't ready when its screen is left is dropped."""
    may_go, made, make = threading.Event(), threading.Event(), trace_picture.picture_of
    begun = threading.Event()

    def slowly(*arguments: Any) -> object:
        begun.set()
        may_go.wait(20)
        picture = make(*arguments)
        made.set()
        return picture

    monkeypatch.setattr(trace_picture, "picture_of", slowly)
    async with looking_at(*documents()) as look:
        await look.press("enter", "V")
        await look.until(begun.is_set)
        await look.press("escape")
        assert look.is_on(TracesScreen)
        may_go.set()
        await look.until(made.is_set)
        await look.press("down")
        assert "copied" not in look.footer
        assert not look.app.clipboard
