"""What was counted while reading: files, bytes, and what of them is no span."""

from __future__ import annotations

from array import array
from collections import Counter
from dataclasses import astuple, dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

from spanview.formats.rows import Unwritten
from spanview.model.problems import Problem, ProblemKind

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from spanview.formats.framing.frames import Gap
    from spanview.formats.rows import Batch


_PARTIAL: Final = "a document in which {:,} of its parts should be spans, or contain spans, and don't"
_NO_SPANS: Final = "no span in this file: its format isn't one that spanview knows, or its records are damaged"
MAX_PAIRS: Final = 4096
"""Pairs of files whose duplicates are counted."""
_MAX_DUPLICATES: Final = 1 << 20
"""Duplicates whose originals are noted; files that are rewritten have ever more of them."""


@dataclass(slots=True)
class FileTally:
    """What one file has."""

    bytes: int = 0
    records: int = 0
    """Spans, duplicates included."""
    gaps: int = 0
    skipped: int = 0
    first_skipped: tuple[int, int, str] = (0, 0, "")
    """Offset, length, and what it lacks to be a span."""
    has_text: bool = False
    """Whether there is something between the documents."""
    repeated: int = 0
    """Marks in the text that stand for lines which Ray's log de-duplication left out."""
    fragments: int = 0
    """Beginnings of spans in the text."""
    inspected: int = 0
    """Spans in the text that JavaScript has printed, which isn't JSON."""
    content: int = 0
    """Bytes, unpacked where they are compressed."""
    pids: tuple[int, ...] = ()
    """Of the processes that a log names before lines of spans, in order."""
    events: int = 0
    """Lines of Ray's own events."""
    unwritten: int = 0
    """Spans that its writer says it could not write."""
    first_unwritten: Unwritten | None = None
    """What it says first of these."""


class Duplicates:
    """Which files repeat what others say.

    Which record of a span counts is known when everything was read. So what is noted is the span and the file of the
    record that doesn't count.
    """

    def __init__(self) -> None:
        self._rows = array("I")
        self._dropped = array("I")
        self._counted: dict[tuple[str, str], int] = {}
        """How many duplicates were forgotten, by the two paths."""

    def add(self, row: int, dropped: int) -> None:
        """Take note of a record that doesn't count."""
        self._dropped.append(dropped)
        self._rows.append(row)

    def by_files(
        self, kept: Sequence[int], paths: Sequence[str], more: Iterable[tuple[int, int]] = ()
    ) -> dict[tuple[str, str], int]:
        """Return how many of them two files have in common, by the path of the record that counts and the other one.

        Args:
            kept: The number of the file of each row's record that counts.

        Returns:
            In the order of the paths; only so many pairs.
        """
        pairs = Counter(self._counted)
        for row, dropped in chain(zip(self._rows[:], self._dropped, strict=False), more):
            pairs[paths[kept[row]], paths[dropped]] += 1
        return dict(sorted(pairs.items())[:MAX_PAIRS])

    @property
    def are_many(self) -> bool:
        """Whether those that were noted are to be counted, which forgets them."""
        return len(self._rows) > _MAX_DUPLICATES

    def take(self, counted: dict[tuple[str, str], int]) -> None:
        """Take what `by_files` has returned instead of what was noted."""
        self._counted, self._rows, self._dropped = counted, array("I"), array("I")

    def take_numbers(self, files: Sequence[int], rows: Sequence[int]) -> None:
        """Renumber files and rows; each list has the new number at each old one."""
        self._rows = array("I", [int(rows[row]) for row in self._rows])
        self._dropped = array("I", [files[number] for number in self._dropped])


class Tallies:
    """The counts of all files, and their problems."""

    def __init__(self) -> None:
        self.duplicates = 0
        """Records that repeat another one."""
        self.torn = 0
        self.skipped = 0
        self.records = 0
        """How many spans were read, duplicates included."""
        self._files: dict[str, FileTally] = {}
        self._problems: list[Problem] = []

    @property
    def files(self) -> int:
        """How many regular files were read, empty and foreign ones included, but for empty ones of Ray's own events."""
        return len(self._files)

    @property
    def bytes(self) -> int:
        """How many bytes were read."""
        return sum(file.bytes for file in self._files.copy().values())

    def file(self, path: str) -> None:
        """Count a file, once however often it is replaced."""
        self._files.setdefault(path, FileTally())

    def add_bytes(self, path: str, count: int, *, content: int | None = None) -> None:
        """Count bytes read from a file, and how many they are unpacked."""
        self._files[path].bytes += count
        self._files[path].content += count if content is None else content

    def add_records(self, path: str, count: int) -> None:
        """Count spans of a file, duplicates included."""
        self._files[path].records += count
        self.records += count

    def has_spans(self, path: str) -> bool:
        """Tell whether a file has given a span, or one of Ray's own events."""
        file = self._files.get(path)
        return file is not None and bool(file.records or file.events)

    def each_file(self) -> list[tuple[str, FileTally]]:
        """Return all files by path, and what each has."""
        return sorted(self._files.copy().items())

    def add_problem(self, problem: Problem) -> None:
        """Keep a problem that isn't part of a batch."""
        self._problems.append(problem)

    def take(self, path: str, batch: Batch) -> None:
        """Count what a batch has apart from its spans."""
        file = self._files[path]
        self.add_records(path, len(batch.offsets))
        file.has_text = file.has_text or batch.has_text
        file.repeated += batch.repeated
        file.fragments += batch.fragments
        file.inspected += batch.inspected
        if batch.pids:
            file.pids = tuple(sorted({*file.pids, *batch.pids}))
        for gap in batch.gaps:
            file.gaps += 1
            self.torn += gap.kind is ProblemKind.TORN
            self._problems.append(_gap_problem(path, gap))
        for offset, size, count in batch.partial:
            self._problems.append(Problem(ProblemKind.PARTIAL, path, offset, size, _PARTIAL.format(count)))
        if batch.skipped:
            file.first_skipped = min([file.first_skipped, *batch.skipped]) if file.skipped else min(batch.skipped)
            file.skipped += len(batch.skipped)
            self.skipped += len(batch.skipped)
        file.events += 0 if batch.ray is None else batch.ray.lines
        for said in batch.unwritten:
            file.unwritten += said.count
            if file.first_unwritten is None or said.offset < file.first_unwritten.offset:
                file.first_unwritten = said

    def state(self, kinds: Collection[ProblemKind]) -> dict[str, Any]:
        """Return the counts, and the problems of some kinds, as JSON can say them."""
        return {
            "files": {path: [*astuple(file)] for path, file in self._files.items()},
            "counts": [self.duplicates, self.torn, self.skipped],
            "problems": [[*astuple(problem)] for problem in self._problems if problem.kind in kinds],
        }

    def take_state(self, state: dict[str, Any]) -> None:
        """Take what another one has counted of other files; whatever was counted here of these is forgotten."""
        duplicates, torn, skipped = state["counts"]
        self.duplicates += duplicates
        self.torn += torn
        self.skipped += skipped
        for path, values in state["files"].items():
            file = self._files[path] = FileTally(*values)
            offset, length, lacks = file.first_skipped
            file.first_skipped, file.pids = (offset, length, lacks), tuple(file.pids)
            file.first_unwritten = values[-1] and Unwritten(*values[-1])
        self.records = sum(file.records for file in self._files.values())
        self._problems += [Problem(ProblemKind(kind), *rest) for kind, *rest in state["problems"]]

    def unsorted_problems(self, start: int = 0) -> list[Problem]:
        """Return the problems in the order in which they came, from number `start` on."""
        return self._problems[start:]

    def problems(self) -> list[Problem]:
        """Return all problems by file and offset."""
        problems = list(self._problems)
        for path, file in self._files.copy().items():
            if file.skipped:
                offset, length, lacks = file.first_skipped
                more = f"; {file.skipped - 1:,} more in this file" if file.skipped > 1 else ""
                detail = f"a whole JSON document that is no span{lacks and f': {lacks}'}{more}"
                problems.append(Problem(ProblemKind.SKIPPED, path, offset, length, detail))
            if not (file.records or file.events) and (file.skipped or file.gaps or file.has_text):
                detail = "no span in this file: JavaScript printed it, and not as JSON" if file.inspected else _NO_SPANS
                problems.append(Problem(ProblemKind.NO_SPANS, path, 0, file.bytes, detail))
        return sorted(problems, key=lambda problem: (problem.file, problem.offset, problem.kind, problem.detail))


def _gap_problem(path: str, gap: Gap) -> Problem:
    if gap.kind is ProblemKind.TOO_LARGE:
        detail = f"a record of {gap.length:,} bytes is over the size cap and was passed over; --max-span-size raises it"
    else:
        detail = (
            f"a record that begins at byte {gap.offset:,} breaks off or is damaged; {gap.length:,} bytes passed over"
        )
    return Problem(gap.kind, path, gap.offset, gap.length, detail)
