"""The trace-tree format v1: whole traces with their trees, strict JSON of any depth in bounded memory.

A line of the text is a trace. Children are nested as deep as the trace is, so nothing here recurses and no encoder is
ever handed a tree: each span's object is encoded alone, and its children are written into it.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Final

from spanview.analysis.selftime import self_times
from spanview.exports.jsonvalue import dumps_span, span_value
from spanview.formats.jsontext import dumps_strict
from spanview.model.ids import format_span_id, format_trace_id
from spanview.model.times import NO_TIME, format_time

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.model.problems import Problem, Summary

SCHEMA: Final = "spanview/trace-tree/v1"
_CHUNK: Final = 256 * 1024


def trace_tree_chunks(
    store: Store, traces: Sequence[int], *, summary: Summary, problems: Sequence[Problem]
) -> Iterator[bytes]:
    """Yield the trace-tree document of some traces, in pieces of some 256 KiB.

    Args:
        store: Where the traces are.
        traces: Their numbers, in the order in which they are to be written.
        summary: Of the whole store.
        problems: Of the whole store.
    """
    return _gathered(_parts(store, traces, summary, problems))


def _gathered(parts: Iterable[bytes]) -> Iterator[bytes]:
    """Join small pieces, because each that is written costs a call."""
    pending: list[bytes] = []
    size = 0
    for part in parts:
        pending.append(part)
        size += len(part)
        if size >= _CHUNK:
            yield b"".join(pending)
            pending.clear()
            size = 0
    yield b"".join(pending)


def _parts(store: Store, traces: Sequence[int], summary: Summary, problems: Sequence[Problem]) -> Iterator[bytes]:
    yield b'{"schema":' + dumps_strict(SCHEMA) + b',\n"traces":['
    between = b"\n"
    for trace in traces:
        yield between
        yield from _trace_parts(store, trace)
        between = b",\n"
    yield b'],\n"summary":' + dumps_strict(asdict(summary))
    yield b',\n"problems":['
    between = b"\n"
    for problem in problems:
        yield between + dumps_strict(problem.to_json())
        between = b",\n"
    yield b"]}\n"


def _trace_parts(store: Store, trace: int) -> Iterator[bytes]:
    """Yield one trace; an entry of `pending` is a node that is to be opened, or one that is to be closed."""
    tree = store.tree(trace)
    own = self_times(tree, store.spans)
    yield _trace_head(store, trace, tree)[:-1] + b',"roots":['
    # What stands before a node: a comma, unless it is the first of its list. Closing needs no node of its own.
    pending: list[tuple[int, bool]] = [(node, at > 0) for at, node in reversed([*enumerate(tree.roots)])]
    while pending:
        node, has_elder = pending.pop()
        if node == _CLOSE:
            yield b"]}"
            continue
        head = _node_head(store, tree, node, own[node])
        children = tree.children(node)
        if not children:
            yield (b"," if has_elder else b"") + head + b',"children":[]}'
            continue
        yield (b"," if has_elder else b"") + head + b',"children":['
        pending.append((_CLOSE, False))
        pending.extend([(child, True) for child in reversed(children)])
        pending[-1] = (children[0], False)
    yield b"]}"


_CLOSE: Final = -1


def _trace_head(store: Store, trace: int, tree: TraceTree) -> bytes:
    table, spans = store.trace_table, store.spans
    trace_id = table.trace_id(trace)
    start, end = table.start_ns[trace], table.end_ns[trace]
    services = {store.services.texts[number] for number in {spans.service[row] for row in tree.rows}}
    return dumps_strict(
        {
            "trace_id": format_trace_id(trace_id) if trace_id else None,
            "start_time": format_time(start),
            "end_time": format_time(end),
            "duration_ns": None if NO_TIME in (start, end) else end - start,
            "span_count": table.span_count[trace],
            "error_count": table.error_count[trace],
            "services": sorted(services - {""}),
            "complete": tree.complete,
        },
        has_odd_numbers=False,
    )


def _node_head(store: Store, tree: TraceTree, node: int, self_time_ns: int | None) -> bytes:
    """Return a node's object without its last brace, to be gone on with its children."""
    if tree.is_missing(node):
        return dumps_strict({"span_id": format_span_id(tree.span_id(node)), "missing": True}, has_odd_numbers=False)[
            :-1
        ]
    return dumps_span(span_value(store.span(tree.rows[node]), self_time_ns, tree.warnings(node)))[:-1]
