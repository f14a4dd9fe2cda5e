"""Reading PATHs into a store, once or for as long as they change.

Searching the PATHs decides what is read; hints of changes only make a search come sooner.
"""

from __future__ import annotations

import os
import time
from operator import attrgetter
from typing import IO, TYPE_CHECKING, Final

from spanview.index.memory import without_collector
from spanview.index.store import Store
from spanview.sources.details import RecordReader, reason_of
from spanview.sources.discover import STANDARD_INPUT, FoundFile, Listing, discover, find_one, is_as_listed
from spanview.sources.packed import PackedFiles
from spanview.sources.quickly import GrowingFiles, load_quickly, pays, share
from spanview.sources.reading import Reading
from spanview.sources.terms import Changes, Progress, ReadOptions
from spanview.telemetry import stage

if TYPE_CHECKING:
    from collections.abc import Generator, Iterable, Iterator, Sequence

    from spanview.quick.processes import ReadFile
    from spanview.sources.kept import KeptIndex
    from spanview.sources.tail import FileTail

_TYPICAL_RECORD_BYTES: Final = 1024
"""Bytes of a typical span's record."""
_MAX_BYTES_PER_FILE: Final = 8 * 1024 * 1024
"""Bytes that one look takes from a file before the others have their turn."""
_LEFT_BEHIND_QUIET_S: Final = 10.0
"""After so many quiet seconds a file that was removed or left behind is closed."""


class Session:
    """The reading of some PATHs."""

    def __init__(
        self, options: ReadOptions, store: Store, details: RecordReader, standard_input: IO[bytes] | None = None
    ) -> None:
        self.options = options
        self._store = store
        self._details = details
        self._standard_input = standard_input
        self._reading = Reading(options, store, details)
        self._packed = PackedFiles(self._reading, follow=options.follow)
        self._tails: dict[str, FileTail] = {}
        self._leaving: list[FileTail] = []
        self._folders: dict[str, str] = {}
        self._identities: set[tuple[int, int]] = set()
        """Identities of the files that the last search found, and of newer ones."""
        self._paths = [*options.paths, *options.events]
        self._at_rest: Listing | None = None
        """What the last search found, if there is nothing to do until that changes."""
        self._kept: KeptIndex | None = None
        self._growing: GrowingFiles | None = None
        self._is_from_kept = False

    # -- the first reading -------------------------------------------------------------------------------------------

    def load(self, listing: Listing | None = None) -> Iterator[Progress]:
        """Read everything that is there, piece by piece.

        Raises:
            NoSuchPathError: A PATH doesn't exist, and isn't waited for.
        """
        if listing is None:
            with stage("scan"):
                listing = self._discover()
        if not self.options.follow:
            listing.require_all()
        is_newest = self.options.newest_first
        files = sorted(listing.files, key=attrgetter("modified_ns" if is_newest else "shown"), reverse=is_newest)
        total = sum(file.content for file in files)
        if self._take_kept(listing, total):
            self._put_in_order()
            yield from self._read_events()
            yield Progress(total, total)
            self._take_note(listing)
            return
        self._store.intake.expect(total // _TYPICAL_RECORD_BYTES)
        done = 0
        with without_collector():
            for count in self._load_files(files):
                done += count
                yield Progress(done, total)
            if STANDARD_INPUT in self._paths and self._standard_input is not None:
                for count in self._reading.read_stream(self._standard_input):
                    done += count
                    yield Progress(done, 0)
            self._put_in_order()
        if self.options.follow:
            self._reading.hold(self._tails.values())
        self._take_note(listing)

    def _discover(self) -> Listing:
        listing, events = discover(self._paths), self.options.events
        listing.missing = [path for path in listing.missing if path not in events]
        # Each process of Ray makes a file for events, whether there are any or not.
        listing.files = [file for file in listing.files if file.size or not file.shown.startswith(events)]
        return listing

    def _put_in_order(self) -> None:
        """Number what was read by path and offset, unless it is shown already, or reading goes on."""
        intake = self._store.intake
        if self.options.follow or self.options.newest_first:
            return
        with stage("put in order"):
            if intake.is_in_order():
                return
            from spanview.index.arrange import arrange

            self._details.take_numbers(arrange(intake))

    def _take_kept(self, listing: Listing, total: int) -> bool:
        """Take the index of an earlier session where there is one that is still right."""
        options = self.options
        is_worth_it = options.use_cache and total >= options.quick_from
        if not is_worth_it or options.follow or options.decodes_all or STANDARD_INPUT in self._paths:
            return False
        from spanview.sources.kept import KeptIndex

        self._kept = KeptIndex(options, listing.files)
        with stage("kept index"):
            self._is_from_kept = self._kept.take(self._store.intake, self._reading)
        return self._is_from_kept

    def _read_events(self) -> Iterator[Progress]:
        """Read Ray's own events, where an index was taken: of these it has no more than how many there are."""
        paths, details = tuple(path for path, file in self._store.tallies.each_file() if file.events), RecordReader()
        if not paths:
            return
        with stage("events beside the kept index"):
            store = Store(details)
            yield from Session(self.options._replace(paths=paths, events=(), use_cache=False), store, details).load()
            self._store.intake.ray = store.ray

    def keep(self, *, is_proven: bool = False) -> None:
        """Keep the index of what was loaded for the next session, where that pays."""
        # What was compressed is in the spool, which isn't kept.
        if self._kept is not None and not self._packed.are_there and (is_proven or not self._is_from_kept):
            with stage("keep index"):
                self._kept.write(self._store.intake, is_proven=is_proven)

    @property
    def is_proven(self) -> bool:
        """Whether an index was taken of which each record was decoded once."""
        return self._is_from_kept and self._kept is not None and self._kept.is_proven

    def _load_files(self, files: list[FoundFile]) -> Iterator[int]:
        packed, files = self._packed.among(files)
        quick, files = share(files, least=self.options.quick_from)
        if quick:
            partly_read = None
            if self.options.newest_first and (partly_read := (yield from self._begin(quick[0]))) is None:
                quick = quick[1:]
            with stage("scan and adopt"):
                yield from load_quickly(quick, self._reading, partly_read, self._go_on if self.options.follow else None)
        for file in files:
            with stage("read and decode"):
                if (tail := self._take_up(file)) is not None:
                    yield from self._read_whole(tail, file)
        yield from self._packed.read(packed)

    def _read_whole(self, tail: FileTail, file: FoundFile) -> Iterator[int]:
        yield from self._reading.read(tail, file.size + _MAX_BYTES_PER_FILE)
        if not self.options.follow:
            self._reading.finish(tail)

    def _begin(self, file: FoundFile) -> Generator[int, None, FileTail | None]:
        """Read the front of a file as usual, because a person is waiting to see something.

        Returns:
            The file, to be read on; None where it can't be read, or was read to its end, because its front is damaged.
        """
        tail = self._take_up(file)
        if tail is None:
            return None
        yield from self._reading.read(tail, 0)
        if tail.decoder.is_clean:
            del self._tails[file.real]
            self._reading.hand_over(tail)
            return tail
        yield from self._read_whole(tail, file)
        return None

    def _go_on(self, file: FoundFile, source: int, read: ReadFile) -> Iterator[int]:
        """Read a file on, as usual, after what was scanned of it."""
        tail = self._take_up(file, source)
        if tail is not None:
            tail.go_on(read.size, read.decoder, read.head, read.last)
            yield from self._reading.read(tail, file.size + _MAX_BYTES_PER_FILE)

    def _take_up(self, file: FoundFile, source: int | None = None) -> FileTail | None:
        tail = self._reading.take_up(file, source)
        if tail is not None:
            self._tails[tail.file.real] = tail
            self._identities.add(tail.identity)
        return tail

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
        before = self._store.tallies.records
        if hinted is None or not self._look_at_hinted([*hinted], changes):
            self._search(changes)
        changes.spans = self._store.tallies.records - before
        return changes

    def _look_at_hinted(self, paths: list[str], changes: Changes) -> bool:
        """Look at some paths; return False where only a search can say what is there."""
        self._at_rest = None if paths else self._at_rest
        self._look_at_all([(self._tails[path], None) for path in paths if path in self._tails], changes)
        return all(self._look_for(path, changes) for path in paths if path not in self._tails)

    def _look_for(self, path: str, changes: Changes) -> bool:
        """Look for a path that may be new; return False where only a search can say what is there."""
        if path in self._folders or os.path.basename(path).startswith("."):
            return True
        file = find_one(path, self._folders)
        if file is None:
            # A new folder can hold files already; what is neither, or gone, can wait.
            return not (os.path.isdir(path) or os.path.isfile(path))
        if file.identity in self._identities:
            # It may have been renamed.
            return False
        self._read_new(file, changes)
        return True

    def _read_new(self, file: FoundFile, changes: Changes) -> None:
        packed, _ = self._packed.among([file])
        if packed:
            changes.bytes += sum(self._packed.read(packed))
            return
        tail = self._take_up(file)
        if tail is not None:
            self._read_news(tail, changes)

    def _search(self, changes: Changes) -> None:
        listing = self._at_rest
        if listing is not None and is_as_listed(self._paths, listing):
            changes.directories = listing.directories
            return
        listing = self._discover()
        self._take_note(listing)
        changes.missing, changes.directories = listing.missing, listing.directories
        self._identities = {tail.identity for tail in self._tails.values()}
        packed, plain = self._packed.among(listing.files)
        changes.bytes += sum(self._packed.read(packed))
        files = {file.real: file for file in plain}
        self._sort_out(files, listing.unsure, changes)
        self._look_at_all([(self._tails[real], file) for real, file in files.items() if real in self._tails], changes)
        for real, file in files.items():
            if real not in self._tails:
                self._read_new(file, changes)
        self._reading.report_unheld(len(self._tails))
        is_at_rest = (
            files.keys() == self._tails.keys()
            and not (listing.missing or listing.unsure or self._leaving)
            and all(tail.is_at_rest for tail in self._tails.values())
        )
        self._at_rest = listing if is_at_rest else None

    def _sort_out(self, files: dict[str, FoundFile], unsure: list[str], changes: Changes) -> None:
        """Give files that were renamed their new paths, and let go of those that are gone."""
        elsewhere = [
            tail
            for real, tail in self._tails.items()
            if (tail.identity != files[real].identity if real in files else not _is_below(real, unsure))
        ]
        for tail in elsewhere:
            del self._tails[tail.file.real]
        now = {file.identity: file for real, file in files.items() if real not in self._tails}
        gone, self._leaving = self._leaving + elsewhere, []
        for tail in gone:
            file = now.pop(tail.identity, None)
            if file is not None and tail.move(file):
                self._tails[file.real] = tail
                self._reading.register(tail.source, tail.file)
            else:
                self._read_on(tail, changes)

    def _read_on(self, tail: FileTail, changes: Changes) -> None:
        """Read what a file has that is no longer among the PATHs, until it seems that nothing writes to it any more.

        A process may hold it open though it was removed or moved, or a link leads to another session by now.
        """
        if not (tail.is_open or tail.is_in_place):
            self._reading.let_go(tail)
            return
        before, quiet_since = changes.bytes, tail.quiet_since
        (tail,) = self._look_at_all([(tail, None)], changes)
        grown, now = changes.bytes - before, time.monotonic()
        changes.bytes_left_behind += grown
        tail.quiet_since = now if grown or quiet_since is None else quiet_since
        if now < tail.quiet_since + _LEFT_BEHIND_QUIET_S:
            self._leaving.append(tail)
        else:
            self._reading.let_go(tail)

    def _look_at_all(self, pairs: Sequence[tuple[FileTail, FoundFile | None]], changes: Changes) -> list[FileTail]:
        """Read what is new in files; return them, and the next generation of those that were rewritten.

        Args:
            pairs: Each file that is read, and what was found of it just now, if that was looked for.
        """
        if len(pairs) > 1 and not self._reading.held.has_room_for([tail for tail, _ in pairs]):
            # Each is opened, and read, before the next one is opened.
            return [tail for pair in pairs for tail in self._look_at_all([pair], changes)]
        looked_at = [self._look_at(*pair) for pair in pairs]
        grown = [tail for tail, has_news in looked_at if has_news]
        is_together = pays(grown, least=self.options.quick_from)
        if is_together:
            self._growing = self._growing or GrowingFiles(self._reading)
            for count, has_more in self._growing.read(grown):
                changes.bytes += count
                changes.has_more = changes.has_more or has_more
        for tail, has_news in looked_at:
            before = changes.bytes
            if has_news and not is_together:
                self._read_news(tail, changes)
            if has_news is not None and not (has_news and is_together) and changes.bytes == before:
                self._reading.flush(tail)
        return [tail for tail, _ in looked_at]

    def _look_at(self, tail: FileTail, file: FoundFile | None) -> tuple[FileTail, bool | None]:
        """Return a file, or its next generation if it was rewritten, and whether it may have news; None if unknown."""
        reading = self._reading
        try:
            has_news = reading.has_news(tail, file)
            was_rewritten = (has_news and tail.was_rewritten()) or reading.was_changed_inside(tail)
        except FileNotFoundError:
            # It vanished between search and look; the next search lets it go.
            return tail, None
        except OSError as error:
            reading.report_unreadable(tail.file.shown, reason_of(error))
            tail.look_again()
            return tail, None
        if was_rewritten:
            is_known = self._tails.get(tail.file.real) is tail
            tail = reading.begin_again(tail)
            if is_known:
                self._tails[tail.file.real] = tail
        return tail, has_news or was_rewritten

    def _read_news(self, tail: FileTail, changes: Changes) -> None:
        before = changes.bytes
        for count in self._reading.read(tail, _MAX_BYTES_PER_FILE, live=True):
            changes.bytes += count
        changes.has_more = changes.has_more or changes.bytes - before > _MAX_BYTES_PER_FILE

    def close(self) -> None:
        """Finish all files: whatever is incomplete becomes a problem."""
        for tail in [*self._tails.values(), *self._leaving]:
            self._reading.finish(tail)
        self._tails.clear()
        self._leaving.clear()
        self._packed.close()

    def _take_note(self, listing: Listing) -> None:
        self._folders = listing.searched
        for problem in listing.problems:
            self._reading.report(problem)
        self._reading.report_spool()


def _is_below(path: str, places: Iterable[str]) -> bool:
    return any(path == place or path.startswith(os.path.join(place, "")) for place in places)
