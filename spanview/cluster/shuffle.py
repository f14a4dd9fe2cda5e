"""Spans of many files brought together by their traces, in tasks of a cluster.

files       in groups of some size: a task for each reads them into a store, as one machine does with all
shares      rows of all groups, those of whole traces, in partitions: what a task does with each is up to who asks
driver      says who gets what, and holds none of it

No process holds more than the columns of one group of files, or of one partition; what waits in between is in Ray's
object store, which puts on a disk what it has no room for. A file isn't divided, and neither is a trace.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from importlib import import_module
from itertools import chain
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np

from spanview.analysis.query.parse import parse_parts, terms_in
from spanview.analysis.query.select import id_test, only_trace
from spanview.analysis.query.since import end_before_latest, runs_of, runs_of_spans
from spanview.analysis.query.timetext import parse_clock
from spanview.cluster.shared_files import SharedReader
from spanview.cluster.span_rows import joined_rows, partitions_of, store_of, undecided_rows_of
from spanview.index.store import Store
from spanview.model.problems import CollectError, ProblemKind, QueryError, SpanviewError
from spanview.model.times import NO_TIME
from spanview.sources.details import RecordReader
from spanview.sources.discover import Listing
from spanview.sources.session import Session
from spanview.sources.terms import SCAN_FROM_BYTES, ReadOptions
from spanview.version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from numpy.typing import NDArray

    from spanview.analysis.query.selection import Selection
    from spanview.analysis.query.since import Run
    from spanview.cluster.shared_files import SharedFile
    from spanview.cluster.span_rows import SpanRows

_GROUP_BYTES: Final = 128 * 1024 * 1024
"""Bytes of files that are read together, unless one has more."""
_MAX_GROUPS: Final = 1024
"""Groups have more bytes, rather than to be more than this."""
_SHARE_BYTES: Final = 512 * 1024 * 1024
"""Bytes of files whose spans one task takes together, on average: an eighth of that in columns."""
_MAX_SHARES: Final = 64
"""Shares have more, rather than to be more than this: what is small, Ray keeps in the driver's memory."""
_PARTITION_BYTES: Final = 64 * 1024 * 1024
"""Bytes of files whose spans make one partition, on average; a share has several, one after the other."""
_MAX_STARTS: Final = 512
"""Starts of spans that a group reports."""


class Tasks:
    """The tasks of the Ray cluster that this process is connected to; their values are asked for by references."""

    def __init__(self) -> None:
        # What Ray says of its own types doesn't know streaming tasks.
        self._ray: Any = import_module("ray")
        self._functions: dict[Callable[..., Any], Any] = {}

    @property
    def at_once(self) -> int:
        """How many run at the same time: the CPUs of all nodes."""
        return max(1, int(self._ray.cluster_resources().get("CPU", 1)))

    def share(self, value: Any) -> Any:
        """Return a reference to a value that many tasks take."""
        return self._ray.put(value)

    def start(self, function: Callable[..., Any], *arguments: Any, answers: int = 1) -> list[Any]:
        """Have a function called, with the values of references among its arguments.

        Args:
            answers: How many values it returns, in a sequence if it isn't one.

        Returns:
            A reference to each.
        """
        references = self._remote(function).options(num_returns=answers).remote(*arguments)
        return references if answers > 1 else [references]

    def take(self, reference: Any) -> Any:
        """Wait for a value.

        Raises:
            CollectError: The function has failed, or can't be called.
        """
        try:
            return self._ray.get(reference)
        except self._ray.exceptions.RayError as error:
            raise CollectError(_reason(error)) from None

    def start_stream(self, function: Callable[..., Iterator[Any]], *arguments: Any) -> Any:
        """Have a function called that yields values; return what yields a reference to each."""
        return self._remote(function).options(num_returns="streaming").remote(*arguments)

    def _remote(self, function: Callable[..., Any]) -> Any:
        if function not in self._functions:
            self._functions[function] = self._ray.remote(function)
        return self._functions[function]


def _reason(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    # Ray adds lines of advice.
    text = str(cause).strip().partition("\n")[0]
    if isinstance(cause, SpanviewError):
        return text
    if "No module named" in text:
        return f"a node lacks what this needs: pip install 'spanview[ray]=={__version__}' on every node ({text})"
    return f"a task of the cluster failed: {type(cause).__name__}: {text}"


@dataclass(frozen=True, slots=True)
class Job:
    """What is read."""

    files: Sequence[SharedFile]
    groups: Sequence[range]
    """Numbers of the files that are read together."""
    shares: int
    partitions: int
    """Of each share."""
    cap: int
    """Bytes of the longest record that is kept."""
    quick_from: int
    """As in `ReadOptions`."""
    selection: Selection
    """Which of the spans are taken."""
    version: str = __version__


class ReadReport(NamedTuple):
    """What was counted in a group of files."""

    tallies: dict[str, Any]
    """As `Tallies.state` returns them."""
    starts_ns: list[int]
    """The starts of some spans, evenly chosen, in order."""
    trace_ids: list[int]
    """Those of the traces that are asked for by their ids; empty for all."""


class ReadGroups(NamedTuple):
    """All groups, read."""

    job: Any
    """A reference to it."""
    reports: list[ReadReport]
    shares: list[list[Any]]
    """References to the rows of each share, one from each group: lists of `SpanRows`, one for each partition."""


def decidable(selection: Selection) -> Selection:
    """Return a selection for partitions, each of which has whole traces: what matches may be in another file.

    Raises:
        QueryError: A query asks for what only all spans together show.
    """
    for term in terms_in(chain.from_iterable(map(parse_parts, selection.queries)), negated=True):
        key = "" if term.key_is_quoted else term.key.lower()
        if key == "finding":
            raise QueryError("finding needs all spans in one process: leave it out with --ray")
        if key == "start" and parse_clock(term.value) is not None:
            raise QueryError(f"the day of {term.value} is unknown on a cluster: with --ray, give start a date")
    return replace(selection, is_partial=True)


def job_of(files: Sequence[SharedFile], cap: int, selection: Selection) -> Job:
    """Return how some files are read."""
    size = sum(file.content for file in files)
    shares = min(1 + size // _SHARE_BYTES, _MAX_SHARES)
    return Job(
        files=files,
        groups=_groups(files, max(_GROUP_BYTES, size // _MAX_GROUPS)),
        shares=shares,
        partitions=1 + size // (shares * _PARTITION_BYTES),
        cap=cap,
        # Every group is read as one machine would read all.
        quick_from=0 if size >= SCAN_FROM_BYTES else sys.maxsize,
        selection=selection,
    )


def _groups(files: Sequence[SharedFile], most_bytes: int) -> list[range]:
    groups, first, size = list[range](), 0, 0
    for number, file in enumerate(files):
        if size and size + file.content > most_bytes:
            groups.append(range(first, number))
            first, size = number, 0
        size += file.content
    return [*groups, range(first, len(files))]


def read_on(tasks: Tasks, job: Job) -> ReadGroups:
    """Have all groups read.

    Raises:
        CollectError: A node can't read a file, or has another spanview, or none.
        TraceNotFoundError: The trace that is asked for isn't there, or isn't the only one.
    """
    shared = tasks.share(job)
    answers = [tasks.start(_read, shared, number, answers=1 + job.shares) for number in range(len(job.groups))]
    reports = [tasks.take(report) for report, *_ in answers]
    shares = [[*rows] for rows in zip(*answers, strict=True)][1:]
    there = {trace_id for report in reports for trace_id in report.trace_ids}
    for prefix in job.selection.prefixes:
        only_trace({*filter(id_test(prefix), there)}, prefix)
    if job.selection.needs_newest_run:
        runs = [tasks.start(_runs, shared, *rows)[0] for rows in shares]
        cutoff_ns = end_before_latest(runs_of(chain.from_iterable(map(tasks.take, runs))))
        shared = tasks.share(replace(job, selection=job.selection.settled(cutoff_ns)))
    return ReadGroups(shared, reports, shares)


def _read(job: Job, number: int) -> list[ReadReport | list[SpanRows]]:
    """Return the report of a group of files, and its rows of each share."""
    if job.version != __version__:
        raise CollectError(f"a node has spanview {__version__}, but here it is {job.version}: install the same version")
    details, count = RecordReader(), job.shares * job.partitions
    store = Store(details)
    with TemporaryDirectory(prefix="spanview-") as folder:
        files = {job.files[file].shown: file for file in job.groups[number]}
        found = [job.files[file].found(folder) for file in job.groups[number]]
        session = Session(ReadOptions((), cap=job.cap, quick_from=job.quick_from), store, details)
        for _ in session.load(Listing(files=found)):
            pass
        session.close()
        everywhere = [files[source.path] for source in store.sources]
        packed = [number for file, number in enumerate(everywhere) if details.spool.has(file)]
        rows = undecided_rows_of(store, everywhere, packed)
    details.close()
    named = job.selection.named_traces(store)
    trace_ids = [*map(store.trace_table.trace_id, named or ())]
    if named is not None:
        rows = rows.of_traces(trace_ids)
    report = ReadReport(store.tallies.state([*ProblemKind]), _some_of(rows.columns["start_ns"]), trace_ids)
    parts = rows.divided(partitions_of(rows, count), count)
    return [report, *(parts[first : first + job.partitions] for first in range(0, count, job.partitions))]


def _runs(job: Job, *rows: Sequence[SpanRows]) -> list[Run]:
    """Return the runs of a share's spans."""
    return [run for part, reader in partitions(job, rows) for run in runs_of_spans(store_of(part, reader).spans)]


def partitions(job: Job, rows: Sequence[Sequence[SpanRows]]) -> Iterator[tuple[SpanRows, SharedReader]]:
    """Yield the rows of each partition of a share, joined from all groups, and what reads their records again."""
    with TemporaryDirectory(prefix="spanview-") as folder:
        reader = SharedReader(job.files, folder)
        for parts in zip(*rows, strict=True):
            yield joined_rows(parts), reader
        reader.close()


def _some_of(starts: NDArray[np.int64]) -> list[int]:
    known = np.sort(starts[starts != NO_TIME])
    chosen: list[int] = known[np.linspace(0, len(known) - 1, min(_MAX_STARTS, len(known))).astype(np.int64)].tolist()
    return chosen
