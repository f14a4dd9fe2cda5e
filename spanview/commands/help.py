"""`spanview help`: the pages, in a list or one of them."""

from __future__ import annotations

import sys
from difflib import get_close_matches
from typing import Final

from spanview.docs import PAGES, summary_of, text_of
from spanview.model.problems import SpanviewError

_MAIN: Final = "commands"
"""The page that is the man page of the program."""
_OF_COMMANDS: Final = {
    "push": "network",
    "receive": "network",
    "collect": "cluster",
    "diff": "compare",
    "mcp": "explain",
    "view": "viewer",
    "tree": "commands",
    "spans": "commands",
    "stats": "commands",
}
"""The pages that say most of commands which have none of their name."""


def show_skill() -> None:
    """Print what tells agents when to use which command."""
    sys.stdout.write(text_of("skill"))


def show(page: str | None, *, is_man: bool = False) -> None:
    """Print the list of pages, or one: typeset on a terminal, and as Markdown elsewhere.

    Args:
        is_man: Whether it is printed as a man page; without a page that is the one of the commands.

    Raises:
        SpanviewError: There is no such page.
    """
    if page is None and is_man:
        page = _MAIN
    if page is None:
        width = max(map(len, PAGES))
        lines = [f"  {name:<{width}}  {summary_of(name)}" for name in PAGES]
        sys.stdout.write("\n".join(["usage: spanview help PAGE", "", "pages:", *lines, ""]))
        return
    name = page.lower().removesuffix(".md")
    name = _OF_COMMANDS.get(name, name)
    if name not in PAGES:
        near = get_close_matches(name, PAGES, n=1)
        raise SpanviewError(
            f"no page is named {page}: "
            + (f"did you mean `spanview help {near[0]}`?" if near else f"the pages are {', '.join(PAGES)}")
        )
    if is_man:
        from spanview.display.page_man import man_page
        from spanview.version import __version__

        title, section = ("spanview", 1) if name == _MAIN else (f"spanview-{name}", 7)
        sys.stdout.write(man_page(text_of(name), title, section, f"spanview {__version__}"))
        return
    if not sys.stdout.isatty():
        sys.stdout.write(text_of(name))
        return
    from rich.style import Style

    from spanview.display.page_text import MAX_WIDTH, page_console, typeset

    console = page_console(Style(color="cyan"))
    console.print(typeset(text_of(name)), width=min(console.width, MAX_WIDTH))
