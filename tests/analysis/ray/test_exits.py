"""Attempts that `exit_actor` ended: the spans are those that Ray 2.60 wrote for an async actor and for another one.

A.leave   async   status ERROR, "AsyncioActorExit: "     no error
A.fail    async   status ERROR, "ValueError: x"          an error
B.leave           status UNSET                           no error
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from builders import Builder, MemoryReader, file_of, store_of, store_of_files
from spanview.analysis.ray import calls, exits
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.exits import exits_among, is_exit
from spanview.analysis.ray.functions import functions_of
from spanview.display.tree_text import tree_lines
from spanview.tui.trace.appearance import Appearance
from spanview.tui.trace.row_texts import RowTexts
from spanview.tui.trace.stitched_trace import StitchedTrace
from spanview.tui.trace.trace_model import TraceModel

if TYPE_CHECKING:
    import pytest

    from spanview.index.store import Store


def recorded() -> Store:
    """Return the three calls."""
    build, documents = Builder(), []
    ends = [
        ("A.leave", "ERROR", "AsyncioActorExit: "),
        ("A.fail", "ERROR", "ValueError: x"),
        ("B.leave", "UNSET", None),
    ]
    for number, (name, status, description) in enumerate(ends, 1):
        documents.append(build.span(f"{name} ray.remote", trace=number, span=1, kind="PRODUCER"))
        ran = build.span(f"{name} ray.remote_worker", trace=number, span=2, parent=1, kind="CONSUMER")
        ran["status"] = {"status_code": status} | ({} if description is None else {"description": description})
        documents.append(ran)
    return store_of(*documents)


def test_exits_are_no_errors() -> None:
    """An attempt that left by `exit_actor` has not failed; one with another exception has."""
    store = recorded()
    calls = calls_of(store)
    functions = {function.function: function for function in functions_of(store, calls)}
    assert {name: function.errors for name, function in functions.items()} == {"A.leave": 0, "A.fail": 1, "B.leave": 0}
    failed = {call.function for call in calls if call.outcome is Outcome.ERROR}
    assert failed == {"A.fail"}


def test_exits_are_read_once() -> None:
    """Only failed attempts are read, each once; other spans are none."""
    store = recorded()
    with patch.object(store, "record", wraps=store.record) as read:
        assert len(exits_among(store, range(6))) == 1
        count = read.call_count
        assert len(exits_among(store, range(6))) == 1
    assert 2 <= count == read.call_count <= 3


def test_what_cut_off_many_calls_is_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """A part of them at a time, however many there are: not the newest together, and each of the others alone."""
    build, documents = Builder(), []
    for number in range(1, 8):
        documents.append(build.span("f ray.remote", trace=number, span=1, kind="PRODUCER"))
        ran = build.span("f ray.remote_worker", trace=number, span=2, parent=1, kind="CONSUMER")
        documents.append(ran | {"attributes": {"ray.ended_by": "SystemExit: 3"} if number % 2 else {}})
    reader = MemoryReader()
    store = store_of_files({"1.json": file_of(documents)}, reader=reader)
    for module in (calls, exits):
        monkeypatch.setattr(module, "MAX_ASKED", 3)
    reader.reads = 0
    outcomes = [call.outcome for call in calls_of(store).at(range(7))]
    assert [outcome.partition(":")[0] for outcome in outcomes] == [*["cut off", "ended"] * 3, "cut off"]
    # A piece for each three of them, and the record of each that was cut off.
    assert reader.reads == 3 + 4


def test_what_was_cut_off_looks_so_everywhere() -> None:
    """The hook's note is the outcome, and stands at the row and in the tree; `exit_actor` is called for that."""
    build, told = Builder(), "SystemExit: The process receives a SIGTERM."
    for by, outcome in (
        (told, Outcome.CUT_OFF),
        ("KeyboardInterrupt: ", Outcome.CANCELLED),
        ("SystemExit: exit_actor() is called.", Outcome.ENDED),
        ("", Outcome.ENDED),
    ):
        attributes = {"ray.ended_by": by} if by else {}
        store = store_of(
            build.span("f ray.remote", trace=1, span=1, kind="PRODUCER"),
            build.span("f ray.remote_worker", trace=1, span=2, parent=1, kind="CONSUMER", attributes=attributes),
        )
        (call,) = calls_of(store)
        assert call.outcome is outcome
        is_cut_off, said = outcome is not Outcome.ENDED, f"{outcome}: {by.rstrip(': ')}"
        (function,) = functions_of(store, calls_of(store))
        counts = {"ended": function.ended, "cut off": function.cut_off, "cancelled": function.cancelled}
        assert {word for word, count in counts.items() if count} == {outcome}
        assert (f"[{said}]" in "".join(tree_lines(store, 0, store.tree(0)))) == is_cut_off
        model = TraceModel(store, 0, StitchedTrace(store, 0, store.tree(0), joins=True))
        assert (outcome in RowTexts(model, Appearance(model)).marks(model.rows[0][0])[0]) == is_cut_off


def test_the_description() -> None:
    """The exception is known by its name, with or without the module's; what only mentions it is another one."""
    assert is_exit("AsyncioActorExit: ")
    assert is_exit("ray.exceptions.AsyncioActorExit: x")
    assert not is_exit("ValueError: AsyncioActorExit")
    assert not is_exit(None)


def test_the_tree_says_so() -> None:
    """The file's status is shown, with what it means."""
    store = recorded()
    text = "\n".join(line for trace in store.traces_in_order() for line in tree_lines(store, trace, store.tree(trace)))
    assert "exit_actor was called, which is no failure" in text
    assert text.count("no failure") == 1
