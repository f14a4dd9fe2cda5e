"""A JSON value as lines that can be folded.

▾ {                         unfolded
      "model": "large",
    ▸ "messages": [… 14 items],     folded: it would take more lines than a few
      "tags": ["a", "b"]    a list of simple values stays on one line where there is room
  }
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.display.parts import MAX_TEXT_LENGTH, DetailPart, cell_len_at_most
from spanview.display.stack_text import is_stack, stack_parts
from spanview.formats.jsontext import dumps_strict, loads_exact

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.display.parts import Folds, Path

OPEN: Final = "▾ "
FOLDED: Final = "▸ "
_MAX_PARSED_LENGTH: Final = 1_000_000
"""Characters of a text that is looked at as JSON."""
_MAX_OPEN_LINES: Final = 8
"""Values with more lines are folded at first."""
_MAX_MEMBERS_AT_ONCE: Final = 500
"""Members of one value that are unfolded together."""
MARGIN: Final = len(OPEN)
_MAX_INDENTED_LEVELS: Final = 20
"""Levels that are indented."""


class _Opened(NamedTuple):
    """A value whose members are being shown."""

    value: Any
    members: list[tuple[str | int, Any]]
    position: int
    path: Path
    ending: str


def nested_in(value: Any) -> Any:
    """Return the object or list that an attribute's value is, or that it holds as a text; None for any other value."""
    if isinstance(value, str):
        text = value.strip(" \t\r\n")
        if not (text[:1] in "{[" and text[-1:] in "}]" and 2 < len(text) <= _MAX_PARSED_LENGTH):  # noqa: PLR2004
            return None
        try:
            value = loads_exact(text.encode())
        except ValueError:
            return None
    return value if isinstance(value, dict | list | tuple) and value else None


class NestedValue:
    """An object or a list that is shown as lines; `nested` is what `nested_in` has made of it."""

    def __init__(self, whole: Any, nested: Any, path: Path, *, folds: Folds, room: int) -> None:
        self._whole = whole
        self._nested = nested
        self._path = path
        self._folds = folds
        self._room = room
        self._above: list[_Opened] = []
        """What is unfolded around the next line."""

    def parts(self, key: str) -> Iterator[DetailPart]:
        """Yield the lines; the first one has a key."""
        short = _on_one_line(self._nested, self._room)
        if short is not None:
            as_written = isinstance(self._whole, str) and "\n" not in self._whole and len(self._whole) <= self._room
            yield DetailPart(key, self._whole if as_written else short, self._whole)
            return
        yield replace(self._begin("", self._nested, self._path, ""), key=key, whole=self._whole)
        while self._above:
            opened = self._above.pop()
            if opened.position < len(opened.members):
                yield from self._next(opened)
            else:
                text = f"{indent(len(self._above))}{' ' * MARGIN}{_brackets(opened.value)[1]}{opened.ending}"
                yield DetailPart("", text, opened.value, inside=opened.path)

    def _next(self, opened: _Opened) -> Iterator[DetailPart]:
        """Yield the next member of what is unfolded, and before it whether there are too many to show them at once."""
        if opened.position and opened.position % _MAX_MEMBERS_AT_ONCE == 0:
            path = (*opened.path, -opened.position)
            is_open = self._folds.get(path, False)
            mark, left = OPEN if is_open else FOLDED, len(opened.members) - opened.position
            text = f"{indent(len(self._above) + 1)}{mark}… {left:,} more"
            yield DetailPart("", text, opened.value, fold=path, is_open=is_open, inside=opened.path)
            if not is_open:
                self._above.append(opened._replace(position=len(opened.members)))
                return
        self._above.append(opened._replace(position=opened.position + 1))
        yield from self._member(opened, *opened.members[opened.position])

    def _member(self, opened: _Opened, name: str | int, member: Any) -> Iterator[DetailPart]:
        ending = "," if opened.position + 1 < len(opened.members) else ""
        label = f"{_text(name)}: " if isinstance(opened.value, dict) else ""
        margin = indent(len(self._above)) + " " * MARGIN
        text: str | None
        if isinstance(member, dict | list | tuple) and member:
            text = _on_one_line(member, self._room - len(margin) - len(label) - len(ending))
            if text is None:
                yield self._begin(label, member, (*opened.path, name), ending)
                return
        elif isinstance(member, str) and is_stack(member):
            yield DetailPart("", f"{margin}{label}", member, inside=opened.path)
            yield from stack_parts(member, inside=opened.path, margin=margin + "  ")
            return
        else:
            text = _text(member)
        yield DetailPart("", f"{margin}{label}{text}{ending}", member, inside=opened.path, hang=len(margin) + 2)

    def _begin(self, label: str, value: Any, path: Path, ending: str) -> DetailPart:
        """Return the line of a value that can be folded, and let its members follow where it isn't."""
        inside = self._above[-1].path if self._above else None
        brackets, margin = _brackets(value), indent(len(self._above))
        is_open = self._folds.get(path, not _takes_many_lines(value))
        if not is_open:
            hidden = hidden_text(len(value), is_object=isinstance(value, dict))
            text = f"{margin}{FOLDED}{label}{brackets[0]}{hidden}{brackets[1]}{ending}"
            return DetailPart("", text, value, fold=path, inside=inside)
        members = [*(value.items() if isinstance(value, dict) else enumerate(value))]
        self._above.append(_Opened(value, members, 0, path, ending))
        return DetailPart("", f"{margin}{OPEN}{label}{brackets[0]}", value, fold=path, is_open=True, inside=inside)


def indent(depth: int) -> str:
    """Return what comes before the lines of a level."""
    return "  " * min(depth, _MAX_INDENTED_LEVELS)


def hidden_text(members: int, *, is_object: bool) -> str:
    """Return what comes between the brackets of what is folded."""
    return f"… {members:,} {'key' if is_object else 'item'}{'s' * (members > 1)}"


def _brackets(value: Any) -> str:
    return "{}" if isinstance(value, dict) else "[]"


def _text(value: Any) -> str:
    if isinstance(value, str) and len(value) > MAX_TEXT_LENGTH:
        begin = dumps_strict(value[:MAX_TEXT_LENGTH]).decode()[:-1]
        return f"{begin}… {len(value):,} characters in all; y copies them"
    return dumps_strict(value).decode()


def _on_one_line(value: Any, room: int) -> str | None:
    """Return a list of simple values where it fits into so many cells; None for all that has a structure."""
    if (
        isinstance(value, dict)
        or 2 * len(value) > room
        or any(isinstance(member, dict | list | tuple) for member in value)
    ):
        return None
    if sum(len(member) for member in value if isinstance(member, str)) > room:
        return None
    text = dumps_strict(value).decode()
    return text if cell_len_at_most(text, room) else None


def _takes_many_lines(value: Any) -> bool:
    """Tell whether a value takes more lines than a few; no more of it is looked at than that needs."""
    lines, pending = 0, [value]
    while pending:
        member = pending.pop()
        has_lines = isinstance(member, dict | list | tuple) and member and not _is_simple(member)
        lines += 2 if has_lines else 1
        if lines + len(pending) + (len(member) if has_lines else 0) > _MAX_OPEN_LINES:
            return True
        if has_lines:
            pending.extend(member.values() if isinstance(member, dict) else member)
    return False


def _is_simple(value: Any) -> bool:
    """Tell whether something is a list of a few simple values, which is one line where there is room."""
    few = not isinstance(value, dict) and len(value) < _MAX_OPEN_LINES
    return few and not any(isinstance(member, dict | list | tuple) and member for member in value)
