"""A page set as text: headings, lists, tables and code instead of Markdown's marks."""

from __future__ import annotations

from typing import Any, Final

from rich.console import Console
from rich.markdown import Markdown
from rich.style import Style
from rich.theme import Theme

WIDEST: Final = 100
"""Columns of a page on a wider terminal: longer lines are hard to read."""
# rich's own styles have a black background, which light terminals would show.
_MARKED: Final = ("code", "list", "item.number", "h2", "h3")
_DIM: Final = ("table.border", "link", "link_url")


def typeset(text: str) -> Markdown:
    """Return Markdown as rich sets it; the colours of code are the terminal's own."""
    return Markdown(text, code_theme="ansi_light", hyperlinks=False)


def page_console(mark: Style, **arguments: Any) -> Console:
    """Return a console for `typeset` texts.

    Args:
        mark: The style of headings and code.
        arguments: What rich's console takes.
    """
    styles = {
        **{f"markdown.{name}": mark for name in _MARKED},
        **{f"markdown.{name}": Style(dim=True) for name in _DIM},
        "markdown.table.header": Style(bold=True),
    }
    return Console(theme=Theme(styles), **arguments)
