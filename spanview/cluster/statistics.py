"""Statistics on a cluster of Ray, by Ray Data: what no machine could hold is counted trace by trace.

files       in groups of some size: a task for each reads them into a store, as one machine does with all
rows        of these stores go by their traces' ids to partitions
partition   a store again, in which the index decides about spans of several files; its groups of spans
driver      joins the groups; their durations are all that it gets of a span, 8 bytes

No process holds more than the columns of one group of files, or of some partitions. A file is not divided, and neither
is a trace.
"""

from __future__ import annotations

import logging
import pickle
import sys
from array import array
from dataclasses import dataclass, replace
from importlib import import_module
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.grouping import GROUPINGS, SERVICE_AND_NAME, column_of
from spanview.analysis.stats import GroupPart, joined, parts_of
from spanview.cluster.span_rows import report_table, store_of, tables_of
from spanview.index.store import Store
from spanview.index.tallies import Tallies
from spanview.model.problems import CollectError, ProblemKind
from spanview.sources.details import RecordReader
from spanview.sources.discover import Listing
from spanview.sources.session import Session
from spanview.sources.terms import SCAN_FROM_BYTES, ReadOptions
from spanview.version import __version__

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.analysis.stats import Group
    from spanview.cluster.shared_files import SharedFile

BY: Final = (*GROUPINGS, SERVICE_AND_NAME, "status")
"""What spans can be grouped by here: what the columns have."""
_GROUP_BYTES: Final = 128 * 1024 * 1024
"""Bytes of files that are read together, unless one has more."""
_PARTITION_BYTES: Final = 32 * 1024 * 1024
"""Bytes of files whose spans make one partition, on average: an eighth of that in columns."""
_PARTITIONS_PER_TASK: Final = 8
"""Partitions that one task takes, on average, and counts one after the other; Ray decides which."""
_BLOCK_BYTES: Final = 32 * 1024 * 1024
"""Bytes of rows that Ray Data takes at once."""


@dataclass(frozen=True, slots=True)
class _Job:
    """What is to be counted."""

    files: Sequence[SharedFile]
    groups: Sequence[range]
    """Numbers of the files that are read together."""
    partitions: int
    by: str
    cap: int
    """Bytes of the longest record that is kept."""
    quick_from: int
    """As in `ReadOptions`."""
    version: str = __version__


def statistics_on_cluster(files: Sequence[SharedFile], by: str, cap: int) -> tuple[list[Group], Tallies]:
    """Return what `statistics` does of all spans, and what else was counted, from the cluster connected to.

    How many duplicates there are isn't: those of several files are known to the partitions, those of one to its task.

    Args:
        files: As `search` returns them.
        by: One of `BY`.
        cap: Bytes of the longest record that is kept.

    Raises:
        CollectError: Ray Data isn't installed; or a node can't read a file, or has another spanview, or none.
    """
    size = sum(file.content for file in files)
    job = _Job(
        files=files,
        groups=_groups(files),
        partitions=1 + size // _PARTITION_BYTES,
        by=by,
        cap=cap,
        # Every group is read as one machine would read all.
        quick_from=0 if size >= SCAN_FROM_BYTES else sys.maxsize,
    )
    tallies, parts = Tallies(), list[GroupPart]()
    for answer in _answers(job) if files else ():
        if isinstance(answer, dict):
            tallies.take_state(answer)
        else:
            parts += answer
    return joined(parts), tallies


def _groups(files: Sequence[SharedFile]) -> list[range]:
    groups, first, size = list[range](), 0, 0
    for number, file in enumerate(files):
        if size and size + file.content > _GROUP_BYTES:
            groups.append(range(first, number))
            first, size = number, 0
        size += file.content
    return [*groups, range(first, len(files))]


def _answers(job: _Job) -> Iterator[Any]:
    """Yield the tallies of each group of files, and of each partition its groups of spans."""
    ray: Any = import_module("ray")
    try:
        data: Any = import_module("ray.data")
    except ImportError:
        raise CollectError("Ray Data isn't installed beside spanview: pip install 'spanview[ray]'") from None
    # It reports each step, on standard error too.
    logging.getLogger("ray.data").setLevel(logging.CRITICAL)
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    context.target_max_block_size = context.shuffle_input_batch_bytes = _BLOCK_BYTES
    numbers = [{"group": number} for number in range(len(job.groups))]
    rows = data.from_items(numbers, override_num_blocks=len(numbers)).map_batches(
        _read, batch_size=1, batch_format="pyarrow", zero_copy_batch=True, fn_kwargs={"job": job}
    )
    partitions = rows.groupby("partition", num_partitions=1 + job.partitions // _PARTITIONS_PER_TASK)
    answers = partitions.map_groups(_count, batch_format="pyarrow", fn_kwargs={"job": job})
    try:
        for row in answers.iter_rows():
            yield pickle.loads(row["answer"])  # noqa: S301 - from our own tasks
    except ray.exceptions.RayError as error:
        raise CollectError(_reason(error)) from None


def _reason(error: Exception) -> str:
    cause = getattr(error, "cause", None) or error
    # Ray Data adds lines of advice.
    text = str(cause).strip().partition("\n")[0]
    if isinstance(cause, CollectError):
        return text
    if "No module named" in text:
        return f"a node lacks what counting needs: pip install 'spanview[ray]=={__version__}' on every node ({text})"
    return f"counting failed: {type(cause).__name__}: {text}"


def _read(batch: Any, job: _Job) -> Iterator[Any]:
    """Yield the rows of a group of files, and at last a report of what was counted."""
    if job.version != __version__:
        raise CollectError(f"a node has spanview {__version__}, and here is {job.version}: they have to be the same")
    group = job.groups[batch["group"][0].as_py()]
    details = RecordReader()
    store = Store(details)
    with TemporaryDirectory(prefix="spanview-") as folder:
        found = [job.files[number].found(folder) for number in group]
        session = Session(ReadOptions((), cap=job.cap, quick_from=job.quick_from), store, details)
        for _ in session.load(Listing(files=found)):
            pass
        session.close()
        number_of = {job.files[number].shown: number for number in group}
        numbers = [number_of[source.path] for source in store.sources]
        packed = [number for number in range(len(numbers)) if details.spool.has(number)]
        yield from tables_of(store, numbers, packed, job.partitions)
    yield report_table(pickle.dumps(store.tallies.state([*ProblemKind])), job.partitions)
    details.close()


def _count(rows: Any, job: _Job) -> Any:
    """Return what was counted in a partition, or the reports."""
    arrow: Any = import_module("pyarrow")
    if rows["partition"][0].as_py() == job.partitions:
        return arrow.table({"answer": rows["report"].combine_chunks()})
    with TemporaryDirectory(prefix="spanview-") as folder:
        store = store_of(rows, job.files, folder)
    parts = [replace(part, durations=_packed(part.durations)) for part in parts_of(store, column_of(store, job.by))]
    return arrow.table({"answer": arrow.array([pickle.dumps(parts)], arrow.binary())})


def _packed(durations: Sequence[int]) -> Sequence[int]:
    try:
        return array("q", durations)
    except OverflowError:
        return durations
