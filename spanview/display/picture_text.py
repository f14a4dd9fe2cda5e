"""A trace's waterfall as lines of text, for a chat or a ticket: characters say what the screen says in colours."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from spanview.analysis.ray.wait_causes import LETTERS
from spanview.display.bars import WAIT, span_cells, wait_cells
from spanview.display.cells import fitting, fixed, name_text, right
from spanview.display.shades import ERROR, HEAD, QUIET, WARNING, plain, shade_of
from spanview.display.timeline import ruler

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.display.picture import Picture, PictureRow, Stretch
    from spanview.display.shades import Paint

WIDTH: Final = 100
"""Columns, where nothing else is asked for."""
_OWN, _LIGHT, _RUNNING, _INFERRED, _EVENT, _ERROR = "█▒▚╌◆✖"
_SHADES: Final = "░▒▓█"
_MEANINGS: Final = {
    _OWN: "span",
    _LIGHT: "spans below run",
    _RUNNING: "runs, until now",
    WAIT: "waiting before it ran",
    **{letter: cause.brief for cause, letter in LETTERS.items()},
    _INFERRED: "inferred, not seen",
    _EVENT: "event",
    _ERROR: "error",
}
_WAITS: Final = "".join((WAIT, *LETTERS.values()))
_SHADE_OF: Final = {_ERROR: ERROR, _INFERRED: WARNING, _EVENT: HEAD, **dict.fromkeys(_WAITS, QUIET)}
# `✖`, `a┈┈`, `██▒▒▎`
_SAME_SHADE: Final = re.compile(
    rf"{_ERROR}+|[{_WAITS}]+|{_INFERRED}+|{_EVENT}+|[^ {_ERROR}{_WAITS}{_INFERRED}{_EVENT}]+"
)
_DURATION: Final = 10
_MIN_TIME_WIDTH: Final = 13
"""Both labels of the ruler, mostly."""
_MIN_NAME_WIDTH: Final = 12
_FAILURE_SPACING: Final = 4
"""Cells from one failure among similar siblings to the next, at least."""
_HALF: Final = 0.5
_BETWEEN: Final = "   "
_DOT: Final = " · "


def picture_lines(picture: Picture, width: int = WIDTH, paint: Paint = plain) -> Iterator[str]:
    """Yield lines of `width` cells: the title, a ruler, a line a row, what is left out, what signs and colours mean."""
    figures = _DURATION * (len(picture.heads) - 1)
    most = max(_MIN_NAME_WIDTH, min(round(width * 0.45), width - figures - 2 - _MIN_TIME_WIDTH))
    name = min(most, max(16, max((len(_indent(row, most)) + _cells_of(row) for row in picture.rows), default=0)))
    time = max(_MIN_TIME_WIDTH, width - name - figures - 2)
    for line in _wrapped(picture.title.split(_DOT), _DOT, width):
        yield _DOT.join(paint(part, _shade_in_title(part)) for part in line.split(_DOT))
    if picture.answer:
        yield fixed(fitting(picture.answer, width), width).rstrip()
    heads = fixed(picture.heads[0], name) + "".join(right(head, _DURATION) for head in picture.heads[1:])
    yield f"{paint(heads, HEAD)}  {ruler(picture.first_ns, picture.last_ns, time)}"
    used: set[str] = set()
    for row in picture.rows:
        bar = _run(row, time) if row.density else _bar(row, time)
        used |= {*bar} & {_ERROR, WAIT} if row.density else {*bar}
        took = (right(fitting(texts, _DURATION - 1), _DURATION) for texts in (row.waited, row.lasted) if texts)
        yield f"{_label(row, name)}{''.join(took)}  {_painted(bar.rstrip(), row.color, paint)}".rstrip()
    if picture.left_out:
        yield picture.left_out
    yield from _wrapped([*_key(picture, used)], _BETWEEN, width)
    if paint is not plain and len(picture.legend) > 1:
        yield from _colors(picture, width, paint)


def _shade_in_title(part: str) -> str:
    if part.startswith(_ERROR):
        return ERROR
    return WARNING if part == "incomplete" else HEAD if part.startswith("trace ") else ""


def _key(picture: Picture, used: set[str]) -> Iterator[str]:
    """Yield what the characters mean that are used."""
    for character, meaning in _MEANINGS.items():
        if character in used:
            yield f"{character} {meaning}"
    if any(row.density for row in picture.rows):
        yield f"{_SHADES} how many at once"
    if picture.is_lit:
        yield "• critical path"


def _colors(picture: Picture, width: int, paint: Paint) -> Iterator[str]:
    """Yield what the colours of bars mean."""
    line, cells = f"{picture.color_by}:", cell_len(picture.color_by) + 1
    for number, name in picture.legend:
        more = cell_len(name) + len(_BETWEEN) + (len(f"{_OWN} ") if number >= 0 else 0)
        if cells + more > width:
            yield line
            line, cells = "", 0
        line += _BETWEEN + (f"{paint(_OWN, shade_of(number))} " if number >= 0 else "") + name
        cells += more
    yield line


def _painted(bar: str, color: int, paint: Paint) -> str:
    """Return a bar in its colour; errors have one of their own, and what isn't the span steps back."""
    own = shade_of(color)
    return _SAME_SHADE.sub(lambda part: paint(part[0], _SHADE_OF.get(part[0][0], own)), bar)


def _wrapped(parts: list[str], between: str, width: int) -> Iterator[str]:
    line = ""
    for part in parts:
        if line and len(line) + len(between) + len(part) > width:
            yield line
            line = part
        else:
            line = f"{line}{between}{part}" if line else part
    yield line


def _indent(row: PictureRow, most: int) -> str:
    """Return the lines before a name; where they would take more than half of the room, the depth as a number."""
    indent = "│ " * row.depth
    return indent if len(indent) <= most // 2 else f"{row.depth}│ "


def _cells_of(row: PictureRow) -> int:
    return len(row.arrow) + cell_len(row.name) + (cell_len(row.marks[0]) + 1 if row.marks[0] else 0)


def _label(row: PictureRow, width: int) -> str:
    indent = _indent(row, width)
    marks = fitting(row.marks, width - len(indent) - len(row.arrow) - 1 - min(_MIN_NAME_WIDTH, cell_len(row.name)))
    marks = f" {marks}" if marks else ""
    room = width - len(indent) - len(row.arrow) - cell_len(marks)
    return fixed(indent + row.arrow + name_text(row.name, min(room, cell_len(row.name))) + marks, width)


def _run(row: PictureRow, width: int) -> str:
    """Return similar siblings as how many of them run at each time, where more of them wait, and where some failed."""
    cells, parts, waits = list[str](), len(row.density), _shares(row.waits, width)
    for cell in range(width):
        first = cell * parts // width
        share = max(row.density[first : max(first + 1, (cell + 1) * parts // width)])
        # What runs is to be seen between the dots.
        if waits[cell] >= _HALF and (not share or cell % 2):
            cells.append(WAIT)
        else:
            cells.append(_SHADES[min(len(_SHADES) - 1, int(share * len(_SHADES)))] if share else " ")
    free = 0
    for position in row.failures:
        cell = min(width - 1, int(position * width))
        if cell >= free:
            # What runs is to be seen between them.
            cells[cell], free = _ERROR, cell + _FAILURE_SPACING
    return "".join(cells)


def _bar(row: PictureRow, width: int) -> str:
    cells = [" "] * width
    parts = [(letter, since * width, until * width) for letter, since, until in row.wait_parts]
    stretches = (row.inferred, _INFERRED), *((wait, WAIT) for wait in row.waits), (row.runs, _RUNNING)
    for stretch, character in stretches:
        if stretch is not None:
            first, end = _ends(stretch, width)
            cells[first:end] = wait_cells(first, end, parts) if character == WAIT else character * (end - first)
    if row.bar is None:
        return "".join(cells)
    if row.bar[1] < 0 or row.bar[0] > 1:
        cells[0 if row.bar[1] < 0 else -1] = "‹" if row.bar[1] < 0 else "›"
        return "".join(cells)
    first, drawn = span_cells(row.bar[0] * width, row.bar[1] * width, width)
    own = _shares(row.own, width)
    for cell, character in enumerate(drawn, first):
        cells[cell] = _LIGHT if character == _OWN and own[cell] < _HALF else character
    for position in row.events:
        cells[min(width - 1, int(position * width))] = _EVENT
    if row.is_error:
        cells[min(width - 1, first + len(drawn))] = _ERROR
    return "".join(cells)


def _ends(stretch: Stretch, width: int) -> tuple[int, int]:
    """Return the first cell of a stretch, and the one behind it."""
    first, last = int(stretch[0] * width), int(stretch[1] * width)
    # What begins at the very end has the last cell.
    first = max(0, first - (first == width))
    return first, max(first, min(width, last + 1))


def _shares(stretches: tuple[Stretch, ...], width: int) -> list[float]:
    """Return how much of each cell lies in some stretches that don't overlap."""
    shares = [0.0] * width
    for start, end in stretches:
        left, right_ = max(0.0, start * width), min(float(width), end * width)
        for cell in range(int(left), min(width, int(right_) + 1)):
            shares[cell] += max(0.0, min(right_, cell + 1) - max(left, cell))
    return shares
