"""What the application knows of looks: the theme, what a person has set, and terminals that show no colours."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from textual.app import App
from textual.css.stylesheet import Stylesheet
from textual.filter import Monochrome, NoColor

from spanview.display.sanitise import sanitise
from spanview.tui.app.settings import KeptSettings
from spanview.tui.app.terminal import drawn_on
from spanview.tui.app.themes import DEFAULTS, NAMES, terminal_theme, themes
from spanview.tui.widgets.paint import COLORLESS, HARMLESS, Encodable
from spanview.tui.widgets.work import Work

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.terminal_theme import TerminalTheme
    from textual.filter import LineFilter

    from spanview.tui.app.settings import Settings
    from spanview.tui.widgets.base_screen import BaseScreen
    from spanview.tui.widgets.work import Owner

_KEPT_AFTER_S: Final = 0.5
"""So long after a change it is written: several keys make one file."""
_GREY: Final = (Monochrome, NoColor)
"""What Textual does at NO_COLOR, an empty one too, which means nothing: it sends grey, or default colours."""
_NOT_KEPT: Final = "unsaved"
_LONGEST_NAME: Final = 80


class ThemedApp(App[None]):
    """An application with themes and settings.

    Args:
        settings: The file that keeps what a person has set; None where nothing is kept.
        theme: What goes with the terminal, for a person who has set no theme.
        colorless: Whether the terminal is sent no colours.
    """

    def __init__(self, settings: str | None, theme: str, *, colorless: bool) -> None:
        super().__init__()
        self._kept = KeptSettings(settings)
        self._writing = Work(cast("Owner", self))
        self._usual_theme = theme
        self._is_unkept = self._has_told_aside = False
        self._sheets: dict[str, Stylesheet] = {}
        """By theme."""
        self.said = ""
        """What the last key did, for the footer."""
        self.no_color = colorless
        encoding = getattr(drawn_on(), "encoding", None) or "utf-8"
        self._guards = [HARMLESS] if encoding.lower().startswith("utf") else [HARMLESS, Encodable(encoding)]
        for each in themes():
            self.register_theme(each)
        self._take_theme()

    # -- what is shown by it -----------------------------------------------------------------------------------------

    def say(self, text: str) -> None:
        """Show for a while, in the footer, what a key did."""
        raise NotImplementedError

    def screens(self) -> list[BaseScreen]:
        """Return the screens that are there, the one in sight last."""
        raise NotImplementedError

    # -- settings ----------------------------------------------------------------------------------------------------

    @property
    def settings(self) -> Settings:
        """What is set."""
        return self._kept.now

    def keep(self, **changes: Any) -> None:
        """Set something, by the names of `Settings`, for the next time too."""
        if self._kept.change(changes):
            self.set_timer(_KEPT_AFTER_S, self._write_settings)

    def _write_settings(self) -> None:
        self._writing.queue(lambda _: self._kept.write(), self._take_written)

    def _take_written(self, is_written: bool) -> None:  # noqa: FBT001 - the answer of what was asked
        if not is_written:
            self._say_unkept()
        elif self._kept.aside and not self._has_told_aside:
            self._say_aside()

    def _say_aside(self) -> None:
        self._has_told_aside = True
        text = f"the damaged settings are kept as {sanitise(self._kept.aside, _LONGEST_NAME)}"
        self.say(f"{self.said} · {text}" if self.said else text)

    def _say_unkept(self) -> None:
        if not self._is_unkept:
            self._is_unkept = True
            self.say(f"{self.said} · {_NOT_KEPT}" if self.said else _NOT_KEPT)

    def forget_settings(self) -> None:
        """Bring the defaults back, on each screen that is there."""
        is_gone = self._kept.forget()
        self._take_theme()
        for screen in self.screens():
            screen.take_settings()
        self.say("the defaults are back" if is_gone else _NOT_KEPT)

    # -- themes ------------------------------------------------------------------------------------------------------

    def _take_theme(self) -> None:
        name = self.settings.theme
        self.theme = name if name in NAMES else self._usual_theme

    def refresh_css(self, animate: bool = True) -> None:  # noqa: FBT001, FBT002 - as Textual has it
        """Give the screen in sight the styles of the theme; the others get them when they come into sight.

        Textual 8 does it for all of them before anything is painted, which takes as long again for each. Before
        anything is shown, nothing has to be parsed twice for it.
        """
        if self.screen_stack:
            self._take_sheet()
            self.stylesheet.update(self, animate=animate)
            self.screen.refresh(layout=True)
        else:
            self.stylesheet.set_variables(self.get_css_variables())
            self._sheets = {self.theme: self.stylesheet}

    def _take_sheet(self) -> None:
        """Take the style sheet of the theme, in which nothing is parsed a second time that was when it was shown."""
        variables, sources = self.get_css_variables(), self.stylesheet.source
        self.stylesheet = self._sheets.setdefault(self.theme, Stylesheet(variables=variables))
        for place, (css, is_default, tie_breaker, scope) in sources.items():
            self.stylesheet.add_source(css, place, is_default, tie_breaker, scope)

    def show_theme(self, name: str) -> None:
        """Show a theme, and keep it."""
        self.keep(theme=name)
        self._take_theme()
        self.say(f"theme: {name}" + (", for terminals with colours" if self.no_color else ""))

    def next_theme(self) -> None:
        """Show the next theme."""
        self.show_theme(NAMES[(NAMES.index(self.theme) + 1) % len(NAMES)])

    def get_theme_variable_defaults(self) -> dict[str, str]:
        """Return the variables of the style sheet that Textual doesn't know."""
        return DEFAULTS

    @property
    def ansi_theme(self) -> TerminalTheme:
        """What the theme makes of the terminal's colours."""
        return terminal_theme(self.theme) or super().ansi_theme

    @property
    def spells(self) -> bool:
        """Whether signs are spelt out, since the terminal's encoding lacks them."""
        return len(self._guards) > 1

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Let nothing through that a terminal would act on, wherever it comes from, or that it can't show."""
        if self.no_color:
            return [COLORLESS, *self._guards]
        return [*(each for each in super().get_line_filters() if not isinstance(each, _GREY)), *self._guards]
