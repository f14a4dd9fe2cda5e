"""Which actor, node or job Ray calls belong to, and their attempts.

by       a call belongs to                                                      as a record says by
actor    the actor that its last attempt ran in, or that it was submitted to    ray.actor_id, ray.actor_class
node     the node that its last attempt ran on                                  ray.node_id, host.name, …
job      the job that submitted it                                              ray.job_id

An attempt belongs to where it ran itself, which can be another node than that of its call.

Whatever a process says of itself holds from one record to another that says the same. So few records are read of a file
that one process wrote, and all of others.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Final, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from spanview.analysis.ray.names import SUBMITTED, is_submitting, short_names
from spanview.analysis.ray.workers import is_of_one_process, named, node_of
from spanview.analysis.telling import part, unheard
from spanview.index.arrays import copy_of
from spanview.index.processes import job_of_file
from spanview.index.whole_spans import spans_at
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from spanview.analysis.ray.calls import Calls
    from spanview.analysis.telling import Tell
    from spanview.index.arrays import Places
    from spanview.index.store import Store
    from spanview.model.span import Span


_RECORDS_PER_REPORT: Final = 256
_ID: Final = re.compile("[0-9a-f]{16,}")
_SHORTEST_ID: Final = 4
"""Characters of an id that are shown at least."""
_NO_ACTOR: Final = "tasks"
UNKNOWN: Final = "not known"
"""The group of calls of which no record says where they belong."""


class CallsBy(StrEnum):
    """What calls are counted by."""

    FUNCTION = "function"
    ACTOR = "actor"
    NODE = "node"
    JOB = "job"


class _Facts(NamedTuple):
    """What a record says of its process, or of the actor that a call is for."""

    actor: str
    """The actor's class and id, `tasks` for a task, empty where the record doesn't say."""
    node: str
    job: str


@dataclass(frozen=True, slots=True)
class CallGroups:
    """Which groups calls belong to."""

    keys: Sequence[str]
    """Texts from files."""
    of_calls: Places
    """The index of its group for each call."""
    of_attempts: Places
    """The index of its group for each attempt."""


_KNOWN: Final[WeakKeyDictionary[Store, dict[int, _Facts]]] = WeakKeyDictionary()
"""By store and row, of spans that have ended: their records don't change."""


def call_groups(store: Store, calls: Calls, by: CallsBy, tell: Tell = unheard) -> CallGroups:
    """Return which groups calls belong to."""
    if by is CallsBy.FUNCTION:
        names, of_calls = np.unique(copy_of(store.spans.name)[calls.rows], return_inverse=True)
        keys = [store.names.texts[name].removesuffix(SUBMITTED) for name in names.tolist()]
        return CallGroups(keys, of_calls, np.repeat(of_calls, calls.counts))
    numbers: dict[str, int] = {}

    def groups_of(rows: Places, tell: Tell, *, are_attempts: bool) -> Places:
        keys = _along_files(store, rows, by, tell, reads_all=by is CallsBy.ACTOR and not are_attempts)
        return np.fromiter((numbers.setdefault(key or UNKNOWN, len(numbers)) for key in keys), np.int64, len(rows))

    if by is CallsBy.JOB:
        of_calls = groups_of(calls.rows, tell, are_attempts=False)
        of_attempts = np.repeat(of_calls, calls.counts)
    else:
        of_attempts = groups_of(calls.attempts, part(tell, 0.0, 0.7), are_attempts=True)
        has_any = calls.counts > 0
        of_calls = np.empty(len(calls), np.int64)
        of_calls[has_any] = of_attempts[calls.firsts[1:][has_any] - 1]
        if by is CallsBy.ACTOR:
            of_calls[~has_any] = groups_of(calls.rows[~has_any], part(tell, 0.7, 1.0), are_attempts=False)
        elif not has_any.all():
            of_calls[~has_any] = numbers.setdefault(UNKNOWN, len(numbers))
    return CallGroups([*numbers], of_calls, of_attempts)


def call_group_names(keys: Iterable[str], by: CallsBy) -> dict[str, str]:
    """Return how groups are called, by their keys: `leaf` for `__main__.leaf`, `Counter (actor 0235)`, `b6cf`."""
    known = [*keys]
    if by is CallsBy.FUNCTION:
        short = short_names(key + SUBMITTED for key in known)
        return {key: short.get(key + SUBMITTED, key) for key in known}
    if by is CallsBy.JOB:
        return {key: key for key in known}
    ids = {key: end for key in known if _ID.fullmatch(end := key.rpartition(" ")[2])}
    cells = next(
        (cells for cells in range(_SHORTEST_ID, 64) if len({name[:cells] for name in ids.values()}) == len(ids)), 64
    )
    return {key: _called(key, ids[key][:cells], by) if key in ids else key for key in known}


def _called(key: str, short_id: str, by: CallsBy) -> str:
    actor = key.rpartition(" ")[0]
    return f"{actor} (actor {short_id})" if by is CallsBy.ACTOR else short_id


def _along_files(store: Store, rows: Places, by: CallsBy, tell: Tell, *, reads_all: bool) -> list[str]:
    """Return what the records of spans say of an actor, a node or a job.

    Args:
        reads_all: Whether each record has to be read: one process submits calls to many actors.
    """
    known, columns = _KNOWN.setdefault(store, {}), store.spans
    said: dict[int, str] = {}
    sources, starts = copy_of(columns.source)[rows], copy_of(columns.start_ns)[rows]
    order = np.lexsort((starts, sources))
    of_files = np.split(rows[order], np.flatnonzero(np.diff(sources[order])) + 1) if len(rows) else []
    seen = 0
    if reads_all:
        new = [row for row in rows.tolist() if row not in known]
        known |= {row: _facts_of(store, row, span) for row, span in zip(new, spans_at(store, new), strict=True)}

    def read(row: int) -> str:
        nonlocal seen
        if not seen % _RECORDS_PER_REPORT:
            tell(len(said) / len(rows))
        seen += 1
        if row not in known:
            known[row] = _facts_of(store, row, store.span(row))
        key: str = getattr(known[row], by)
        return key

    for of_file in (each.tolist() for each in of_files):
        path = store.sources[columns.source[of_file[0]]].path
        if reads_all or not (is_of_one_process(path) or named(path).actor):
            said |= {row: read(row) for row in of_file}
        else:
            _halve(of_file, read, said)
    # The records of spans without an end are replaced.
    for row in rows[copy_of(columns.end_ns)[rows] == NO_TIME].tolist():
        known.pop(row, None)
    return [said[row] for row in rows.tolist()]


def _halve(rows: Sequence[int], read: Callable[[int], str], said: dict[int, str]) -> None:
    """Note what the records of one file say, which are in order of start: so does what lies between two of a kind."""
    pending = [(0, len(rows) - 1)]
    while pending:
        first, last = pending.pop()
        at_first, at_last = said[rows[first]], said[rows[last]] = read(rows[first]), read(rows[last])
        if at_first == at_last:
            said |= dict.fromkeys(rows[first : last + 1], at_first)
        elif last - first > 1:
            middle = (first + last) // 2
            pending += [(first, middle), (middle, last)]


def _facts_of(store: Store, row: int, span: Span) -> _Facts:
    """Return what the record of a span says."""
    path = store.sources[store.spans.source[row]].path
    attributes, process = span.attributes, named(path)
    actor_id = _text(attributes, "ray.actor_id") or process.actor_id
    kind = _text(attributes, "ray.actor_class") or process.actor
    if is_submitting(store, row):
        actor = ""
    elif actor_id:
        actor = f"{kind or 'actor'} {actor_id}"
    else:
        actor = _NO_ACTOR if attributes.get("ray.remote") == "function" else kind
    return _Facts(actor, node_of(span), _text(attributes, "ray.job_id") or job_of_file(path))


def _text(attributes: Mapping[str, object], key: str) -> str:
    value = attributes.get(key)
    return value if isinstance(value, str) else ""
