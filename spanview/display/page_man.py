r"""A page as a man page, in the macros of man(7): headings, lists, code, and tables as lists of terms.

## Gates                          .SH GATES
Text with `code`.                 .PP
                                  Text with \fBcode\fR.
| `p95:+10%` | it has risen |     .TP
                                  \fBp95:+10%\fR
                                  it has risen

Source: https://man7.org/linux/man-pages/man7/groff_man.7.html
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.markdown import Markdown

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from markdown_it.token import Token

_ESCAPES: Final = str.maketrans({"\\": "\\e", "-": "\\-", "`": "\\(ga", "^": "\\(ha", "~": "\\(ti"})
_FONTS: Final = {"strong_open": "\\fB", "em_open": "\\fI", "strong_close": "\\fR", "em_close": "\\fR"}
_PARAGRAPH: Final = ".PP"
_COMMENT: Final = re.compile(r"<!--.*?-->\n?", re.DOTALL)


def man_page(text: str, title: str, section: int, version: str) -> str:
    """Return Markdown as a man page.

    Args:
        text: With a heading, and what the page is about in the line below.
        title: What it is found by.
        section: 1 for programs, 7 for all else.
        version: Of the program.
    """
    _, about, rest = (part.strip() for part in _COMMENT.sub("", text).split("\n\n", 2))
    tokens = Markdown(rest).parsed
    head = f'.TH "{title.upper()}" "{section}" "" "{_escaped(version)}"'
    name = (".SH NAME", f"{_escaped(title)} \\- {_escaped(about)}", ".SH DESCRIPTION")
    # Aligned left, for code that can't be broken.
    return "\n".join([head, ".ad l", *name, *_lines(tokens), ""])


def _escaped(text: str) -> str:
    return _harmless(text.translate(_ESCAPES))


def _harmless(line: str) -> str:
    """Return a line that isn't taken for a request."""
    return f"\\&{line}" if line[:1] in {".", "'"} else line


def _lines(tokens: Sequence[Token]) -> Iterator[str]:
    """Yield the lines of the page's body."""
    macro, depth, stream = _PARAGRAPH, 0, iter(tokens)
    for token in stream:
        kind, _, side = token.type.rpartition("_")
        if token.type == "table_open":
            yield from _terms(stream)
        elif kind == "heading":
            macro = (".SH" if token.tag == "h2" else ".SS") if side == "open" else _PARAGRAPH
        elif kind in {"bullet_list", "ordered_list"}:
            depth += 1 if side == "open" else -1
            # A list in a list is indented.
            if depth > (side == "open"):
                yield ".RS" if side == "open" else ".RE"
        elif token.type == "list_item_open":
            macro = f".IP {token.info}. 4" if token.info else ".IP \\(bu 2"
        elif token.type == "list_item_close":
            macro = _PARAGRAPH
        elif token.type == "fence":
            lines = map(_escaped, token.content.rstrip("\n").split("\n"))
            yield from (_PARAGRAPH, ".RS 4", ".nf", *lines, ".fi", ".RE")
        elif token.type == "inline":
            # Of headings, the text stands behind the macro.
            yield (" " if macro in {".SH", ".SS"} else "\n").join((macro, _inline(token)))
            # What follows in an item of a list is indented as its first paragraph is.
            macro = ".IP" if depth else _PARAGRAPH


def _terms(stream: Iterator[Token]) -> Iterator[str]:
    """Yield the rows of a table as terms, the first cell with what the others say of it; the heads are in italics."""
    cells, in_head = list[str](), False
    for token in stream:
        if token.type == "table_close":
            return
        in_head = token.type == "thead_open" or (in_head and token.type != "thead_close")
        if token.type == "tr_open":
            cells = []
        elif token.type == "inline":
            cells.append(f"\\fI{_inline(token)}\\fR" if in_head and token.content else _inline(token))
        elif token.type == "tr_close" and any(cells):
            first, *others = cells
            yield from (".TP", first or "\\&", " \\(em ".join(filter(None, others)) or "\\&")


def _inline(token: Token) -> str:
    """Return a paragraph in one line: code is bold, and of links there is the text."""
    parts = []
    for child in token.children or ():
        if child.type == "code_inline":
            parts.append(f"\\fB{child.content.translate(_ESCAPES)}\\fR")
        elif child.type in {"softbreak", "hardbreak"}:
            parts.append(" ")
        elif child.type == "text":
            parts.append(child.content.translate(_ESCAPES))
        parts.append(_FONTS.get(child.type, ""))
    return _harmless("".join(parts))
