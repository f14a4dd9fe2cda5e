"""Bytes in pieces of any size become JSON documents, and damage costs no document but the damaged one.

A document begins with `{` or `[` at the start of a line or right after another document. One that breaks off is a gap;
the next document is then searched for wherever something looks like the beginning of a record, and accepted only if
it is a whole record, so that neither an event nor a link inside a torn span passes for a span.

find a beginning  ->  take documents that follow one another undamaged     nearly all files, from front to end
-> else try the next line ends as its end            other layouts
-> else scan it token by token                    whole: a document
unfinished: wait for more bytes
broken: a gap, up to the next record
"""

from __future__ import annotations

from contextlib import suppress
from copy import deepcopy
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.framing import marks
from spanview.formats.framing.buffer import Buffer
from spanview.formats.framing.containers import (
    ListProbe,
    Nesting,
    begins_document,
    first_element,
    is_element,
    is_undecided,
    take_elements,
)
from spanview.formats.framing.damage import ONE_LINE, Damage, indent_of_members
from spanview.formats.framing.doclines import NAMES_WRITER, take_apart
from spanview.formats.framing.ends import take_straight, try_ends, try_rest
from spanview.formats.framing.frames import Frames, Gap, Mixed
from spanview.formats.framing.scanner import Scanner, ScanVerdict
from spanview.formats.framing.starts import Starts
from spanview.formats.jsontext import BadJsonError, loads_quick
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

DEFAULT_CAP: Final = 16 * 1024 * 1024
"""Bytes of one document; a longer one is passed over."""
_BRACKET: Final = ord("[")
_MIN_SCAN_BYTES: Final = 64 * 1024
"""An unfinished element is scanned for breaks from this many bytes on, or once its file is quiet."""


class Framer:
    """The framing of one file, from its first byte on. Positions are those of its buffer.

    Args:
        keep: Returns what is kept of a decoded value.
        keep_each: Returns that of each of some elements; by calling `keep` if None.
        cap: Bytes of the longest document that is kept, at least 256; see `ELEMENT_CAP_FACTOR`.
        offset: Offset in the file of the first byte that `feed` will get.
    """

    def __init__(
        self,
        is_record: Callable[[Any], bool],
        keep: Callable[[Any], Any],
        keep_each: Callable[[list[Any]], Iterable[Any]] | None = None,
        *,
        cap: int = DEFAULT_CAP,
        offset: int = 0,
    ) -> None:
        cap = max(cap, marks.LOOKBACK_BYTES)
        self._is_record, self._keep, self._keep_each = is_record, keep, keep_each or partial(map, keep)
        self._buffer = Buffer(offset)
        self._damage, self._nesting = Damage(), Nesting(cap)
        self._starts = Starts(self._buffer, self._damage, self._nesting)
        self._lists = ListProbe(is_record, cap)
        self._scanner: Scanner | None = None
        """Of the document at the front, where it is unfinished and was scanned."""
        self._is_discarding = False
        """Whether that document has grown too large and is passed over."""
        self._indent = ONE_LINE
        """Of its members."""
        self._frames = Frames()

    @property
    def offset(self) -> int:
        """Offset in the file of the first byte that waits for more."""
        return self._buffer.offset

    @property
    def unread(self) -> bytes:
        """The bytes from `offset` on that wait for more."""
        return self._buffer.data

    @property
    def waiting(self) -> bool:
        """Whether something has begun that isn't complete yet."""
        return bool(self.unread) or self._damage.is_open

    @property
    def is_clean(self) -> bool:
        """Whether what follows can't be a part of anything but the bytes that wait for more."""
        return not (self._damage.is_open or self._is_nested or self._starts.is_in_text or self._starts.has_commas)

    @property
    def meets_prefix(self) -> bool:
        """Whether what waits begins with the name of its writer, and needs another kind of framing."""
        return self._starts.meets_prefix

    @property
    def _is_nested(self) -> bool:
        """Whether what follows may be of a document that was entered."""
        return self._nesting.is_inside or self._nesting.is_after

    def feed(self, data: bytes) -> Frames:
        """Take the next bytes of the file and return what they complete."""
        self._buffer.append(data)
        return self._take(self._run(0, quiet=False)[1])

    def tail(self) -> Frames:
        """Return what is whole though no line end follows it; to be called when the file has become quiet."""
        if not self.unread:
            return Frames()
        unfinished, position = self._run(0, quiet=True)
        if unfinished and not self._is_discarding and self._hides_record(position):
            self._give_up(position)
            position = self._run(position + 1, quiet=True)[1]
        return self._take(position)

    def _hides_record(self, position: int) -> bool:
        """Tell whether a whole record follows what seems unfinished: what breaks off at a quote swallows the next.

        Only framing it as torn shows that. It is tried on a copy, because what seems unfinished may still go on.
        """
        frames, self._frames = self._frames, Frames()
        trial: Framer = deepcopy(self)
        self._frames = frames
        trial._keep = trial._keep_each = lambda value: value
        trial._give_up(position)
        end = trial._run(position + 1, quiet=True)[1]
        # Without a line end after it, it may be inside a record that is still being written.
        return any(
            self._is_record(value) and b"\n" in self.unread[offset - self.offset + size :]
            for offset, size, value in trial._take(end).documents
        )

    def close(self) -> Frames:
        """Return what is complete at the end of the file; whatever is unfinished becomes a gap."""
        unfinished, position = self._run(0, quiet=True)
        while unfinished:
            after = position if self._is_discarding else self._enter(position, is_torn=True)
            if after == position:
                # Only the end of what is too large is at hand, and that may be a record.
                after = position if self._is_discarding else position + 1
                self._give_up(position)
            unfinished, position = self._run(after, quiet=True)
        end = position if self.meets_prefix else len(self.unread)
        self._close_gap(end)
        return self._take(end)

    def skip(self, size: int) -> Frames:
        """Pass over a hole of `size` bytes; nothing that began before it continues after it."""
        frames = self.close()
        self._buffer.skip(size)
        self._starts.is_in_text = False
        return frames

    def _take(self, position: int) -> Frames:
        """Return what was framed up to a position, and drop the bytes before it."""
        if self._starts.meets_prefix:
            self._close_gap(position)
        self._buffer.cut(position)
        for part in (self._scanner, self._damage, self._lists):
            if part is not None:
                part.shift(position)
        frames, self._frames = self._frames, Frames()
        self._starts.report(frames)
        return frames

    def _run(self, position: int, *, quiet: bool) -> tuple[bool, int]:
        """Frame from `position` on; return whether an unfinished document is left, and the first byte that waits.

        Args:
            quiet: Whether nothing more is expected soon: what is whole is taken though no line end follows.
        """
        if self._is_discarding:
            position = self._discard()
            if self._is_discarding:
                return True, position
        while True:
            is_found, position = (True, position) if self._scanner is not None else self._starts.find(position)
            if not is_found:
                return False, position
            self._leave_before(position)
            after = position
            if self._scanner is None and not self._damage.is_open and not self._nesting.is_after:
                after = self._take_undamaged(position)
            if after == position:
                after = self._frame(position, quiet=quiet)
            if self._starts.meets_prefix:
                return False, position
            if after == position and self._is_over_cap(position) and not self._is_discarding:
                after = self._enter(position)
            if after == position:
                return True, self._wait(position)
            position = after

    def _take_undamaged(self, position: int) -> int:
        """Take what follows one another undamaged; return where to go on."""
        data, cap, base = self._buffer.data, self._nesting.cap, self._buffer.offset
        if self._nesting.is_inside:
            after, documents = take_elements(data, position, keep=self._keep_each, cap=cap, base=base)
        else:
            after, documents = take_straight(data, position, keep=self._keep, cap=cap, base=base)
        self._frames.documents += documents
        self._starts.has_commas |= bool(documents) and self._nesting.is_inside
        return after

    def _is_over_cap(self, position: int) -> bool:
        return len(self._buffer.data) - position > self._nesting.cap

    # -- a document --------------------------------------------------------------------------------------------------

    def _frame(self, position: int, *, quiet: bool) -> int:
        """Frame the document at `position`; return where to go on, `position` itself to wait for more."""
        data = self._buffer.data
        if self._scanner is None:
            if self._damage.is_unclosed(position):
                return position + 1
            after = None if self._damage.is_open else self._frame_cheaply(position, quiet=quiet)
            if after is not None:
                return after
            self._scanner = Scanner(position)
        verdict, end = self._scanner.scan(data), self._scanner.position
        if verdict is ScanVerdict.UNFINISHED:
            return position
        if verdict is ScanVerdict.WHOLE:
            self._scanner = None
            if self._damage.is_open and end == len(data) <= position + self._nesting.cap and not quiet:
                # Only what follows shows whether it is a part of something torn.
                return position
            with suppress(BadJsonError):
                return self._accept(position, end, loads_quick(memoryview(data)[position:end]))
        elif not quiet and is_undecided(data, position, self._nesting.cap):
            return position
        elif (element := self._enter(position, is_torn=True)) != position:
            return element
        after = self._take_apart(position, quiet=quiet)
        return self._pass_over(position, end) if after is None else after

    def _frame_cheaply(self, position: int, *, quiet: bool) -> int | None:
        """Frame the document at `position` if that needs no scan; return where to go on, None if it does."""
        data = self._buffer.data
        if data[position] == _BRACKET:
            first = self._lists.first_record(data, position)
            if first != position:
                # The elements are framed one by one.
                return position if first is None else first
        end, value, has_line_end = try_ends(data, position)
        if end:
            return self._accept(position, end, value)
        if quiet:
            end, value = try_rest(data, position)
            return self._accept(position, end, value) if end else None
        first = first_element(data, position, self._nesting.cap)
        # In one line it would have ended there.
        is_going_on = not has_line_end or 0 <= data.find(b"\n", position) < first
        if self._nesting.is_inside:
            # It may have broken off long before the next one.
            return position if is_going_on and len(data) - position < min(_MIN_SCAN_BYTES, self._nesting.cap) else None
        # From the cap on, elements are framed one by one where there are some.
        return position if is_going_on and (first != position or not self._is_over_cap(position)) else None

    def _accept(self, position: int, end: int, value: Any) -> int:
        """Take a whole document, or pass over one that is too large or only a part of a torn record."""
        if end - position > self._nesting.cap:
            if (element := self._enter(position)) != position:
                return element
            self._damage.open(self._buffer.offset + position, ProblemKind.TOO_LARGE)
            self._close_gap(end)
            return end
        if self._damage.is_open and self._is_part(position, end, value):
            return end
        self._close_gap(position)
        if not self._nesting.is_left_out(value, self._is_record):
            self._frames.documents.append((self._buffer.offset + position, end - position, self._keep(value)))
        return end

    def _is_part(self, position: int, end: int, value: Any) -> bool:
        """Tell whether a whole document in a gap is a part of something torn."""
        data = self._buffer.data
        if self._damage.contains(data, position, end, has_commas=self._starts.has_commas):
            return True
        if self._is_record(value) or (self._nesting.is_inside and is_element(value)):
            return False
        is_alone = data[end : end + 1] in (b"", b"\r", b"\n") and b"\n" not in data[position:end]
        return not is_alone or not self._buffer.is_line_start(position)

    def _take_apart(self, position: int, *, quiet: bool) -> int | None:
        """Frame the record at `position` if other lines are in it, but no damage; return where to go on, else None."""
        if self._nesting.is_inside or not self._buffer.is_line_start(position):
            return None
        taken = take_apart(self._buffer.data, position, self._is_record, cap=self._nesting.cap, is_all=quiet)
        self._starts.meets_prefix = taken == NAMES_WRITER
        if taken is None or taken[1] is None:
            return taken and position
        end, value = taken
        self._close_gap(position)
        self._scanner, self._frames.has_text = None, True
        self._nesting.is_after = False
        self._frames.documents.append((self._buffer.offset + position, end - position, Mixed(self._keep(value))))
        return end

    def _enter(self, position: int, *, is_torn: bool = False) -> int:
        """Return the position of the first element of a document that holds records one by one; else `position`."""
        # Damage to an element is reported when that is framed. Inside of one, searching would cost the square.
        may_enter = not self._nesting.is_inside and not self._damage.is_open
        element = first_element(self._buffer.data, position, self._nesting.cap) if may_enter else position
        if element != position:
            if is_torn and not (self._scanner is not None and self._scanner.is_in_element(element)):
                self._frames.gaps.append(Gap(ProblemKind.TORN, self._buffer.offset + position, element - position))
            self._scanner = None
            self._nesting.enter(self._buffer.offset + element)
            self._lists.forget()
        return element

    def _leave_before(self, position: int) -> None:
        """Take note that what begins at a position may be a document of the same kind as the one that was entered.

        Its first element is none, nor is what follows a comma; else entering one in the other would cost the square.
        """
        may_leave = self._nesting.is_inside and not self._starts.has_commas
        if may_leave and self._buffer.offset + position != self._nesting.first:
            self._nesting.is_inside = not begins_document(self._buffer.data, position)

    # -- damage ------------------------------------------------------------------------------------------------------

    def _give_up(self, position: int) -> None:
        """Take an unfinished document for one that broke off."""
        self._damage.open(self._buffer.offset + position)
        self._break_off(position)
        self._lists.forget()

    def _close_gap(self, position: int) -> None:
        """End the gap, if there is one, at a position."""
        self._frames.gaps += self._damage.close(self._buffer.offset + position)

    def _pass_over(self, position: int, end: int) -> int:
        """Take the document between these for damaged; return where to look for the next one."""
        is_large = end - position > self._nesting.cap
        kind = ProblemKind.TOO_LARGE if is_large else ProblemKind.TORN
        self._damage.open(self._buffer.offset + position, kind)
        if self._scanner is None:
            return end
        search_from = self._scanner.search_from(self._nesting.cap) if is_large else 0
        self._break_off(position)
        return max(position + 1, search_from)

    def _break_off(self, position: int) -> None:
        """Take note that the document at `position` was scanned as far as it goes, and isn't whole."""
        if self._scanner is not None:
            indent = self._indent if self._is_discarding else indent_of_members(self._buffer.data, position)
            self._damage.break_off(self._scanner, indent)
        self._scanner, self._is_discarding = None, False

    # -- what grows too large ----------------------------------------------------------------------------------------

    def _wait(self, position: int) -> int:
        """Keep an unfinished document for later, or only its position if it has grown over the cap."""
        if not self._is_over_cap(position):
            return position
        if self._scanner is None:
            self._scanner = Scanner(position)
            self._scanner.scan(self._buffer.data)
            self._lists.forget()
        if self._scanner.position - position <= self._nesting.cap:
            # A long number, or what seems to be one, may still break within what is kept.
            return position
        self._damage.open(self._buffer.offset + position, ProblemKind.TOO_LARGE)
        self._is_discarding, self._indent = True, indent_of_members(self._buffer.data, position)
        return self._discard()

    def _discard(self) -> int:
        """Pass over a document that is too large; return where to go on."""
        data, cap = self._buffer.data, self._nesting.cap
        scanner = self._scanner or Scanner(0)
        verdict = scanner.scan(data)
        if verdict is ScanVerdict.UNFINISHED:
            return max(0, min(scanner.keep_from(cap), len(data) - marks.LOOKBACK_BYTES))
        if verdict is ScanVerdict.WHOLE:
            self._scanner, self._is_discarding = None, False
            self._close_gap(scanner.position)
            return scanner.position
        search_from = scanner.search_from(cap)
        self._break_off(0)
        return max(0, search_from)
