"""Exports of spans that no machine could hold, written in tasks of a cluster: the bytes of one machine.

format          order           what becomes of the rows of a partition              what a task writes
------          -----           ----------------------------------------             ------------------
jsonl           by file         decided, with what trees show, go back by file       the spans of some files
otlp, parquet   by start        go on by the start of their trace                    the traces of some time
"""

from __future__ import annotations

from array import array
from collections import Counter
from itertools import chain, islice
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from spanview.cluster.parts import part_name
from spanview.cluster.shuffle import Job, Tasks, partitions, read_on
from spanview.cluster.span_rows import SpanRows, grouped_ids, joined_rows, rows_of, settled_store_of, store_of
from spanview.exports.jsonl import jsonl_chunks, known_by_trees
from spanview.exports.otlp import otlp_chunks
from spanview.exports.tree_facts import TreeFacts
from spanview.index.tallies import Tallies
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from spanview.cluster.parts import PartFolder
    from spanview.cluster.shared_files import SharedReader
    from spanview.index.arrays import Places

FORMATS: Final = ("jsonl", "otlp", "parquet")
"""What a cluster writes: the formats whose files are the traces or spans of their parts, one after the other."""
_LATEST: Final = 2**63 - 1
_PIECE_BYTES: Final = 4 * 1024 * 1024
"""Bytes that a task hands over at once: each time costs Ray as much as some thousand spans."""


class ClusterExport:
    """Files, read and divided, which are then written.

    Raises:
        CollectError: A node can't read a file, or has another spanview, or none.
        TraceNotFoundError: The trace that is asked for isn't there, or isn't the only one.
    """

    def __init__(self, tasks: Tasks, job: Job, form: str, lose: Callable[[str], None]) -> None:
        self.tallies = Tallies()
        """What was counted."""
        self.spans: int | None = None
        """How many are written, before duplicates are dropped; None for all."""
        self._tasks, self._form, self._lose = tasks, form, lose
        reading = read_on(tasks, job)
        self._job = reading.job
        for report in reading.reports:
            self.tallies.take_state(report.tallies)
        if form == "jsonl":
            divided = [tasks.start(_by_file, self._job, *rows, answers=1 + job.shares) for rows in reading.shares]
        else:
            bounds = _bounds(sorted(chain.from_iterable(report.starts_ns for report in reading.reports)), job)
            divided = [
                tasks.start(_by_start, self._job, bounds, *rows, answers=1 + job.shares) for rows in reading.shares
            ]
        # What nobody refers to any more makes room for others.
        reading.shares.clear()
        counts, *shares = zip(*divided, strict=True)
        self._shares = [[*references] for references in shares]
        """References to what each task writes."""
        if not job.selection.is_everything:
            self.spans = sum(map(tasks.take, counts))

    def chunks(self) -> Iterator[bytes]:
        """Yield all of it as one file, in pieces of any size.

        Raises:
            CollectError: A task has failed.
        """
        if self._form != "parquet":
            return self._pieces()
        from spanview.exports.parquet import file_of

        return file_of(self._pieces())

    def _pieces(self) -> Iterator[bytes]:
        tasks = self._tasks
        streams = (tasks.start_stream(_write, self._job, self._form, *rows) for rows in self._taken())
        started = [*islice(streams, tasks.at_once)]
        while started:
            for piece in map(tasks.take, started.pop(0)):
                if isinstance(piece, Counter):
                    self._note(piece)
                else:
                    yield piece
            started += islice(streams, 1)

    def write_parts(self, folder: PartFolder) -> None:
        """Have each task write a part of its own into a folder: `part-00000.jsonl` and so on.

        Raises:
            ExportError: It can't be written.
            CollectError: A task has failed.
        """
        old = folder.parts(self._form)
        names = [part_name(number, self._form) for number in range(len(self._shares))]
        try:
            parts = [
                self._tasks.start(_write_part, self._job, self._form, folder, name, *rows)[0]
                for name, rows in zip(names, self._taken(), strict=True)
            ]
            for part in parts:
                self._note(self._tasks.take(part))
            folder.finish(names)
        except BaseException:
            folder.give_up(names)
            raise
        for name in {*old}.difference(names):
            folder.remove(name)

    def _taken(self) -> Iterator[list[Any]]:
        """Yield the references of each share, and let go of them."""
        while self._shares:
            yield self._shares.pop(0)

    def _note(self, losses: Counter[str]) -> None:
        for sentence in losses.elements():
            self._lose(sentence)


def _bounds(starts: Sequence[int], job: Job) -> list[int]:
    """Return the times that divide traces by start among all partitions of all shares."""
    count = job.shares * job.partitions
    return [starts[len(starts) * number // count] for number in range(1, count)] if starts else []


def _by_file(job: Job, *rows: Sequence[SpanRows]) -> Any:
    """Return how many spans there are, and for each share those of its files, which count, with what trees show."""
    parts = list[SpanRows]()
    for joined, reader in partitions(job, rows):
        store = store_of(joined, reader)
        numbers = np.unique(joined.columns["source"]).tolist()
        taken = range(len(store.spans)) if job.selection.is_everything else job.selection.rows(store)
        *known, facts = known_by_trees(store, taken, forks=False)
        own, warnings, waits, on_path = map(np.array, (*known, facts.waits_ns, facts.on_path_ns))
        decided = rows_of(store, numbers, joined.packed).with_columns(
            self_time_ns=own, of_trees=warnings, waits_ns=waits, on_path_ns=on_path
        )
        parts.append(decided if job.selection.is_everything else decided.taken(taken))
    # As many groups for each partition; the last ones may have none.
    groups = np.repeat(np.arange(len(job.groups)), [len(group) for group in job.groups])
    return _divided(job, parts, [groups[part.columns["source"]] * _count(job) // len(job.groups) for part in parts])


def _by_start(job: Job, bounds: Sequence[int], *rows: Sequence[SpanRows]) -> Any:
    """Return how many spans there are, and for each share the traces that start in its time.

    Those without a start or an id come last.
    """
    is_everything = job.selection.is_everything
    parts = [part if is_everything else _taken(job, part, reader) for part, reader in partitions(job, rows)]
    limits = np.array(bounds, np.int64)
    return _divided(job, parts, [np.searchsorted(limits, _starts_of_traces(part), "right") for part in parts])


def _taken(job: Job, rows: SpanRows, reader: SharedReader) -> SpanRows:
    """Return the rows of the traces that are asked for."""
    store = store_of(rows, reader)
    return rows.of_traces([*map(store.trace_table.trace_id, job.selection.traces(store))])


def _starts_of_traces(rows: SpanRows) -> Places:
    """Return for each span the start of its trace."""
    high, low, starts = (rows.columns[name] for name in ("trace_high", "trace_low", "start_ns"))
    order, firsts = grouped_ids(high, low)
    known = np.where((starts == NO_TIME) | ((high | low) == 0), _LATEST, starts)[order]
    of_traces = np.empty(len(order), np.int64)
    if len(order):
        of_traces[order] = np.minimum.reduceat(known, np.flatnonzero(firsts))[np.cumsum(firsts) - 1]
    return of_traces


def _count(job: Job) -> int:
    return job.shares * job.partitions


def _divided(job: Job, parts: Sequence[SpanRows], numbers: Sequence[Places]) -> Any:
    """Return how many rows there are, and the rows by share, in a list for each of its partitions."""
    divided = [part.divided(of_part, _count(job)) for part, of_part in zip(parts, numbers, strict=True)]
    partitions = [joined_rows(partition) for partition in zip(*divided, strict=True)]
    shares = [partitions[first : first + job.partitions] for first in range(0, len(partitions), job.partitions)]
    return [sum(map(len, parts)), *shares]


def _write(job: Job, form: str, *rows: Sequence[SpanRows]) -> Iterator[bytes | Counter[str]]:
    """Yield what a share has in the file, and at last what was lost."""
    losses = Counter[str]()
    pending, size = list[bytes](), 0
    for piece in _text(job, form, rows, losses):
        pending.append(piece)
        size += len(piece)
        if size >= _PIECE_BYTES:
            yield b"".join(pending)
            pending, size = [], 0
    yield b"".join(pending)
    yield losses


def _write_part(job: Job, form: str, folder: PartFolder, name: str, *rows: Sequence[SpanRows]) -> Counter[str]:
    """Write a share as a part, and return what was lost."""
    losses = Counter[str]()
    chunks = _text(job, form, rows, losses)
    if form == "parquet":
        from spanview.exports.parquet import file_of

        chunks = file_of(chunks)
    folder.write(name, chunks)
    return losses


def _text(job: Job, form: str, rows: Sequence[Sequence[SpanRows]], losses: Counter[str]) -> Iterator[bytes]:
    def lose(sentence: str) -> None:
        losses[sentence] += 1

    for part, reader in partitions(job, rows):
        yield from filter(None, _text_of(form, part, reader, lose))


def _text_of(form: str, rows: SpanRows, reader: SharedReader, lose: Callable[[str], None]) -> Iterable[bytes]:
    if form == "jsonl":
        store, columns = settled_store_of(rows, reader)
        own, warnings = array("Q", columns["self_time_ns"].tobytes()), array("H", columns["of_trees"].tobytes())
        facts = TreeFacts(array("q", columns["waits_ns"].tobytes()), array("q", columns["on_path_ns"].tobytes()))
        return jsonl_chunks(store, range(len(store.spans)), lose, (own, warnings, facts), forks=False)
    store = store_of(rows, reader)
    traces = store.traces_in_order()
    if form == "otlp":
        return otlp_chunks(store, traces, lose, forks=False)
    from spanview.exports.parquet import messages_of

    return messages_of(store, traces, lose, forks=False)
