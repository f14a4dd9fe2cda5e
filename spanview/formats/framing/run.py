"""From the bytes that are there to documents and gaps, one after the other.

find a beginning  ->  take documents that follow one another undamaged     nearly all files, from front to end
-> else try the next line ends as its end            other layouts
-> else scan it token by token                    whole: a document
unfinished: wait for more bytes
broken: a gap, up to the next record
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.framing import marks
from spanview.formats.framing.buffer import Buffer
from spanview.formats.framing.containers import Nesting, begins_document, first_element, is_element, is_undecided
from spanview.formats.framing.damage import ONE_LINE, Damage, indent_of_members
from spanview.formats.framing.doclines import NAMES_WRITER, take_apart
from spanview.formats.framing.ends import try_ends
from spanview.formats.framing.frames import Frames, Gap, Mixed
from spanview.formats.framing.lists import ListProbe
from spanview.formats.framing.scanner import Scanner, ScanVerdict
from spanview.formats.framing.starts import Starts
from spanview.formats.framing.straight import take_straight
from spanview.formats.jsontext import BadJsonError, loads_quick
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable

_BRACKET: Final = ord("[")
_MIN_SCAN_BYTES: Final = 64 * 1024
"""An unfinished document is scanned for breaks from this many bytes on, or once its file is quiet."""


class FramingRun:
    """The framing of what the buffer holds. Positions are those of the buffer.

    Args:
        keep: Returns what is kept of a decoded value.
    """

    def __init__(self, is_record: Callable[[Any], bool], keep: Callable[[Any], Any], cap: int, offset: int) -> None:
        self._is_record, self.keep = is_record, keep
        self.buffer = Buffer(offset)
        self.damage, self._nesting = Damage(), Nesting(cap)
        self.starts = Starts(self.buffer, self.damage, self._nesting)
        self._lists = ListProbe(is_record, cap)
        self._scanner: Scanner | None = None
        """Of the document at the front, where it is unfinished and was scanned."""
        self.is_discarding = False
        """Whether that document has grown too large and is passed over."""
        self._indent = ONE_LINE
        """Of its members."""
        self._frames = Frames()

    @property
    def is_nested(self) -> bool:
        """Whether what follows may be of a document that was entered."""
        return self._nesting.is_inside or self._nesting.is_after

    def trial(self, keep: Callable[[Any], Any]) -> FramingRun:
        """Return a copy for a trial, without what was framed so far.

        Args:
            keep: Returns what the copy keeps of a decoded value.
        """
        frames, self._frames = self._frames, Frames()
        copy, self._frames = deepcopy(self), frames
        copy.keep = keep
        return copy

    def take(self, position: int) -> Frames:
        """Return what was framed up to a position, and drop the bytes before it."""
        if self.starts.meets_prefix:
            self.close_gap(position)
        self.buffer.cut(position)
        for part in (self._scanner, self.damage, self._lists):
            if part is not None:
                part.shift(position)
        frames, self._frames = self._frames, Frames()
        self.starts.report(frames)
        return frames

    def run(self, position: int, *, quiet: bool) -> tuple[bool, int]:
        """Frame from `position` on; return whether an unfinished document is left, and the first byte that waits.

        Args:
            quiet: Whether nothing more is expected soon: what is whole is taken though no line end follows.
        """
        if self.is_discarding:
            position = self._discard()
            if self.is_discarding:
                return True, position
        while True:
            is_found, position = (True, position) if self._scanner is not None else self.starts.find(position)
            if not is_found:
                return False, position
            self._leave_before(position)
            after = position
            if self._scanner is None and not self.damage.is_open and not self.is_nested:
                after, documents = take_straight(
                    self.buffer.data, position, keep=self.keep, cap=self._nesting.cap, base=self.buffer.offset
                )
                self._frames.documents += documents
            if after == position:
                after = self._frame(position, quiet=quiet)
            if self.starts.meets_prefix:
                return False, position
            if after == position and self._is_over_cap(position) and not self.is_discarding:
                after = self.enter(position)
            if after == position:
                return True, self._wait(position)
            position = after

    def _is_over_cap(self, position: int) -> bool:
        return len(self.buffer.data) - position > self._nesting.cap

    # -- a document --------------------------------------------------------------------------------------------------

    def _frame(self, position: int, *, quiet: bool) -> int:
        """Frame the document at `position`; return where to go on, `position` itself to wait for more."""
        data = self.buffer.data
        if self._scanner is None:
            if self.damage.is_unclosed(position):
                return position + 1
            after = None if self.damage.is_open else self._frame_cheaply(position, quiet=quiet)
            if after is not None:
                return after
            self._scanner = Scanner(position)
        verdict, end = self._scanner.scan(data), self._scanner.position
        if verdict is ScanVerdict.UNFINISHED:
            return position
        if verdict is ScanVerdict.WHOLE:
            self._scanner = None
            if self.damage.is_open and end == len(data) <= position + self._nesting.cap and not quiet:
                # Only what follows shows whether it is a part of something torn.
                return position
            with suppress(BadJsonError):
                return self._accept(position, end, loads_quick(memoryview(data)[position:end]))
        elif not quiet and is_undecided(data, position, self._nesting.cap):
            return position
        elif (element := self.enter(position, is_torn=True)) != position:
            return element
        after = self._take_apart(position, quiet=quiet)
        return self._pass_over(position, end) if after is None else after

    def _frame_cheaply(self, position: int, *, quiet: bool) -> int | None:
        """Frame the document at `position` if that needs no scan; return where to go on, None if it does."""
        data = self.buffer.data
        if data[position] == _BRACKET:
            first = self._lists.first_record(data, position)
            if first != position:
                # The elements are framed one by one.
                return position if first is None else first
        end, value, has_line_end = try_ends(data, position)
        if end:
            return self._accept(position, end, value)
        is_short = len(data) - position < min(_MIN_SCAN_BYTES, self._nesting.cap)
        return position if is_short and not quiet and not has_line_end else None

    def _accept(self, position: int, end: int, value: Any) -> int:
        """Take a whole document, or pass over one that is too large or only a part of a torn record."""
        if end - position > self._nesting.cap:
            if (element := self.enter(position)) != position:
                return element
            self.damage.open(self.buffer.offset + position, ProblemKind.TOO_LARGE)
            self.close_gap(end)
            return end
        if self.damage.is_open and self._is_part(position, end, value):
            return end
        self.close_gap(position)
        if not self._nesting.is_left_out(value, self._is_record):
            self._frames.documents.append((self.buffer.offset + position, end - position, self.keep(value)))
        return end

    def _is_part(self, position: int, end: int, value: Any) -> bool:
        """Tell whether a whole document in a gap is a part of something torn."""
        data = self.buffer.data
        if self.damage.contains(data, position, end, has_commas=self.starts.has_commas):
            return True
        if self._is_record(value) or (self._nesting.is_inside and is_element(value)):
            return False
        is_alone = data[end : end + 1] in (b"", b"\r", b"\n") and b"\n" not in data[position:end]
        return not is_alone or not self.buffer.is_line_start(position)

    def _take_apart(self, position: int, *, quiet: bool) -> int | None:
        """Frame the record at `position` if other lines are in it, but no damage; return where to go on, else None."""
        if self._nesting.is_inside or not self.buffer.is_line_start(position):
            return None
        taken = take_apart(self.buffer.data, position, self._is_record, cap=self._nesting.cap, is_all=quiet)
        self.starts.meets_prefix = taken == NAMES_WRITER
        if taken is None or taken[1] is None:
            return taken and position
        end, value = taken
        self.close_gap(position)
        self._scanner, self._frames.has_text = None, True
        self._nesting.is_after = False
        self._frames.documents.append((self.buffer.offset + position, end - position, Mixed(self.keep(value))))
        return end

    def enter(self, position: int, *, is_torn: bool = False) -> int:
        """Return the position of the first element of a document that holds records one by one; else `position`."""
        # Damage to an element is reported when that is framed. Inside of one, searching would cost the square.
        may_enter = not self._nesting.is_inside and not self.damage.is_open
        element = first_element(self.buffer.data, position, self._nesting.cap) if may_enter else position
        if element != position:
            if is_torn and not (self._scanner is not None and self._scanner.is_in_element(element)):
                self._frames.gaps.append(Gap(ProblemKind.TORN, self.buffer.offset + position, element - position))
            self._scanner = None
            self._nesting.enter(self.buffer.offset + element)
            self._lists.forget()
        return element

    def _leave_before(self, position: int) -> None:
        """Take note that what begins at a position may be a document of the same kind as the one that was entered.

        Its first element is none, nor is what follows a comma; else entering one in the other would cost the square.
        """
        may_leave = self._nesting.is_inside and not self.starts.has_commas
        if may_leave and self.buffer.offset + position != self._nesting.first:
            self._nesting.is_inside = not begins_document(self.buffer.data, position)

    # -- damage ------------------------------------------------------------------------------------------------------

    def give_up(self, position: int) -> None:
        """Take an unfinished document for one that broke off."""
        self.damage.open(self.buffer.offset + position)
        self._break_off(position)
        self._lists.forget()

    def close_gap(self, position: int) -> None:
        """End the gap, if there is one, at a position."""
        self._frames.gaps += self.damage.close(self.buffer.offset + position)

    def _pass_over(self, position: int, end: int) -> int:
        """Take the document between these for damaged; return where to look for the next one."""
        is_large = end - position > self._nesting.cap
        kind = ProblemKind.TOO_LARGE if is_large else ProblemKind.TORN
        self.damage.open(self.buffer.offset + position, kind)
        if self._scanner is None:
            return end
        search_from = self._scanner.search_from(self._nesting.cap) if is_large else 0
        self._break_off(position)
        return max(position + 1, search_from)

    def _break_off(self, position: int) -> None:
        """Take note that the document at `position` was scanned as far as it goes, and isn't whole."""
        if self._scanner is not None:
            indent = self._indent if self.is_discarding else indent_of_members(self.buffer.data, position)
            self.damage.break_off(self._scanner, indent)
        self._scanner, self.is_discarding = None, False

    # -- what grows too large ----------------------------------------------------------------------------------------

    def _wait(self, position: int) -> int:
        """Keep an unfinished document for later, or only its position if it has grown over the cap."""
        if not self._is_over_cap(position):
            return position
        if self._scanner is None:
            self._scanner = Scanner(position)
            self._scanner.scan(self.buffer.data)
            self._lists.forget()
        if self._scanner.position - position <= self._nesting.cap:
            # A long number, or what seems to be one, may still break within what is kept.
            return position
        self.damage.open(self.buffer.offset + position, ProblemKind.TOO_LARGE)
        self.is_discarding, self._indent = True, indent_of_members(self.buffer.data, position)
        return self._discard()

    def _discard(self) -> int:
        """Pass over a document that is too large; return where to go on."""
        data, cap = self.buffer.data, self._nesting.cap
        scanner = self._scanner or Scanner(0)
        verdict = scanner.scan(data)
        if verdict is ScanVerdict.UNFINISHED:
            return max(0, min(scanner.keep_from(cap), len(data) - marks.LOOKBACK_BYTES))
        if verdict is ScanVerdict.WHOLE:
            self._scanner, self.is_discarding = None, False
            self.close_gap(scanner.position)
            return scanner.position
        search_from = scanner.search_from(cap)
        self._break_off(0)
        return max(0, search_from)
