"""A page set as text: headings, lists, tables and code instead of Markdown's marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Final

from rich.console import Console
from rich.markdown import Markdown, TableElement
from rich.style import Style
from rich.table import Table
from rich.theme import Theme

if TYPE_CHECKING:
    from rich.console import ConsoleOptions, RenderResult

MAX_WIDTH: Final = 120
"""Columns of a page on a wider terminal: longer lines are hard to read, and no code of the pages is longer."""
# rich's own styles have a black background, which light terminals would show.
_MARKED: Final = ("code", "list", "item.number", "h2", "h3")
_DIM: Final = ("table.border", "link", "link_url")


class _WholeTable(TableElement):
    """A table that cuts no word off: a long path goes on in the next line."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for part in super().__rich_console__(console, options):
            if isinstance(part, Table):
                for column in part.columns:
                    column.overflow = "fold"
            yield part


class _Page(Markdown):
    elements: ClassVar = {**Markdown.elements, "table_open": _WholeTable}


def typeset(text: str) -> Markdown:
    """Return Markdown as rich sets it; the colours of code are the terminal's own."""
    return _Page(text, code_theme="ansi_light", hyperlinks=False)


def page_console(mark: Style, **arguments: Any) -> Console:
    """Return a console for `typeset` texts."""
    styles = {
        **{f"markdown.{name}": mark for name in _MARKED},
        **{f"markdown.{name}": Style(dim=True) for name in _DIM},
        "markdown.table.header": Style(bold=True),
    }
    return Console(theme=Theme(styles), **arguments)
