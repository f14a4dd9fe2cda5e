"""Reading PATHs into a sink, once or for as long as they change.

The search through the PATHs is the truth; whatever hints at changes only makes it come sooner.
"""

from __future__ import annotations

import gc
import os
import time
from collections import defaultdict
from contextlib import contextmanager
from typing import IO, TYPE_CHECKING, Final

from spanview.formats.decoder import Decoder
from spanview.model.problems import NoSuchPathError, Problem, ProblemKind
from spanview.sources.ahead import decode_ahead
from spanview.sources.details import reason_of
from spanview.sources.discover import STANDARD_INPUT, FoundFile, Listing, discover
from spanview.sources.held import HeldOpen
from spanview.sources.tail import ATTEMPTS, BLOCK, FileTail
from spanview.sources.terms import Changes, Progress, ReadOptions, Sink
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.sources.ahead import DecodedFile
    from spanview.sources.details import Details

_USUAL_SIZE: Final = 1024
"""Bytes of a usual span's record."""
_QUIET_S: Final = 10.0
"""After so many quiet seconds nobody is expected to write any more to a file that was removed or left behind."""


class Session:
    """The reading of some PATHs.

    Args:
        options: What to read, and how.
        sink: Takes what was read.
        details: Gives records back; the sink's reader.
        standard_input: What `-` stands for.
    """

    def __init__(
        self, options: ReadOptions, sink: Sink, details: Details, standard_input: IO[bytes] | None = None
    ) -> None:
        self.options = options
        self._sink = sink
        self._details = details
        self._standard_input = standard_input
        self._tails: dict[str, FileTail] = {}
        self._held = HeldOpen()
        self._leaving: list[FileTail] = []
        self._generations: defaultdict[str, int] = defaultdict(int)
        self._reported: set[tuple[str, str]] = set()
        self._paths = list(options.paths)

    # -- the first reading -------------------------------------------------------------------------------------------

    def load(self) -> Iterator[Progress]:
        """Read everything that is there, piece by piece.

        Raises:
            NoSuchPathError: A PATH doesn't exist, and nobody waits for it.
        """
        with stage("scan"):
            listing = discover(self._paths)
        if listing.missing and not self.options.follow:
            # A line end in a PATH, or nothing at all, is hard to see.
            missing = path if (path := listing.missing[0]) and path.isprintable() else repr(path)
            raise NoSuchPathError(f"{missing}: no such file or folder")
        files = listing.files
        if self.options.newest_first:
            files = sorted(files, key=lambda found: -found.modified_ns)
        total = sum(found.content for found in files)
        self._sink.expect(total // _USUAL_SIZE)
        done = 0
        with _without_collector():
            for found, decoded in self._decoded(files):
                with stage("read and decode"):
                    for count in self._load_file(found) if decoded is None else self._take_decoded(found, decoded):
                        done += count
                        yield Progress(done, total)
            if STANDARD_INPUT in self._paths and self._standard_input is not None:
                yield from self._read_stream(self._standard_input, done)
        self._report(listing)

    def _decoded(self, files: list[FoundFile]) -> Iterator[tuple[FoundFile, DecodedFile | None]]:
        if self.options.processes and not self.options.follow:
            return decode_ahead(files, cap=self.options.cap)
        return ((found, None) for found in files)

    def _load_file(self, found: FoundFile) -> Iterator[int]:
        tail = self._take_up(found)
        if tail is not None:
            yield from self._drain(tail)
            if not self.options.follow:
                self._finish(tail)

    def _take_decoded(self, found: FoundFile, decoded: DecodedFile) -> Iterator[int]:
        """Take in what another process has made of a file."""
        if decoded.failure is not None:
            self._report_problem(_unreadable(found.shown, decoded.failure))
            if not decoded.bytes:
                return
        source = self._sink.add_source(found.shown)
        self._details.register(source, found.real, found.device, found.inode)
        self._sink.tallies.add_bytes(found.shown, decoded.bytes)
        for batch in decoded.batches:
            self._sink.add(source, batch)
        yield decoded.bytes

    def _read_stream(self, stream: IO[bytes], done: int) -> Iterator[Progress]:
        source = self._sink.add_source(STANDARD_INPUT)
        decoder, offset = Decoder(cap=self.options.cap), 0
        # A pipe gives what is there; read() of a buffered stream would wait for a whole block.
        while data := self._read_piece(stream):
            self._details.spool.write(source, offset, data)
            offset += len(data)
            self._sink.tallies.add_bytes(STANDARD_INPUT, len(data))
            self._sink.add(source, decoder.feed(data))
            if not self.options.keep_details:
                self._details.spool.forget(source, decoder.offset)
            yield Progress(done + offset, 0)
        self._sink.add(source, decoder.close())

    def _read_piece(self, stream: IO[bytes]) -> bytes:
        try:
            return os.read(stream.fileno(), BLOCK)
        except OSError as error:
            self._report_problem(_unreadable(STANDARD_INPUT, reason_of(error)))
            return b""

    def _take_up(self, found: FoundFile) -> FileTail | None:
        """Open a file that is new, as the next generation where its path had another one before."""
        try:
            tail = FileTail(found, cap=self.options.cap, attempts=1 if self.options.follow else ATTEMPTS)
        except OSError as error:
            # While following, a file that vanished between search and opening is nothing to tell.
            if not (self.options.follow and isinstance(error, FileNotFoundError)):
                self._report_problem(_unreadable(found.shown, reason_of(error)))
            return None
        tail.source = source = self._sink.add_source(found.shown, self._generations[found.shown])
        self._generations[found.shown] += 1
        self._tails[found.real] = tail
        self._details.register(source, found.real, found.device, found.inode)
        return tail

    def _drain(self, tail: FileTail, *, live: bool = False) -> Iterator[int]:
        """Read a file to its end; yield the bytes of each piece."""
        sink, source, path = self._sink, tail.source, tail.found.shown
        while True:
            try:
                offset, data = tail.read()
            except OSError as error:
                self._report_problem(_unreadable(path, reason_of(error)))
                return
            if not data:
                break
            if live:
                self._details.spool.write(source, offset, data)
            sink.tallies.add_bytes(path, len(data))
            for batch in tail.decode(data):
                sink.add(source, batch)
            if live and not self.options.keep_details:
                self._details.spool.forget(source, tail.decoder.offset)
            yield len(data)
        self._held.note(tail)

    def _finish(self, tail: FileTail) -> None:
        self._held.forget(tail)
        for batch in tail.finish():
            self._sink.add(tail.source, batch)

    @property
    def can_change(self) -> bool:
        """Whether anything that is read may still grow; standard input was read to its end."""
        return any(path != STANDARD_INPUT for path in self._paths)

    # -- looking again -----------------------------------------------------------------------------------------------

    def look(self, hinted: Iterable[str] | None = None) -> Changes:
        """Look for what is new.

        Args:
            hinted: Real paths of files that seem to have changed; None to search everything.
        """
        changes = Changes()
        before = self._sink.tallies.records
        known = None if hinted is None else [self._tails[path] for path in hinted if path in self._tails]
        if known is not None and known and len(known) == len(list(hinted or ())):
            for tail in known:
                self._look_at(tail, changes)
        else:
            self._search(changes)
        changes.spans = self._sink.tallies.records - before
        return changes

    def _search(self, changes: Changes) -> None:
        listing = discover(self._paths)
        self._report(listing)
        changes.missing, changes.directories = listing.missing, listing.directories
        there = {found.real: found for found in listing.files}
        self._sort_out(there, changes)
        for real, found in there.items():
            known = self._tails.get(real)
            if known is not None:
                self._look_at(known, changes, found)
            else:
                new = self._take_up(found)
                if new is not None:
                    self._read_news(new, changes)

    def _sort_out(self, there: dict[str, FoundFile], changes: Changes) -> None:
        """Give files that were renamed their new paths, and let go of those that are gone."""
        elsewhere = [tail for real, tail in self._tails.items() if real not in there or _is_other(tail, there[real])]
        for tail in elsewhere:
            del self._tails[tail.found.real]
        now = {found.identity: found for real, found in there.items() if real not in self._tails}
        gone, self._leaving = self._leaving + elsewhere, []
        for tail in gone:
            found = now.pop(tail.identity, None)
            if found is not None and tail.move(found):
                self._tails[found.real] = tail
                self._held.note(tail)
                tail.quiet_since = None
                self._details.register(tail.source, found.real, found.device, found.inode)
            elif not self._read_on(tail, changes):
                self._let_go(tail)

    def _read_on(self, tail: FileTail, changes: Changes) -> bool:
        """Read what a file has that is no longer among the PATHs; tell whether somebody may write to it still.

        A process may hold it open though it was removed or moved, or a link leads to another session by now.
        """
        before = changes.bytes
        try:
            if not (tail.is_open or tail.is_in_place) or (tail.has_news() and tail.was_rewritten()):
                return False
        except OSError:
            return False
        self._read_news(tail, changes)
        grown, now = changes.bytes - before, time.monotonic()
        changes.bytes_left_behind += grown
        if grown or tail.quiet_since is None:
            tail.quiet_since = now
        if now >= tail.quiet_since + _QUIET_S:
            return False
        self._leaving.append(tail)
        return True

    def _let_go(self, tail: FileTail) -> None:
        if not tail.is_in_place:
            self._details.retire(tail.source)
        self._finish(tail)

    def _look_at(self, tail: FileTail, changes: Changes, found: FoundFile | None = None) -> None:
        if found is None:
            # To see whether it changed, it is opened.
            self._held.note(tail)
        try:
            has_news = tail.has_news(found)
            was_rewritten = has_news and tail.was_rewritten()
        except FileNotFoundError:
            # It vanished between search and look; the next search lets it go.
            return
        except OSError as error:
            self._report_problem(_unreadable(tail.found.shown, reason_of(error)))
            tail.look_again()
            return
        if was_rewritten:
            renewed = self._begin_again(tail)
            if renewed is None:
                return
            tail = renewed
        before = changes.bytes
        if has_news:
            self._read_news(tail, changes)
        if changes.bytes == before:
            settled = tail.settle()
            if settled is not None:
                self._sink.add(tail.source, settled)

    def _read_news(self, tail: FileTail, changes: Changes) -> None:
        for count in self._drain(tail, live=True):
            changes.bytes += count

    def _begin_again(self, tail: FileTail) -> FileTail | None:
        """Read a file that was cut from its start, as its own next generation."""
        path = tail.found.shown
        self._finish(tail)
        self._details.retire(tail.source)
        detail = f"the file was cut or written anew after {tail.position:,} bytes had been read; what was read is kept"
        self._sink.tallies.add_problem(Problem(ProblemKind.TRUNCATED, path, tail.position, 0, detail))
        del self._tails[tail.found.real]
        return self._take_up(tail.found)

    def close(self) -> None:
        """Settle the ends of all files: whatever is unfinished becomes a problem."""
        for tail in [*self._tails.values(), *self._leaving]:
            self._finish(tail)
        self._tails.clear()
        self._leaving.clear()

    # -- problems ----------------------------------------------------------------------------------------------------

    def _report(self, listing: Listing) -> None:
        for problem in listing.problems:
            self._report_problem(problem)
        if self._details.spool.failed is not None:
            detail = f"details of spans read live can't be kept: {self._details.spool.failed}"
            self._report_problem(Problem(ProblemKind.WATCHER, "", 0, 0, detail))

    def _report_problem(self, problem: Problem) -> None:
        key = (problem.kind, problem.file)
        if key not in self._reported:
            self._reported.add(key)
            self._sink.tallies.add_problem(problem)


def _is_other(tail: FileTail, found: FoundFile) -> bool:
    return tail.identity != found.identity


def _unreadable(path: str, reason: str) -> Problem:
    return Problem(ProblemKind.UNREADABLE, path, 0, 0, f"can't be read: {reason}")


@contextmanager
def _without_collector() -> Iterator[None]:
    """Keep the garbage collector from walking through documents that live for a moment only."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
