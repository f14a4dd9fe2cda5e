"""The line in which a filter or a search is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from textual.containers import Horizontal
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widgets import Input, Label

from spanview.display.sanitise import meant, sanitise, typed

if TYPE_CHECKING:
    from textual.app import ComposeResult

    from spanview.tui.base_screen import BaseScreen


class _Line(Input):
    def on_resize(self) -> None:
        """Keep what is typed last in sight when what stands beside it takes more room."""
        self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)

    async def action_submit(self) -> None:
        """Tell that Enter was pressed, before the next key is looked at."""
        screen = cast("BaseScreen", self.screen)
        await screen.on_prompt_typed(Prompt.Typed(meant(self.value), done=True))


class Prompt(Horizontal):
    """A filter or search: typed, kept in sight while it holds, gone when it is emptied."""

    class Typed(Message):
        """The text has changed."""

        def __init__(self, text: str, *, done: bool) -> None:
            super().__init__()
            self.text = text
            self.done = done
            """Whether Enter was pressed."""

        def can_replace(self, message: Message) -> bool:
            """Only what is typed now counts."""
            return isinstance(message, Prompt.Typed) and not message.done

    def __init__(self, hint: str, text: str = "", **arguments: Any) -> None:
        super().__init__(**arguments)
        self._hint = hint
        self._first_text = text
        self.display = bool(text)

    def compose(self) -> ComposeResult:
        """Make the line."""
        yield Label(Content(" ╱ "))
        yield _Line(typed(self._first_text), placeholder=self._hint, select_on_focus=False)
        yield Label(Content(""), classes="result")

    @property
    def text(self) -> str:
        """What is typed; what stands there for a character that isn't shown means that character."""
        return meant(self.query_one(Input).value)

    def open(self) -> None:
        """Let it be typed."""
        self.display = True
        # At once, not when its turn comes: what was typed right behind the slash belongs here.
        self.screen.set_focus(self.query_one(Input))

    def clear(self) -> None:
        """Drop the text and hide."""
        with self.prevent(Input.Changed):
            self.query_one(Input).value = ""
        self.say("")
        self.display = False

    def say(self, result: str, *, is_mistake: bool = False) -> None:
        """Show what came of it, or what is wrong with it."""
        label = self.query_one(".result", Label)
        label.set_class(is_mistake, "mistake")
        label.update(Content(f" {sanitise(result, 160)} " if result else ""))

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what is typed by now."""
        event.stop()
        if self.display:
            self.post_message(self.Typed(self.text, done=False))
