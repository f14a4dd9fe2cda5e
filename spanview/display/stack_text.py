"""Python's stack traces, so that the lines that matter are found at a glance.

  Traceback (most recent call last):
    File ".../site-packages/ray/worker.py", line 9, in main      dim: a library's
      run()
▸   File "/srv/app.py", line 31, in fail                         bright: the user's own
      raise ValueError("bad")
✖ ValueError: bad                                                what was raised
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanview.display.parts import MAX_TEXT_LENGTH, DetailPart, Tone

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.display.parts import Path

_OWN_MARK: Final = "▸ "
_ERROR_MARK: Final = "✖ "
_BEGINS: Final = "Traceback (most recent call last):"
_HEAD: Final = re.compile(
    r"[ |+]*" + re.escape(_BEGINS) + r"|[ |+]*\+? Exception Group Traceback \(most recent call last\):"
)
_FRAME: Final = re.compile(r'([ |+]*)File "([^"\n]*)", line \d+(?:, in (.*?))?\r?')
_LIBRARY: Final = re.compile(
    r"[/\\](?:site|dist)-packages[/\\]|[/\\]lib(?:64)?[/\\]python\d|[/\\]Python\d+[/\\]Lib[/\\]|^<frozen |^python/ray/",
    re.IGNORECASE,
)
"""Paths of code that is nobody's own; of Ray's compiled modules only the path in its sources is known."""
_COMPILED: Final = re.compile(r"(?![/\\]|\w:).*\0\w+\.[\w.]+")
"""A source path, then a function with its module: Cython's names for frames of compiled modules."""
_BETWEEN: Final = ("During handling of the above exception", "The above exception was the direct cause")


def is_stack(text: str) -> bool:
    """Tell whether a text of several lines has a stack trace of Python in it."""
    shown = text[:MAX_TEXT_LENGTH]
    return "\n" in shown and (_BEGINS in shown or ('File "' in shown and any(map(_FRAME.fullmatch, shown.split("\n")))))


def stack_parts(text: str, *, key: str = "", inside: Path | None = None, margin: str = "") -> Iterator[DetailPart]:
    """Yield a text with stack traces line by line: own frames, libraries' frames, and what was raised.

    Args:
        text: For which `is_stack` holds.
        key: What comes before its first line.
        inside: What it is hidden with.
        margin: What comes before each line.
    """
    frame = Tone.PLAIN
    depth: int | None = None
    """Of the frames' lines; what is further to the left ends them."""
    raised = False
    for line in text[:MAX_TEXT_LENGTH].rstrip("\n").expandtabs(4).split("\n"):
        shown, tone, match = line, Tone.PLAIN, _FRAME.fullmatch(line)
        indent = len(line) - len(line.lstrip(" |+"))
        if match is not None:
            depth, raised = indent, False
            is_compiled = _COMPILED.fullmatch(f"{match[2]}\0{match[3] or ''}")
            frame = Tone.DIM if is_compiled or _LIBRARY.search(match[2]) else Tone.OWN
            tone = frame
            if frame is Tone.OWN:
                # The mark is in the margin, where there is one.
                margin_end = indent - 2 if line[max(0, indent - 2) : indent] == "  " else indent
                shown = line[:margin_end] + _OWN_MARK + line[indent:]
        elif depth is not None and indent >= depth and line.strip():
            tone = frame
        elif _HEAD.fullmatch(line.rstrip("\r")) or line.lstrip().startswith(_BETWEEN):
            depth, raised = None, False
        elif depth is not None and line.strip():
            depth, raised, tone = None, True, Tone.ERROR
            shown = line[:indent] + _ERROR_MARK + line[indent:]
        elif raised:
            # A message of several lines.
            tone = Tone.ERROR
        yield DetailPart(key, margin + shown, text, tone, inside=inside, hang=len(margin) + 4)
        key = ""
    if len(text) > MAX_TEXT_LENGTH:
        yield DetailPart("", f"{margin}… {len(text):,} characters in all; y copies them", text, inside=inside)
