"""What calls waited for: drawings, a line a span, with the reason of the last attempt; and Ray's own word.

file  name      times in ms          a call is "f <", its attempt "f >"
----  --------  -------------------
1     f <       0-1                  the driver, pid 1, submits f
2     f >       100-110              pid 2 runs it
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest

from builders import EPOCH_NS, MICROSECOND, Builder, file_of, store_of_files, trace_row
from claims import LEAST_RIGHT, Claims
from quick.folders import otlp_line
from spanview.analysis.answer import Doing, answer_of, typical_answers
from spanview.analysis.ray import meanwhile
from spanview.analysis.ray.calls import calls_of
from spanview.analysis.ray.functions import functions_of
from spanview.analysis.ray.meanwhile import meanwhile_of
from spanview.analysis.ray.names import RAN, function_of, short_names
from spanview.analysis.ray.wait_causes import WaitedFor
from spanview.analysis.ray.waited_for import AllAttempts, reason_text
from spanview.display.answer_text import answer_texts, typical_texts
from spanview.display.span_in_tree import SpanInTree
from spanview.display.timing_text import timing_facts, wait_text
from spanview.reports.calls import calls_report
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Callable

    from builders import Document
    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[3] / "fixtures"
_MS: Final = 1_000
_ENDINGS: Final = {"<": (" ray.remote", "PRODUCER"), ">": (" ray.remote_worker", "CONSUMER")}
_STATES: Final = (
    *("PENDING_ARGS_AVAIL", "PENDING_NODE_ASSIGNMENT", "SUBMITTED_TO_WORKER"),
    *("PENDING_ACTOR_TASK_ARGS_FETCH", "PENDING_ACTOR_TASK_ORDERING_OR_CONCURRENCY", "RUNNING"),
)
_EARLIER: Final = "1 a < 0-1\n2 a > 2-3\n1 b < 0-1\n3 b > 2-3\n"
"""Two workers that have started."""
_PAIR: Final = "1 f < 5-6\n1 g < 6-7\n2 f > 8-400\n2 g > 401-402\n"
"""Two calls, of which the second takes the first one's result, likely."""
_ACTOR: Final = "1 A.__init__ < 0-1\n2 A.__init__ > 2-3\n"
_SERVING: Final = "1 B.__init__ < 3-4\n4 B.__init__ > 5-6\n"
_CREATED_LATE: Final = "1 A.__init__ < 0-1\n1 g < 1-2\n1 A.f < 2-3\n2 A.__init__ > 700-800\n"
_MANY: Final = "".join(
    f"1 A.f#{number} < 1-2\n5 A.f#{number} > {700 + number}-{701 + number}\n" for number in range(70)
)


def store_of_drawing(drawing: str, *, folder: str = "spans", ending: str = ".txt", received: bool = False) -> Store:
    """Return the spans of a drawing; each call is a trace of its own, and has the attempts of its name that follow.

    Args:
        received: Whether all are in one file, of OTLP, and the resources say of which process each span is.
    """
    build, files, open_calls = Builder(), dict[str, list[Any]](), dict[str, int]()
    for number, line in enumerate(drawing.strip().splitlines(), 1):
        file, name, kind, times = line.split()
        suffix, span_kind = _ENDINGS[kind]
        start, end = (None if time == "?" else float(time) for time in times.split("-"))
        assert start is not None
        parent = open_calls[name] if kind == ">" else None
        if kind == "<":
            open_calls[name] = number
        remote = "actor" if "." in name else "function"
        path = "received.jsonl" if received else f"{folder}/{file}{ending}"
        files.setdefault(path, []).append(
            build.span(
                name.partition("#")[0] + suffix,
                trace=number if parent is None else parent,
                span=number,
                parent=parent,
                kind=span_kind,
                start=start * _MS,
                **({"end_time": None} if end is None else {"duration": (end - start) * _MS}),
                attributes={"ray.remote": remote},
                resource={"service.instance.id": file} if received else None,
            )
        )
    if received:
        return store_of_files({path: b"".join(map(otlp_line, documents)) for path, documents in files.items()})
    return store_of_files({path: file_of(documents) for path, documents in files.items()})


def reason_of_last(store: Store) -> str:
    """Return what the attempt that starts last waited for, with its evidence; empty where it hardly waited."""
    spans, texts = store.spans, store.names.texts
    attempts = [row for row in range(len(spans)) if texts[spans.name[row]].endswith(RAN)]
    last = max(attempts, key=lambda row: spans.start_ns[row])
    reason = AllAttempts(store).reasons_of([last]).get(last)
    return "" if reason is None else reason_text(store, reason)


@pytest.mark.parametrize(
    ("drawing", "text"),
    [
        ("1 m.f < 0-1\n2 m.f > 2-9", ""),
        (
            "1 f < 0-1\n2 f > 900-910",
            "likely for a new worker or its code: its process ran nothing before",
        ),
        # Too quick for a start.
        ("1 f < 0-1\n2 f > 30-910", "cause unknown"),
        # A task that had waited for room would have run in a worker that got free, an actor wouldn't.
        (
            "1 f < 0-1\n2 f > 20000-20010",
            "likely for a new worker or its code: its process ran nothing before",
        ),
        (
            "1 A.__init__ < 0-1\n2 A.__init__ > 20000-20010",
            "cause unknown",
        ),
        (
            "7 g < 0-1\n3 g > 2-19990\n1 A.__init__ < 4-5\n2 A.__init__ > 20000-20010",
            "cause unknown",
        ),
        (
            "7 g < 0-1\n3 g > 2-9000\n1 A.__init__ < 4-5\n2 A.__init__ > 20000-20010",
            "cause unknown",
        ),
        # It runs in the worker that made what may be its argument, though another worker was free.
        (
            f"{_EARLIER}{_PAIR}1 f < 510-511\n1 g < 511-512\n2 f > 513-910\n2 g > 911-912",
            "cause unknown",
        ),
        # Another function runs in the other worker: none may have been free.
        (
            f"{_EARLIER}{_PAIR}1 h < 9-10\n1 f < 510-511\n1 g < 511-512\n3 h > 11-990\n2 f > 513-910\n2 g > 911-912",
            "cause unknown",
        ),
        # Something ran there before: it may have been waited for, as an argument or for the worker.
        ("1 f < 0-1\n1 g < 1-2\n2 f > 900-910\n2 g > 911-912", "cause unknown"),
        ("1 f < 0-1\n1 g < 1-2\n2 f > 900-910\n2 g > 1000-1001", "cause unknown"),
        ("1 f < 0-1\n1 g < 1-2\n1 h < 2-3\n2 f > 900-910\n2 g > 911-920\n2 h > 921-922", "cause unknown"),
        (
            "7 f < 0-1\n1 g < 1-2\n2 f > 900-910\n2 g > 911-912",
            "likely for a worker or resources: f ran there last",
        ),
        # Two workers started, and one is free.
        (
            "1 a < 0-1\n1 b < 0-1\n1 f < 0-1\n1 g < 1-2\n2 a > 800-890\n3 b > 850-860\n2 f > 900-940\n2 g > 941-942",
            "cause unknown",
        ),
        (
            "1 A.__init__ < 0-1\n1 A.f < 1-2\n2 A.__init__ > 800-900\n2 A.f > 901-902",
            "for its actor to be ready: A.__init__ had to end first",
        ),
        # Another one of its calls came in between.
        (
            "1 A.__init__ < 0-1\n1 A.g < 1-2\n1 A.f < 2-3\n2 A.__init__ > 800-900\n2 A.g > 901-1000\n2 A.f > 1001-1002",
            "mostly for its actor to be ready: A.__init__ had to end first",
        ),
        # What may be its argument came before the actor: early, late, and after it, when another one of its calls ran.
        (
            f"{_CREATED_LATE}3 g > 100-300\n2 A.f > 801-802",
            "mostly for its actor to be ready: A.__init__ had to end first",
        ),
        (
            f"{_CREATED_LATE}3 g > 100-600\n2 A.f > 801-802",
            "at the end for its actor to be ready: A.__init__ had to end first",
        ),
        (
            f"{_CREATED_LATE}3 g > 100-996\n2 A.f > 1000-1001",
            "cause unknown",
        ),
        (
            f"{_CREATED_LATE}1 A.h < 3-4\n3 g > 100-600\n2 A.h > 801-900\n2 A.f > 901-902",
            "likely at the end for its actor: A.h ran there last",
        ),
        # The same of a worker, which no argument has to wait for; and a constructor has no result.
        (
            "1 g < 0-1\n1 f < 1-2\n3 g > 100-300\n2 f > 900-910",
            "likely mostly for a new worker or its code: its process ran nothing before",
        ),
        (
            "1 g < 0-1\n1 f < 1-2\n3 g > 100-800\n2 f > 900-910",
            "likely at the end for a new worker or its code: its process ran nothing before",
        ),
        (
            f"{_EARLIER}1 g < 10-11\n1 f < 11-12\n3 g > 100-896\n4 f > 900-910",
            "cause unknown",
        ),
        (
            "1 A.__init__ < 0-1\n1 f < 1-2\n3 A.__init__ > 100-800\n2 f > 900-910",
            "likely for a new worker or its code: its process ran nothing before",
        ),
        # Of very many calls that ended meanwhile, only the last are looked at: g may be followed by any of the rest.
        (
            f"{_CREATED_LATE}3 g > 100-101\n{_MANY}2 A.f > 801-802",
            "at the end for its actor to be ready: A.__init__ had to end first",
        ),
        (
            f"{_ACTOR}1 A.g < 4-5\n1 A.f < 5-6\n2 A.g > 6-90\n2 A.f > 91-92",
            "likely for its actor: A.g ran there last",
        ),
        # Before another one ran, the actor had to be created.
        (
            "1 A.__init__ < 0-1\n1 A.g < 1-2\n1 A.f < 2-3\n2 A.__init__ > 300-400\n2 A.g > 401-900\n2 A.f > 901-902",
            "likely mostly for its actor: A.g ran there last",
        ),
        # An actor that runs several methods at once wasn't waited for.
        (
            f"{_ACTOR}1 A.g < 3-4\n1 A.h < 3-4\n1 A.f < 4-5\n2 A.g > 4-90\n2 A.h > 5-80\n2 A.f > 91-92",
            "cause unknown",
        ),
        # Both workers run something; what ran there may be an argument as well, unless it is the same function's.
        (
            f"{_EARLIER}1 g < 10-11\n1 h < 10-11\n1 f < 11-12\n2 g > 13-90\n3 h > 13-99\n2 f > 91-92",
            "cause unknown",
        ),
        (
            f"{_EARLIER}1 f#1 < 10-11\n1 h < 10-11\n1 f < 11-12\n2 f#1 > 13-90\n3 h > 13-99\n2 f > 91-92",
            "likely for a worker or resources: f ran there last",
        ),
        # What may be its argument came after less than half of its wait, and after more.
        (
            (
                f"{_EARLIER}1 h < 10-11\n1 f#1 < 11-12\n1 f#2 < 11-12\n1 f < 12-13\n"
                "3 h > 13-30\n2 f#1 > 13-90\n3 f#2 > 31-99\n2 f > 91-92"
            ),
            "likely for a worker or resources: f ran there last",
        ),
        (
            (
                f"{_EARLIER}1 h < 10-11\n1 f#1 < 11-12\n1 f#2 < 11-12\n1 f < 12-13\n"
                "3 h > 13-60\n2 f#1 > 13-90\n3 f#2 > 61-99\n2 f > 91-92"
            ),
            "cause unknown",
        ),
        # Its argument came as late, from another one.
        (
            f"{_EARLIER}1 f#1 < 10-11\n1 h < 10-11\n1 f < 11-12\n2 f#1 > 13-90\n3 h > 13-88\n2 f > 91-92",
            "cause unknown",
        ),
        (f"{_EARLIER}1 g < 10-11\n1 f < 11-12\n2 g > 13-90\n2 f > 91-92", "cause unknown"),
        (
            f"{_EARLIER}1 g < 10-11\n1 h < 10-11\n1 f < 11-12\n2 g > 13-50\n2 h > 51-90\n2 f > 91-92",
            "cause unknown",
        ),
        (
            # The other worker was free: each may take the result of the one before.
            f"{_EARLIER}1 f#1 < 10-11\n1 f#2 < 10-11\n1 f < 11-12\n2 f#1 > 13-50\n2 f#2 > 51-90\n2 f > 91-92",
            "cause unknown",
        ),
        # Too long after what ran there.
        (f"{_EARLIER}7 g < 10-11\n1 f < 11-12\n2 g > 13-90\n2 f > 130-131", "cause unknown"),
        (f"{_ACTOR}1 A.g < 4-5\n1 A.f < 5-6\n2 A.g > 6-90\n2 A.f > 130-131", "cause unknown"),
        # Before its actor was made again it may have run, and been lost: not every hook writes down what begins.
        (f"{_ACTOR}1 A.f < 4-5\n3 A.__init__ > 700-800\n3 A.f > 801-810", "cause unknown"),
        (
            "1 A.__init__ < 0-1\n1 A.f < 4-5\n3 A.__init__ > 700-800\n3 A.f > 801-810",
            "for its actor to be ready: A.__init__ had to end first",
        ),
        # Two run at once, and f takes the place of g elsewhere.
        (
            f"{_EARLIER}1 c < 3-4\n4 c > 5-6\n1 g < 9-9\n1 h < 9-9\n1 f < 11-12\n2 g > 13-90\n3 h > 13-99\n4 f > 91-92",
            "cause unknown",
        ),
        # Its worker ran something for most of the wait, but had long been free.
        (
            f"{_EARLIER}{_SERVING}7 h < 9-10\n1 B.g < 10-11\n1 f < 11-12\n2 h > 13-300\n4 B.g > 13-396\n2 f > 400-401",
            "cause unknown",
        ),
        (
            f"{_EARLIER}{_SERVING}7 h < 9-10\n1 B.g < 10-11\n1 f < 11-12\n2 h > 13-395\n4 B.g > 13-396\n2 f > 400-401",
            "cause unknown",
        ),
        # Another process submitted g, so f can't have its result.
        (
            f"{_EARLIER}7 g < 10-11\n1 f < 11-12\n2 g > 13-90\n2 f > 91-92",
            "likely for a worker or resources: g ran there last",
        ),
        # A worker is free all the time.
        (
            f"{_EARLIER}1 g < 10-11\n1 f < 11-12\n2 g > 13-90\n3 f > 91-92",
            "cause unknown",
        ),
        (f"{_EARLIER}1 g < 10-11\n1 f < 11-12\n2 g > 13-90\n3 f > 191-192", "cause unknown"),
        (f"{_EARLIER}1 f < 10-11\n1 g < 11-12\n2 g > 13-90\n3 f > 91-92", "cause unknown"),
        (f"{_EARLIER}1 f#1 < 10-11\n1 f#2 < 11-12\n2 f#1 > 13-90\n3 f#2 > 91-92", "cause unknown"),
    ],
)
def test_drawings(drawing: str, text: str) -> None:
    """Each drawing comes to its reason, also where one file has all; to none where nothing tells the processes."""
    assert reason_of_last(store_of_drawing(drawing)) == text
    assert reason_of_last(store_of_drawing(drawing, received=True)) == text
    assert not reason_of_last(store_of_drawing(drawing, ending="-of-all-nodes.txt"))


@pytest.mark.parametrize(
    ("file", "text"), [("n-3-1717000000", "likely for a new worker or its code"), ("n-2-1717000000.2", "")]
)
def test_a_process_goes_on_in_a_further_file(file: str, text: str) -> None:
    """What ran in the file before it, ran in that process."""
    drawing = f"n-1-1717000000 g < 0-1\nn-2-1717000000 g > 2-3\nn-1-1717000000 f < 4-5\n{file} f > 900-910"
    reason = reason_of_last(store_of_drawing(drawing, ending=".jsonl"))
    assert reason.partition(":")[0] == (text or "cause unknown")


@pytest.mark.parametrize(
    ("function", "began_ms", "text"),
    [
        ("A.__init__", 6, "likely for a new worker or its code"),
        ("A.__init__", 900, "likely mostly for a new worker or its code"),
        # It was there before the call, which may have waited for a result of g.
        ("A.__init__", 4, "likely at the end for a new worker or its code"),
        ("A.__init__", None, "likely at the end for a new worker or its code"),
        # A task's worker may have been started for something else.
        ("f", 6, "likely at the end for a new worker or its code"),
    ],
)
def test_an_actor_s_process_begins_for_the_actor(function: str, began_ms: int | None, text: str) -> None:
    """Its arguments are there by then, as is room: what the caller's other calls did since says nothing of its wait."""
    file = "5" if began_ms is None else f"n-5-{EPOCH_NS // 1_000_000 + began_ms}"
    drawing = f"1 g < 0-1\n3 g > 2-2900\n1 {function} < 5-6\n{file} {function} > 3000-3001"
    store = store_of_drawing(drawing, ending=".txt" if began_ms is None else ".jsonl")
    assert reason_of_last(store).partition(":")[0] == text


_FOUR_OF_G: Final = "2 g#1 > 13-73\n2 g#2 > 74-110\n2 g#3 > 111-161\n5 g#4 > 150-195\n3 f > 191-192"
_WAITING_F: Final = f"{_EARLIER}1 g < 10-11\n1 f < 11-12\n3 f > 191-192\n"


@pytest.mark.parametrize(
    ("drawing", "text"),
    [
        (f"{_WAITING_F}2 g > 13-110", "meanwhile g ran 97 ms"),
        # In less than half of the wait; to its end and beyond; of another caller; submitted later.
        (f"{_WAITING_F}2 g > 13-100", ""),
        (f"{_WAITING_F}2 g > 13-200", ""),
        (f"{_EARLIER}7 g < 10-11\n1 f < 11-12\n2 g > 13-110\n3 f > 191-192", ""),
        (f"{_EARLIER}1 f < 10-11\n1 g < 11-12\n2 g > 13-110\n3 f > 191-192", ""),
        # Too short for more than chance.
        (f"{_EARLIER}1 g < 10-11\n1 f < 11-12\n2 g > 13-30\n3 f > 61-62", ""),
        # All of one function count, also where one of them takes half; overlaps count once.
        (
            f"{_EARLIER}1 g#1 < 8-9\n1 g#2 < 9-10\n1 f < 11-12\n2 g#1 > 13-113\n2 g#2 > 114-190\n3 f > 191-192",
            "meanwhile 2 calls of g ran 176 ms",
        ),
        (
            f"{_EARLIER}1 g#1 < 8-9\n1 g#2 < 9-10\n1 f < 11-12\n2 g#1 > 13-73\n2 g#2 > 60-110\n3 f > 191-192",
            "meanwhile 2 calls of g ran 97 ms",
        ),
        (
            f"{_EARLIER}1 f#1 < 8-9\n1 f#2 < 9-10\n1 f < 11-12\n2 f#1 > 13-73\n2 f#2 > 60-110\n3 f > 191-192",
            "meanwhile 2 other calls of it ran 97 ms",
        ),
        # Another one has no end, and may have run all the time.
        (
            f"{_EARLIER}1 g#1 < 8-9\n1 g#2 < 9-10\n1 f < 11-12\n2 g#1 > 13-110\n8 g#2 > 14-?\n3 f > 191-192",
            "meanwhile at least 2 calls of g ran at least 97 ms",
        ),
        # Then all count that ran in that time: those of other callers, and those that were submitted later.
        (
            f"{_EARLIER}1 g#1 < 8-9\n1 g#2 < 9-10\n1 f < 11-12\n1 g#3 < 12-13\n7 g#4 < 12-13\n{_FOUR_OF_G}",
            "meanwhile 4 calls of g ran 176 ms",
        ),
        (
            f"{_EARLIER}1 f#1 < 9-10\n1 f < 11-12\n2 f#1 > 13-110\n3 f > 191-192",
            "meanwhile another call of it ran 97 ms",
        ),
        # Another one waited for a new worker, and did so no longer when it ran.
        (f"{_EARLIER}1 g < 9-10\n1 f < 11-12\n4 g > 195-196\n3 f > 191-192", ""),
        (
            f"{_EARLIER}1 g < 9-10\n1 f < 11-12\n4 g > 150-160\n3 f > 191-192",
            "meanwhile g waited 138 ms, likely for a new worker or its code",
        ),
        # What it waited and ran is most of the wait; more of it than what another one did that waited longer.
        (
            f"{_EARLIER}1 g < 9-10\n1 f < 11-12\n4 g > 60-140\n3 f > 191-192",
            "meanwhile g waited 48 ms, likely for a new worker or its code, and ran 80 ms",
        ),
        (f"{_EARLIER}1 g < 9-10\n1 f < 11-12\n4 g > 60-95\n3 f > 191-192", ""),
        (
            f"{_EARLIER}1 g < 8-9\n1 h < 9-10\n1 f < 11-12\n4 g > 110-115\n5 h > 105-185\n3 f > 191-192",
            "meanwhile h waited 93 ms, likely for a new worker or its code, and ran 80 ms",
        ),
    ],
)
def test_what_went_on_meanwhile(drawing: str, text: str) -> None:
    """Where no reason is known, it is said what went on in most of the wait; details say the same as the answer."""
    for store in (store_of_drawing(drawing), store_of_drawing(drawing, received=True)):
        _says_what_went_on(store, text)


def _says_what_went_on(store: Store, text: str) -> None:
    spans, names = store.spans, store.names.texts
    ends = {EPOCH_NS + ms * _MS * MICROSECOND for ms in (62, 192)}
    (row,) = (row for row in range(len(spans)) if spans.end_ns[row] in ends)
    trace = spans.trace[row]
    tree = store.tree(trace)
    open_text = "cause unknown"
    said = answer_texts(answer_of(store, trace))[0]
    assert f"waiting before {function_of(names[spans.name[row]])} ran ({text or open_text})" in said
    facts = timing_facts(SpanInTree(store.span(row), store, trace, tree, tree.rows.index(row)))
    assert facts.wait_reasons == ("; ".join(filter(None, (open_text, text))),)


@pytest.mark.parametrize(("rather", "name", "ms"), [("", "g", 167), ("f", "f", 130)])
def test_what_ran_of_the_same_method_comes_first(rather: str, name: str, ms: int) -> None:
    """Where an actor's concurrency group may be another one: what else the actor ran longer kept nothing waiting."""
    store = store_of_drawing(
        f"{_EARLIER}1 f#1 < 8-9\n1 g < 9-10\n1 f < 11-12\n2 g > 13-180\n2 f#1 > 20-150\n3 f > 191-192"
    )
    attempts, names = AllAttempts(store), store.names.texts
    numbers = [number for number, text in enumerate(names) if text == f"{rather}{RAN}"]
    row = max(calls_of(store).first_attempts.tolist(), key=store.spans.start_ns.__getitem__)
    since = EPOCH_NS + 12 * _MS * MICROSECOND
    shown = meanwhile._unexplained(store, attempts, row, (since, store.spans.start_ns[row]), *numbers)
    assert shown is not None
    assert (function_of(shown.name), shown.ns) == (name, ms * _MS * MICROSECOND)


_QUEUED: Final = "1 A.f#1 < 10-11\n1 A.f#2 < 10-11\n1 A.f#3 < 11-12\n"
_CHAIN: Final = f"{_EARLIER}7 f < 10-11\n8 g < 11-12\n1 h < 12-13\n"
"""Three callers, whose calls wait for one worker."""


@pytest.mark.parametrize(
    ("drawing", "text"),
    [
        # h waited behind g, and g behind f, which waited for a new worker; or g ran most of the time; or neither.
        (
            f"{_CHAIN}4 f > 600-610\n4 g > 611-650\n4 h > 651-652",
            "f waited 587 ms, likely for a new worker or its code",
        ),
        (f"{_CHAIN}4 f > 200-210\n4 g > 211-650\n4 h > 651-652", "g ran 439 ms"),
        (f"{_CHAIN}4 f > 200-380\n4 g > 381-650\n4 h > 651-652", ""),
        # What waited, cause unknown: what went on meanwhile, of the same caller.
        (
            f"{_EARLIER}7 f < 10-11\n7 g < 11-12\n1 h < 12-13\n2 f > 13-400\n2 g > 460-490\n2 h > 491-492",
            "f ran 387 ms",
        ),
        (f"{_CHAIN}2 f > 13-400\n2 g > 460-490\n2 h > 491-492", "g waited 447 ms, cause unknown"),
        (f"{_CHAIN}2 g > 13-20\n2 g > 100-490\n2 h > 491-492", "g ran 397 ms"),
        (
            f"{_ACTOR}{_QUEUED}2 A.f#1 > 12-112\n2 A.f#2 > 113-213\n2 A.f#3 > 214-314",
            "2 other calls of it ran 200 ms there",
        ),
        ("1 A.__init__ < 0-1\n1 A.f < 1-2\n2 A.__init__ > 100-900\n2 A.f > 901-902", "A.__init__ ran 800 ms"),
        (
            "1 A.__init__ < 0-1\n1 A.f < 1-2\n2 A.__init__ > 800-900\n2 A.f > 901-902",
            "A.__init__ waited 798 ms, likely for a new worker or its code",
        ),
    ],
)
def test_what_is_likely_waited_for_is_followed(drawing: str, text: str) -> None:
    """It is said what took most of the wait, however many calls waited for each other."""
    store = store_of_drawing(drawing)
    attempts, starts, names = AllAttempts(store), store.spans.start_ns, store.names.texts
    last = max(
        (row for row in range(len(starts)) if names[store.spans.name[row]].endswith(RAN)), key=starts.__getitem__
    )
    reason = attempts.reason_of(last)
    assert reason is not None
    assert reason.is_known
    assert wait_text(store, attempts, reason, last) == "; meanwhile ".join(
        filter(None, (reason_text(store, reason), text))
    )


@pytest.mark.parametrize("recording", ["ray-odd-ends", "ray-data", "ray-tasks-bundled-hook", "ray-restarted-actor"])
def test_what_is_said_of_recordings_is_so(recording: str) -> None:
    """Counted in a simple way: what ran did so for as long, and what waited did for just as long, before the call."""
    store = load_store(FIXTURES / recording / "spans")
    attempts, spans, calls = AllAttempts(store), store.spans, calls_of(store)
    by_name = defaultdict[str, list[tuple[int, int, int]]](list)
    for call in calls:
        for row in call.attempts:
            end = max(spans.end_ns[row], spans.start_ns[row])
            by_name[store.names.texts[spans.name[row]]].append((spans.end_ns[call.row], spans.start_ns[row], end))
    said = 0
    for call in calls:
        reason = attempts.reason_of(call.attempts[0]) if call.attempts else None
        if reason is None:
            continue
        since, until = spans.end_ns[call.row], spans.start_ns[call.attempts[0]]
        meanwhile = meanwhile_of(store, attempts, call.attempts[0], reason, since)
        if meanwhile is None:
            continue
        said += 1
        times = by_name[meanwhile.name]
        ran = [min(until, end) - max(since, start) for _, start, end in times if since < end and start < until]
        waited = {min(until, start) - max(since, submitted) for submitted, start, _ in times}
        assert until - since <= 2 * (meanwhile.ns + meanwhile.ran_ns) <= 2 * (until - since)
        if meanwhile.reason is not None:
            assert meanwhile.ns in waited
            assert meanwhile.ran_ns in {0, *ran}
        else:
            assert meanwhile.ns <= sum(ran)
            assert meanwhile.attempts <= len(ran)
            assert meanwhile.attempts > 1 or meanwhile.ns in ran
    assert said or recording == "ray-restarted-actor"


def test_one_of_two_typical_traces_has_a_cause() -> None:
    """The median and the slowest trace stand in one line, ever shorter, each with what is known of it."""
    store = load_store(FIXTURES / "ray-tasks-bundled-hook" / "spans")
    answers = typical_answers(store)
    assert answers is not None
    texts = typical_texts(answers)
    assert [len(text) for text in texts] == sorted({len(text) for text in texts}, reverse=True)
    for trace in range(len(store.trace_table)):
        pair = replace(answers, median=answer_of(store, trace))
        assert typical_texts(pair)[-1].startswith("median ")


def test_names_of_other_traces_are_short_in_an_answer_too() -> None:
    """What went on meanwhile is mostly in another trace than the one whose names are shown."""
    store = store_of_drawing("1 A.__init__ < 0-1\n1 A.f < 1-2\n2 A.__init__ > 800-900\n2 A.f > 901-902")
    shown = short_names(["A.f ray.remote", "A.f ray.remote_worker"])
    text = answer_texts(answer_of(store, trace_row(store, 2)), shown)[0]
    assert "meanwhile A.__init__ waited 798 ms, likely for a new worker or its code" in text


def test_the_answer_says_what_the_longest_wait_was_for() -> None:
    """A call that is not the first one of its worker didn't wait for that one to start."""
    store = store_of_drawing("1 f < 0-1\n7 g < 1-2\n2 f > 900-910\n2 g > 911-912")
    for trace, expected in enumerate((WaitedFor.WORKER_START, WaitedFor.RESOURCES)):
        (part,) = (part for part in answer_of(store, trace).parts if part.doing is Doing.WAITING)
        assert part.reason is not None
        assert part.reason.waited_for is expected


def test_functions_sum_it_up() -> None:
    """By function, how many calls waited for what, and how long; with what isn't known it is all of their waiting."""
    store = load_store(FIXTURES / "ray-tasks-bundled-hook" / "spans")
    calls = calls_of(store)
    reasons = AllAttempts(store).reasons_of([call.attempts[0] for call in calls if call.attempts])
    expected = Counter[tuple[str, WaitedFor]]()
    for call in calls:
        reason = reasons.get(call.attempts[0]) if call.attempts else None
        if reason is not None and reason.is_known:
            expected[call.function, reason.waited_for] += 1
    functions = functions_of(store, calls)
    known = [(one.function, kind, part) for one in functions for kind, part in one.waited_for.items()]
    found = {(function, kind): part.calls for function, kind, part in known if kind is not WaitedFor.UNKNOWN}
    assert found == expected
    first = {one.function: one.wait_parts[0][0] for one in functions if one.waited_for}
    assert first["Counter.__init__"] is WaitedFor.WORKER_START
    assert first["Async.work"] is WaitedFor.CREATION
    assert all(sum(part.ns for _, part in one.wait_parts) == one.total_wait_ns for one in functions)
    assert calls_report(store).document()["rows"][0]["waited_for"]["worker_start"] == {
        "calls": 3,
        "total_wait_ns": 3_877_556_000,
        "certain_ns": 0,
    }


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "likely for a new worker or its code: its process ran nothing before"),
        (0, "likely for a new worker or its code: its process ran nothing before"),
        (1, "cause unknown"),
    ],
)
@pytest.mark.parametrize("line_of", [lambda document: file_of([document]), otlp_line], ids=["console", "otlp"])
def test_an_earlier_attempt_that_no_file_holds(
    number: int | None, text: str, line_of: Callable[[Document], bytes]
) -> None:
    """A killed worker may leave nothing: its attempt's time isn't taken for a wait for a worker."""
    build = Builder()
    attributes = {"ray.remote": "function", **({} if number is None else {"ray.attempt": number})}
    ran = build.span("f ray.remote_worker", span=3, parent=1, kind="CONSUMER", start=3_000 * _MS, attributes=attributes)
    files = {
        "spans/101.json": [build.span("f ray.remote", span=1, kind="PRODUCER", attributes=attributes)],
        "spans/103.json": [ran],
    }
    store = store_of_files({path: b"".join(map(line_of, documents)) for path, documents in files.items()})
    assert reason_of_last(store) == text


@pytest.mark.parametrize("recording", ["ray-odd-ends", "ray-data"])
def test_ray_itself_doesn_t_say_otherwise(recording: str) -> None:
    """A wait for a worker or an actor was not mostly one for arguments, by Ray's state API."""
    store = load_store(FIXTURES / recording / "spans")
    tasks = json.loads((FIXTURES / recording / "STATE.json").read_text())["tasks"]
    attempts = [call.attempts[0] for call in calls_of(store) if call.attempts]
    reasons = AllAttempts(store).reasons_of(attempts)
    seen = Counter[WaitedFor]()
    for row in attempts:
        reason, span = reasons.get(row), store.span(row)
        if reason is None or reason.waited_for is WaitedFor.UNKNOWN:
            continue
        same = [task for task in tasks if _is_of(task, span)]
        if len(same) != 1:
            continue
        times = same[0]["states_ms"]
        states = [state for state in _STATES if state in times]
        longest = max(pairwise(states), key=lambda pair: times[pair[1]] - times[pair[0]])[0]
        assert longest != "PENDING_ARGS_AVAIL", span.name
        seen[reason.waited_for] += 1
    assert seen.total() >= (3 if recording == "ray-odd-ends" else 10)


def test_ray_s_own_events_say_the_same() -> None:
    """In programs that wait for everything once, at most one in twenty is otherwise than Ray's events say."""
    claims = Claims()
    for recording in ("ray-events-hook", "ray-events-bundled"):
        claims.hold(FIXTURES / recording / "spans", FIXTURES / recording / "logs" / "export_events")
    assert claims.told.total() >= 25
    assert claims.share >= LEAST_RIGHT, claims.wrong


def _is_of(task: dict[str, Any], span: Any) -> bool:
    """Return whether a task of the state API is an attempt: its process, function and start are the same."""
    started = task["states_ms"].get("RUNNING")
    return (
        str(task["worker_pid"]) == str(span.attributes.get("ray.pid"))
        and started is not None
        and abs(started - span.start_ns / 1e6) < 30
        and task["func_or_class_name"].rpartition(".")[2] == function_of(span.name).rpartition(".")[2]
    )
