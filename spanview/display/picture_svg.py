"""Waterfalls as one SVG file: shapes and texts, no scripts, nothing to fetch, legible on light and on dark.

Source: SVG 1.1; the colours of a dark page are those of a medium query, which renderers that don't know it pass over.
"""

from __future__ import annotations

from html import escape
from itertools import accumulate
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from spanview.analysis.ray.wait_causes import LETTERS
from spanview.display.cells import fitting, fixed
from spanview.display.shades import COLORS
from spanview.display.timeline import round_times
from spanview.display.units import duration_by

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.display.picture import Picture, PictureRow, Stretch

_CELL: Final = 7.3
"""Pixels that a character of the reader's monospace font takes at the most."""
_HEAD: Final = 8.6
"""Pixels that a character of a head takes at the most."""
_LINE, _MARGIN, _LEVEL = 20, 16, 12
_TIME: Final = 640
"""Pixels of the line of time."""
_DURATION: Final = 84
_GAP: Final = 12
_TOP: Final = 104
"""Pixels above the first row."""
_BAR: Final = 12
_DOTS: Final = 4
"""Pixels of a line of dots above what runs of similar siblings."""
_LEAST_LETTERED: Final = 2 * _CELL
"""Pixels that a part of a wait needs for its letter, with dots behind it."""
_STRIPE: Final = 6
"""Pixels from one stripe of what runs to the next."""
_MIN_NAME_WIDTH, _MAX_NAME_WIDTH = 24, 64
_MAX_DRAWN_LEVELS: Final = 16
"""Levels that are drawn with lines; deeper ones are written as a number."""
_RULER_PARTS: Final = 7
_MIN_TIME_WIDTH: Final = 70
_STYLE: Final = """\
text{font:12px ui-monospace,SFMono-Regular,Menlo,Consolas,"DejaVu Sans Mono",monospace;fill:#1f2328}
.h{font-weight:bold;font-size:14px}.d{fill:#59636e}.e{fill:#cf222e}.o{fill:#9a6700}.r{text-anchor:end}.m{text-anchor:middle}
.p{fill:#fff}.g,.w,.i,.n,.x{fill:none;stroke:#d8dee4}.w{stroke:#59636e;stroke-width:2;stroke-dasharray:2 4}
.i{stroke:#59636e;stroke-width:2;stroke-dasharray:7 4}.n{stroke:#9a6700;stroke-width:2;stroke-dasharray:7 4}
.x{stroke:#cf222e;stroke-width:2.5}.s{fill:none;stroke-width:2}.v{fill:#1f2328;stroke:#fff}.c{fill:#bf8700}.l{opacity:.4}.f{opacity:.3}
@media(prefers-color-scheme:dark){text{fill:#e6edf3}.d{fill:#9198a1}.e{fill:#ff7b72}.o{fill:#d29922}.p{fill:#0d1117}
.g{stroke:#30363d}.w,.i{stroke:#9198a1}.n{stroke:#d29922}.x{stroke:#ff7b72}.v{fill:#e6edf3;stroke:#0d1117}.c{fill:#e3b341}}
"""
"""By class: h head, d dim, e error, o not ended; p page, g lines, w waiting, i inferred, n no end, s runs, x cross, \
v event, c critical path, l where spans below run, f not on the critical path."""


def svg_chunks(pictures: Sequence[Picture]) -> Iterator[bytes]:
    """Yield the file of one or more pictures; all their texts are safe to print, and so are characters of XML."""
    cells = max((_cells_of(row) for picture in pictures for row in picture.rows), default=0)
    columns = max((len(picture.heads) for picture in pictures), default=0) - 1
    sheet = _Sheet(max(_MIN_NAME_WIDTH, min(_MAX_NAME_WIDTH, cells)), columns)
    drawn = [[*sheet.lines(picture)] for picture in pictures]
    heights = [sheet.height(picture) for picture in pictures]
    size = f'width="{_number(sheet.width)}" height="{sum(heights)}"'
    box = f'viewBox="0 0 {_number(sheet.width)} {sum(heights)}"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" {size} {box} xml:space="preserve">\n'.encode()
    yield f"<style>{_STYLE}</style>\n".encode()
    yield b'<rect class="p" width="100%" height="100%"/>\n'
    for top, lines in zip(accumulate([0, *heights]), drawn, strict=False):
        yield f'<g transform="translate(0 {top})">\n'.encode()
        yield "\n".join(lines).encode()
        yield b"\n</g>\n"
    yield b"</svg>\n"


def _cells_of(row: PictureRow) -> int:
    levels = min(row.depth, _MAX_DRAWN_LEVELS) * _LEVEL / _CELL
    return round(levels) + len(row.arrow) + cell_len(row.name) + cell_len(row.marks[0]) + 2


class _Sheet:
    """Draws pictures in common columns: so many cells of names, and so many figures behind each."""

    def __init__(self, name: int, columns: int) -> None:
        self._names_end = _MARGIN + name * _CELL
        self._ends = self._names_end + columns * _DURATION
        """Where durations end."""
        self._left = self._ends + _GAP
        self.width = self._left + _TIME + 2 * _MARGIN

    def height(self, picture: Picture) -> int:
        """Return the pixels that a picture takes down the page."""
        return _TOP + _LINE * (len(picture.rows) + bool(picture.left_out) + 1 + (len(picture.legend) > 1)) + _MARGIN

    def lines(self, picture: Picture) -> Iterator[str]:
        """Yield the elements of a picture."""
        below = _TOP + _LINE * len(picture.rows)
        room = int((self.width - 2 * _MARGIN) / _CELL)
        yield _text(_MARGIN, 28, fixed(picture.name, int(room * _CELL / _HEAD)).rstrip(), "h")
        yield _text(_MARGIN, 48, fixed(picture.title, room).rstrip(), "d")
        if picture.answer:
            yield _text(_MARGIN, 68, fixed(fitting(picture.answer, room), room).rstrip(), "")
        yield from self._ruler(picture, below)
        yield _path("g", _verticals(picture.rows))
        for index, row in enumerate(picture.rows):
            yield from self._row(row, _TOP + index * _LINE, is_lit=picture.is_lit)
        for text in filter(None, (picture.left_out, _key(picture))):
            below += _LINE
            yield _text(_MARGIN, below - 4, text, "d")
        if len(picture.legend) > 1:
            yield from self._legend(picture, below + _LINE - 4)

    def _ruler(self, picture: Picture, below: int) -> Iterator[str]:
        length = max(1, picture.last_ns - picture.first_ns)
        times = round_times(picture.first_ns, picture.last_ns, _RULER_PARTS)
        places = [(self._left + (ns - picture.first_ns) / length * _TIME, ns) for ns in times]
        edges = self._left, self._left + _TIME
        yield _path("g", "".join(f"M{_number(x)} {_TOP - 8}V{below}" for x in (*edges, *(x for x, _ in places))))
        y = _TOP - 14
        yield _text(_MARGIN, y, picture.heads[0], "d")
        for number, head in enumerate(reversed(picture.heads[1:])):
            yield _text(self._ends - number * _DURATION, y, head, "d r")
        yield _text(edges[0], y, duration_by(picture.first_ns, times.step), "d")
        if picture.last_ns > picture.first_ns:
            yield _text(edges[1], y, duration_by(picture.last_ns, times.step), "d r")
        for x, ns in places:
            if edges[0] + _MIN_TIME_WIDTH < x < edges[1] - 1.5 * _MIN_TIME_WIDTH:
                yield _text(x, y, duration_by(ns, times.step), "d m")

    def _row(self, row: PictureRow, y: int, *, is_lit: bool) -> Iterator[str]:
        base, x = y + 14, _MARGIN + min(row.depth, _MAX_DRAWN_LEVELS) * _LEVEL
        yield f"<g><title>{escape(row.about)}</title>"
        lead = f"{row.depth}│ {row.arrow}" if row.depth > _MAX_DRAWN_LEVELS else row.arrow
        room = int((self._names_end - x) / _CELL) - cell_len(lead)
        marks = fitting(row.marks, room - _MIN_NAME_WIDTH // 2)
        name = fixed(row.name, max(1, room - cell_len(marks) - 1)).rstrip()
        if lead.strip():
            yield _text(x, base, lead.rstrip(), "d")
        x += round(cell_len(lead) * _CELL)
        # Substitute fonts can be of any width.
        yield _text(x, base, name, "", length=None if name.isascii() else cell_len(name) * _CELL)
        if marks:
            x += round((cell_len(name) + 1) * _CELL)
            yield _text(x, base, marks, "e" if "✖" in marks else "d")
        for number, texts in enumerate((row.lasted, row.waited)):
            if texts and texts[0]:
                style = "r o" if row.is_open and row.inferred and texts is row.lasted else "r"
                yield _text(self._ends - number * _DURATION, base, fitting(texts, int(_DURATION / _CELL)), style)
        yield from self._bar(row, y + (_LINE - _BAR) / 2, is_lit=is_lit)
        yield "</g>"

    def _bar(self, row: PictureRow, y: float, *, is_lit: bool) -> Iterator[str]:
        color, lines = f'fill="{COLORS[row.color % len(COLORS)]}"', y + _BAR / 2
        # Dots stand above what runs of similar siblings, and leave room for it.
        hill = _BAR - (_DOTS if row.waits else 0)
        for kind, stretches, line in (
            ("n" if row.is_open else "i", [("", *row.inferred)] if row.inferred else [], lines),
            (
                "w",
                row.wait_parts or [("", *wait) for wait in row.waits],
                y + _DOTS / 2 if row.density else lines,
            ),
        ):
            for letter, *stretch in stretches:
                first, end = self._clipped((stretch[0], stretch[1])) or (0, 0)
                if letter and end - first > _LEAST_LETTERED:
                    yield _text(first, line + _DOTS, letter, "d")
                    first += _CELL + 1
                if end:
                    yield _path(kind, f"M{_number(first)} {_number(line)}H{_number(end)}")
        if row.runs is not None and (visible := self._clipped(row.runs)):
            yield _path("l", _boxes([visible], y, _BAR), color)
            yield _path("s", _stripes(*visible, y), f'stroke="{COLORS[row.color % len(COLORS)]}"')
        if row.density:
            yield _path("", self._profile(row.density, y + _BAR, hill), color)
            yield _path("x", "".join(_cross(self._left + position * _TIME, y) for position in row.failures))
        if row.bar is None:
            return
        visible = self._clipped(row.bar)
        if visible is None:
            is_before = row.bar[1] < 0
            edge = self._left if is_before else self._left + _TIME
            yield _text(edge, y + _BAR - 2, "‹" if is_before else "›", "d" if is_before else "d r")
            return
        faded = " f" if is_lit else ""
        yield _path(f"l{faded}", _boxes([visible], y, _BAR), color)
        yield _path(faded.strip(), _boxes(filter(None, map(self._clipped, row.own)), y, _BAR), color)
        yield _path("c", _boxes(filter(None, map(self._clipped, row.lit)), y + 3, _BAR - 6))
        yield _path("v", "".join(_diamond(self._left + position * _TIME, y) for position in row.events))
        if row.is_error:
            yield _path("x", _cross(visible[1] + 8, y))

    def _legend(self, picture: Picture, y: int) -> Iterator[str]:
        x: float = _MARGIN
        yield _text(x, y, picture.color_by, "d")
        x += (len(picture.color_by) + 2) * _CELL
        for number, name in picture.legend:
            if x + 16 + cell_len(name) * _CELL > self.width - _MARGIN:
                yield _text(x, y, "…", "d")
                return
            if number >= 0:
                yield f'<path fill="{COLORS[number % len(COLORS)]}" d="M{_number(x)} {y - 10}h10v10h-10z"/>'
            yield _text(x + 16, y, name, "")
            x += 16 + (cell_len(name) + 2) * _CELL

    def _clipped(self, stretch: Stretch) -> Stretch | None:
        """Return where a stretch is drawn, at least a pixel of it; None where it lies outside."""
        if stretch[1] < 0 or stretch[0] > 1:
            return None
        first = min(max(0.0, stretch[0]) * _TIME, _TIME - 1)
        return self._left + first, self._left + max(first + 1, min(1.0, stretch[1]) * _TIME)

    def _profile(self, density: Sequence[float], y: float, height: int) -> str:
        wide, bottom = _TIME / len(density), _number(y)
        return "".join(
            f"M{_number(self._left + index * wide)} {bottom}"
            f"v-{_number(max(2.0, share * height))}h{_number(wide)}V{bottom}z"
            for index, share in enumerate(density)
            if share
        )


def _number(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0")


def _text(x: float, y: float, text: str, kind: str, *, length: float | None = None) -> str:
    fit = "" if length is None else f' textLength="{_number(length)}" lengthAdjust="spacingAndGlyphs"'
    of_kind = f' class="{kind}"' if kind else ""
    return f'<text{of_kind} x="{_number(x)}" y="{_number(y)}"{fit}>{escape(text)}</text>'


def _path(kind: str, places: str, *more: str) -> str:
    of_kind = f'class="{kind}"' if kind else ""
    return f'<path {" ".join(filter(None, (of_kind, *more)))} d="{places}"/>' if places else ""


def _boxes(stretches: Iterable[Stretch], y: float, height: int) -> str:
    return "".join(
        f"M{_number(first)} {_number(y)}h{_number(max(1.0, last - first))}v{height}H{_number(first)}z"
        for first, last in stretches
    )


def _stripes(first: float, last: float, y: float) -> str:
    """Return lines that rise to the right, as many as fit."""
    number = int((last - first - _STRIPE) / _STRIPE)
    return "".join(f"M{_number(first + at * _STRIPE)} {_number(y + _BAR)}l{_STRIPE}-{_BAR}" for at in range(number + 1))


def _diamond(x: float, y: float) -> str:
    return f"M{_number(x - 4)} {_number(y + _BAR / 2)}l4-4 4 4-4 4z"


def _cross(x: float, y: float) -> str:
    return f"M{_number(x - 4)} {_number(y + 2)}l8 8m0-8l-8 8"


def _verticals(rows: Sequence[PictureRow]) -> str:
    """Return the lines that join siblings: one at each level, as far as rows are below it."""
    parts: list[str] = []
    opened: list[int] = []
    for index, depth in [*enumerate(min(row.depth, _MAX_DRAWN_LEVELS) for row in rows), (len(rows), 0)]:
        while len(opened) > depth:
            x, first = _MARGIN + (len(opened) - 1) * _LEVEL + 4, opened.pop()
            parts.append(f"M{x} {_TOP + first * _LINE}V{_TOP + index * _LINE}")
        opened += [index] * (depth - len(opened))
    return "".join(parts)


def _key(picture: Picture) -> str:
    """Return what the shapes that occur mean."""
    rows = picture.rows
    parts = ((letter, min(1, end) - max(0, first)) for row in rows for letter, first, end in row.wait_parts)
    letters = {letter for letter, share in parts if share * _TIME > _LEAST_LETTERED}
    meanings = {
        "solid: the span itself, light: spans below run": any(row.bar for row in rows),
        "hill: how many similar siblings run": any(row.density for row in rows),
        "dots: waiting before it ran": any(row.waits for row in rows),
        **{f"{letter} {cause.brief}": letter in letters for cause, letter in LETTERS.items()},
        "stripes: runs, until now": any(row.runs for row in rows),
        "dashes: inferred, not seen": any(row.inferred for row in rows),
        "◆ event": any(row.events for row in rows),
        "✖ error": any(row.is_error or row.failures for row in rows),
        "• and yellow: critical path": picture.is_lit,
    }
    return " · ".join(meaning for meaning, occurs in meanings.items() if occurs)
