"""The pages: Markdown files beside this one, shipped with the program and shown by `spanview help` and by the viewer.

tracing  cluster  network  viewer  query  commands  formats  export  tables  explain     how to use it
check  compare  python
reliability  speed                                                                       what it promises, and how
architecture  glossary                                                                   how it is built
"""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Final

PAGES: Final = (
    *(
        "tracing",
        "cluster",
        "network",
        "viewer",
        "query",
        "commands",
        "formats",
        "export",
        "tables",
        "explain",
        "check",
        "compare",
    ),
    *("python", "reliability", "speed", "architecture", "glossary"),
)
"""Their names, in the order in which they are listed."""


def text_of(page: str) -> str:
    """Return one of `PAGES` as Markdown, or `skill`, which is none: a file for agents."""
    return files(__name__).joinpath(f"{page}.md").read_text(encoding="utf-8")


@cache
def summary_of(page: str) -> str:
    """Return what one of `PAGES` is about: the line below its heading.

    The help lists all pages: reading them would be a tenth of what it takes to open it.
    """
    return text_of(page).split("\n", 3)[2]
