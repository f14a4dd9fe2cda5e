"""Attempts that `exit_actor` ended: the spans are those that Ray 2.60 wrote for an async actor and for another one.

A.leave   async   status ERROR, "AsyncioActorExit: "     no error
A.fail    async   status ERROR, "ValueError: x"          an error
B.leave           status UNSET                           no error
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unittest.mock import patch

from builders import Builder, store_of
from spanview.analysis.ray.calls import Outcome, calls_of
from spanview.analysis.ray.exits import exits_among, is_exit
from spanview.analysis.ray.functions import functions_of
from spanview.display.tree_text import tree_lines

if TYPE_CHECKING:
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


def test_the_description() -> None:
    """The exception is known by its name, with or without the module's; what only mentions it is another one."""
    assert is_exit("AsyncioActorExit: ")
    assert is_exit("ray.exceptions.AsyncioActorExit: x")
    assert not is_exit("ValueError: AsyncioActorExit")
    assert not is_exit(None)


def test_the_tree_says_so() -> None:
    """The file's status is shown, with what it means."""
    store = recorded()
    text = "\n".join(line for trace, tree in store.trees() for line in tree_lines(store, trace, tree))
    assert "exit_actor was called, which is no failure" in text
    assert text.count("no failure") == 1
