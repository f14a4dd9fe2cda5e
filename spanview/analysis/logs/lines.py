"""The lines of logs that belong to a span: by their times, or by the id of a request of Serve.

 time           line                          belongs to a span from 05.000 to 06.000
 ------------   ----                          ---------------------------------------
 (none)         :actor_name:Counter           no: nothing says when
 18:05:04,864   loading                       no
 18:05:05,101   caught                        yes
 (none)         Traceback (most recent …      yes, as the line before it
 18:05:06,300   done                          no: the next one

A line that names a time to the millisecond was written some time in it, and belongs to a span that overlaps it.

Lines are nearly in the order of their times, so what may belong to a span is found by bisection; threads may have
exchanged them by `_DISORDER_NS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from itertools import islice
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from spanview.analysis.logs.times import log_time, may_have_times
from spanview.analysis.query.values import REQUEST_ID_KEYS, text_of
from spanview.analysis.ray.names import session_in
from spanview.index.tree import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.logs.times import LogTime
    from spanview.analysis.telling import Tell
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.span import Span

MOST_LINES: Final = 1000
"""So many lines of a file are listed."""
_DISORDER_NS: Final = 2_000_000_000
_MAX_SCANNED_BYTES: Final = 64 * 1024 * 1024
"""So much of a file is read for the lines of a span."""
_PROBED_BYTES: Final = 256 * 1024
"""A time is looked for in so much of a file."""
_CLOSE_ENOUGH_BYTES: Final = 64 * 1024
_LINES_PER_REPORT: Final = 512
_MAX_ANCESTORS: Final = 64
"""So many spans above one are asked which process wrote them."""
_MAX_OTHERS: Final = 64
"""So many other spans in a span's file are asked which process wrote them."""
# `:job_id:01000000`, `:actor_name:Counter`, `:task_name:leaf`
RAY_MARK: Final = re.compile(b":(?:job_id|actor_name|task_name):")
"""The beginning of lines that Ray prints before what a worker prints."""
_INSTANCE: Final = "service.instance.id"
"""The attribute of a resource that every process has another value of."""


class LineSource(Protocol):
    """A file of lines; `sources.line_file` has it."""

    size: int
    """Its bytes."""

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes of the file, fewer at its end."""

    def line_start(self, offset: int) -> int:
        """Return where the line begins that the byte at an offset belongs to."""

    def lines_from(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield where each line begins and what it says, from the one that begins at `start` on."""


class Coverage(Enum):
    """Which lines of a file belong to a span."""

    TIME = "the lines between its start and its end"
    REQUEST = "the lines that name its request"
    PROCESS = "all lines of its process: no times were found in them"


class LogLine(NamedTuple):
    """A line of a log."""

    offset: int
    text: bytes
    """Without its end; as the file has it."""
    ns: int
    """When it was written, as far as the lines before it say; 0 where that isn't known."""


class LogPlace(NamedTuple):
    """A line of a log."""

    path: str
    offset: int


@dataclass(frozen=True, slots=True)
class LogPart:
    """What a file has of the lines that belong to a span."""

    path: str
    label: str
    """What it is called beside others, from a file's name."""
    coverage: Coverage = Coverage.TIME
    lines: tuple[LogLine, ...] = ()
    is_cut: bool = False
    """Whether there may be more."""
    problem: str = ""
    """Why it can't be read; empty where it can."""


@dataclass(frozen=True, slots=True)
class SpanLog:
    """The lines that belong to a span."""

    parts: tuple[LogPart, ...] = ()
    reason: str = ""
    """Why there is no file; empty where there is one."""

    @property
    def count(self) -> int:
        """How many lines there are."""
        return sum(len(part.lines) for part in self.parts)

    @property
    def is_cut(self) -> bool:
        """Whether there may be more."""
        return any(part.is_cut for part in self.parts)

    def sure_of(self, path: str) -> frozenset[int]:
        """Return where the lines of a file begin that certainly belong to the span."""
        parts = (part for part in self.parts if part.path == path and part.coverage is not Coverage.PROCESS)
        return frozenset(line.offset for part in parts for line in part.lines)

    @property
    def start(self) -> LogPlace | None:
        """Where to begin: the first line that certainly belongs to the span, else the first file that says anything."""
        parts = [part for part in self.parts if not part.problem]
        with_lines = [part for part in parts if part.lines]
        if sure := [part for part in with_lines if part.coverage is not Coverage.PROCESS]:
            best = min(sure, key=lambda part: part.lines[0].ns)
            return LogPlace(best.path, best.lines[0].offset)
        if with_lines:
            telling = (part for part in with_lines if not all(RAY_MARK.match(line.text) for line in part.lines))
            best = next(telling, with_lines[0])
            return LogPlace(best.path, best.lines[0].offset)
        return LogPlace(parts[0].path, 0) if parts else None


@dataclass(frozen=True, slots=True)
class LogOwner:
    """The process whose log has a span's lines, as far as spans name it; texts from files."""

    path: str
    """The file of the span."""
    worker_id: str = ""
    """Ray's id of the process."""
    pid: str = ""
    job: str = ""
    request_id: str = ""
    """Of Serve."""
    replica_id: str = ""
    session: str = ""
    """The folder of the process's session of Ray, or the session's name; empty where neither is known."""

    @property
    def is_known(self) -> bool:
        """Whether there can be a log of it."""
        return bool(self.worker_id or self.request_id)


def log_owner(store: Store, tree: TraceTree, node: int) -> LogOwner:
    """Return whose log has the lines of a span.

    Spans that a program makes itself don't name their worker, nor their request: the nearest span above them does that
    the same process has written. Where none is, as in generators, another span of the process names the worker.
    """
    rows, sources = tree.rows, store.spans.source
    source = sources[rows[node]]
    path = store.sources[source].path
    first: Span | None = None
    for _ in range(_MAX_ANCESTORS):
        if node == ROOT or tree.is_missing(node) or sources[rows[node]] != source:
            break
        span = store.span(rows[node])
        if first is not None and _process(span) != _process(first):
            break
        first = first or span
        if (owner := owner_in(span, path)).is_known:
            return owner
        node = tree.parents[node]
    return LogOwner(path) if first is None else _owner_of_process(store, source, first, path)


def _owner_of_process(store: Store, source: int, span: Span, path: str) -> LogOwner:
    """Return whose log it is by other spans of a file, if these certainly are of the process of a span."""
    sources, row = store.spans.source, -1
    for _ in range(_MAX_OTHERS if _INSTANCE in span.resource.attributes else 0):
        try:
            row = sources.index(source, row + 1)
        except ValueError:
            break
        other = store.span(row)
        if _process(other) == _process(span) and (owner := owner_in(other, path)).worker_id:
            return LogOwner(path, owner.worker_id, owner.pid, owner.job, session=owner.session)
    return LogOwner(path)


def owner_in(span: Span, path: str) -> LogOwner:
    """Return whose log has the lines of a span, as far as its own attributes say."""
    attributes = span.attributes
    keys = ("ray.worker_id", "ray.pid", "ray.job_id", "replica_id")
    worker_id, pid, job, replica_id = (text_of(attributes.get(key, "")) for key in keys)
    request_id = next((text_of(attributes[key]) for key in REQUEST_ID_KEYS if attributes.get(key)), "")
    return LogOwner(path, worker_id, pid, job, request_id, replica_id, session_in(span.resource.attributes))


def _process(span: Span) -> tuple[object, ...]:
    """Return what tells the process of a span from others that have written into one file."""
    attributes = span.resource.attributes
    return tuple(str(attributes.get(key)) for key in (_INSTANCE, "process.pid", "service.name"))


def lines_in_time(
    lines: LineSource, start_ns: int, end_ns: int | None, tell: Tell
) -> tuple[list[LogLine], Coverage, bool]:
    """Return the lines of a process between two times in ns since 1970, or its first ones where none has a time.

    Returns:
        The lines, which they are, and whether there may be more.
    """
    begin = _begin(lines, start_ns)
    if begin is None:
        first = [LogLine(offset, text, 0) for offset, text in islice(lines.lines_from(0), MOST_LINES + 1)]
        return first[:MOST_LINES], Coverage.PROCESS, len(first) > MOST_LINES
    chosen, time = list[LogLine](), None
    for offset, text, own in _scan(lines, begin, start_ns, tell):
        time = own or time
        if own is not None and end_ns is not None and own.ns > end_ns + _DISORDER_NS:
            return chosen, Coverage.TIME, False
        if time is not None and time.ns + time.step_ns > start_ns and (end_ns is None or time.ns <= end_ns):
            if len(chosen) == MOST_LINES:
                return chosen, Coverage.TIME, True
            chosen.append(LogLine(offset, text, time.ns))
    return chosen, Coverage.TIME, lines.size - begin > _MAX_SCANNED_BYTES


def lines_of_request(
    lines: LineSource, request_id: str, start_ns: int, end_ns: int | None, tell: Tell
) -> tuple[list[LogLine], bool]:
    """Return the lines that name a request, with those without a time behind each of them.

    Returns:
        The lines, and whether there may be more.
    """
    begin = _begin(lines, start_ns) or 0
    needle, chosen, is_of_it, time = request_id.encode("utf-8", "replace"), list[LogLine](), False, 0
    for offset, text, own in _scan(lines, begin, start_ns, tell):
        if own is not None:
            time = own.ns
            if end_ns is not None and own.ns > end_ns + _DISORDER_NS:
                return chosen, False
        names_it = needle in text
        is_of_it = names_it or (is_of_it and own is None)
        if is_of_it:
            if len(chosen) == MOST_LINES:
                return chosen, True
            chosen.append(LogLine(offset, text, time))
    return chosen, lines.size - begin > _MAX_SCANNED_BYTES


def _scan(lines: LineSource, begin: int, near_ns: int, tell: Tell) -> Iterator[tuple[int, bytes, LogTime | None]]:
    """Yield lines with their offsets and times, as many as are read for one span."""
    for number, (offset, text) in enumerate(lines.lines_from(begin)):
        if offset - begin > _MAX_SCANNED_BYTES:
            return
        if not number % _LINES_PER_REPORT:
            tell(min(1.0, (offset - begin) / _MAX_SCANNED_BYTES))
        yield offset, text, log_time(text, near_ns)


def _begin(lines: LineSource, start_ns: int) -> int | None:
    """Return the start of a line before which none belongs to a span; None where no line has a time."""
    first, last = 0, lines.size
    has_times = _timed_from(lines, 0, start_ns, lines.size) is not None
    while last - first > _CLOSE_ENOUGH_BYTES:
        middle = lines.line_start((first + last) // 2)
        if middle <= first:
            break
        timed = _timed_from(lines, middle, start_ns, last)
        if timed is not None and timed[1].ns + timed[1].step_ns < start_ns - _DISORDER_NS:
            first, has_times = timed[0], True
        else:
            last, has_times = middle, has_times or timed is not None
    return first if has_times else None


def _timed_from(lines: LineSource, start: int, near_ns: int, end: int) -> tuple[int, LogTime] | None:
    """Return the next line that begins with a time, where there is one not far behind."""
    if not may_have_times(lines.read(start, _PROBED_BYTES)):
        return None
    for offset, text in lines.lines_from(start):
        if offset >= min(end, start + _PROBED_BYTES):
            break
        if (time := log_time(text, near_ns)) is not None:
            return offset, time
    return None
