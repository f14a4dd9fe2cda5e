"""The line in which a filter or a search is typed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.geometry import Region
from textual.message import Message
from textual.widgets import Input, Label

from spanview.display.sanitise import meant, sanitise, typed
from spanview.tui.shims import TYPED_LAST
from spanview.tui.widgets.completing import CompletingLine, Offers

if TYPE_CHECKING:
    from collections.abc import Iterator

    from textual.app import ComposeResult
    from textual.widget import Widget

    from spanview.analysis.query.complete import Completion
    from spanview.tui.widgets.base_screen import BaseScreen


_MAX_MISTAKE_LENGTH: Final = 240
"""Characters of what came of it; where it is a mistake, its place and what was expected come first."""

QUERY_HINT: Final = "a name, or key=value, duration>10ms, status=ERROR, request_id=…, -term"
_OPEN_QUOTE: Final = 'a second " ends it'


class _Line(CompletingLine):
    def on_resize(self) -> None:
        """Keep what is typed last in sight when what stands beside it takes more room."""
        if TYPED_LAST.is_active:
            self.scroll_to_region(Region(self._cursor_offset, 0, 1, 1), force=True, animate=False)

    async def action_submit(self) -> None:
        """Tell that Enter was pressed, before the next key is looked at."""
        screen: Any = self.screen
        await screen.on_prompt_typed(Prompt.Typed(meant(self.value), done=True))


class Prompt(Vertical):
    """A filter or search: typed, kept in sight while it holds, gone when it is emptied.

    Args:
        is_query: Whether it is a query, of which keys and values are proposed.
        is_key: Whether it is the key of an attribute, of which those that there are are proposed.
        is_ready: Whether it is opened as soon as it is there.
    """

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

    def __init__(
        self,
        hint: str,
        text: str = "",
        *,
        is_query: bool = False,
        is_key: bool = False,
        is_ready: bool = False,
    ) -> None:
        super().__init__()
        self._hint = hint
        self._proposes = is_query or is_key
        self._is_key = is_key
        self._result, self._is_mistake, self._is_mended = "", False, False
        self._note = ""
        """What else is said of it, where nothing is offered."""
        self._is_offering = False
        """Whether there is something that can be taken."""
        self._shown = "", "", False
        self._first_text = text
        self._is_ready = is_ready or bool(text)
        """Whether it has its parts; most screens are left before anything was typed."""
        self.display = bool(text)

    def compose(self) -> ComposeResult:
        """Make the line, and one for what can be taken, if they are wanted already."""
        if self._is_ready:
            yield from self._parts()

    def _parts(self) -> Iterator[Widget]:
        line = _Line(typed(self._first_text), self._hint, self._show_offers, is_key=self._is_key)
        yield Horizontal(Label(Content(" ╱ ")), line, Label(Content(""), classes="result"))
        yield Offers(self._take)
        yield Label(Content(""), classes="mistake")

    @property
    def text(self) -> str:
        """What is typed; what stands there for a character that isn't shown means that character."""
        return meant(self.query_one(Input).value)

    async def open(self) -> None:
        """Let it be typed; the next key is looked at behind this."""
        if not self._is_ready:
            self._is_ready = True
            await self.mount(*self._parts())
            self._show_result()
        self.display = True
        self._begin_offering()
        # At once, not when its turn comes: what was typed right behind the slash belongs here.
        self.screen.set_focus(self.query_one(Input))

    def begin_below(self) -> None:
        """Let the arrows move in what stands below, and propose nothing, while nothing is typed."""
        line = self.query_one(_Line)
        line.begins_below = True
        line.offer()

    def clear(self) -> None:
        """Drop the text and hide."""
        if not self._is_ready:
            return
        with self.prevent(Input.Changed):
            # There is none yet while the parts are being mounted.
            for line in self.query(Input):
                line.value = ""
        self.say("")
        self.display = False

    def say(self, result: str, note: str = "", *, is_mistake: bool = False) -> None:
        """Show what came of it, or what is wrong with it.

        Args:
            result: What came of it, in a few words; or the mistake, in a line of its own.
            note: Why, in a line of its own, which it has while nothing is offered there.
            is_mistake: Whether it can't be understood.
        """
        self._result, self._note, self._is_mistake = result, note, is_mistake
        self._show_result()

    def insist(self) -> None:
        """Show what is wrong, though something is offered that would mend it."""
        self._is_mended = self._is_offering = False
        self._show_result()

    def _show_result(self) -> None:
        # What only waits for what is offered is no mistake yet; a phrase goes on until somebody ends it.
        is_silent = self._is_mistake and self._is_mended
        is_open = is_silent and self.text.replace('\\"', "").count('"') % 2 == 1
        result = "" if is_silent else sanitise(self._result, _MAX_MISTAKE_LENGTH)
        note = "" if self._is_offering else sanitise(self._note, _MAX_MISTAKE_LENGTH)
        shown = (_OPEN_QUOTE if is_open else "", result, True) if self._is_mistake else (result, note, False)
        if shown != self._shown and self.query(".result"):
            # Each time the whole screen is laid out anew.
            self._shown = shown
            # A mistake has a line of its own, in the place of what is offered: what is typed must be seen beside it.
            beside, below, is_mistake = shown
            self.set_class(bool(below) and is_mistake, "mistaken")
            self.set_class(bool(below) and not is_mistake, "noted")
            self.query_one(".mistake", Label).update(Content(below))
            self.query_one(".result", Label).update(Content(f" {beside} " if beside else ""))

    # -- what is proposed --------------------------------------------------------------------------------------------

    def on_descendant_focus(self) -> None:
        """Propose something from the first key on."""
        self._begin_offering()
        self.query_one(_Line).offer()

    def _begin_offering(self) -> None:
        """Make room for what can be taken, as long as something is typed."""
        if self._proposes:
            self.query_one(_Line).known = cast("BaseScreen", self.screen).viewer.known
            self.add_class("offering")

    def on_descendant_blur(self) -> None:
        """Give the room back, but not when only the terminal's window is left."""
        if self.app.app_focus:
            self.remove_class("offering")
            # Nothing is offered any more that would make a query of what is none.
            self.insist()

    def _show_offers(self, completion: Completion | None, chosen: int, mends: bool) -> None:  # noqa: FBT001 - a callback
        self.query_one(Offers).show(completion, chosen)
        self._is_mended = mends
        self._is_offering = completion is not None and bool(completion.candidates)
        self._show_result()

    def _take(self, number: int) -> None:
        """Take what was clicked, and let more be typed."""
        line = self.query_one(_Line)
        self.screen.set_focus(line)
        line.take(number)

    def on_input_changed(self, event: Input.Changed) -> None:
        """Tell what is typed by now."""
        event.stop()
        if self.display:
            self.post_message(self.Typed(self.text, done=False))
