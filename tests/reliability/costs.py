"""Files in which everything clashes, at n spans and at four times as many: no step costs the square.

steps      load, each record read again, each tree with its critical path, statistics, what is explained, calls,
           workers, call paths, findings, each export, a search
cost       processor time, so that a busy machine makes little difference; the least of some trials where it is too much
ceiling    four times the spans may cost eight times as much; the square would be sixteen
"""

from __future__ import annotations

import gc
import json
import random
import time
from contextlib import suppress
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, file_of, span_id, trace_id
from one_path import critical_path
from spanview.analysis.diagnosis.report import diagnose
from spanview.analysis.diff import diff
from spanview.analysis.flame import flame
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.select import selected_rows
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.lanes import lanes_in
from spanview.analysis.serve.requests import serve_requests
from spanview.analysis.stats import statistics
from spanview.exports.chrome import chrome_chunks
from spanview.exports.jaeger import jaeger_chunks
from spanview.exports.losses import Losses
from spanview.exports.otlp import otlp_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.exports.zipkin import zipkin_chunks
from spanview.index.forest import forest_of
from spanview.index.summary import summary_of
from spanview.model.problems import QueryError
from spanview.reports.explanation import explanation
from spanview.sources.loading import load_store

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from builders import Document
    from spanview.index.store import Store

_TIMES: Final = 4
_MOST: Final = 8
"""What so many times the spans may cost."""
_MORE_TRIALS: Final = 2
_FEWEST_S: Final = 0.2
"""Less than this says nothing."""


def _spans(count: int, **fields: Any) -> list[Document]:
    """Return so many spans; a field that is a function is asked for each number from 0 on."""
    build = Builder()
    return [
        build.span(**{key: value(number) if callable(value) else value for key, value in fields.items()})
        for number in range(count)
    ]


def _file(**fields: Any) -> Callable[[int], bytes]:
    return lambda count: file_of(_spans(count, **fields))


def _link(number: int) -> Document:
    return {"context": {"trace_id": trace_id(1), "span_id": span_id(number), "trace_state": "[]"}, "attributes": {}}


def _without_ids(count: int) -> bytes:
    ids = {"trace_id": "0x0", "span_id": "odd", "trace_state": "[]"}
    return file_of(document | {"context": ids} for document in _spans(count))


def _other_layouts(count: int) -> bytes:
    documents = enumerate(_spans(count, span=1, start=0))
    return b"".join(file_of([document], indent=number % 3) for number, document in documents)


def _torn(count: int) -> bytes:
    dice = random.Random(1)
    return b"".join(
        file_of([document], indent=4)[: dice.randrange(20, 500)] + dice.choice((b"", b"\n"))
        for document in _spans(count)
    )


def _mixed(count: int) -> bytes:
    """Return a log in which each span has a writer of its own, and their lines come in any order."""
    dice, lines = random.Random(1), list[bytes]()
    waiting = [
        [b"(A pid=%d) %b\n" % (number, line) for line in reversed(file_of([document], indent=4).splitlines())]
        for number, document in enumerate(_spans(count // 4), 1)
    ]
    while waiting:
        index = dice.randrange(len(waiting))
        lines.append(waiting[index].pop())
        if not waiting[index]:
            waiting[index] = waiting[-1]
            waiting.pop()
    return b"".join(lines)


def _otlp(count: int) -> bytes:
    spans = [{"traceId": f"{1:032x}", "spanId": f"{1:016x}", "name": f"a{number}"} for number in range(count)]
    return json.dumps({"resourceSpans": [{"resource": {}, "scopeSpans": [{"scope": {}, "spans": spans}]}]}).encode()


def _nested(count: int) -> bytes:
    text = json.dumps(_spans(1, attributes={"deep": 0})[0])
    return text.replace('"deep": 0', '"deep": ' + "[" * count + "]" * count).encode() + b"\n" + file_of(_spans(2))


def _requests(count: int) -> bytes:
    names = ("proxy_http_request GET /", "route_to_replica A", "replica_handle_request A")
    return file_of(
        _spans(
            count,
            name=lambda number: names[number % 3],
            trace=lambda number: number // 3 + 1,
            parent=lambda number: number if number % 3 else None,
            attributes=lambda number: {"http.route": f"/{number}", "request_id": "same"},
        )
    )


def _calls(count: int) -> bytes:
    return file_of(
        _spans(
            count,
            name=lambda number: "f ray.remote_worker" if number else "f ray.remote",
            kind=lambda number: "CONSUMER" if number else "PRODUCER",
            parent=lambda number: 1 if number else None,
            attributes={"ray.worker_id": "w", "ray.pid": "7"},
            start=0,
        )
    )


_KINDS: Final[dict[str, Callable[[int], bytes]]] = {
    "one id for all": _file(span=1, name=lambda number: f"{number}"),
    "one id, and all else too but an attribute": _file(
        span=1, start=0, attributes=lambda number: {"a": number + 10**6}
    ),
    "two ids, each the other's parent": _file(span=lambda number: 1 + number % 2, parent=lambda number: 2 - number % 2),
    "doubles": _file(span=1, start=0),
    "doubles in other layouts": _other_layouts,
    "unusable ids": _without_ids,
    "ids that count in their first digits": _file(
        trace=lambda number: number + 1 << 96, span=lambda number: number + 1 << 48
    ),
    "a chain": _file(parent=lambda number: number or None),
    "a chain, children first": _file(parent=lambda number: number or None, start=lambda number: -number),
    "a circle of two": _file(parent=lambda number: (number ^ 1) + 1),
    "each its own parent": _file(span=lambda number: number + 1, parent=lambda number: number + 1),
    "a missing parent each": _file(parent=lambda number: 10**9 + number),
    "roots": _file(),
    "traces": _file(trace=lambda number: number + 1),
    "one time for all": _file(start=0, duration=0, parent=lambda number: number // 2 or None),
    "children over one another": _file(duration=10**6, parent=lambda number: 1 if number else None),
    "no end": _file(duration=None, parent=lambda number: 1 if number else None),
    "errors, names, services and keys": _file(
        name=lambda number: f"n{number}",
        service=lambda number: f"s{number}",
        status="ERROR",
        attributes=lambda number: {f"k{number}": number},
    ),
    "links to one span": _file(links=[_link(1)]),
    "links in a chain": _file(links=lambda number: [_link(number or 1)]),
    "links, events and keys of one span": lambda count: file_of(
        _spans(
            1,
            links=[_link(number + 1) for number in range(count)],
            events=[{"name": "e", "timestamp": None, "attributes": {}}] * count,
            attributes={f"k{number}": number for number in range(count)},
        )
    ),
    "torn records": _torn,
    "other documents": lambda count: b'{"a": 1}\n[1, 2]\n' * count,
    "beginnings of spans": lambda count: b'{\n    "name": "x",\n    "context": {\n' * count,
    "brackets": lambda count: b"[" * 20 * count,
    "nested values": _nested,
    "a log with its lines mixed": _mixed,
    "documents begun by many writers": lambda count: b"".join(b"(A pid=%d) {\n" % number for number in range(count)),
    "one document with one id for all": _otlp,
    "requests": _requests,
    "one call with many attempts": _calls,
    "calls with an attempt each": _file(
        name=lambda number: "f ray.remote_worker" if number % 2 else "f ray.remote",
        kind=lambda number: "CONSUMER" if number % 2 else "PRODUCER",
        parent=lambda number: number if number % 2 else None,
        trace=lambda number: number // 2 + 1,
        attributes={"ray.remote": "function", "ray.worker_id": "w", "ray.pid": "7"},
    ),
}


def _export(store: Store) -> None:
    losses, traces = Losses("trace-tree"), store.traces_in_order()
    for chunks in (otlp_chunks, jaeger_chunks, zipkin_chunks, chrome_chunks):
        for _ in chunks(store, traces, losses):
            pass
    for _ in trace_tree_chunks(store, traces, losses, summary=summary_of(store), problems=store.problems()):
        pass


def _trees(store: Store) -> None:
    for trace in store.traces_in_order():
        critical_path(store.tree(trace), store.names)


def _by_attribute(store: Store) -> None:
    with suppress(QueryError):
        statistics(store, "k0")


def _compare(store: Store) -> None:
    diff(flame(store), flame(store))


_STEPS: Final[dict[str, Callable[[Store], object]]] = {
    "records": lambda store: [store.span(row) for row in range(len(store.spans))],
    "trees": _trees,
    "statistics": statistics,
    "statistics by an attribute": _by_attribute,
    "explanation": explanation,
    "calls": lambda store: functions_of(store, calls_of(store)),
    "requests": serve_requests,
    "workers": lambda store: lanes_in(forest_of(store)),
    "call paths": _compare,
    "findings": diagnose,
    "exports": _export,
    "search": lambda store: selected_rows(store, query=parse_query("any~nothing OR self>1h OR depth>9999")),
}


def _cost(path: Path, data: bytes) -> dict[str, float]:
    """Return how many seconds of the processor each step takes."""
    path.write_bytes(data)
    gc.collect()
    begun = time.process_time()
    store = load_store(path)
    taken = {"load": time.process_time() - begun}
    for name, step in _STEPS.items():
        begun = time.process_time()
        step(store)
        taken[name] = time.process_time() - begun
    return taken


def _too_dear(few: dict[str, float], many: dict[str, float]) -> list[str]:
    """Return the steps that cost more than they may."""
    return [step for step, seconds in many.items() if seconds > _MOST * max(few[step], _FEWEST_S / _TIMES)]


def _clashes(trials: int, folder: Path) -> Figures:
    figures = Figures()
    for kind, make in _KINDS.items():
        sizes = make(trials // _TIMES), make(trials)
        many = _cost(folder / "1.json", sizes[1])
        if not _too_dear(dict.fromkeys(many, 0.0), many):
            # Whatever fewer spans cost.
            continue
        few = _cost(folder / "1.json", sizes[0])
        for _ in range(_MORE_TRIALS):
            if not _too_dear(few, many):
                break
            # Other programs empty the processor's memories: what is too dear each time counts.
            again, many_again = (_cost(folder / "1.json", data) for data in sizes)
            few = {step: min(seconds, again[step]) for step, seconds in few.items()}
            many = {step: min(seconds, many_again[step]) for step, seconds in many.items()}
        for step in _too_dear(few, many):
            figures.expect(holds=False, what=f"{kind}, {step}: {few[step]:.2f} s, then {many[step]:.2f} s")
    figures.trials = trials
    return figures


ROWS: Final = (Row("31", "every kind of clash, n and 4 n", "spans of each kind", 4_000, 600, _clashes),)
