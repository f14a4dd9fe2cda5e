"""Within one process, on a store that is loaded: an export, and queries."""

from __future__ import annotations

import gc
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import TYPE_CHECKING

import orjson

import spanview
from spanview.commands.options import Options
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.index.summary import summary_of
from spanview.sources.loading import load_store

from .decoding import decode_all
from .figures import Figure, in_turns, seconds_in
from .folders import JOB_ID, TASK_KEY

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sized
    from pathlib import Path

    from spanview.index.store import Store


def export(folder: Path, rounds: int) -> list[Figure]:
    """P11: the trace-tree export of a loaded store against encoding the same spans, which are in memory, flat."""
    ours, base = _in_a_fresh_process(_export_seconds, folder, rounds)
    return [
        Figure("P11", "trace-tree export of a loaded store against orjson.dumps of its spans", ours, "s", base, 3.0)
    ]


def query(folder: Path, rounds: int, of_what: str = "") -> list[Figure]:
    """P12: a query on an attribute, of all spans and of one, against decoding all objects once."""
    every, one, base = _in_a_fresh_process(_query_seconds, folder, rounds)
    return [
        Figure(
            "P12", f"query on an attribute that all spans match{of_what}, against orjson.loads", every, "s", base, 0.5
        ),
        Figure("P12", f"the same, and one span matches{of_what}", one, "s", base, 0.5),
    ]


def objects(folder: Path, rounds: int, of_what: str = "") -> list[Figure]:
    """P20: names, times and attributes of all spans of a loaded store in Python, against decoding all objects once."""
    names, attributes, frame, base = _in_a_fresh_process(_object_seconds, folder, rounds)
    of_all = f"of all spans{of_what} in Python, against orjson.loads"
    return [
        Figure("P20", f"names and times {of_all}", names, "s", base, 1.0),
        Figure("P20", f"names, times and attributes {of_all}", attributes, "s", base, 2.0),
        Figure("P20", "a DataFrame of all calls with their waits, against orjson.loads", frame, "s", base),
    ]


def _in_a_fresh_process(measure: Callable[[str, int], list[float]], folder: Path, rounds: int) -> list[float]:
    with ProcessPoolExecutor(1, get_context("spawn")) as processes:
        return processes.submit(measure, str(folder), rounds).result()


def _export_seconds(folder: str, rounds: int) -> list[float]:
    store = load_store(folder)
    lines = b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines()
    flat = [orjson.loads(line) for line in lines]
    del lines
    # Objects that only the base needs are no work for the garbage collector while the export runs.
    gc.collect()
    gc.freeze()

    def ours() -> None:
        chunks = trace_tree_chunks(store, store.traces_in_order(), summary=summary_of(store), problems=store.problems())
        if sum(map(len, chunks)) < len(flat):
            raise RuntimeError("the export is too short")

    def base() -> None:
        orjson.dumps(flat)

    return in_turns([seconds_in(ours), seconds_in(base)], rounds)


def _query_seconds(folder: str, rounds: int) -> list[float]:
    store = load_store(folder)
    task = _some_task(store)

    def every() -> None:
        _expect(len(store.spans), _rows(store, f"ray.job_id={JOB_ID}"))

    def one() -> None:
        _expect(1, _rows(store, f"{TASK_KEY}={task}"))

    return in_turns([seconds_in(measure) for measure in (every, one, lambda: decode_all(folder))], rounds)


def _object_seconds(folder: str, rounds: int) -> list[float]:
    store = spanview.load(folder)

    def nodes() -> Iterator[spanview.Node]:
        return (node for trace in store.traces for node, _ in trace.walk() if not node.missing)

    def names() -> None:
        _expect(len(store), [(node.name, node.start_ns, node.end_ns) is None for node in nodes()])

    def attributes() -> None:
        _expect(len(store), [(node.name, node.start_ns, node.end_ns, node.attributes) is None for node in nodes()])

    def frame() -> None:
        calls = store.calls()
        _expect(len(calls), calls.to_pandas())

    return in_turns([seconds_in(measure) for measure in (names, attributes, frame, lambda: decode_all(folder))], rounds)


def _rows(store: Store, text: str) -> list[int]:
    """Return the rows that a query keeps, as the commands find them."""
    selection = Options("spans", queries=(text,)).selection()
    return selection.rows(store)


def _expect(count: int, rows: Sized) -> None:
    if len(rows) != count:
        raise RuntimeError(f"the query keeps {len(rows):,} spans, not {count:,}")


def _some_task(store: Store) -> str:
    rows = store.rows_in_order()
    tasks = (store.span(row).attributes.get(TASK_KEY) for row in rows[len(rows) // 2 :])
    return next(task for task in tasks if isinstance(task, str))
