"""What the screens have in common: header, bar of views, footer, keys from the one table."""

from __future__ import annotations

from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, Self, cast

from textual.binding import Binding
from textual.messages import Layout
from textual.screen import Screen
from textual.widget import Widget
from textual.widgets import Input

from spanview.tui.keys import On, View, action_of, footer_text, keys_on, spelt
from spanview.tui.shims import CLOSED, CLOSING, LAYOUT, RESIZED, RESUMED
from spanview.tui.widgets.header import Footer, Header, Said, TwoSided, state_text
from spanview.tui.widgets.view_bar import ViewBar

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from textual.app import ComposeResult
    from textual.await_remove import AwaitRemove
    from textual.events import MouseScrollDown, MouseScrollUp, ScreenResume
    from textual.geometry import Offset, Region, Size

    from spanview.tui.viewer import Viewer
    from spanview.tui.widgets.copying import Copier
    from spanview.tui.widgets.linelist import LineList
    from spanview.tui.widgets.scope import ViewScope
    from spanview.tui.widgets.table import Sorting
    from spanview.tui.widgets.zooming import Zoom


ASK_AGAIN_S: Final = 0.5
"""How often screens ask what lives: the answer is kept for a second, and what has changed is to be told within two."""
_PAUSE, _RESUME, _FOLLOW = "␣ pause", "␣ resume", "␣ follow"


class StaysTrue(Protocol):
    """What brings the figures of a screen up to date; `live.Live` does."""

    def catch_up(self) -> None:
        """Compute them anew where there is something new and it is time."""


def done_by(way: str) -> Callable[..., Any]:
    """Return an action that a part of the screen does, by the way to it: `zoom.pan`."""
    find = attrgetter(way)

    def act(screen: BaseScreen, *arguments: Any) -> Any:
        return find(screen)(*arguments)

    return act


class BaseScreen(Screen[None]):
    """A screen of the viewer.

    A class of screens says by `on` which keys of the one table it has, and by `view` which view it is, if it is one;
    what lies above it, such as the spans of a row, belongs to the same view.
    """

    ON: ClassVar[On] = On.EVERYWHERE
    VIEW: ClassVar[View | None] = None
    HINTS: ClassVar[str] = ""
    """What the footer says; of the screen's keys where it is empty."""
    NOTES: ClassVar[int] = 0
    """Lines above the footer that say something of what is selected."""
    AUTO_FOCUS = ""
    """Each screen gives the focus itself, at once; a prompt that isn't open must not get it."""

    rows: LineList
    """The list that the moving keys move in."""
    zoom: Zoom | None = None
    """What the keys of time, and the wheel, act on, of screens that show time."""
    copier: Copier
    """What the keys that copy ids, command lines and JSON act on, of screens that show a trace."""
    sorting: Sorting | None = None
    """What the keys of order act on, of screens with a table."""
    live: StaysTrue | None = None
    """What keeps the screen's figures up to date; None where it shows none, or has them from the store as it paints."""
    scope: ViewScope | None = None
    """What the views are of that are opened from here; None where the screen below says."""
    answer: StaysTrue | None = None
    """What keeps the line up to date that says where the time went; None where there is none."""
    _theme = ""
    """The one that it was styled by."""
    _laid_out: tuple[Sequence[Widget], int] | None = None
    """The widgets, and the count of changes to its own styles, for which it was laid out last; None before."""
    _laid_out_at = 0.0
    """When that was, by the clock of messages."""

    def __init_subclass__(cls, *, on: On | None = None, view: View | None = None, **arguments: Any) -> None:
        cls.VIEW = view
        if on is not None:
            cls.ON = on
            cls.BINDINGS = [Binding(key.keys, key.action, key.text, show=False) for key in keys_on(on)]
        super().__init_subclass__(**arguments)

    def compose(self) -> ComposeResult:
        """Make the screen."""
        yield Header(lambda: self._act_in_turn("leave"), classes="header")
        yield ViewBar(self._act_in_turn)
        yield from self.body()
        yield Footer(lambda shown: self._act_in_turn(action_of(self.ON, shown)), classes="footer")
        yield Said(self.NOTES, classes="said")

    def body(self) -> ComposeResult:
        """Make what stands between bar and footer."""
        yield self.rows

    @property
    def viewer(self) -> Viewer:
        """What shows it."""
        return cast("Viewer", self.app)

    @property
    def view(self) -> View | None:
        """The view that it is; None where it belongs to what is below it."""
        return self.VIEW

    @property
    def chosen_trace(self) -> int | None:
        """The trace that the screen is about, by its row in the trace table; None where it is about none, or many."""
        return None

    @property
    def is_left(self) -> bool:
        """Whether it was left, or is being closed: its widgets go, and messages that were on their way still come."""
        return (CLOSING.is_active and self._pruning) or self not in self.app.screen_stack

    @property
    def is_in_front(self) -> bool:
        """Whether no other screen is above it."""
        return self.app.screen_stack[-1:] == [self]

    @property
    def acts_until(self) -> float:
        """When the last key has acted, by `time.monotonic`."""
        return self.viewer.acts_until

    def on_screen_resume(self, event: ScreenResume) -> None:
        """Take on the theme that was chosen while another screen was in sight; nothing else can have changed."""
        if not RESUMED.is_active:
            self._catch_up()
            self.refresh_frame()
            return
        # Textual would style all of it anew, and paint twice what is laid out now.
        event.prevent_default()
        self.stack_updates += 1
        if self._theme and self._theme != self.app.theme:
            self.app.stylesheet.update(self)
        self._theme = self.app.theme
        self._catch_up()
        # The bar still names what was in sight above.
        self.refresh_frame()
        if self._size != self.app.size:
            self._refresh_layout(self.app.size)
        else:
            self.refresh()

    def on_screen_suspend(self) -> None:
        """Remember by which theme it is styled."""
        self._theme = self.app.theme

    def title_text(self) -> str:
        """Return what the header says on the left."""
        raise NotImplementedError

    def _act_in_turn(self, action: str | None) -> None:
        """Do what was clicked, in its turn among the keys."""
        if action is not None:
            self.app.call_later(self._act, action)

    async def _act(self, action: str) -> None:
        field = self.focused
        if not self.is_in_front:
            return
        if action == "open" and isinstance(field, Input):
            await field.action_submit()
        else:
            await self.run_action(action)

    def get_widget_and_offset_at(self, x: int, y: int) -> tuple[Widget | None, Offset | None]:
        """Return what can be selected at a place; none of a widget that goes, for whose parent Textual would ask."""
        widget, offset = super().get_widget_and_offset_at(x, y)
        return (None, None) if widget is not None and widget is not self and widget.parent is None else (widget, offset)

    def refresh_frame(self, *_: Any) -> None:
        """Bring header and footer up to date, where they are still there."""
        if not self.is_left:
            self.show_frame()

    def show_frame(self) -> None:
        """Say in header, bar and footer what there is to say now."""
        state = state_text(self.viewer.feed_state, paused=self.viewer.paused)
        self.query_one(".header", TwoSided).say(self.title_text(), state)
        self.query_one(ViewBar).show(self.viewer.views.bar())
        hints = self.HINTS or footer_text(self.ON)
        if not self.viewer.follows:
            hints = hints.replace(_PAUSE, _FOLLOW)
        elif self.viewer.paused:
            hints = hints.replace(_PAUSE, _RESUME)
        self.query_one(Footer).say(spelt(hints) if self.viewer.spells else hints, "")
        self.query_one(Said).say(self.viewer.said_on(self), self.size)

    def feed_has_news(self, changed: set[int]) -> None:  # noqa: ARG002 - for screens that show traces
        """Take in that the store has grown, and which traces have."""
        self._catch_up()
        self.refresh_frame()

    def _catch_up(self) -> None:
        for live in (self.live, self.answer):
            if live is not None:
                live.catch_up()

    def mark_has_changed(self) -> None:
        """Take in that something else is marked now, or nothing."""

    def growth_has_changed(self) -> None:
        """Take in that other traces may still grow now."""

    def something_is_lost(self) -> None:
        """Take in that spans were lost with their processes, or aren't any more."""

    def on_line_list_chosen(self, event: LineList.Chosen) -> None:
        """Open what was double-clicked, in its turn among the keys, and once however often it was clicked."""
        self.app.call_later(self._open, event.sender)

    async def _open(self, rows: LineList) -> None:
        if self.is_in_front and rows is self.rows:
            await self.action_open()

    def action_copy(self) -> None:
        """Copy what is selected, where that can be."""
        self.viewer.say("nothing to copy here")

    async def action_open(self) -> None:
        """Open what is selected, where that can be."""

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Leave keys alone that were pressed before the screen has its widgets."""
        return self.is_mounted and super().check_action(action, parameters)

    action_move, action_page = done_by("rows.action_move"), done_by("rows.action_page")
    action_edge = done_by("rows.action_edge")
    action_copy_trace_id, action_copy_command = done_by("copier.copy_trace_id"), done_by("copier.copy_command")
    action_copy_json = done_by("copier.copy_json")
    action_zoom, action_pan = done_by("zoom.zoom"), done_by("zoom.pan")
    action_fit, action_whole = done_by("zoom.fit"), done_by("zoom.show_whole")
    action_sort, action_turn = done_by("sorting.by_next"), done_by("sorting.turn")
    action_pause, action_theme = done_by("viewer.toggle_pause"), done_by("viewer.next_theme")
    action_explain, action_running = done_by("viewer.views.open_explanation"), done_by("viewer.views.open_running")
    action_palette, action_help = done_by("viewer.views.open_palette"), done_by("viewer.views.open_help")
    action_leave_scope = done_by("viewer.views.leave_scope")

    def on_mouse_scroll_up(self, event: MouseScrollUp) -> None:
        """Where time is shown: less of it around the mouse with Ctrl, earlier time with Shift."""
        if self.zoom is not None:
            self.zoom.wheel(event, 1)

    def on_mouse_scroll_down(self, event: MouseScrollDown) -> None:
        """Where time is shown: more of it around the mouse with Ctrl, later time with Shift."""
        if self.zoom is not None:
            self.zoom.wheel(event, -1)

    def action_back(self) -> None:
        """Go back to the screen before."""
        self.app.pop_screen()

    action_leave = action_back
    """The same; the first screen quits."""

    def action_page_to_share(self) -> None:
        """Write a page of the traces that the bar names."""
        self.viewer.export("html")

    async def action_view(self, name: str) -> None:
        """Show a view, by its name among all."""
        await self.viewer.views.show(View[name])

    def action_rays_own(self) -> None:
        """Leave out what is Ray's own, or show it again, of screens that have some."""
        is_without = not self.viewer.settings.without_rays_own
        self.viewer.keep(without_rays_own=is_without)
        self.take_settings()
        self.viewer.say(f"Ray's own actors and tasks are {'hidden' if is_without else 'shown'}")

    def take_settings(self) -> None:
        """Bring what is shown in line with what is set; settings were forgotten."""
        if self.sorting is not None:
            self.sorting.take_setting()

    # -- each change is laid out and painted once: Textual 8 does both two or three times when a screen is opened -----

    def _screen_resized(self, size: Size) -> None:
        """Lay out what has another size now.

        Textual tells a screen of its size after each layout for a new one, too, and then lays out and paints again.
        """
        if not RESIZED.is_active or size != self._compositor.size:
            super()._screen_resized(size)
            if self.is_mounted:
                # They say what there is room for.
                self.call_later(self.refresh_frame)

    def _refresh_layout(self, size: Size | None = None, scroll: bool = False) -> None:  # noqa: FBT001, FBT002 - Textual's
        """Lay out and paint, which answers whoever asked for it before.

        In Textual each widget that gets another size asks for a layout and for painting again. What it has got is what
        the layout gave it: only a scrollbar that comes or goes has to be given its place.
        """
        if not LAYOUT.is_active:
            super()._refresh_layout(size, scroll)
            return
        # The first layout of a screen in sight answers all that was asked for; a later one only what comes of itself.
        is_first = self._laid_out is None and self.is_in_front
        before = {widget: _asked_by(widget) for widget in self.walk_children(Widget, with_self=True)}
        super()._refresh_layout(size, scroll)
        if scroll:
            return
        for widget in self._compositor.full_map:
            asked = before.get(widget) or _Asked(layout=False, repaint=False, scrollbars=widget.scrollbars_enabled)
            if widget.scrollbars_enabled == asked.scrollbars:
                widget._layout_required &= asked.layout and not is_first and widget is not self  # noqa: SLF001 - as below
                widget._repaint_required &= asked.repaint and not is_first  # noqa: SLF001
        self._laid_out, self._laid_out_at = self._layout_state, Layout(self).time

    async def _on_layout(self, message: Layout) -> None:
        """Leave alone who asked for a layout before the last one."""
        if message.time < self._laid_out_at:
            message.stop()
            message.prevent_default()

    @property
    def _layout_state(self) -> tuple[Sequence[Widget], int]:
        return tuple(self.children), self.styles._cache_key  # noqa: SLF001 - it has no other name

    def refresh(self, *regions: Region, repaint: bool = True, layout: bool = False, recompose: bool = False) -> Self:
        """Paint anew, and lay out where what it holds has changed; widgets ask for their layouts in another way.

        Textual asks for a layout when all that a screen holds is mounted, but it was there at the first one.
        """
        if layout and LAYOUT.is_active and self._laid_out == self._layout_state:
            return self
        return super().refresh(*regions, repaint=repaint, layout=layout, recompose=recompose)

    def remove(self) -> AwaitRemove:
        """Remove it from the application, whose other screens needn't be laid out for that."""
        if not CLOSED.is_active:
            return super().remove()
        return self.app._prune(self)  # noqa: SLF001 - as Textual does


class _Asked(NamedTuple):
    """What a widget waits for."""

    layout: bool
    repaint: bool
    scrollbars: tuple[bool, bool]
    """Which it has: across and down."""


def _asked_by(widget: Widget) -> _Asked:
    return _Asked(widget._layout_required, widget._repaint_required, widget.scrollbars_enabled)  # noqa: SLF001 - no other names
