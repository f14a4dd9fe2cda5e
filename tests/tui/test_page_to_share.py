"""`P`: a page of the traces that the bar names, in the current folder."""

from __future__ import annotations

from typing import TYPE_CHECKING

from builders import Builder
from html_blocks import blocks_of
from spanview.tui.keys import KEYS, On
from viewers import looking_at

if TYPE_CHECKING:
    from pathlib import Path

    import pytest

    from viewers import Look


async def written(look: Look, path: Path, said: str) -> list[str]:
    """Press the key, and return the ids of the traces in the page that it says it has written."""
    look.app.said = ""
    await look.press("P")
    await look.until(lambda: look.app.said == f"wrote {said} to {path}")
    return ids_in(path)


def ids_in(path: Path) -> list[str]:
    """Return the ids of the traces in a page, without their leading zeros."""
    (_, _, overview), *_ = blocks_of(path.read_bytes())
    return [trace_id.lstrip("0") for trace_id in overview["traces"]["id"]]


async def test_a_page_is_of_what_the_bar_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It has all traces, what a filter leaves, or the trace that is open, and replaces no other."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("spanview.exports.files._MAX_PATH_LENGTH", 1_000)
    build = Builder()
    spans = [build.span(name, trace=number) for number, name in enumerate(("load", "save", "sum"), 1)]
    async with looking_at(*spans) as look:
        assert await written(look, tmp_path / "traces.html", "3 traces") == ["1", "2", "3"]
        await look.press("slash")
        await look.type("name~^s")
        await look.press("enter")
        assert sorted(await written(look, tmp_path / "traces-2.html", "2 traces")) == ["2", "3"]
        await look.press("enter")
        assert await written(look, tmp_path / "trace-00000000.html", "1 trace") == ["3"]


def test_it_is_on_every_screen_that_has_traces() -> None:
    """Only the help is about something else."""
    (key,) = (key for key in KEYS if key.action == "page_to_share")
    assert key.on == On.EVERYWHERE ^ On.HELP
