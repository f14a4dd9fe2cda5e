"""All actions by their names: some words of one find it, Enter does it on the screen below.

Whole words come first, then words that begin so, then what has it within a word.

typed       fits                           doesn't fit
-----       ----                           -----------
col         colours, then the protocol     call
er next     next error                     next parameter
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, ClassVar, Final

from textual.binding import Binding

from spanview.display.cells import fixed
from spanview.display.units import count
from spanview.reports.table import Piece, Table, TableColumn
from spanview.tui.app.exporting import OFFERED
from spanview.tui.app.themes import ANSI, NAMES
from spanview.tui.keys import keys_on, spelt
from spanview.tui.widgets.base_screen import BaseScreen
from spanview.tui.widgets.prompt import Prompt
from spanview.tui.widgets.table import TableList

if TYPE_CHECKING:
    from collections.abc import Callable

    from textual.app import ComposeResult
    from textual.binding import BindingType

_SHOWN: Final = 12
_WORD: Final = re.compile(r"\w+")
_INNER_FROM: Final = 3
"""Characters from which on what was typed is looked for within a word, too."""
_WHOLE, _BEGINNING, _WITHIN, _NOWHERE = range(4)


@dataclass(frozen=True, slots=True)
class Command:
    """Something that can be done."""

    key: str
    """As a person reads it."""
    text: str
    run: Callable[[], object]
    """Returns an awaitable, or None when it is done."""
    other_words: str = ""
    """What people call it besides."""


class CommandLines(TableList[Command], can_focus=False):
    """A line a command; the keys go to what is typed."""


class PaletteScreen(BaseScreen):
    """A line to type in, and the actions that it finds for the screen below."""

    HINTS = "↑ ↓ move  ⏎ do it  Esc back"
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", show=False),
        Binding("down", "move(1)", show=False),
        Binding("pageup", "page(-1)", show=False),
        Binding("pagedown", "page(1)", show=False),
        Binding("escape", "back", show=False),
    ]

    def __init__(self, below: BaseScreen) -> None:
        super().__init__()
        spells = self.viewer.spells
        key: TableColumn[Command] = TableColumn(
            "", _SHOWN, lambda command: spelt(command.key) if spells else command.key, "accent", gap=1, aligns_left=True
        )
        text: TableColumn[Command] = TableColumn("", parts=lambda command, cells: [Piece(fixed(command.text, cells))])
        self.rows: CommandLines = CommandLines(Table((key, text)))
        self._below = below
        self._commands: list[Command] = []
        self._sought: str | None = None
        """What the list was made for."""

    def body(self) -> ComposeResult:
        """Make what stands between header and footer."""
        yield Prompt("some words of an action", is_ready=True)
        yield self.rows

    async def on_mount(self) -> None:
        """Offer everything."""
        keys = [key for key in keys_on(self._below.ON) if key.action != "palette"]
        self._commands = [
            Command(key.shown, key.text, partial(self._below.run_action, key.action), key.other_words) for key in keys
        ]
        for name, text in OFFERED.items():
            run = partial(self.viewer.export, name)
            self._commands.append(Command("", f"export as {name}: {text}", run, "save write file"))
        self._commands.append(Command("Ctrl+C", "quit", self.app.exit, "exit close leave"))
        for name in NAMES:
            text = f"theme: {name}" + (", the terminal's own colours" if name == ANSI else "")
            run = partial(self.viewer.show_theme, name)
            self._commands.append(Command("", text, run, "color colour colors colours"))
        self._commands.append(Command("", "forget settings: restore the defaults", self.viewer.forget_settings))
        await self.query_one(Prompt).open()
        self._find()
        self.refresh_frame()

    def title_text(self) -> str:
        """Return the header."""
        return "‹ actions"

    async def on_prompt_typed(self, event: Prompt.Typed) -> None:
        """Show what fits best; Enter does what the cursor stands on."""
        if not self.is_left:
            self._find()
            if event.done:
                await self.action_open()

    def _find(self) -> None:
        text = self.query_one(Prompt).text.strip()
        if text != self._sought:
            self._sought = text
            fits = [(fit(text, f"{command.text} {command.other_words}"), command) for command in self._commands]
            ranked = sorted(((rank, position) for position, (rank, _) in enumerate(fits) if rank is not None))
            self.rows.show([self._commands[position] for _, position in ranked])
            self.query_one(Prompt).say(count(len(ranked), "action"))

    def action_move(self, by: int) -> None:
        """Move the cursor by rows in the list that fits what was typed right before."""
        self._find()
        super().action_move(by)

    def action_page(self, by: int) -> None:
        """Move the cursor by pages."""
        self._find()
        super().action_page(by)

    async def action_open(self) -> None:
        """Do what the cursor stands on."""
        command = self.rows.selected
        if command is not None:
            self.app.pop_screen()
            done = command.run()
            if isawaitable(done):
                await done


def fit(typed: str, text: str) -> tuple[int, int, int] | None:
    """Return how well a text fits what was typed, the less the better; None where it doesn't.

    Each word that was typed must be there, in any order: as a word, as the beginning of one, or, from three characters
    on, within one. The worst of them counts, then all of them, then how far behind the first one stands.
    """
    sought, words = _words(typed), _words(text)
    if not sought:
        return (0, 0, 0) if not typed.strip() else None
    matches = [_best(word, words) for word in sought]
    ranks = [rank for rank, _ in matches]
    return None if max(ranks) > _WITHIN else (max(ranks), sum(ranks), min(position for _, position in matches))


def _words(text: str) -> list[str]:
    return _WORD.findall(text.casefold())


def _best(sought: str, words: list[str]) -> tuple[int, int]:
    return min(((_rank(sought, word), position) for position, word in enumerate(words)), default=(_NOWHERE, 0))


def _rank(sought: str, word: str) -> int:
    if word == sought:
        return _WHOLE
    if word.startswith(sought):
        return _BEGINNING
    return _WITHIN if len(sought) >= _INNER_FROM and sought in word else _NOWHERE
