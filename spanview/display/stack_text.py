"""Stack traces as lines, so that the ones that matter are found at a glance.

✖ ValueError: bad                                        what was raised
  ⋯ 6 frames in opentelemetry, ray                       libraries' frames, folded
  app.py:31 fail     raise ValueError("bad")             bright: the program's own
  ⋯ as recorded, 14 lines                                the text itself, folded:

    Traceback (most recent call last):
      File ".../site-packages/ray/worker.py", line 9, in main
        run()
    ▸ File "/srv/app.py", line 31, in fail
        raise ValueError("bad")
    ✖ ValueError: bad
"""

from __future__ import annotations

import re
from collections import defaultdict
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING, Final

from rich.cells import cell_len

from spanview.display.parts import MAX_TEXT_LENGTH, DetailPart, Tone
from spanview.display.sanitise import sanitise
from spanview.display.stacks import BEGINS, FRAME, LineKind, library_of, lines_of, stacks_of
from spanview.display.units import count

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.display.parts import Folds, Path
    from spanview.display.stacks import Frame, Stack

_OWN_MARK: Final = "▸ "
_ERROR_MARK: Final = "✖ "
_FOLDED, _OPEN = "⋯ ", "▾ "
_MARGIN: Final = "  "
_GAP: Final = "     "
"""Between where a frame is and its code."""
_MAX_MESSAGE_LINES: Final = 3
"""Further lines of a message that are shown at first."""
_MAX_TELLING: Final = 2
"""Lines of a folded message that are shown."""
_MAX_LINES_BEFORE_ORIGIN: Final = 5
"""Where the program's own frame that is nearest to what was raised comes further down, it comes first, too."""
_COLOR: Final = re.compile(r"\x1b\[[\d;]*m")
_FAILED_TO_PICKLE: Final = re.compile(r"FailTuple\(")
"""As in `FailTuple(lock [path=function -> lock, obj=<unlocked …>, parent=<function price …>])`, of
`ray.util.inspect_serializability`.
"""
_MAX_LIBRARIES: Final = 4
_MAX_ALIKE: Final = 50
"""Files of one name that are told apart by as little as possible; of more, all paths are shown."""
_NAMELESS: Final = ("__init__.py", "__main__.py")
"""Files that are named after their folder."""


def is_stack(text: str) -> bool:
    """Tell whether a text of several lines has a stack trace of Python in it."""
    shown = text[:MAX_TEXT_LENGTH]
    return "\n" in shown and (BEGINS in shown or ('File "' in shown and any(map(FRAME.fullmatch, shown.split("\n")))))


def stack_parts(text: str, *, key: str = "", inside: Path | None = None, margin: str = "") -> Iterator[DetailPart]:
    """Yield a text with stack traces line by line: own frames, libraries' frames, and what was raised.

    Args:
        text: For which `is_stack` holds.
        key: What comes before its first line.
        inside: What it is hidden with.
    """
    frame = Tone.PLAIN
    for line in lines_of(text[:MAX_TEXT_LENGTH].rstrip("\n")):
        shown, tone, indent = line.text, Tone.PLAIN, line.indent
        if line.kind is LineKind.FRAME and line.match is not None:
            tone = frame = Tone.DIM if library_of(line.match) else Tone.OWN
            if frame is Tone.OWN:
                # The mark is in the margin, where there is one.
                margin_end = indent - 2 if shown[max(0, indent - 2) : indent] == "  " else indent
                shown = shown[:margin_end] + _OWN_MARK + shown[indent:]
        elif line.kind is LineKind.SOURCE:
            tone = frame
        elif line.kind is LineKind.RAISED or (line.match is not None and line.match[1]):
            tone, shown = Tone.ERROR, shown[:indent] + _ERROR_MARK + shown[indent:]
        elif line.kind is LineKind.MESSAGE:
            tone = Tone.ERROR
        yield DetailPart(key, margin + shown, text, tone, inside=inside, hang=len(margin) + 4)
        key = ""
    if len(text) > MAX_TEXT_LENGTH:
        yield DetailPart("", f"{margin}… {len(text):,} characters in all; y copies them", text, inside=inside)


@dataclass(frozen=True, slots=True)
class FoldedStack:
    """An exception with its stack trace, of which only what matters is unfolded at first."""

    text: str
    """The stack trace."""
    title: str
    """What was raised; where it is empty, what the text says was raised last."""
    path: Path
    """Where it is."""
    folds: Folds
    room: int
    """Cells of a line."""
    is_wide: bool = False
    """Whether its lines take the cells of the keys, too."""

    def parts(self, key: str = "", behind: str = "") -> Iterator[DetailPart]:
        """Yield what was raised, then the frames of each stack; where they can't be told, the text line by line."""
        stacks = stacks_of(self.text) if len(self.text) <= MAX_TEXT_LENGTH else []
        last = stacks[-1].raised if stacks else []
        first, *more = self.title.split("\n") if self.title else last or [""]
        if first or behind:
            yield self._part(f"{_ERROR_MARK}{first}{behind}", Tone.ERROR, key=key, whole=self.title, hang=2)
            key = ""
        if not stacks:
            if more and self.title not in self.text:
                yield from self._message(more, "message")
            if is_stack(self.text):
                for part in stack_parts(self.text, key=key):
                    yield self._part(part.text, part.tone, key=part.key, hang=part.hang)
            elif self.text:
                yield self._part(self.text.rstrip("\n"), key=key)
            return
        yield from self._message(more, "message")
        yield from self._stacks(stacks)
        yield from self._recorded()

    def _stacks(self, stacks: Sequence[Stack]) -> Iterator[DetailPart]:
        """Yield the frames of each stack, and before all of them where it began, if that comes far down."""
        # Where no frame is the program's own, those that raised say most.
        own_paths = [frame.path for stack in stacks for frame in stack.frames if not frame.library]
        has_own = bool(own_paths)
        lines = list[DetailPart]()
        origin, is_at = None, 0
        for number, stack in enumerate(stacks):
            shown = [frame for frame in stack.frames if not frame.library] if has_own else stack.frames[-1:]
            lines += self._stack(stack, number, shown)
            if has_own and shown:
                origin, is_at = shown[-1], len(lines)
            if number < len(stacks) - 1:
                lines += self._end_of(stack, number)
        if origin is not None and is_at > _MAX_LINES_BEFORE_ORIGIN:
            place = f"at {_place(_short_names(own_paths)[origin.path], origin)}"
            yield from self._frame(origin, place, cell_len(sanitise(place)))
        yield from lines

    def _part(  # noqa: PLR0913 - what a line can be
        self,
        text: str,
        tone: Tone = Tone.PLAIN,
        *,
        key: str = "",
        whole: str = "",
        fold: str = "",
        is_open: bool = False,
        inside: str = "",
        hang: int = 4,
    ) -> DetailPart:
        return DetailPart(
            key,
            text,
            whole or self.text,
            tone,
            fold=(*self.path, fold) if fold else None,
            is_open=is_open,
            inside=(*self.path, inside) if inside else None,
            hang=hang,
            is_wide=self.is_wide,
        )

    def _fold(self, what: str, name: str) -> tuple[bool, DetailPart]:
        """Return whether something is unfolded, and the line that folds it."""
        is_open = self.folds.get((*self.path, name), False)
        return is_open, self._part(
            f"{_MARGIN}{_OPEN if is_open else _FOLDED}{what}", Tone.DIM, fold=name, is_open=is_open
        )

    def _message(self, lines: Sequence[str], name: str) -> Iterator[DetailPart]:
        """Yield the further lines of a message, folded where there are many."""
        inside = ""
        if len(lines) > _MAX_MESSAGE_LINES:
            is_open, line = self._fold(f"{count(len(lines), 'more line')} of the message", name)
            yield line
            if not is_open:
                for text in _telling(lines):
                    yield self._part(_MARGIN + sanitise(text, self.room - len(_MARGIN)), Tone.ERROR)
                return
            inside = name
        for text in lines:
            yield self._part(_MARGIN + text, Tone.ERROR, inside=inside)

    def _stack(self, stack: Stack, number: int, shown: Sequence[Frame]) -> Iterator[DetailPart]:
        """Yield the frames of a stack; those that aren't shown are folded."""
        if stack.remote:
            yield self._part(f"{_MARGIN}in {stack.remote}")
        names = _short_names(frame.path for frame in shown)
        places = {id(frame): _place(frame.inner_path if frame.library else names[frame.path], frame) for frame in shown}
        column = _widest(places.values())
        for group, (is_shown, frames) in enumerate(groupby(stack.frames, lambda frame: id(frame) in places)):
            if is_shown:
                for frame in frames:
                    yield from self._frame(frame, places[id(frame)], column)
            else:
                yield from self._libraries([*frames], f"frames {number} {group}")

    def _end_of(self, stack: Stack, number: int) -> Iterator[DetailPart]:
        """Yield what an earlier stack led to."""
        if stack.raised:
            first, *more = stack.raised
            yield self._part(f"{_MARGIN}{_ERROR_MARK}{first}", Tone.ERROR)
            yield from self._message(more, f"message {number}")
        if stack.leads_to:
            yield self._part(f"{_MARGIN}{stack.leads_to}", Tone.DIM)

    def _frame(self, frame: Frame, place: str, column: int, inside: str = "") -> Iterator[DetailPart]:
        """Yield where a frame is, and its code: in one line where there is room."""
        tone, margin = Tone.DIM if frame.library else Tone.OWN, _MARGIN * 2 if inside else _MARGIN
        padding = " " * (column - cell_len(sanitise(place))) + _GAP
        line = f"{margin}{place}{padding}{frame.source}".rstrip()
        if not frame.source or cell_len(sanitise(line)) <= self.room:
            yield self._part(line, tone, inside=inside, hang=8)
            return
        yield self._part(margin + place, tone, inside=inside, hang=8)
        yield self._part(f"{margin}{_MARGIN * 2}{frame.source}", tone, inside=inside, hang=8)

    def _libraries(self, frames: Sequence[Frame], name: str) -> Iterator[DetailPart]:
        libraries = [*dict.fromkeys(frame.library for frame in frames)]
        more = f" and {len(libraries) - _MAX_LIBRARIES} others" if len(libraries) > _MAX_LIBRARIES else ""
        is_open, line = self._fold(
            f"{count(len(frames), 'frame')} in {', '.join(libraries[:_MAX_LIBRARIES])}{more}", name
        )
        yield line
        if is_open:
            places = [_place(frame.inner_path, frame) for frame in frames]
            column = _widest(places)
            for frame, place in zip(frames, places, strict=True):
                yield from self._frame(frame, place, column, inside=name)

    def _recorded(self) -> Iterator[DetailPart]:
        """Yield the text as it was recorded, folded."""
        is_open, line = self._fold(f"as recorded, {count(self.text.rstrip().count(chr(10)) + 1, 'line')}", "recorded")
        yield line
        for part in stack_parts(self.text, margin=_MARGIN * 2) if is_open else ():
            yield self._part(part.text, part.tone, inside="recorded", hang=part.hang)


def _telling(lines: Sequence[str]) -> list[str]:
    """Return the lines of a long message that say most: what Ray found that can't be pickled, else the last."""
    plain = [_COLOR.sub("", line).strip() for line in lines]
    return [line for line in plain if _FAILED_TO_PICKLE.match(line)][:_MAX_TELLING] or [
        line for line in plain if any(map(str.isalnum, line))
    ][-1:]


def _place(path: str, frame: Frame) -> str:
    return f"{path}:{frame.line_number} {frame.function}".rstrip()


def _widest(places: Iterable[str]) -> int:
    return max((cell_len(sanitise(place)) for place in places), default=0)


def _short_names(paths: Iterable[str]) -> dict[str, str]:
    """Return as much of the end of each path as tells it from the others, its file's name at least."""
    alike = defaultdict[str, list[list[str]]](list)
    folders = {path: path.replace("\\", "/").split("/") for path in dict.fromkeys(paths)}
    for parts in folders.values():
        alike[parts[-1]].append(parts)
    return {path: "/".join(_ending(parts, alike[parts[-1]])) for path, parts in folders.items()}


def _ending(parts: Sequence[str], alike: Sequence[Sequence[str]]) -> Sequence[str]:
    """Return the last parts of a path that no other one of those with the same last part ends with."""
    if len(alike) > _MAX_ALIKE:
        return parts
    least = 2 if parts[-1] in _NAMELESS else 1
    others = [other for other in alike if other is not parts]
    lengths = range(least, len(parts))
    return parts[-next((n for n in lengths if all(other[-n:] != parts[-n:] for other in others)), len(parts)) :]
