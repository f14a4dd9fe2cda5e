"""Calls that a span awaits though another one had submitted them, by times in milliseconds.

main     0 |========================================| 1300
send        10 |==| 20                                         submits `job`
await            20 |===========================| 1003
job                         300 |~~~~~~~~~~~~~| 1000           in another process
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from builders import EPOCH_NS, Builder, file_of, store_of_files
from one_path import critical_path
from spanview.analysis.critical import paths_in
from spanview.analysis.ray.awaited import awaited_elsewhere
from spanview.analysis.ray.lanes import lanes_in
from spanview.index.forest import Trees, forest_of, trees_of

if TYPE_CHECKING:
    from builders import Document
    from spanview.index.store import Store

_CALLED, _RAN = "__main__.job ray.remote", "__main__.job ray.remote_worker"
_MAIN, _SEND, _CALL, _AWAIT, _JOB = range(1, 6)


def store_with(
    *others: tuple[str, str, int, int, float, float],
    since: float = 20,
    until: float = 1003,
    parent: int = _MAIN,
    root: str = "main",
) -> Store:
    """Return a store of the drawing.

    Args:
        others: File, name, span, parent, start and end of further spans.
        since: When the span starts that awaits, or does not.
        until: When it ends.
        parent: What it is below.
        root: What the root is called.
    """
    build = Builder()
    spans: list[tuple[str, str, int, int | None, float, float]] = [
        ("1.txt", root, _MAIN, None, 0, 1300),
        ("1.txt", "send", _SEND, _MAIN, 10, 20),
        ("1.txt", _CALLED, _CALL, _SEND, 12, 14),
        ("1.txt", "await", _AWAIT, parent, since, until),
        ("2.txt", _RAN, _JOB, _CALL, 300, 1000),
    ]
    files: dict[str, list[Document]] = {}
    for file, name, span, above, start, end in [*spans, *others]:
        kind = {_CALLED: "PRODUCER", _RAN: "CONSUMER"}.get(name, "INTERNAL")
        document = build.span(
            name, span=span, parent=above, kind=kind, start=start * 1000, duration=(end - start) * 1000
        )
        files.setdefault(file, []).append(document)
    return store_of_files({file: file_of(documents) for file, documents in files.items()})


def hits(store: Store) -> list[tuple[int, int]]:
    """Return the span ids of what awaits, and of what is awaited; a forest and a tree agree on them."""
    forest, trees = forest_of(store), Trees.alone(store.tree(0))
    ids, rows = store.spans.span_id, trees.tree.rows
    of_forest = zip(*awaited_elsewhere(forest, forest.parents, store.names), strict=True)
    pairs = sorted((ids[forest.rows[span]], ids[forest.rows[call]]) for span, call in of_forest)
    of_trees = zip(*awaited_elsewhere(trees, np.array(trees.tree.parents), store.names), strict=True)
    assert pairs == sorted((ids[rows[span]], ids[rows[call]]) for span, call in of_trees)
    return pairs


def test_the_path_leads_through_the_call() -> None:
    """Whoever looks at the path is told that this is likely, by whom the call was made, and what it took."""
    store = store_with()
    path = critical_path(store.tree(0), store.names)
    texts, tree = store.names.texts, store.tree(0)
    assert hits(store) == [(_AWAIT, _JOB)]
    assert [
        (texts[store.spans.name[tree.rows[part.node]]], part.kind.value, (part.end_ns - EPOCH_NS) // 1_000_000)
        for part in path.segments
    ] == [
        ("main", "self", 10),
        ("send", "self", 12),
        (_CALLED, "self", 14),
        (_RAN, "wait", 300),
        (_RAN, "self", 1000),
        ("await", "self", 1003),
        ("main", "self", 1300),
    ]
    assert path.reason == "await likely awaited job (called in send)"


def test_several_that_await() -> None:
    """They are counted: one awaits a call from 1050 to 1200, after the other."""
    later = ("1.txt", _CALLED, 6, _SEND, 15, 16), ("2.txt", _RAN, 7, 6, 1060, 1200)
    store = store_with(*later, ("1.txt", "await", 8, _MAIN, 1010, 1203), ("1.txt", "rest", 9, _MAIN, 1203, 1300))
    assert hits(store) == [(_AWAIT, _JOB), (8, 7)]
    # Where the second was submitted before the first ended, the path doesn't lead through that one.
    assert critical_path(store.tree(0), store.names).reason == "await likely awaited job (called in send)"


def test_a_driver_that_awaits_is_not_busy() -> None:
    """Its lane says so, but for the time before the call was submitted, and after it ended."""
    driver, worker = lanes_in(forest_of(store_with())).lanes
    assert (driver.busy_ns, driver.awaited_ns) == (1_300_000_000, 986_000_000)
    assert worker.awaited_ns == 0


@pytest.mark.parametrize(
    ("since", "until"),
    [(20, 1020), (20, 1000.1), (20, 999), (13, 1003), (950, 1003)],
    ids=["later", "at once", "before", "begun before the submission", "short"],
)
def test_ends_that_do_not_coincide(since: float, until: float) -> None:
    """A span that goes on for long, ends before a result can arrive, or is short by itself, is taken to run."""
    assert hits(store_with(since=since, until=until)) == []


def test_one_of_many_ends() -> None:
    """Where calls end all the time, and further ones are left, it is chance that one ended just before."""
    calls = [("1.txt", _CALLED, 100 + number, _SEND, 12, 13) for number in range(60)]
    ended = [("2.txt", _RAN, 200 + number, 100 + number, 300, 900 + number) for number in range(60)]
    assert hits(store_with(*calls, *ended)) == [(_AWAIT, _JOB)]
    left = ("2.txt", _RAN, 300, 99, 400, 1050)
    assert hits(store_with(*calls, *ended, ("1.txt", _CALLED, 99, _SEND, 12, 13), left)) == []


def test_calls_of_others() -> None:
    """What another process submitted isn't awaited, nor an attempt that another one followed."""
    store = store_with(("2.txt", _RAN, 6, _CALL, 1005, 1050))
    assert hits(store) == []
    assert hits(store_with(parent=_JOB)) == []


def reasons_with(
    *others: tuple[str, str, int, int, float, float], until: float = 1003, root: str = "main"
) -> list[str]:
    """Return why the path of the drawing isn't sure; one tree and a forest of three agree on that and on stretches."""
    store = store_with(*others, until=until, root=root)
    alone = paths_in(Trees.alone(store.tree(0)), store.names)
    trees, _ = trees_of(forest_of(store), [0])
    together = paths_in(trees, store.names)
    assert [*alone.reasons] == [*together.reasons]
    assert alone.are_sure.tolist() == together.are_sure.tolist()
    return [*alone.reasons]


def test_what_nobody_may_have_awaited() -> None:
    """Where a caller works on when its call has ended, nobody knows whether it awaited that."""
    assert reasons_with(until=20) == ["main may not have awaited job"]
    assert reasons_with(until=20, root="GET ") == ["GET may not have awaited job"]
    assert reasons_with(("1.txt", "rest", 9, _MAIN, 1000.5, 1300), until=20) == [""]
    # Less than a twentieth of the path is let pass.
    late = ("1.txt", _CALLED, 6, _MAIN, 1232, 1234), ("2.txt", _RAN, 7, 6, 1240, 1290)
    assert reasons_with(*late, ("1.txt", "rest", 9, _MAIN, 1000.5, 1232), until=20) == [""]
    assert reasons_with(*late, ("1.txt", "rest", 9, _MAIN, 1010.5, 1232), until=20) == ["main may not have awaited job"]


def test_what_ran_while_calls_were_on_their_way() -> None:
    """A span that runs meanwhile may await them; one that is below the call, even in the caller's process, doesn't."""
    beside = ("1.txt", "work", 9, _MAIN, 400, 1300)
    assert reasons_with(beside, until=20) == ["work may have awaited calls"]
    assert reasons_with(("2.txt", "work", 9, _JOB, 400, 995), ("1.txt", "rest", 8, _MAIN, 1000.5, 1300), until=20) == [
        ""
    ]
    assert reasons_with(("1.txt", "work", 9, _JOB, 400, 995), ("1.txt", "rest", 8, _MAIN, 1000.5, 1300), until=20) == [
        ""
    ]
    # Of another process's calls it knows nothing.
    assert reasons_with(("3.txt", "work", 9, _MAIN, 30, 1300), until=20) == [""]
