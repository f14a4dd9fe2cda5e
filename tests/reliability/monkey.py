"""A monkey at the viewer: random keys, words, clicks, drags, turns of the wheel and sizes, while files change below it.

what it looks at                     what happens meanwhile
----------------                     ----------------------
four recordings, and hostile texts   files are appended to, cut, removed, and replaced by others

After each move the screen has just its lines, each as wide as it is, and nothing in them acts; the viewer ends only
when it is told to. The seed of what failed is told.
"""

from __future__ import annotations

import asyncio
import os
import shutil
import traceback
from contextlib import chdir
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len
from textual import events
from textual.geometry import Size

from every_screen import WAYS
from hostile import ALL, TEXTS, make_folder
from pictures import ROOT, viewer_of
from spanview.tui.keys import KEYS
from viewers import Growing, Look, screen_lines

from .dice import Dice
from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.tui.app.app import SpanviewApp

_RECORDINGS: Final = ("ray-tasks-bundled-hook", "serve", "session-with-logs", "killed-workers")
_HOSTILE: Final = "hostile texts"
_SIZES: Final = ((60, 20), (80, 24), (110, 32), (148, 40), (200, 50), (30, 8), (1, 1))
_WORDS: Final = ("leaf", "status=ERROR", "duration>1ms", "a >> b", "name~(", "trace.errors>0", '"', "export", "zz")
_MOVES_OF_ONE: Final = 75
"""Then another viewer begins, with other files."""
_KEYS: Final = tuple(
    sorted({each for key in KEYS for each in key.keys.split(",")} | {"backspace", "shift+tab", "ctrl+w"})
)
_TYPED: Final = {
    "space": " ",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "less_than_sign": "<",
    "greater_than_sign": ">",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "left_parenthesis": "(",
    "right_parenthesis": ")",
    "left_curly_bracket": "{",
    "right_curly_bracket": "}",
    "exclamation_mark": "!",
    "question_mark": "?",
    "slash": "/",
    "colon": ":",
}
"""What keys type into a prompt, by Textual's name."""


def _copy_of(recording: str, folder: Path) -> Path:
    """Return a folder with the files of a recording that may be changed."""
    if recording == _HOSTILE:
        folder.mkdir(parents=True)
        return Path(make_folder(folder, ALL))
    source = ROOT / "fixtures" / recording
    shutil.copytree(source / "spans" if (source / "spans").is_dir() else source, folder)
    return folder


def _files(folder: Path) -> Iterator[Path]:
    for at, _, names in os.walk(folder):
        yield from (Path(at, name) for name in sorted(names) if not Path(at, name).is_symlink())


class _Monkey:
    """What plays with one viewer."""

    def __init__(self, look: Look, dice: Dice, folder: Path) -> None:
        self._look = look
        self._dice = dice
        self._folder = folder

    async def move(self) -> str:
        """Do something; return what it was."""
        dice = self._dice
        move = dice.choices(
            (self._press, self._go, self._write, self._click, self._drag, self._wheel, self._resize, self._change),
            (50, 12, 3, 14, 6, 5, 6, 4),
        )[0]
        made = move()
        if dice.random() < 0.7:
            await self._look.pilot.pause()
        elif dice.random() < 0.2:
            await self._look.pilot.pause(0.1)
        return made

    def _press(self) -> str:
        keys = self._dice.choices(_KEYS, k=self._dice.choice((1, 1, 1, 2, 5)))
        # Or it would see little but the first screen.
        self._type(*(key for key in keys if key != "q" or self._dice.random() < 0.2))
        return " ".join(keys)

    def _go(self) -> str:
        """Go to any screen, at once or step by step."""
        keys = *("escape",) * self._dice.choice((0, 1, 4)), *self._dice.choice(tuple(WAYS.values()))
        self._type(*keys)
        return " ".join(keys)

    def _write(self) -> str:
        text = self._dice.choice((*_WORDS, *TEXTS))
        self._type("escape", "slash" if self._dice.random() < 0.7 else "colon")
        self._post(events.Paste(text))
        self._type("enter")
        return f"write {text!a}"

    def _place(self) -> tuple[int, int]:
        width, height = self._look.app.size
        return self._dice.randrange(width), self._dice.randrange(height)

    def _click(self) -> str:
        place, times = self._place(), self._dice.choice((1, 1, 2))
        for _ in range(times):
            self._mouse(events.MouseDown, place)
            self._mouse(events.MouseUp, place)
        return f"click {place} x{times}"

    def _drag(self) -> str:
        begin, end = self._place(), self._place()
        self._mouse(events.MouseDown, begin)
        for part in (0.3, 0.7, 1.0):
            x, y = (round(a + (b - a) * part) for a, b in zip(begin, end, strict=True))
            self._mouse(events.MouseMove, (x, y))
        if self._dice.random() < 0.9:
            self._mouse(events.MouseUp, end)
        return f"drag {begin} {end}"

    def _wheel(self) -> str:
        place, kind = self._place(), self._dice.choice((events.MouseScrollDown, events.MouseScrollUp))
        for _ in range(self._dice.randint(1, 5)):
            self._mouse(kind, place, button=0)
        return f"{kind.__name__} {place}"

    def _resize(self) -> str:
        size = self._dice.choice(_SIZES)
        resize(self._look, *size)
        return f"resize {size}"

    def _change(self) -> str:
        """Change a file, of spans or of a log."""
        files = [*_files(self._folder)]
        if not files:
            return "no file is left"
        path, kind = self._dice.choice(files), self._dice.choice(("grow", "cut", "empty", "remove", "replace"))
        size = path.stat().st_size
        if kind == "grow":
            with path.open("ab") as file:
                file.write(path.read_bytes()[: self._dice.randint(0, 4_000)])
        elif kind == "cut":
            os.truncate(path, self._dice.randint(0, size))
        elif kind == "empty":
            os.truncate(path, 0)
        elif kind == "remove":
            path.unlink()
        else:
            other = path.with_name(f".{path.name[:50]}")
            shutil.copyfile(self._dice.choice(files), other)
            other.replace(path)
        return f"{kind} {path.name!a}"

    def _type(self, *keys: str) -> None:
        for key in keys:
            self._post(events.Key(key, key if len(key) == 1 else _TYPED.get(key)))

    def _mouse(self, kind: type[events.MouseEvent], place: tuple[int, int], button: int = 1) -> None:
        x, y = place
        self._post(kind(None, x, y, 0, 0, button, shift=False, meta=False, ctrl=False, screen_x=x, screen_y=y))

    def _post(self, event: events.Event) -> None:
        driver = self._look.app._driver
        if driver is not None:
            driver.process_message(event)


def resize(look: Look, width: int, height: int) -> None:
    """Tell a viewer that its terminal has another size."""
    # As Textual's own pilot does it, without the pause.
    driver = look.app._driver
    if driver is not None:
        driver._size = width, height
        look.app.post_message(events.Resize(Size(width, height), Size(width, height)))


async def _play(recording: str, dice: Dice, moves: int, folder: Path) -> tuple[list[str], str]:
    """Let a monkey play with one viewer; return its moves, and what is wrong at the end."""
    copy = _copy_of(recording, folder / "spans")
    follows, size = dice.random() < 0.5, dice.choice(_SIZES)
    app = viewer_of(os.fspath(copy), follow=follows)
    made, wrong = [f"{recording}{' -f' * follows} {size}"], ""
    try:
        async with app.run_test(size=size) as pilot:
            monkey = _Monkey(Look(app, pilot, Growing()), dice, copy)
            while len(made) <= moves and not (app.is_left or wrong):
                made.append(await monkey.move())
                wrong = _mistake(app)
    except Exception as error:  # noqa: BLE001 - whatever a viewer can end with
        wrong = "".join(traceback.format_exception(error)[-4:])
    return made, wrong


def _mistake(app: SpanviewApp) -> str:
    """Return what is wrong with what is on the screen; nothing while it is being laid out."""
    lines, size = screen_lines(app.screen), app.screen._compositor.size
    if app.is_left or not lines or size != app.size:
        return ""
    if len(lines) != size.height:
        return f"{len(lines)} lines at {size}"
    unfit = [line for line in lines if cell_len(line) != size.width or not line.isprintable()]
    return f"at {size}: {unfit[0]!a}" if unfit else ""


def _monkeys(trials: int, folder: Path) -> Figures:
    """Let monkeys play, one after the other, with each recording."""
    figures = Figures()
    for number, recording in enumerate(cycle((*_RECORDINGS, _HOSTILE))):
        if figures.trials >= trials or not figures.is_clean:
            break
        own = folder / f"{number}"
        own.mkdir()
        # Some keys write files.
        with chdir(own):
            moves = min(_MOVES_OF_ONE, trials - figures.trials)
            made, wrong = asyncio.run(_play(recording, Dice(number), moves, own))
        figures.trials += len(made) - 1
        figures.expect(holds=not wrong, what=f"monkey {number}: {made[0]}: … {made[-8:]}: {wrong}")
        shutil.rmtree(own)
    return figures


ROWS: Final = (Row("18f", "random keys, clicks and sizes, changing files", "moves", 3_000, 40, _monkeys),)
