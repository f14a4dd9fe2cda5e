"""What a person sets is there the next time; whatever stands in the file, and whoever else writes it.

the file                            what is taken       what is said       what is written
--------                            -------------       ------------       ---------------
none, no folder                     the defaults        nothing            the file, and its folder
broken, foreign                     the defaults        one notice         the file anew, the old one beside it
odd values                          what is a value     one notice         the file anew
unreadable, a FIFO, a folder        the defaults        one notice         nothing: "unsaved"
of a later version                  the defaults        one notice         nothing: "unsaved"
"""

from __future__ import annotations

import json
import os
import stat
import threading
from dataclasses import fields, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Builder
from spanview.analysis.trace_lists import TraceColumn
from spanview.commands.view import _theme_for
from spanview.tui.app.opening import Opening
from spanview.tui.app.settings import KeptSettings, Settings, chosen
from spanview.tui.trace.appearance import ColorBy
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import Waterfall
from terminals import ESCAPE, Terminal
from viewers import looking_at

if TYPE_CHECKING:
    from builders import Document

RECORDING = str(Path(__file__).parent.parent.parent / "fixtures" / "ray-tasks-bundled-hook" / "spans")


def documents() -> list[Document]:
    """Return two traces of different lengths, one of them with many like siblings."""
    build = Builder()
    siblings = [build.span("leaf", parent=1, start=8 * n, duration=5, service="b") for n in range(12)]
    root = build.span("batch", span=1, start=0, duration=100, service="a")
    return [root, *siblings, build.span("late", trace=2, start=2_000, duration=10)]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    """Return where settings are kept; neither the file nor its folder is there."""
    return tmp_path / "config" / "spanview" / "settings.json"


def opening(path: Path) -> Opening:
    """Return what a viewer begins with that keeps its settings there."""
    return Opening(("spans",), settings=os.fspath(path))


def kept(path: Path) -> dict[str, Any]:
    """Return what a file says."""
    document: dict[str, Any] = json.loads(path.read_bytes())
    return document


# -- the file ----------------------------------------------------------------------------------------------------------


def _another(default: Any) -> Any:
    """Return another value of the same kind."""
    if isinstance(default, int):
        return default + 1
    return (1, 3) if default == () else f"{default}x"


def test_every_setting_comes_back(path: Path) -> None:
    """Each setting that says how something looks is written, and taken by the next viewer; tuples are tuples again."""
    kept_ones = {"theme", "columns", "names_percent", "color_by"}
    changed = {field.name: _another(field.default) for field in fields(Settings) if field.name in kept_ones}
    assert len(changed) == len(kept_ones)
    first = KeptSettings(os.fspath(path))
    assert first.now == Settings()
    assert first.change(changed)
    assert not first.change(changed)
    assert first.write()
    second = KeptSettings(os.fspath(path))
    assert second.now == replace(Settings(), **changed)
    assert not second.notice
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]
    assert stat.S_IMODE(path.parent.stat().st_mode) == 0o700


@pytest.mark.parametrize(
    ("text", "notice"),
    [
        (b"", "isn't JSON"),
        (b"{", "isn't JSON"),
        (b"\xff\xfe", "isn't JSON"),
        (b"[" * 5000, "isn't JSON"),
        (b"[]", "isn't a settings file"),
        (b"{}", "isn't a settings file"),
        (b'{"format": "1"}', "isn't a settings file"),
        (b'{"format": true}', "isn't a settings file"),
        (b'{"format": 0}', "isn't a settings file"),
        (b'{"format": 1, "theme": 5}', "theme is no value"),
        (b'{"format": 1, "theme": null}', "theme is no value"),
        (b'{"format": 1, "theme": "a\\u001b[2J"}', "theme is no value"),
        (b'{"format": 1, "theme": "' + b"x" * 41 + b'"}', "theme is no value"),
        (b'{"format": 1, "names_percent": true}', "names_percent is no value"),
        (b'{"format": 1, "columns": [true]}', "columns is no value"),
        (b'{"format": 1, "columns": [-1]}', "columns is no value"),
        (b'{"format": 1, "columns": [32]}', "columns is no value"),
        (b'{"format": 1, "columns": ' + json.dumps([1] * 33).encode() + b"}", "columns is no value"),
        (b'{"format": 1, "columns": "12"}', "columns is no value"),
        (b" " * 70_000, "too large"),
    ],
)
def test_what_is_wrong_is_the_default(path: Path, text: bytes, notice: str) -> None:
    """Odd files and odd values are the defaults, with a notice; the next change makes the file whole."""
    path.parent.mkdir(parents=True)
    path.write_bytes(text)
    settings = KeptSettings(os.fspath(path))
    assert settings.now == Settings()
    assert notice in settings.notice
    settings.change({"theme": "light"})
    assert settings.write()
    assert kept(path)["theme"] == "light"
    # What wasn't understood stands beside it, as it was; one that is understood but for a value keeps its place.
    aside = path.with_name("settings.json.damaged")
    is_understood = "is no value" in notice
    assert settings.aside == ("" if is_understood else aside.name)
    assert aside.exists() != is_understood
    assert is_understood or aside.read_bytes() == text


@given(st.recursive(st.none() | st.booleans() | st.integers() | st.floats() | st.text(), st.lists))
def test_any_value_is_taken_or_not(value: object) -> None:
    """Whatever a file has for a setting: it is of the setting's type, or the default is taken."""
    from spanview.tui.app.settings import _taken

    for field in fields(Settings):
        taken = _taken(field.default, value)
        assert taken is None or type(taken) is type(field.default)


def test_a_file_of_a_later_version_stays_as_it_is(path: Path) -> None:
    """It isn't understood, so it is neither taken nor written over."""
    path.parent.mkdir(parents=True)
    text = b'{"format": 2, "theme": {"name": "light"}, "sort": "ROOT"}'
    path.write_bytes(text)
    settings = KeptSettings(os.fspath(path))
    assert settings.now == Settings()
    assert "later version" in settings.notice
    settings.change({"theme": "light"})
    assert not settings.write()
    assert path.read_bytes() == text


def test_what_is_not_known_is_kept(path: Path) -> None:
    """A setting that only another version knows stays in the file."""
    path.parent.mkdir(parents=True)
    path.write_text('{"format": 1, "later": [1], "theme": "light"}')
    settings = KeptSettings(os.fspath(path))
    settings.change({"color_by": "kind"})
    assert settings.write()
    assert kept(path) == {"format": 1, "later": [1], "theme": "light", "color_by": "kind"}


def test_rows_and_orders_are_not_kept(path: Path) -> None:
    """What was chosen for another folder would hide rows: none is written, and one that is there is not taken."""
    path.parent.mkdir(parents=True)
    path.write_text('{"format": 1, "sort": "ERR", "workers_reversed": true, "joins": false, "color_by": "kind"}')
    settings = KeptSettings(os.fspath(path))
    assert settings.now == Settings(color_by="kind")
    assert not settings.change({"sort": "ROOT", "statistics_sort": "p50", "without_rays_own": True})
    assert settings.now.sort == "ROOT"
    settings.change({"theme": "light"})
    assert settings.write()
    assert kept(path) == {"format": 1, "theme": "light", "color_by": "kind"}


def test_what_is_no_file(path: Path) -> None:
    """A FIFO doesn't let anybody wait, a folder isn't written over, and neither is an endless file read on."""
    path.parent.mkdir(parents=True)
    os.mkfifo(path)
    folder = path.with_name("folder.json")
    folder.mkdir()
    for place in (path, folder):
        settings = KeptSettings(os.fspath(place))
        assert "isn't a regular file" in settings.notice
        settings.change({"theme": "light"})
        assert not settings.write()
    assert "isn't a regular file" in KeptSettings("/dev/zero").notice


def test_a_link_to_the_file_stays_one(path: Path, tmp_path: Path) -> None:
    """Who keeps the file elsewhere, behind a symbolic link, finds the changes there."""
    target = tmp_path / "dotfiles.json"
    target.write_text('{"format": 1}')
    path.parent.mkdir(parents=True)
    path.symlink_to(target)
    settings = KeptSettings(os.fspath(path))
    settings.change({"theme": "light"})
    assert settings.write()
    assert path.is_symlink()
    assert kept(target)["theme"] == "light"


def test_nobody_is_home(tmp_path: Path) -> None:
    """Where there is no home, none is made."""
    path = tmp_path / "home" / ".config" / "spanview" / "settings.json"
    settings = KeptSettings(os.fspath(path))
    settings.change({"theme": "light"})
    assert not settings.write()
    assert not (tmp_path / "home").exists()


def test_two_viewers_at_once(path: Path) -> None:
    """Each writes what was changed in it, and nothing of what the other one has changed."""
    first, second = KeptSettings(os.fspath(path)), KeptSettings(os.fspath(path))
    first.change({"theme": "light"})
    assert first.write()
    second.change({"color_by": "kind", "columns": (1,)})
    assert second.write()
    first.change({"names_percent": 30})
    assert first.write()
    now = KeptSettings(os.fspath(path)).now
    assert (now.theme, now.color_by, now.columns, now.names_percent) == ("light", "kind", (1,), 30)


def test_many_writers(path: Path) -> None:
    """The file is whole at every moment, however many write it."""
    path.parent.mkdir(parents=True)
    KeptSettings(os.fspath(path)).write()

    def write(number: int) -> None:
        settings = KeptSettings(os.fspath(path))
        for turn in range(30):
            settings.change({"theme": f"{number}.{turn}"})
            assert settings.write()

    writers = [threading.Thread(target=write, args=(number,)) for number in range(3)]
    for writer in writers:
        writer.start()
    while any(writer.is_alive() for writer in writers):
        assert KeptSettings(os.fspath(path)).notice == ""
    assert [each.name for each in path.parent.iterdir()] == ["settings.json"]


def test_words_that_no_screen_knows() -> None:
    """A screen takes its default for a word that it has no use for."""
    assert chosen(ColorBy, "kind") is ColorBy.KIND
    assert chosen(ColorBy, "gone") is None
    assert TraceColumn(Settings().sort) is TraceColumn.START


# -- the viewer --------------------------------------------------------------------------------------------------------


async def test_what_is_set_is_there_again(path: Path) -> None:
    """Theme, columns and colours come back in the next viewer; views, folds and orders begin anew."""
    async with looking_at(*documents(), opening=opening(path)) as look:
        await look.press(
            "T", "s", "S", "r", "r", "t", "s", "s", "escape", "L", "s", "escape", "end", "enter", "2", "4", "C", "R"
        )
        await look.until(lambda: path.exists() and len(kept(path)) == 4)
        first = look.app.settings
    kept_ones = Settings(theme="light", columns=(1, 3), color_by="process")
    orders: dict[str, Any] = {"sort": "duration, reversed", "statistics_sort": "min", "workers_sort": "name"}
    assert first == replace(kept_ones, folds=False, **orders)
    async with looking_at(*documents(), opening=opening(path)) as look:
        assert look.app.settings == kept_ones
        assert look.app.theme == "light"
        assert "START ▾" in look.text
        await look.press("end", "enter")
        assert look.is_on(TraceScreen)
        assert "SHARE" in look.text
        assert "SERVICE" in look.text
        assert look.screen.query_one(Waterfall).appearance.color_by is ColorBy.PROCESS
        assert "×12" in look.text


async def test_groups_are_left_with_the_viewer(path: Path) -> None:
    """Traces that were grouped are listed the next time: which view comes first depends on the recording alone."""
    async with looking_at(*documents(), opening=opening(path)) as look:
        await look.press("r")
        assert "P95" in look.text
        await look.press("down", "enter", "escape")
        assert "P95" in look.text
        look.app.leave()
    async with looking_at(*documents(), opening=opening(path)) as look:
        assert "P95" not in look.text
        assert "START ▾" in look.text


async def test_orders_last_as_long_as_the_viewer(path: Path) -> None:
    """What was chosen is there when a screen opens again, and forgotten with all else."""
    async with looking_at(*documents(), opening=opening(path)) as look:
        await look.press("r", "s", "S", "r", "F")
        await look.until_shown("width: total time")
        await look.press("s", "escape", "d", "down", "d")
        await look.until_shown("by the change of self time")
        await look.press("s", "s", "escape", "d", "down", "d")
        await look.until_shown("SELF B ▾")
        look.app.leave()
    async with looking_at(*documents(), opening=opening(path)) as look:
        await look.press("F")
        await look.until_shown("width: total time")
        await look.press("s", "escape", "F")
        await look.until_shown("width: self time")
        await look.press("escape", "r")
        await look.until_shown("TRACES ▾")
        await look.press("s", "S", "r", "r")
        await look.until_shown("FAILED▴")
        look.app.forget_settings()
        await look.until_shown("TRACES ▾")


async def test_settings_are_forgotten(path: Path) -> None:
    """An entry of the palette brings the defaults back, on all screens, and removes the file."""
    async with looking_at(*documents(), opening=opening(path)) as look:
        await look.press("T", "s", "enter", "4", "R")
        await look.until(path.exists)
        assert "×12" not in look.text
        await look.press("colon")
        await look.type("forget settings")
        await look.press("enter")
        await look.until_shown("defaults restored")
        assert look.app.theme == "dark"
        assert "×12" in look.text
        assert "SERVICE" not in look.text
        await look.press("escape")
        assert "START ▾" in look.text
        look.app.leave()
        await look.until(lambda: not path.exists())


@pytest.fixture
def broken(path: Path) -> Path:
    """Return a file of settings that breaks off."""
    path.parent.mkdir(parents=True)
    path.write_text("{")
    return path


async def test_a_broken_file_is_told_once(broken: Path) -> None:
    """The footer says what is wrong with the file."""
    async with looking_at(*documents(), opening=opening(broken)) as look:
        assert look.footer.rstrip().endswith("settings not used: it isn't JSON")


async def test_a_broken_file_is_put_aside(broken: Path) -> None:
    """When something is set, the footer says where the broken file is now, once."""
    async with looking_at(*documents(), opening=opening(broken)) as look:
        await look.press("T")
        await look.until_shown("the damaged settings are kept as settings.json.damaged")
        assert broken.with_name("settings.json.damaged").read_text() == "{"
        assert kept(broken)["theme"] == "light"
        await look.press("s", "T")
        await look.until(lambda: kept(broken)["theme"] == "high contrast")
        await look.app.workers.wait_for_complete()
        assert "damaged" not in look.footer


async def test_a_folder_that_cannot_be_written(path: Path) -> None:
    """One word says so, once."""
    path.parent.parent.mkdir()
    path.parent.write_text("a file in the folder's place")
    async with looking_at(*documents(), opening=opening(path)) as look:
        await look.press("T")
        await look.until(lambda: look.footer.rstrip().endswith("theme: light · unsaved"))
        await look.press("T")
        await look.pilot.pause(0.8)
        assert look.footer.rstrip().endswith("theme: high contrast")


# -- the program -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "theme"),
    [("15;0", "dark"), ("0;15", "light"), ("0;default;15", "light"), ("7;8", "dark"), ("0;7", "light")]
    + [(odd, "dark") for odd in ("", ";", "x", "0;default", "0;99", "-1;-1")],
)
def test_the_terminal_tells_its_background(value: str, theme: str) -> None:
    """A light background, as COLORFGBG says it, has the light theme; whatever else it says is the dark one."""
    assert _theme_for({"COLORFGBG": value}) == theme
    assert _theme_for({}) == "dark"


def test_the_program_keeps_them(tmp_path: Path) -> None:
    """What was set right before the end is there when the program starts again."""
    environment = {"XDG_CONFIG_HOME": os.fspath(tmp_path), "COLORFGBG": "0;15"}
    for keys, seen in ((b"TT", "theme: high contrast light"), (b"T", "theme: ansi")):
        with Terminal(RECORDING, environment=environment) as terminal:
            assert terminal.has_soon("31 traces")
            terminal.send(keys)
            assert terminal.has_soon(seen), terminal.lines
            terminal.send(ESCAPE, b"q")
            assert terminal.wait() == 0
    assert kept(tmp_path / "spanview" / "settings.json") == {"format": 1, "theme": "ansi"}
