"""From one file's bytes into the store: what every way of reading has in common."""

from __future__ import annotations

import os
import select
from collections import Counter, defaultdict
from typing import IO, TYPE_CHECKING, Final

from spanview.formats.decoder import Decoder
from spanview.model.problems import Problem, ProblemKind
from spanview.sources.details import TOO_MANY_OPEN, reason_of
from spanview.sources.discover import STANDARD_INPUT
from spanview.sources.tail import BLOCK_BYTES, MAX_ATTEMPTS, FileTail, HeldOpen

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from spanview.index.store import Store
    from spanview.sources.details import RecordReader
    from spanview.sources.discover import FoundFile
    from spanview.sources.spool import Spool
    from spanview.sources.terms import ReadOptions
    from spanview.sources.unpacking import Unpacker

_QUIET_AFTER_MS: Final = 100
"""A stream that has sent nothing for so long is quiet."""
_MAX_TRUNCATIONS_REPORTED: Final = 10
"""Reports per file; one that is rewritten each second must not fill the memory."""


class Reading:
    """Reads files and streams into a store, and keeps what can't be read again."""

    def __init__(self, options: ReadOptions, store: Store, details: RecordReader) -> None:
        self.options = options
        self.store = store
        self._details = details
        self.held = HeldOpen()
        self._has_reported_unheld = False
        self._generations: defaultdict[str, int] = defaultdict(int)
        self._truncations: Counter[str] = Counter()
        self._reported: set[tuple[str, str]] = set()

    # -- files -------------------------------------------------------------------------------------------------------

    def take_up(self, file: FoundFile, source: int | None = None) -> FileTail | None:
        """Open a file that is new, as the next generation where its path had another one before."""
        tail = self._open(file)
        if tail is not None:
            self._enter(tail, source)
        return tail

    def _open(self, file: FoundFile) -> FileTail | None:
        attempts = 1 if self.options.follow else MAX_ATTEMPTS
        try:
            try:
                return FileTail(file, cap=self.options.cap, attempts=attempts)
            except OSError as error:
                if error.errno not in TOO_MANY_OPEN or not self.held.give_one_up():
                    raise
                return FileTail(file, cap=self.options.cap, attempts=attempts)
        except OSError as error:
            # While following, a file that vanished between search and opening isn't reported.
            if not (self.options.follow and isinstance(error, FileNotFoundError)):
                self.report_unreadable(file.shown, reason_of(error))
            return None

    def _enter(self, tail: FileTail, source: int | None = None) -> None:
        tail.source = self.enter(tail.file) if source is None else source
        self.held.note(tail, has_grown=True)

    def enter(self, file: FoundFile) -> int:
        """Take note of a file, or of the next one at its path, and return its number in the store."""
        source = self.store.add_source(file.shown, self._generations[file.shown], file.real)
        self._generations[file.shown] += 1
        self.register(source, file)
        return source

    def hold(self, tails: Collection[FileTail]) -> None:
        """Hold as many files open as can be, those that were written last, and report the rest."""
        if len(tails) > self.held.max_files:
            self.held.hold(tails)
        self.report_unheld(len(tails))

    def report_unheld(self, count: int) -> None:
        """Report once that more files are followed than can be held open, if so."""
        max_files = self.held.max_files
        if count <= max_files or self._has_reported_unheld:
            return
        self._has_reported_unheld = True
        detail = (
            f"{count:,} files are followed, and only the {max_files:,} that grew last are held open: once removed, the "
            "others can't be read on"
        )
        if (limit := self.held.limit_for(count)) is not None:
            detail += f"; to hold all of them, run ulimit -n {limit} before spanview"
        self.store.tallies.add_problem(Problem(ProblemKind.WATCHER, "", 0, 0, detail))

    def register(self, source: int, file: FoundFile) -> None:
        """Take note of where a file is now."""
        self._details.register(source, file.real, file.device, file.inode)

    def read(self, tail: FileTail, most: int, *, live: bool = False) -> Iterator[int]:
        """Read a file on, but little more than `most` bytes: one that is written has no end; yield those of each piece.

        Args:
            live: Whether what is read is kept, because it may be gone when someone looks.
        """
        total = 0
        while total <= most:
            data = self.next_bytes(tail, live=live, is_first=not total)
            if not data:
                return
            self.decode(tail, data)
            total += len(data)
            yield len(data)
        tail.look_again()

    def decode(self, tail: FileTail, data: bytes) -> None:
        """Decode the bytes that were read last of a file."""
        for batch in tail.decode(data):
            self.store.add(tail.source, batch)

    def next_bytes(self, tail: FileTail, *, live: bool, is_first: bool, most: int = BLOCK_BYTES) -> bytes:
        """Return what is next in a file; nothing where that can't be read.

        Args:
            live: Whether it is kept.
            is_first: Whether it is the first piece that is read now.
        """
        spool, source = self._details.spool, tail.source
        try:
            offset, data = tail.read(most)
        except OSError as error:
            self.report_unreadable(tail.file.shown, reason_of(error))
            return b""
        if is_first:
            self.held.note(tail, has_grown=bool(data))
        if data and live:
            if tail.decoder.unread and not tail.is_live:
                # The front of a record that the first reading saw in part.
                spool.write(source, tail.decoder.offset, tail.decoder.unread)
            tail.is_live = True
            spool.write(source, offset, data)
        if data:
            self.store.tallies.add_bytes(tail.file.shown, len(data))
        return data

    def has_news(self, tail: FileTail, file: FoundFile | None = None) -> bool:
        """Tell whether a file has changed, as it was found just now, or as it is."""
        has_news = tail.has_news(file)
        if file is None and not has_news:
            # To see whether it changed, it was opened; otherwise it is read now.
            self.held.note(tail)
        return has_news

    def was_changed_inside(self, tail: FileTail) -> bool:
        """Tell whether what was read of a file has changed, though its size is the same."""
        if not tail.is_suspect:
            return False
        was_changed = tail.was_changed_inside()
        self.held.note(tail)
        return was_changed

    def flush(self, tail: FileTail) -> None:
        """Take the spans of a quiet file that are whole though no line end follows."""
        batch = tail.flush()
        if batch is not None:
            self.store.add(tail.source, batch)

    def begin_again(self, tail: FileTail) -> FileTail:
        """Return a file that was truncated or rewritten, to be read from its start as its own next generation."""
        path, position = tail.file.shown, tail.position
        renewed = tail.renew()
        self.finish(tail)
        self._details.retire(tail.source)
        # Of a file that never had a span, such as a report that is written anew each minute, nothing is lost.
        self._truncations[path] += self.store.tallies.has_spans(path)
        if 0 < self._truncations[path] <= _MAX_TRUNCATIONS_REPORTED:
            detail = (
                f"the file was truncated or rewritten after {position:,} bytes were read; spans already read are kept"
            )
            if self._truncations[path] == _MAX_TRUNCATIONS_REPORTED:
                detail += "; this keeps happening, and isn't reported again"
            self.store.tallies.add_problem(Problem(ProblemKind.TRUNCATED, path, position, 0, detail))
        self._enter(renewed)
        return renewed

    def finish(self, tail: FileTail) -> None:
        """Take what is left at the end of a file, and close it."""
        self.held.forget(tail)
        for batch in tail.finish():
            self.store.add(tail.source, batch)

    def hand_over(self, tail: FileTail) -> None:
        """Leave the rest of a file to another reader."""
        self.held.forget(tail)
        tail.close()

    def let_go(self, tail: FileTail) -> None:
        """Finish a file that is no longer among the PATHs."""
        if not tail.is_in_place:
            self._details.retire(tail.source)
        self.finish(tail)

    # -- streams -----------------------------------------------------------------------------------------------------

    def read_stream(self, stream: IO[bytes]) -> Iterator[int]:
        """Read standard input to its end, compressed or not; yield the bytes of each piece."""
        from spanview.sources.unpacking import MAGIC_BYTES, Unpacker, is_packed, unpacked

        head = self._read_piece(stream)
        while 0 < len(head) < MAGIC_BYTES and (more := self._read_piece(stream)):
            head += more
        unpacker = Unpacker(head) if is_packed(head) else None
        content = self.open_content(STANDARD_INPUT)
        for data, count in self._pieces(head, stream) if unpacker is None else unpacked(stream, head, unpacker):
            content.take(data, count)
            yield count
        content.close()
        if unpacker is not None:
            self.report_broken(STANDARD_INPUT, content, unpacker)

    def _pieces(self, data: bytes, stream: IO[bytes]) -> Iterator[tuple[bytes, int]]:
        while data:
            yield data, len(data)
            if _is_quiet(stream):
                # The caller has time now to show what was read; it may be long until more comes.
                yield b"", 0
            data = self._read_piece(stream)

    def open_content(self, path: str) -> Content:
        """Return what takes the next content that is shown as this path, and can't be read again."""
        source = self.store.add_source(path, self._generations[path])
        self._generations[path] += 1
        return Content(path, source, self.store, self._details.spool, self.options)

    def _read_piece(self, stream: IO[bytes]) -> bytes:
        # A pipe gives what is there; read() of a buffered stream would wait for a whole block.
        try:
            return os.read(stream.fileno(), BLOCK_BYTES)
        except OSError as error:
            self.report_unreadable(STANDARD_INPUT, reason_of(error))
            return b""

    # -- problems ----------------------------------------------------------------------------------------------------

    def report(self, problem: Problem) -> None:
        """Report a problem, once for each file and kind."""
        key = (problem.kind, problem.file)
        if key not in self._reported:
            self._reported.add(key)
            self.store.tallies.add_problem(problem)

    def report_unreadable(self, path: str, reason: str) -> None:
        """Report that a file can't be read, or not further."""
        self.report(Problem(ProblemKind.UNREADABLE, path, 0, 0, f"can't be read: {reason}"))

    def report_broken(self, path: str, content: Content, unpacker: Unpacker) -> None:
        """Report that no more can be unpacked, if so."""
        from spanview.sources.unpacking import CUT_OFF, TOO_DENSE

        if unpacker.is_whole:
            return
        reason = unpacker.failure or CUT_OFF
        after = f"after {content.size:,} bytes unpacked"
        detail = f"the compressed data breaks off {after}: {reason}"
        if reason == TOO_DENSE:
            detail = f"{reason}, and was read no further {after}; unpack it to read all of it"
        self.report(Problem(ProblemKind.UNREADABLE, path, content.size, 0, f"can't be read further: {detail}"))

    def report_spool(self) -> None:
        """Report that what is read live can't be kept, if so."""
        if self._details.spool.failed is not None:
            detail = f"details of spans read live can't be kept: {self._details.spool.failed}"
            self.report(Problem(ProblemKind.WATCHER, "", 0, 0, detail))


class Content:
    """The content of a stream, or of a compressed file, from its first byte on."""

    def __init__(self, path: str, source: int, store: Store, spool: Spool, options: ReadOptions) -> None:
        self._path, self._source = path, source
        self._store, self._spool, self._options = store, spool, options
        self._decoder = Decoder(cap=options.cap)
        self.size = 0
        """Bytes so far."""

    def take(self, data: bytes, count: int) -> None:
        """Take the next bytes.

        Args:
            count: How many bytes of the stream or file were read for them.
        """
        self._store.tallies.add_bytes(self._path, count, content=len(data))
        if not data:
            return
        self._spool.write(self._source, self.size, data)
        self.size += len(data)
        self._store.add(self._source, self._decoder.feed(data))

    def flush(self) -> None:
        """Take what is complete without a line end, where more may come."""
        self._store.add(self._source, self._decoder.tail())

    def close(self) -> None:
        """Take what is left at the end; data that still comes starts over."""
        self._store.add(self._source, self._decoder.close())
        self._decoder = Decoder(cap=self._options.cap, offset=self.size)


def _is_quiet(stream: IO[bytes]) -> bool:
    """Wait a moment for the next bytes of a stream, or for its end; return whether neither has come."""
    if not hasattr(select, "poll"):
        return False
    poll = select.poll()
    poll.register(stream.fileno(), select.POLLIN)
    return not poll.poll(_QUIET_AFTER_MS)
