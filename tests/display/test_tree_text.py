"""A trace as text, against drawings of the lines."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from builders import EPOCH_NS, Builder, store_of
from spanview.analysis.ray.unended import Fate, Unended
from spanview.display.tree_text import error_text, trace_title, tree_lines
from spanview.index.blocks import blocks
from spanview.index.tree import TraceTree

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Document
    from spanview.index.arrays import Places
    from spanview.index.blocks import Block
    from spanview.index.store import Store


pytestmark = pytest.mark.usefixtures("universal_time")


def lines_of(*documents: Document) -> list[str]:
    """Return the lines of the only trace of some documents, its title first."""
    store = store_of(*documents)
    tree = store.tree(0)
    return [trace_title(store, 0, tree), *tree_lines(store, 0, tree)]


def drawn(*documents: Document) -> list[str]:
    """Return the lines without their figures."""
    return [line[22:] for line in lines_of(*documents)[1:]]


def test_a_trace() -> None:
    """Starts, durations and names stand in columns, each span below its parent."""
    documents = Builder().draw("a 0-1000\n  b 100-400\n    c 150-?\n  d 500-900")
    assert lines_of(*documents) == [
        f"trace {1:032x} · 2023-11-14 22:13:20.000000 UTC · ≥ 1 ms · 4 spans · 1 span without an end",
        "     +0 µs      1 ms  a",
        "   +100 µs    300 µs  ├─ b",
        "   +150 µs    no end  │  └─ c",
        "   +500 µs    400 µs  └─ d",
    ]


def test_what_has_no_end() -> None:
    """What runs has lasted until it was asked; a trace that ends with what is lost lasted at least so long."""
    store = store_of(*Builder().draw("a 0-?\n  b 100-400\n  c 150-?"))
    tree = store.tree(0)
    until = EPOCH_NS + 900_000
    runs, lost = (Unended(fate, "pid 7", seen_ns=until) for fate in (Fate.RUNS, Fate.LOST))
    title = trace_title(store, 0, tree, unended={0: runs, 2: lost})
    assert title.endswith("UTC · 900 µs… · 3 spans · ● 1 running, 1 lost")
    assert [*tree_lines(store, 0, tree, unended={0: runs, 2: lost})] == [
        "     +0 µs   900 µs…  a  [running: pid 7]",
        "   +100 µs    300 µs  ├─ b",
        "   +150 µs    no end  └─ c  [lost: pid 7]",
    ]
    assert " · ≥ 900 µs · 3 spans · 1 lost" in trace_title(store, 0, tree, unended={2: lost})
    told = Unended(Fate.LOST, "pid 7", told_ns=until)
    assert " · ≤ 900 µs · " in trace_title(store, 0, store.tree(0), unended={0: told, 2: told})
    # Nobody knows what has become of the other one.
    assert " · ≥ 900 µs · " in trace_title(store, 0, store.tree(0), unended={2: told})


def test_a_wide_trace_costs_no_square(monkeypatch: pytest.MonkeyPatch) -> None:
    """The children of a span are handed out at most once for all of their lines."""
    build, handed = Builder(), list[int]()
    spans = [build.span("child", span=span, parent=1, start=span) for span in range(2, 202)]
    store = store_of(
        build.span("root", span=1, duration=1_000), *spans, build.span("late", span=300, parent=999, start=5)
    )
    children = TraceTree.children

    def counted(tree: TraceTree, node: int) -> list[int]:
        handed.append(len(found := children(tree, node)))
        return found

    monkeypatch.setattr(TraceTree, "children", counted)
    lines = [*tree_lines(store, 0, store.tree(0))]
    assert [line[22:30] for line in (lines[1], lines[200], lines[202])] == ["├─ child", "└─ child", "└─ late"]
    assert sum(handed) <= len(lines) == 203


def test_records_of_attempts_are_read_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """What cut them off stands in their records: of a hundred, these aren't read a hundred times."""
    build, read = Builder(), list[int]()
    name = "f ray.remote_worker"
    attempts = [build.span(name, span=span, parent=1, start=span, kind="CONSUMER") for span in range(2, 102)]
    cut_off = build.span(name, span=200, start=500, kind="CONSUMER", attributes={"ray.ended_by": "SystemExit: 3"})
    store = store_of(build.span("root", span=1, duration=1_000), *attempts, cut_off)

    def counted(store: Store, rows: Places) -> Iterator[Block]:
        read.append(len(rows))
        return blocks(store, rows)

    monkeypatch.setattr("spanview.analysis.ray.exits.blocks", counted)
    assert [*tree_lines(store, 0, store.tree(0))][-1].endswith("f ray.remote_worker  [cut off: SystemExit: 3]")
    assert read == [101]


def test_several_roots_and_a_missing_parent() -> None:
    """Roots stand at the left edge; a parent that no file holds has a line of its own among them."""
    builder = Builder()
    documents = [
        builder.span("first", start=0),
        builder.span("child", parent=99, start=5, duration=20),
        builder.span("last", start=30),
    ]
    assert lines_of(*documents) == [
        f"trace {1:032x} · 2023-11-14 22:13:20.000000 UTC · 40 µs · 3 spans · incomplete",
        "     +0 µs     10 µs  first",
        "                      ? parent not seen (0000000000000063): not ended yet, or lost",
        "     +5 µs     20 µs  └─ child",
        "    +30 µs     10 µs  last",
    ]


def test_what_a_line_says_besides() -> None:
    """Waits, failures and warnings that are worth a word stand behind the name."""
    builder = Builder()
    documents = [
        builder.span("f ray.remote", kind="PRODUCER", start=0, duration=10),
        builder.span("f ray.remote_worker", kind="CONSUMER", parent=1, start=60, duration=5, status="ERROR"),
        builder.span("g", parent=1, start=70, status="ERROR", description="  ValueError: bad\nTraceback"),
        builder.span("back", parent=1, start=80, duration=-4),
        builder.span("", parent=1, start=90),
    ]
    assert drawn(*documents) == [
        "f ray.remote",
        "├─ f ray.remote_worker  (waited 50 µs)  ✖ ERROR",
        "├─ g  ✖ ValueError: bad",
        "├─ back  [negative_duration]",
        "└─ (no name)",
    ]


def test_a_circle_and_doubles() -> None:
    """A circle that was cut and ids that were used twice are named."""
    builder = Builder()
    documents = [builder.span("a", parent=2), builder.span("b", parent=1), builder.span("b again", span=2, parent=1)]
    assert drawn(*documents) == ["a  [cycle]", "├─ b  [duplicate_id]", "└─ b again  [duplicate_id]"]


def test_no_times() -> None:
    """A span without a start has no place in time, and a trace without times has no duration."""
    builder = Builder()
    documents = [builder.span("a", start_time=None, end_time=None), builder.span("b", start_time=None, parent=1)]
    assert lines_of(*documents)[1:] == ["              no end  a", "                   –  └─ b"]


def test_a_deep_trace_has_lines_of_bounded_length() -> None:
    """From 41 levels on the outer ones are written as a number."""
    builder = Builder()
    documents = [builder.span("s", parent=depth or None) for depth in range(2_000)]
    lines = drawn(*documents)
    assert lines[40] == "   " * 39 + "└─ s"
    assert lines[1_999].startswith("(1958 levels more) ")
    assert max(map(len, lines)) < 150


def test_the_last_of_many_siblings() -> None:
    """Lines go down past a span as long as it has later siblings."""
    documents = Builder().draw("a 0-9\n  b 1-2\n    c 1-2\n      d 1-2\n  e 3-4")
    assert drawn(*documents) == ["a", "├─ b", "│  └─ c", "│     └─ d", "└─ e"]


@pytest.mark.parametrize("payload", ["\x1b[2J", "\x9b31m", "\u202etxt", "one\ntwo", "tab\there", "\ud800"])
def test_hostile_names_are_one_line(payload: str) -> None:
    """A name or a message that a terminal would act on is shown, on the one line of its span."""
    documents = [Builder().span(payload, status="ERROR", description=f"no {payload}")]
    (line,) = lines_of(*documents)[1:]
    assert line.isprintable()


def test_errors_without_words() -> None:
    """A failure without a message is still called one."""
    builder = Builder()
    store = store_of(
        builder.span(status="ERROR"),
        builder.span(status="ERROR", description=""),
        builder.span(status="ERROR", description="\n\nlate words"),
        builder.span(status="ERROR", description="x" * 1000),
    )
    assert [error_text(store, row) for row in range(3)] == ["ERROR", "ERROR", "late words"]
    assert len(error_text(store, 3)) == 200
