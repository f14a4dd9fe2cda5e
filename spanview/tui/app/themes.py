"""The themes: what stands out and what steps back in each, at contrasts that can be read.

Text has at least 4.5 times the background's luminance (WCAG's AA) on every background that it stands on, the selected
row's too; 7 times (AAA) where the contrast is high. The colours of services, processes and the like are the terminal's
own, to which each theme but one gives shades of its own.
"""

from __future__ import annotations

from functools import cache
from typing import Final, NamedTuple

from rich.color import Color
from rich.terminal_theme import TerminalTheme
from textual.theme import Theme

from spanview.display.shades import COLORS, SLOTS


class _Shades(NamedTuple):
    """One theme's colours."""

    background: str
    foreground: str
    quiet: str
    """Text that steps back."""
    unlit: str
    """Bars that step back; no text, so 3 times the luminance is enough."""
    cursor: str
    """The background of the selected row."""
    cursor_blurred: str
    """The background of the selected row, where keys go elsewhere."""
    panel: str
    """The background of header and footer."""
    surface: str
    """The background of what is typed."""
    primary: str
    error: str
    warning: str
    services: str
    """In the order of `PALETTE`."""


_SHADES: Final = {
    "dark": _Shades(
        *("#121212", "#e0e0e0", "#a3a3a3", "#7c7c7c", "#12324c", "#1c2a36", "#242d35", "#1e1e1e"),
        *("#5fb0f0", "#ff6f86", "#ffa62b"),
        " ".join(COLORS),
    ),
    "light": _Shades(
        *("#fafafa", "#1c1c1c", "#585858", "#7e7e7e", "#cfe3f7", "#e3edf6", "#e2e8ee", "#f0f0f0"),
        *("#00558f", "#b00038", "#7f4600"),
        "#2376b6 #3c7f45 #946b1e #9851c9 #2c7e7e #ba532c #68792c #566bcd #c33e8c",
    ),
    "high contrast": _Shades(
        *("#000000", "#ffffff", "#d8d8d8", "#868686", "#003a6b", "#002a4d", "#1c1c1c", "#101010"),
        *("#9fd4ff", "#ffb8bf", "#ffd75f"),
        "#61a9e1 #62b56d #d9a441 #be91dd #3fb5b5 #de9074 #95ad3f #93a0df #db8ab9",
    ),
    "high contrast light": _Shades(
        *("#ffffff", "#000000", "#383838", "#7e7e7e", "#cfe8ff", "#e4f1ff", "#e4e4e4", "#f4f4f4"),
        *("#003a6e", "#800020", "#523200"),
        "#1b5c8e #2f6336 #725217 #7c35ad #216060 #914022 #505d22 #374eb9 #982f6c",
    ),
}
ANSI: Final = "ansi"
NAMES: Final = (*_SHADES, ANSI)
"""In the order in which one key goes through them."""


def _variables(shades: _Shades) -> dict[str, str]:
    return {
        "quiet": shades.quiet,
        "unlit": shades.unlit,
        "cursor": shades.cursor,
        "cursor-blurred": shades.cursor_blurred,
    }


DEFAULTS: Final = _variables(_SHADES["dark"])
"""What `spanview.tcss` asks for besides Textual's own variables: text and bars that step back, and the selected row."""


def _theme(name: str, shades: _Shades) -> Theme:
    return Theme(
        name=name,
        primary=shades.primary,
        accent=shades.primary,
        error=shades.error,
        warning=shades.warning,
        foreground=shades.foreground,
        background=shades.background,
        panel=shades.panel,
        surface=shades.surface,
        dark="light" not in name,
        variables={
            **_variables(shades),
            "input-cursor-background": shades.foreground,
            "input-cursor-foreground": shades.background,
            "input-selection-background": shades.cursor,
            "scrollbar": f"{shades.quiet} 60%",
            "scrollbar-background": shades.panel,
        },
    )


def themes() -> list[Theme]:
    """Return all themes; the last one has the terminal's own colours."""
    own = Theme(
        name=ANSI,
        ansi=True,
        primary="ansi_bright_blue",
        error="ansi_red",
        warning="ansi_yellow",
        foreground="ansi_default",
        background="ansi_default",
        surface="ansi_default",
        panel="ansi_default",
        variables=dict.fromkeys(("ansi-background", "ansi-foreground", *DEFAULTS), "ansi_default"),
    )
    return [*(_theme(name, shades) for name, shades in _SHADES.items()), own]


@cache
def terminal_theme(name: str) -> TerminalTheme | None:
    """Return the shades that a theme gives to the terminal's colours; None where it has none of its own."""
    shades = _SHADES.get(name)
    if shades is None:
        return None
    colors = [_rgb(shades.foreground)] * 16
    for slot, color in zip(SLOTS, shades.services.split(), strict=True):
        colors[slot] = _rgb(color)
    return TerminalTheme(_rgb(shades.background), _rgb(shades.foreground), colors[:8], colors[8:])


def _rgb(color: str) -> tuple[int, int, int]:
    red, green, blue = Color.parse(color).get_truecolor()
    return red, green, blue
