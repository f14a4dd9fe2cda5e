"""Spans in the console log of a Ray program: each worker's lines after its name, those of several interleaved.

(ProxyActor pid=18681) {
(ServeReplica:app:Model pid=18760) {
(ProxyActor pid=18681)     "name": "proxy_http_request Ingress GET /",
INFO 2026-11-20 11:55:46,917 …             the program's own lines have no name

The lines of each writer are framed by themselves. A span extends from the beginning of its first line to the end of its
last, others included; `unmixed` leaves these out again.
"""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections import deque
from functools import lru_cache, partial
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from spanview.formats.framing.doclines import DocumentLines, Line, repeat_mark_of, without_repeat_mark
from spanview.formats.framing.frames import Frames, Gap, Mixed
from spanview.formats.framing.marks import FRAGMENT, REPEATED
from spanview.formats.framing.prefix import match_prefix
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.formats.framing.framer import Framer

_MAX_PAUSE_BYTES: Final = 4 * 1024 * 1024
"""Bytes of the file within which a writer continues what it began."""
# 93 of `train pid=93, ip=192.0.2.7`, of `pid=93`, and of `api-1\ntrain pid=93`.
_PID: Final = re.compile(rb"(?:^|[ \n])pid=([0-9]{1,20})(?:,|\n|$)")
_MAX_PASSED_LINES: Final = 4096
"""Lines of a gap whose offsets are kept."""
_MEMBERS: Final = frozenset(
    ("name", "context", "kind", "parent_id", "start_time", "end_time", "status", "attributes", "events", "links")
)
"""A span of the SDK has these; if lines are left out, what looks whole may lack some."""


class _Line(NamedTuple):
    """A line that may be one of a document."""

    position: int
    """Where it begins among the writer's lines."""
    begin: int
    """Where it begins in the file, the name included."""
    end: int
    """Where it ends in the file."""
    fragments: int
    """Beginnings of spans in it."""


class PrefixedLines:
    """The framing of a log from the first line with a name on, to be used as a `Framer` is.

    Args:
        new_framer: Makes the framing of one writer's lines, given `offset`, where among them it begins.
        offset: Offset in the file of the first byte that `feed` will get.
    """

    is_clean: Final = False
    """Whether nothing of what was fed affects how the bytes from `offset` on are decoded."""
    meets_prefix: Final = False

    def __init__(self, new_framer: Callable[..., Framer], *, offset: int) -> None:
        self.offset = offset
        """Offset in the file of the first byte that waits for more."""
        self.unread = b""
        """The bytes from `offset` on that wait for more."""
        self._fed = offset
        """Where the first unfinished line begins."""
        self._new_writer = partial(_Writer, new_framer)
        self._lines: dict[bytes, DocumentLines] = {}
        self._writers: dict[tuple[bytes, bool], _Writer] = {}
        """By name, and whether for lines that are documents by themselves."""

    @property
    def waiting(self) -> bool:
        """Whether something has begun that isn't complete yet."""
        return bool(self.unread)

    def feed(self, data: bytes) -> Frames:
        """Take the next bytes of the file and return what they complete."""
        self.unread += data
        frames = self._take_lines(self.unread.rfind(b"\n") + 1)
        for writer in self._waiting():
            # Of thousands of writers, few have lines in each piece.
            if writer.new:
                frames.add(writer.feed())
            if writer.end < self._fed - _MAX_PAUSE_BYTES:
                frames.add(writer.close())
        return self._take(frames)

    def tail(self) -> Frames:
        """Return what is whole though nothing follows; to be called when the file has become quiet."""
        frames = Frames()
        for writer in self._waiting():
            frames.add(writer.tail())
        return self._take(frames)

    def close(self) -> Frames:
        """Return what is complete at the end of the file; whatever is unfinished becomes a gap."""
        frames = self._take_lines(len(self.unread))
        for writer in self._waiting():
            frames.add(writer.feed())
            frames.add(writer.close())
        return self._take(frames)

    def skip(self, size: int) -> Frames:
        """Pass over a hole of `size` bytes; nothing that began before it continues after it."""
        frames = self.close()
        self.offset += size
        self._fed = self.offset
        return frames

    def _take_lines(self, end: int) -> Frames:
        """Give the lines up to a position of the buffer to their writers."""
        frames = Frames()
        base, position = self.offset, self._fed - self.offset
        while position < end:
            line_end = self.unread.find(b"\n", position)
            line_end = len(self.unread) if line_end < 0 else line_end
            line = self.unread[position:line_end]
            name, start = match_prefix(line)
            text = line[start:]
            if name not in self._lines:
                self._lines[name] = DocumentLines()
            document, repeats = without_repeat_mark(text)
            kind = self._lines[name].sort(document)
            if kind is not Line.OTHER:
                frames.pids |= _pid_in(name)
                frames.repeated += bool(repeats)
                frames.fragments += document.count(FRAGMENT) * repeats
                writer = self._writer_of(name, is_alone=kind is Line.ALONE)
                writer.add(document + b"\n", base + position, base + line_end)
            elif text and not text.isspace():
                frames.has_text = True
                frames.repeated += text.count(REPEATED)
                # One line represents all that were left out: each began as many spans.
                mark = repeat_mark_of(text)
                fragments = text.count(FRAGMENT)
                frames.fragments += fragments * (int(mark[1]) if mark else 1)
                frames.pids |= _pid_in(name) if fragments else frozenset()
            position = line_end + 1
        self._fed = min(base + position, base + len(self.unread))
        return frames

    def _writer_of(self, name: bytes, *, is_alone: bool) -> _Writer:
        if (name, is_alone) not in self._writers:
            self._writers[name, is_alone] = self._new_writer(is_named=bool(name))
        return self._writers[name, is_alone]

    def _waiting(self) -> list[_Writer]:
        return [writer for writer in self._writers.values() if writer.lines]

    def _take(self, frames: Frames) -> Frames:
        begin = min([writer.lines[0].begin for writer in self._waiting()], default=self._fed)
        self.unread = self.unread[begin - self.offset :]
        self.offset = begin
        frames.documents.sort(key=itemgetter(0))
        frames.gaps.sort(key=attrgetter("offset"))
        return frames


@lru_cache(maxsize=4096)
def _pid_in(name: bytes) -> frozenset[int]:
    """Return the process id in a name that Ray writes before a line, as in `ProxyActor pid=4582`; else nothing."""
    match = _PID.search(name)
    return frozenset([int(match[1])]) if match else frozenset()


class _Writer:
    """The lines of one process.

    Args:
        new_framer: Makes the framing of its lines, given `offset`, where among them it begins.
    """

    def __init__(self, new_framer: Callable[..., Framer], *, is_named: bool) -> None:
        self._new_framer = new_framer
        self._framer = new_framer(offset=0)
        self._is_named = is_named
        self._size = 0
        """Bytes of all its lines."""
        self.end = 0
        """Where in the file its last line ends."""
        self.new: list[bytes] = []
        """Lines that weren't framed yet."""
        self.lines: deque[_Line] = deque()
        """Lines that wait for more."""
        self._passed: list[_Line] = []
        """Lines before the waiting ones that may be part of a gap."""

    def add(self, text: bytes, begin: int, end: int) -> None:
        """Take a line, without its name, between these offsets of the file."""
        self.lines.append(_Line(self._size, begin, end, text.count(FRAGMENT)))
        self.new.append(text)
        self._size += len(text)
        self.end = end

    def feed(self) -> Frames:
        """Return what the new lines complete."""
        text, self.new = b"".join(self.new), []
        return self._take(self._framer.feed(text))

    def tail(self) -> Frames:
        """Return what is whole though nothing follows."""
        return self._take(self._framer.tail())

    def close(self) -> Frames:
        """Return what is complete if nothing follows; whatever is unfinished becomes a gap."""
        frames = self._take(self._framer.close())
        self._framer = self._new_framer(offset=self._size)
        return frames

    def _take(self, framed: Frames) -> Frames:
        """Return what was framed, at its offsets in the file."""
        frames = Frames(has_text=framed.has_text)
        for gap in framed.gaps:
            frames.gaps.append(self._gap_of(gap.kind, gap.offset, gap.length))
            # The gap reports them already.
            frames.fragments -= _take_fragments(self._passed, gap)
            _take_fragments(self.lines, gap)
        for position, size, kept in framed.documents:
            frames.fragments += self._drop_before(position)
            if self.lines and self.lines[0].position <= position:
                self._take_document(frames, position, size, kept)
            else:
                # Its first line is the last one of another.
                frames.gaps.append(self._gap_of(ProblemKind.TORN, position, size))
        frames.fragments += self._drop_before(self._framer.offset)
        if not self._framer.waiting:
            self._passed.clear()
        return frames

    def _take_document(self, frames: Frames, position: int, size: int, kept: Any) -> None:
        """Take a document that begins in the first waiting line."""
        lines = [self.lines.popleft()]
        while self.lines and self.lines[0].position < position + size:
            lines.append(self.lines.popleft())
        self._passed = [lines[-1]]
        first, last = lines[0], lines[-1]
        if not self._is_named and last.begin - first.begin == last.position - first.position:
            frames.documents.append((first.begin + position - first.position, size, kept))
        elif len(lines) == 1 or type(kept) is tuple or (isinstance(kept, dict) and kept.keys() >= _MEMBERS):
            frames.documents.append((first.begin, last.end - first.begin, Mixed(kept)))
        else:
            frames.has_text = True
            frames.fragments += sum(line.fragments for line in lines)

    def _drop_before(self, position: int) -> int:
        """Drop the lines that end before a position; return the beginnings of spans in them."""
        fragments = 0
        while self.lines and (self.lines[1].position if len(self.lines) > 1 else self._size) <= position:
            line = self.lines.popleft()
            fragments += line.fragments
            if len(self._passed) < _MAX_PASSED_LINES:
                self._passed.append(line)
        return fragments

    def _gap_of(self, kind: ProblemKind, position: int, size: int) -> Gap:
        """Return a gap among the writer's lines as one of the file."""
        lines = [*self._passed, *self.lines]
        first, last = (
            lines[max(0, bisect_right(lines, edge, key=attrgetter("position")) - 1)]
            for edge in (position, position + size - 1)
        )
        return Gap(kind, first.begin, last.end - first.begin)


def _take_fragments(lines: deque[_Line] | list[_Line], gap: Gap) -> int:
    """Clear the beginnings of spans of the lines in a gap; return how many they had."""
    fragments = 0
    for index, line in enumerate(lines):
        if line.fragments and gap.offset <= line.position < gap.offset + gap.length:
            fragments += line.fragments
            lines[index] = line._replace(fragments=0)
    return fragments


class MixedLines:
    """A part of a log with mixed documents, to take many of them out: each line is read once.

    Args:
        data: The lines, from the beginning of the first one to the end of the last.
    """

    def __init__(self, data: bytes, offset: int) -> None:
        self._begin, self._end = offset, offset + len(data)
        self._names: dict[int, bytes] = {}
        """The writer of each line, by its offset."""
        self._lines: dict[bytes, tuple[list[int], list[bytes]]] = {}
        """The offsets of each writer's lines, and what was printed there."""
        for line in data.split(b"\n"):
            name, start = match_prefix(line)
            self._names[offset] = name
            offsets, texts = self._lines.setdefault(name, ([], []))
            offsets.append(offset)
            texts.append(line[start:])
            offset += len(line) + 1

    def document(self, begin: int, size: int) -> bytes | None:
        """Return what `unmixed` gives for a document; None if it isn't here."""
        name = self._names.get(begin)
        if name is None or begin + size > self._end:
            return None
        offsets, texts = self._lines[name]
        return _of_document(texts[bisect_left(offsets, begin) : bisect_left(offsets, begin + size)])


def _of_document(texts: Iterable[bytes]) -> bytes:
    """Return the lines of the document that begins with a writer's first line."""
    lines = DocumentLines()
    return b"\n".join(
        text for text in (without_repeat_mark(text)[0] for text in texts) if lines.sort(text) is Line.OF_DOCUMENT
    )


def unmixed(record: bytes) -> bytes:
    """Return a document without the lines of others, and without names.

    Args:
        record: All lines from the beginning of the first one to the end of the last.
    """
    name, start = match_prefix(record[: record.find(b"\n") + 1] or record)
    return _of_document(_texts_of(record, name, record[:start]))


def _texts_of(record: bytes, name: bytes, prefix: bytes) -> list[bytes]:
    """Return what a writer printed, by line.

    Args:
        prefix: The name as the first line has it; if all lines have it, as mostly, this is ten times as quick.
    """
    last = name.rpartition(b"\n")[2]
    if last and record.count(b"(%b)" % last if b"(%b)" % last in prefix else last) == record.count(b"\n" + prefix) + 1:
        # No regular expression: the lines of thousands of others may be among them.
        texts = (b"\n" + record).split(b"\n" + prefix)[1:]
        return [text if (end := text.find(b"\n")) < 0 else text[:end] for text in texts]
    lines = record.split(b"\n")
    return [line[start:] for line in lines for writer, start in [match_prefix(line)] if writer == name]
