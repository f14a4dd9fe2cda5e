"""Which lines of a log belong to a span.

2026-05-28 12:00:01,000 a      a line a second, and one without a time behind each
continued                      a span from 2.5 s to 4.0 s has those of 3 s and of 4 s
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from builders import Builder
from spanview.analysis.logs import lines as log_lines
from spanview.analysis.logs.lines import (
    MOST_LINES,
    Coverage,
    LogLine,
    LogOwner,
    LogPart,
    LogPlace,
    SpanLog,
    lines_in_time,
    lines_of_request,
    log_owner,
)
from spanview.analysis.logs.times import log_time
from spanview.analysis.telling import unheard
from viewers import Growing

if TYPE_CHECKING:
    from collections.abc import Iterator

S: Final = 1_000_000_000
NOON_NS: Final = round(datetime(2026, 5, 28, 12, tzinfo=UTC).timestamp()) * S


class Text:
    """A log in memory.

    Args:
        lines: What it says.
    """

    def __init__(self, lines: list[str]) -> None:
        self.data = "".join(f"{line}\n" for line in lines).encode()
        self.size = len(self.data)

    def read(self, offset: int, length: int) -> bytes:
        """Return bytes."""
        return self.data[offset : offset + length]

    def line_start(self, offset: int) -> int:
        """Return where a line begins."""
        return self.data.rfind(b"\n", 0, offset) + 1

    def lines_from(self, start: int) -> Iterator[tuple[int, bytes]]:
        """Yield lines."""
        while start < self.size:
            end = self.data.index(b"\n", start)
            yield start, self.data[start:end]
            start = end + 1


def at(second: float, text: str) -> str:
    """Return a line of so many seconds after noon."""
    moment = datetime.fromtimestamp(NOON_NS / S + second, UTC)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z {text}"


def texts_between(lines: list[str], start: float, end: float | None) -> list[str]:
    """Return the ends of the lines that belong to a span between two seconds."""
    end_ns = None if end is None else NOON_NS + round(end * S)
    found, coverage, _ = lines_in_time(Text(lines), NOON_NS + round(start * S), end_ns, unheard)
    assert coverage is Coverage.TIME
    return [line.text.decode().rpartition(" ")[2] for line in found]


def test_lines_between_start_and_end() -> None:
    """Those that overlap the span, to the millisecond that they name, with what goes on without a time."""
    lines = ["no", at(1, "a"), "a1", at(2, "b"), "b1", at(3, "c"), "c1", "c2", at(4, "d"), "d1", at(5, "e")]
    assert texts_between(lines, 2.5, 4.0) == ["c", "c1", "c2", "d", "d1"]
    assert texts_between(lines, 3.0005, 3.0007) == ["c", "c1", "c2"]
    assert texts_between(lines, 3.001, 3.5) == []
    assert texts_between(lines, 4, None) == ["d", "d1", "e"]
    assert texts_between(lines, -5, 0.5) == []


def test_lines_that_threads_exchanged() -> None:
    """A line that stands a little before or behind its turn is found."""
    lines = [at(1, "a"), at(3.2, "b"), at(2.9, "c"), at(4.5, "d"), at(3.9, "e"), at(9, "f")]
    assert texts_between(lines, 3, 4) == ["b", "e"]


@given(
    st.lists(st.tuples(st.integers(0, 40), st.booleans(), st.sampled_from([0, 300, 2_000])), max_size=40),
    st.integers(0, 40),
    st.integers(0, 5),
)
def test_what_bisection_finds_is_what_all_lines_say(rows: list[tuple[int, bool, int]], start: int, length: int) -> None:
    """However long the lines are between which it looks, and wherever times are missing."""
    rows.sort(key=lambda row: row[0])
    lines = [f"{at(second, 'x') if has_time else ''} {'y' * size}" for second, has_time, size in rows]
    text, expected, time = Text(lines), [], None
    for offset, line in text.lines_from(0):
        time = log_time(line, NOON_NS) or time
        if time is not None and NOON_NS + start * S < time.ns + time.step_ns <= NOON_NS + (start + length) * S + 10**6:
            expected.append(offset)
    with patch.object(log_lines, "_CLOSE_ENOUGH_BYTES", 100):
        found, coverage, is_cut = lines_in_time(text, NOON_NS + start * S, NOON_NS + (start + length) * S, unheard)
    if coverage is Coverage.TIME:
        assert [line.offset for line in found] == expected
        assert not is_cut
    else:
        assert not any(has_time for _, has_time, _ in rows)


def test_lines_without_any_time_are_all_of_the_process() -> None:
    """They are marked so, and no more than the first of many are listed."""
    found, coverage, is_cut = lines_in_time(Text(["a", "b"]), NOON_NS, NOON_NS + S, unheard)
    assert ([line.text for line in found], coverage, is_cut) == ([b"a", b"b"], Coverage.PROCESS, False)
    found, _, is_cut = lines_in_time(Text(["a"] * (MOST_LINES + 1)), NOON_NS, NOON_NS + S, unheard)
    assert (len(found), is_cut) == (MOST_LINES, True)
    found, _, is_cut = lines_in_time(Text([at(1, "a")] * (MOST_LINES + 1)), NOON_NS, NOON_NS + 2 * S, unheard)
    assert (len(found), is_cut) == (MOST_LINES, True)


def test_lines_of_a_request() -> None:
    """Those that name it, with what goes on without a time, in text and in JSON; no other's."""
    stamp = NOON_NS + 2 * S
    lines = [
        at(1, "proxy 11-aa -- GET /"),
        at(2, "replica 22-bb -- got"),
        " 3",
        at(2, "replica -- of nobody"),
        " 4",
        f'{{"message": "got", "request_id": "22-bb", "timestamp_ns": {stamp}}}',
        at(90, "replica 22-bb -- much later"),
    ]
    found, is_cut = lines_of_request(Text(lines), "22-bb", NOON_NS + S, NOON_NS + 3 * S, unheard)
    assert [line.text.decode() for line in found] == [lines[1], lines[2], lines[5]]
    assert not is_cut


WORKER: Final = {"ray.worker_id": "ab12", "ray.pid": "7", "ray.job_id": "01000000"}


@pytest.mark.parametrize(
    ("above", "own", "resource", "owner"),
    [
        (WORKER, {}, {}, LogOwner("spans/1.json", "ab12", "7", "01000000")),
        ({"request_id": "r", "replica_id": "x"}, {}, {}, LogOwner("spans/1.json", "", "", "", "r", "x")),
        (WORKER, WORKER | {"ray.worker_id": "cd34"}, {}, LogOwner("spans/1.json", "cd34", "7", "01000000")),
        (WORKER, {}, {"service.instance.id": "other"}, LogOwner("spans/1.json")),
        ({}, {}, {}, LogOwner("spans/1.json")),
    ],
)
def test_whose_log_it_is(above: dict[str, str], own: dict[str, str], resource: dict[str, str], owner: LogOwner) -> None:
    """What the span says, or the nearest span above it that the same process has written."""
    build = Builder()
    spans = [
        build.span("call", span=1, attributes=above),
        build.span("step", span=2, parent=1, attributes=own, resource=resource),
    ]
    store = Growing(*spans).store
    tree = store.tree(0)
    assert log_owner(store, tree, tree.rows.index(1)) == owner
    assert owner.is_known == bool(owner.worker_id or owner.request_id)


def test_a_span_of_another_file_says_nothing() -> None:
    """The process of another file is another one."""
    build = Builder()
    data = Growing(build.span("call", span=1, attributes=WORKER))
    data.add(build.span("step", span=2, parent=1), path="spans/2.json")
    tree = data.store.tree(0)
    assert not log_owner(data.store, tree, tree.rows.index(1)).is_known


@pytest.mark.parametrize(("other", "is_known"), [("x", True), ("y", False), ("", False)])
def test_a_root_in_a_worker_has_the_workers_log(other: str, is_known: bool) -> None:  # noqa: FBT001 - a table
    """If another span has the same instance of the service, as every process has another one."""
    build, instance = Builder(), {"service.instance.id": other} if other else {}
    store = Growing(
        build.span("call", trace=1, span=1, attributes=WORKER, resource=instance),
        build.span("in a generator", trace=2, span=2, resource={"service.instance.id": "x"} if other else {}),
    ).store
    trace = store.spans.trace[1]
    assert log_owner(store, store.tree(trace), 0).is_known == is_known


@pytest.mark.parametrize(
    ("err", "out", "expected"),
    [
        ([b":job_id:01000000", b":task_name:nap"], [b":task_name:nap", b"napping"], "out"),
        ([b":task_name:nap", b"Traceback"], [b"napping"], "err"),
        ([b":task_name:nap"], [b":task_name:nap"], "err"),
        ([], [b"napping"], "out"),
    ],
)
def test_where_to_begin_without_times(err: list[bytes], out: list[bytes], expected: str) -> None:
    """In the first file that has more than what Ray writes before each task."""
    parts = [
        LogPart(name, name, Coverage.PROCESS, tuple(LogLine(10 * number, text, 0) for number, text in enumerate(lines)))
        for name, lines in (("err", err), ("out", out))
    ]
    assert SpanLog(tuple(parts)).start == LogPlace(expected, 0)
