"""Texts in columns: so many cells and no more, whatever their characters take."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

from rich.cells import cell_len, chop_cells, set_cell_size

from spanview.display.sanitise import sanitise

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence


def data_text(text: str, width: int) -> str:
    """Return a text from a file, made harmless, in exactly `width` cells."""
    return fixed(sanitise(text, max(width, 1) * 2 + 2), width)


def fixed(text: str, width: int) -> str:
    """Return a text of our own in exactly `width` cells, cut with an ellipsis where it is longer."""
    if width <= 0:
        return ""
    if text.isascii():
        return text.ljust(width) if len(text) <= width else text[: width - 1] + "…"
    if cell_len(text) <= width:
        return set_cell_size(text, width)
    return set_cell_size(text, width - 1) + "…"


def name_text(name: str, width: int) -> str:
    """Return a name from a file, made harmless, in exactly `width` cells; of a longer one, the middle is left out.

    What tells names apart is at their end: `my_modu…process_batch`.
    """
    if width <= 0:
        return ""
    if len(name) <= 2 * width:
        shown = sanitise(name)
        if cell_len(shown) <= width:
            return fixed(shown, width)
    first = max(0, width - 1) // 3
    start, end = sanitise(name[: first + 1]), sanitise(name[-max(width, 1) :])
    while cell_len(end) > width - 1 - first:
        end = end[1:]
    return fixed(f"{set_cell_size(start, first)}…{end}", width)


def texts_apart(names: Iterable[str], width: int) -> dict[str, str]:
    """Return the texts in `width` cells of those names that `name_text` would make look alike: what differs is shown.

    ServeReplica:shop:Cart.check_health       …e:shop:Cart.check…
    ServeReplica:shop:Catalogue.check_health  …e:shop:Catalogue.…
    """
    apart, shown = dict[str, str](), defaultdict[str, list[str]](list)
    for name in dict.fromkeys(name for name in names if len(name) > width):
        shown[name_text(name, width)].append(name)
    alike = [group for group in shown.values() if len(group) > 1]
    while alike:
        group = alike.pop()
        # All names are between these two.
        first, last = min(group), max(group)
        pairs = zip(first, last, strict=False)
        equal = next((index for index, (one, other) in enumerate(pairs) if one != other), len(first))
        # A third of the room shows what is before the first difference.
        start = max(1, equal - width // 3)
        shown = defaultdict(list)
        for name in group:
            apart[name] = fixed("…" + sanitise(name[start:], 2 * width + 2), width)
            shown[apart[name]].append(name)
        alike += [part for part in shown.values() if 1 < len(part) < len(group)]
    return apart


def right(text: str, width: int) -> str:
    """Return a short text of our own at the right edge of `width` cells."""
    return " " * (width - cell_len(text)) + text if cell_len(text) <= width else fixed(text, width)


def fitting(texts: Sequence[str], room: int) -> str:
    """Return the first of some texts of our own that has room, else the last."""
    return next((text for text in texts if cell_len(text) <= room), texts[-1])


def in_lines(text: str, width: int) -> list[str]:
    """Return a text that is safe to print as lines of at most `width` cells, parted between words where that can be."""
    if cell_len(text) <= width and not text.startswith(" "):
        return [text]
    lines: list[str] = []
    line = ""
    for word in text.split(" "):
        if line and cell_len(line) + 1 + cell_len(word) <= width:
            line = f"{line} {word}"
            continue
        if line:
            lines.append(line)
        *whole, line = chop_cells(word, max(width, 2)) or [""]
        lines += whole
    return [*lines, line]
