"""Bytes in pieces of any size become JSON documents, and damage costs no document but the damaged one.

A document begins with `{` or `[` at the start of a line or right behind another document. One that breaks off is a gap;
the next document is then looked for at every place that looks like a record's beginning, and accepted only where
it is whole and a record, so that neither an event nor a link inside a torn span passes for a span.
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from spanview.formats import marks
from spanview.formats.breaks import ONE_LINE, Break, indent_of_members
from spanview.formats.containers import ELEMENT_CAPS, first_element, is_element, is_undecided
from spanview.formats.doclines import NAMED, take_apart
from spanview.formats.ends import try_ends
from spanview.formats.frames import Frames, Gap, Mixed, OpenGap
from spanview.formats.jsontext import BadJsonError, loads_quick
from spanview.formats.lists import ListProbe
from spanview.formats.prefix import find_prefix
from spanview.formats.scanner import Scanner, Verdict
from spanview.formats.straight import take_straight
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable

DEFAULT_CAP: Final = 16 * 1024 * 1024
"""Bytes of one document; a longer one is passed over."""
_BRACKET, _CLOSE_BRACKET, _LF = b"[]\n"
_SCAN_FROM: Final = 64 * 1024
"""An unfinished document is scanned for breaks from this many bytes on, or once its file is quiet."""


class Framer:
    """The framing of one file, from its first byte on.

    Args:
        is_record: Tells whether a decoded value is one that the caller looks for.
        keep: Returns what is kept of a decoded value.
        cap: Bytes of the longest document that is kept, 256 at the least; see `ELEMENT_CAPS`.
        offset: Where in the file the first byte stands that `feed` will get.
    """

    def __init__(
        self, is_record: Callable[[Any], bool], keep: Callable[[Any], Any], *, cap: int = DEFAULT_CAP, offset: int = 0
    ) -> None:
        self._is_record, self._keep = is_record, keep
        self._cap = self._cap_outside = max(cap, marks.LOOK_BACK)
        self.offset = offset
        """Offset in the file of the first byte that waits for more."""
        self._data, self._before = b"", _LF
        self._in_text = self._discarding = False
        self._gap, self._indent = OpenGap(), ONE_LINE
        self._break: Break | None = None
        """In a gap: the last document there that broke off."""
        self._has_commas = False
        """Whether there are commas between documents, as in a list."""
        self._scanner: Scanner | None = None
        self._is_inside = self._is_behind = False
        """Whether documents are elements of one that was too large or damaged, or stand behind its elements."""
        self.meets_prefix = False
        """Whether what waits begins with the name of who printed it; then it is for another kind of framing."""
        self._lists = ListProbe(is_record, self._cap)
        self._frames, self._logs = Frames(), marks.LogMarks()

    @property
    def waiting(self) -> bool:
        """Whether something has begun that isn't whole yet."""
        return bool(self._data) or self._gap.is_open

    @property
    def is_clean(self) -> bool:
        """Whether nothing is left that what follows could be a part of, but for the bytes that wait for more."""
        return not (self._gap.is_open or self._in_text or self._has_commas)

    @property
    def unread(self) -> bytes:
        """The bytes from `offset` on that wait for more."""
        return self._data

    def feed(self, data: bytes) -> Frames:
        """Take the next bytes of the file and return what they complete."""
        self._data = self._data + data if self._data else data
        return self._take(self._run(0, quiet=False)[1])

    def tail(self) -> Frames:
        """Return what is whole though no line end follows it; to be called when the file has become quiet."""
        if not self._data:
            return Frames()
        unfinished, position = self._run(0, quiet=True)
        if unfinished and not self._discarding and self._hides_record(position):
            self._give_up(position)
            position = self._run(position + 1, quiet=True)[1]
        return self._take(position)

    def _hides_record(self, position: int) -> bool:
        """Tell whether a whole record is behind what seems unfinished: what breaks off at a quote swallows the next."""
        frames, self._frames = self._frames, Frames()
        trial, self._frames = deepcopy(self), frames
        trial._keep = lambda value: value  # noqa: SLF001 - its own kind
        trial._give_up(position)  # noqa: SLF001
        trial._run(position + 1, quiet=True)  # noqa: SLF001
        # Without a line end behind it, it may be what a record that is still being written holds.
        return any(
            self._is_record(value) and b"\n" in self._data[at - self.offset + size :]
            for at, size, value in trial._frames.documents  # noqa: SLF001
        )

    def _give_up(self, position: int) -> None:
        """Take an unfinished document for one that broke off."""
        self._gap.open(self.offset + position)
        self._break_off(position)
        self._lists.forget()

    def close(self) -> Frames:
        """Return what the end of the file settles; whatever is unfinished becomes a gap."""
        unfinished, position = self._run(0, quiet=True)
        while unfinished:
            after = position if self._discarding else self._enter(position, is_torn=True)
            if after == position:
                # Of what is too large only the end is at hand, and that may be a record.
                after = position if self._discarding else position + 1
                self._give_up(position)
            unfinished, position = self._run(after, quiet=True)
        end = position if self.meets_prefix else len(self._data)
        self._close_gap(end)
        return self._take(end)

    def skip(self, size: int) -> Frames:
        """Pass over a hole of so many bytes, behind which nothing that began before it goes on."""
        frames = self.close()
        self.offset, self._before, self._in_text = self.offset + size, _LF, False
        return frames

    def _take(self, position: int) -> Frames:
        if self.meets_prefix:
            self._close_gap(position)
        self._before = self._byte_before(position)
        self._data = self._data[position:]
        self.offset += position
        for scan in (self._scanner, self._break, self._lists):
            if scan is not None:
                scan.shift(position)
        frames, self._frames = self._frames, Frames()
        frames.repeated, frames.fragments = self._logs.take()
        return frames

    def _run(self, position: int, *, quiet: bool) -> tuple[bool, int]:
        """Frame from `position` on; return whether an unfinished document is left, and the first byte that waits."""
        if self._discarding:
            position = self._discard()
            if self._discarding:
                return True, position
        while True:
            found, position = self._next_start(position)
            if not found:
                return False, position
            after = position
            if self._scanner is None and not self._gap.is_open and not self._is_behind:
                after, taken = take_straight(self._data, position, keep=self._keep, cap=self._cap, base=self.offset)
                self._frames.documents += taken
            if after == position:
                after = self._frame_slowly(position, quiet=quiet)
            if self.meets_prefix:
                return False, position
            if after == position and len(self._data) - position > self._cap and not self._discarding:
                after = self._enter(position)
            if after == position:
                return True, self._wait(position)
            position = after

    def _enter(self, position: int, *, is_torn: bool = False) -> int:
        """Return where the first element stands of a document that holds records one by one; else `position`."""
        # Damage to an element is told when that is framed. Inside of one nothing is looked for: that costs the square.
        may_enter = not self._is_inside and not self._gap.is_open
        inside = first_element(self._data, position, self._cap) if may_enter else position
        if inside != position:
            if is_torn and not (self._scanner is not None and self._scanner.is_in_element(inside)):
                self._frames.gaps.append(Gap(ProblemKind.TORN, self.offset + position, inside - position))
            self._is_inside, self._scanner, self._cap = True, None, ELEMENT_CAPS * self._cap_outside
            self._lists.forget()
        return inside

    def _next_start(self, position: int) -> tuple[bool, int]:
        """Return whether a document may begin, and where; otherwise what has to wait for more bytes."""
        data = self._data
        if self._scanner is not None:
            return True, position
        if self._gap.is_open:
            return self._search(marks.find_in_gap(data, position, self._byte_before(position)), position)
        if not self._in_text:
            self._has_commas |= data[position : position + 1] == b"," and self._byte_before(position) in b"}]"
            position = marks.skip_separators(data, position)
            if position >= len(data) or marks.is_mark_so_far(data, position):
                return False, position
            if marks.may_begin(data, position):
                return True, position
            if self._is_inside and data[position] != _CLOSE_BRACKET:
                self._gap.open(self.offset + position)
                return self._next_start(position)
            self._cap = self._cap_outside
            self._frames.has_text, self._is_inside, self._is_behind = True, False, self._is_inside or self._is_behind
        found, after = self._search(marks.find_in_text(data, position), position)
        self._logs.look(data, position, after, goes_on=not found)
        return found, after

    def _search(self, start: int, position: int) -> tuple[bool, int]:
        """Go on at `start`, or at the last bytes from `position` on that more bytes may turn into a beginning."""
        named, self.meets_prefix = find_prefix(self._data, position, start, is_line=self._byte_before(position) == _LF)
        if named != marks.NOWHERE:
            self._in_text = False
            return False, named
        self._in_text = start == marks.NOWHERE and not self._gap.is_open
        if start != marks.NOWHERE:
            return True, start
        start, self._in_text = marks.find_so_far(self._data, position, in_text=self._in_text)
        return False, start

    def _frame_slowly(self, position: int, *, quiet: bool) -> int:
        """Frame the document at `position`; return where to go on, `position` itself to wait for more."""
        if self._scanner is None:
            if self._break is not None and self._break.leaves_open(position):
                return position + 1
            after = None if self._gap.is_open else self._frame_cheaply(position, quiet=quiet)
            if after is not None:
                return after
            self._scanner = Scanner(position)
        verdict, end = self._scanner.scan(self._data), self._scanner.position
        if verdict is Verdict.UNFINISHED:
            return position
        if verdict is Verdict.WHOLE:
            self._scanner = None
            if self._gap.is_open and end == len(self._data) <= position + self._cap and not quiet:
                # What follows tells whether it is a part of something torn.
                return position
            with suppress(BadJsonError):
                return self._accept(position, end, loads_quick(memoryview(self._data)[position:end]))
        elif not quiet and is_undecided(self._data, position, self._cap):
            return position
        elif (inside := self._enter(position, is_torn=True)) != position:
            return inside
        apart = self._take_apart(position, quiet=quiet)
        return self._pass_over(position, end) if apart is None else apart

    def _pass_over(self, position: int, end: int) -> int:
        """Take the document between these for damaged; return where to look for the next one."""
        is_large = end - position > self._cap
        self._gap.open(self.offset + position, ProblemKind.TOO_LARGE if is_large else ProblemKind.TORN)
        if self._scanner is None:
            return end
        search_from = self._scanner.search_from(self._cap) if is_large else 0
        self._break_off(position)
        return max(position + 1, search_from)

    def _frame_cheaply(self, position: int, *, quiet: bool) -> int | None:
        """Frame the document at `position` where that needs no scan; return where to go on, None where it does."""
        if self._data[position] == _BRACKET:
            first = self._lists.look(self._data, position)
            if first != position:
                # The elements are framed one by one.
                return position if first is None else first
        end, value, has_line_end = try_ends(self._data, position)
        if end:
            return self._accept(position, end, value)
        is_short = len(self._data) - position < min(_SCAN_FROM, self._cap)
        return position if is_short and not quiet and not has_line_end else None

    def _accept(self, position: int, end: int, value: Any) -> int:
        """Take a whole document, or pass over one that is too large or only a part of a torn record."""
        if end - position > self._cap:
            if (inside := self._enter(position)) != position:
                return inside
            self._gap.open(self.offset + position, ProblemKind.TOO_LARGE)
            self._close_gap(end)
            return end
        if self._gap.is_open and self._is_part(position, end, value):
            return end
        self._close_gap(position)
        self._is_behind = self._is_behind and not (self._is_record(value) or is_element(value))
        if not self._is_behind:
            self._frames.documents.append((self.offset + position, end - position, self._keep(value)))
        return end

    def _take_apart(self, position: int, *, quiet: bool) -> int | None:
        """Frame the record at `position` if only other lines stand in it; return where to go on, None if not."""
        if self._is_inside or self._byte_before(position) != _LF:
            return None
        found = take_apart(self._data, position, self._is_record, cap=self._cap, is_all=quiet)
        self.meets_prefix = found == NAMED
        if found is None or found[1] is None:
            return found and position
        self._close_gap(position)
        self._scanner, self._frames.has_text, self._is_behind = None, True, False
        self._frames.documents.append((self.offset + position, found[0] - position, Mixed(self._keep(found[1]))))
        return found[0]

    def _is_part(self, position: int, end: int, value: Any) -> bool:
        """Tell whether a whole document in a gap is a part of something torn."""
        if self._break is not None and self._break.holds(self._data, position, end, has_commas=self._has_commas):
            return True
        if self._is_record(value) or (self._is_inside and is_element(value)):
            return False
        is_alone = self._data[end : end + 1] in (b"", b"\r", b"\n") and b"\n" not in self._data[position:end]
        return not is_alone or self._byte_before(position) != _LF

    def _byte_before(self, position: int) -> int:
        return self._data[position - 1] if position else self._before

    def _wait(self, position: int) -> int:
        """Keep an unfinished document for later, or only its place where it has grown over the cap."""
        if len(self._data) - position <= self._cap:
            return position
        if self._scanner is None:
            self._scanner = Scanner(position)
            self._scanner.scan(self._data)
            self._lists.forget()
        if self._scanner.position - position <= self._cap:
            # A long number, or what seems to be one, may still break within what is kept.
            return position
        self._gap.open(self.offset + position, ProblemKind.TOO_LARGE)
        self._discarding, self._indent = True, indent_of_members(self._data, position)
        return self._discard()

    def _discard(self) -> int:
        """Pass over a document that is too large; return where to go on."""
        scanner = self._scanner or Scanner(0)
        verdict = scanner.scan(self._data)
        if verdict is Verdict.UNFINISHED:
            return max(0, min(scanner.keep_from(self._cap), len(self._data) - marks.LOOK_BACK))
        if verdict is Verdict.WHOLE:
            self._scanner, self._discarding = None, False
            self._close_gap(scanner.position)
            return scanner.position
        search_from = scanner.search_from(self._cap)
        self._break_off(0)
        return max(0, search_from)

    def _break_off(self, position: int) -> None:
        """Take note that the document at `position` was scanned as far as it goes, and isn't whole."""
        if self._scanner is not None:
            indent = self._indent if self._discarding else indent_of_members(self._data, position)
            self._break = Break(self._scanner, indent)
        self._scanner, self._discarding = None, False

    def _close_gap(self, position: int) -> None:
        self._frames.gaps += self._gap.close(self.offset + position)
        self._break = None
