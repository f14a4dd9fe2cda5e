"""How well what is painted can be told from what is behind it, and how well it has to be.

theme                  text     bars that step back
-----                  ----     -------------------
dark, light            4.5:1    2:1
high contrast, both    7:1      2:1
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from textual.color import Color

if TYPE_CHECKING:
    from rich.segment import Segment
    from rich.style import Style

LEAST: Final = {"dark": 4.5, "light": 4.5, "high contrast": 7.0, "high contrast light": 7.0}
LEAST_OF_SHADES: Final = 2.0
BORDER: Final = "─│"
MARKS: Final = "✖•◆?!▾▸‹›╱◌●"
"""Signs that say as much as words do."""


def least(theme: str, segment: Segment) -> float:
    """Return the contrast that a part of a line has to have; 0 for what is blank, and for borders."""
    if not segment.text.strip(f" {BORDER}"):
        return 0.0
    is_text = any(each.isalnum() or each in MARKS for each in segment.text)
    return LEAST[theme] if is_text else LEAST_OF_SHADES


def contrast(style: Style) -> float:
    """Return how many times as luminous text is as its background, or the other way round."""
    assert style.color is not None
    assert style.bgcolor is not None
    return ratio_of(Color.from_rich_color(style.color), Color.from_rich_color(style.bgcolor))


def ratio_of(one: Color, other: Color) -> float:
    """Return the contrast of two colours, WCAG's."""
    brighter, darker = sorted((luminance(one), luminance(other)), reverse=True)
    return (brighter + 0.05) / (darker + 0.05)


def luminance(color: Color) -> float:
    """Return the relative luminance (https://www.w3.org/TR/WCAG21/#dfn-relative-luminance)."""
    parts = [part / 12.92 if part <= 0.03928 else ((part + 0.055) / 1.055) ** 2.4 for part in color.normalized]
    return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]
