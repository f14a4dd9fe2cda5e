"""A conversation with a language model as lines that can be folded.

conversation   ▸ 3 messages   user: What is the weather … › assistant: It rains.     folded, as at first
conversation   ▾ 3 messages
system           You are …
user           ▸ What is the weather …   14 lines
assistant        It rains.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from spanview.display.json_text import FOLDED, MARGIN, OPEN
from spanview.display.parts import DetailPart
from spanview.display.units import count

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.genai.conversation import Message
    from spanview.display.parts import Folds, Path

_MAX_OPEN_LINES: Final = 8
"""Messages with more lines are folded at first."""
_PREVIEW: Final = 60
"""Characters of a message that are shown of what is folded."""


def conversation_parts(messages: Sequence[Message], path: Path, folds: Folds, room: int) -> Iterator[DetailPart]:
    """Yield the lines of a conversation."""
    is_open, whole = folds.get(path, False), "\n\n".join(f"{role}: {text}" for role, text in messages)
    said = f"{OPEN if is_open else FOLDED}{count(len(messages), 'message')}"
    shown = messages if len(messages) <= 2 else (messages[0], messages[-1])  # noqa: PLR2004 - the first and the last
    preview = " › ".join(f"{role}: {_first_line(text)}" for role, text in shown)
    yield DetailPart("conversation", said if is_open else f"{said}   {preview}", whole, fold=path, is_open=is_open)
    for number, (role, text) in enumerate(messages if is_open else ()):
        yield _message_part(role, text, (*path, number), folds, room)


def _message_part(role: str, text: str, path: Path, folds: Folds, room: int) -> DetailPart:
    lines = sum(1 + len(line) // max(1, room) for line in text.splitlines())
    if lines <= _MAX_OPEN_LINES:
        return DetailPart(role, _indented(" " * MARGIN, text), text, inside=path[:-1], hang=MARGIN)
    is_open = folds.get(path, False)
    shown = _indented(OPEN, text) if is_open else f"{FOLDED}{_first_line(text)}   {lines:,} lines"
    return DetailPart(role, shown, text, fold=path, is_open=is_open, inside=path[:-1], hang=MARGIN)


def _indented(mark: str, text: str) -> str:
    first, *others = text.splitlines() or [""]
    return "\n".join([f"{mark}{first}", *(" " * MARGIN + line for line in others)])


def _first_line(text: str) -> str:
    line = text.strip().partition("\n")[0]
    return line if line == text and len(line) <= _PREVIEW else f"{line[:_PREVIEW].rstrip()} …"
