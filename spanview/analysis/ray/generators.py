"""Generator functions: the span of an attempt ends when the generator is made, not when it has run.

f ray.remote_worker   ||                     the generator is made: that is all its span covers
item                     |==|  |==|          a root in the same process, with no attempt around it: its body runs
g ray.remote_worker                 |===|    the next attempt
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.finding import Certainty
from spanview.analysis.ray.names import RAN, started_attempts
from spanview.index.arrays import copy_of
from spanview.model.codes import PRODUCER
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.index.arrays import Places
    from spanview.index.store import Store

LASTS: Final = "ray.generator"
"""What spanview's hook sets on the span of a generator, which lasts until that is exhausted."""
RUN_NOT_KNOWN: Final = "run time not known: its span ends when the generator is made"
_OF_RAY_DATA: Final = ("_map_task", "_shuffle_reduce_task", "_disk_shuffle_reduce_task")
"""Tasks in modules of `ray.data` that are generators in its source code."""
_MAX_MAKING_NS: Final = 5_000_000
"""Making a generator takes microseconds; at least half of the attempts take no longer."""
_MAX_GAP_NS: Final = 10_000_000
"""After the generator is made, its body runs at once."""
_MAX_PAIRS: Final = 5
"""Pairs of an attempt and what ran after it that are read for each function."""


def generators_of(store: Store) -> dict[str, Certainty]:
    """Return the functions that are generators, as far as known.

    Known tasks of Ray Data are certain. A function is likely one if, after its attempts, spans without a parent start
    in the same process before the next attempt does: calls that its task submits, or any span soon after.
    Actor methods aren't included: Ray doesn't trace those that are generators. Nor are those of spanview's hook, whose
    spans last until the generator is exhausted; roots don't follow these.

    Returns:
        How sure that is, by the name of the attempt's span without its ending.
    """
    texts = store.names.texts
    functions = [text.removesuffix(RAN) for text in texts if text.endswith(RAN)]
    certainties = {
        function: Certainty.CERTAIN
        for function in functions
        if function.startswith("ray.data.") and function.rpartition(".")[2] in _OF_RAY_DATA
        if not _lasts_to_its_end(store, function)
    }
    if len(certainties) < len(functions):
        for number, pairs in _followed(store).items():
            function = texts[number].removesuffix(RAN)
            if function not in certainties and any(_is_body(store, *pair) for pair in pairs):
                certainties[function] = Certainty.LIKELY
    return certainties


def _lasts_to_its_end(store: Store, function: str) -> bool:
    """Return whether the first and the last attempt of a function say that they cover all of the generator."""
    number, attempts = store.names.texts.index(function + RAN), started_attempts(store)
    rows = attempts[copy_of(store.spans.name)[attempts] == number].tolist()
    return bool(rows) and all(store.span(row).attributes.get(LASTS) for row in (rows[0], rows[-1]))


def generator_text(certainty: Certainty) -> str:
    """Return what is shown instead of a generator's run time."""
    return f"{'likely ' if certainty is Certainty.LIKELY else ''}a generator, {RUN_NOT_KNOWN}"


def _followed(store: Store) -> Mapping[int, list[tuple[int, int]]]:
    """Return attempts followed by roots of the same process, each with the first of these, by the name's number.

    Roots that are calls come first, since their records name a task. Others count only where they follow at least half
    of a function's attempts, soon after, in processes where no root starts during an attempt, as from a thread.
    """
    spans, attempts = store.spans, started_attempts(store)
    size = len(spans.next_row)
    columns = (spans.kind, spans.name, spans.process, spans.start_ns, spans.end_ns, spans.parent_id)
    kinds, names, processes, starts, ends, parents = (copy_of(column)[:size] for column in columns)
    attempts = attempts[ends[attempts] != NO_TIME]
    roots = np.flatnonzero((parents == 0) & (starts != NO_TIME) & np.isin(processes, processes[attempts]))
    roots = roots[~np.isin(roots, attempts)]
    if not len(roots):
        return {}
    followed, roots_after = _pairs(attempts, roots, processes, starts)
    gaps = starts[roots_after] - ends[followed]
    has_threads = np.isin(processes[roots_after], processes[roots_after[gaps < 0]])
    is_call = (kinds[roots_after] == PRODUCER) & (gaps >= 0)
    is_soon = (gaps >= 0) & (gaps <= _MAX_GAP_NS) & ~has_threads
    width = len(store.names.texts)
    totals = np.bincount(names[attempts], minlength=width)
    short = np.bincount(names[attempts[ends[attempts] - starts[attempts] <= _MAX_MAKING_NS]], minlength=width)
    soon = np.bincount(names[np.unique(followed[is_soon])], minlength=width)
    is_often = 2 * soon >= totals
    followers = defaultdict[int, list[tuple[int, int]]](list)
    is_short = (2 * short >= totals)[names[followed]]
    for chosen in (is_call & is_short, is_soon & ~is_call & is_short & is_often[names[followed]]):
        for attempt, row in zip(followed[chosen].tolist(), roots_after[chosen].tolist(), strict=True):
            if len(followers[int(names[attempt])]) < _MAX_PAIRS:
                followers[int(names[attempt])].append((attempt, row))
    return followers


def _pairs(attempts: Places, roots: Places, processes: Places, starts: Places) -> tuple[Places, Places]:
    """Return each root that starts after an attempt of the same process, with the last of these attempts."""
    rows = np.concatenate((attempts, roots))
    is_root = np.repeat((False, True), (len(attempts), len(roots)))
    order = np.lexsort((is_root, starts[rows], processes[rows]))
    rows, is_root = rows[order], is_root[order]
    last = np.maximum.accumulate(np.where(is_root, -1, np.arange(len(rows))))
    chosen = is_root & (last >= 0)
    followed, root = rows[last[chosen]], rows[chosen]
    same = processes[followed] == processes[root]
    return followed[same], root[same]


def _is_body(store: Store, attempt: int, root: int) -> bool:
    """Return whether a root may come from a task's body: same process, and if it is a call, submitted by the task."""
    ours, other = store.span(attempt), store.span(root)
    if ours.attributes.get("ray.remote") != "function" or ours.resource.attributes != other.resource.attributes:
        return False
    # A thread's calls name another task; what spanview's hook has traced names the task that the call submits, too.
    submitter = other.attributes.get("ray.submitter_task_id", other.attributes.get("ray.task_id", ""))
    names_it: bool = submitter == ours.attributes.get("ray.task_id")
    return other.kind_value != PRODUCER or names_it
