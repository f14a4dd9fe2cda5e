"""Ray's calls in the viewer.

trace 1                                      trace 2
run              0 - 100 µs                  f ray.remote          200 - 201 µs   ERROR
  f ray.remote   1 -   2 µs                  f ray.remote          210 - 211 µs
    f …_worker  10 -  30 µs   waits 8
  f ray.remote  40 -  41 µs
    f …_worker  45 -  50 µs   ERROR
    f …_worker  60 -  65 µs
  g ray.remote  80 -  81 µs
    g …_worker  80 -  99 µs   waits 0
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from rich.cells import cell_len

from builders import Builder
from spanview.analysis.ray.call_groups import CallsBy
from spanview.reports.calls import calls_table
from spanview.tui.calls.calls_screen import CallsScreen
from spanview.tui.calls.function_calls_screen import CallLines, FunctionCallsScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.table import TableHeads
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document
    from viewers import Look


def documents() -> list[Document]:
    """Return the two traces."""
    build = Builder()
    submitted = [(2, 1, "f", 1, "UNSET"), (4, 1, "f", 40, "UNSET"), (7, 1, "g", 80, "UNSET")]
    alone = [(9, 2, "f", 200, "ERROR"), (10, 3, "f", 210, "UNSET")]
    ran = [(3, 2, "f", 10, 20, "UNSET"), (5, 4, "f", 45, 5, "ERROR"), (6, 4, "f", 60, 5, "UNSET")]
    return [
        build.span("run", span=1, start=0, duration=100),
        *(
            build.span(
                f"{name} ray.remote",
                trace=trace,
                span=span,
                parent=1 if trace == 1 else None,
                start=start,
                duration=1,
                kind="PRODUCER",
                status=status,
            )
            for span, trace, name, start, status in [*submitted, *alone]
        ),
        *(
            build.span(
                f"{name} ray.remote_worker",
                span=span,
                parent=parent,
                start=start,
                duration=duration,
                kind="CONSUMER",
                status=status,
            )
            for span, parent, name, start, duration, status in [*ran, (8, 7, "g", 80, 19, "UNSET")]
        ),
    ]


def rows(look: Look) -> list[list[str]]:
    """Return the words of each row of the list."""
    return [line.split() for line in look.body[1:-1] if line.strip()]


async def test_functions() -> None:
    """A line a function; sorted by each figure in turn, which is kept for later."""
    async with looking_at(*documents(), size=(160, 30)) as look:
        await look.press("A")
        await look.until_shown("5 calls of 2 functions")
        assert look.is_on(CallsScreen)
        heads = "FUNCTION CALLS ENDED FAILED RETRIED NO ATTEMPT TOTAL WAIT ▾ COLD WAIT P50 P95 MAX µs ms s"
        assert look.body[0].split() == [*heads.split(), *["RUN", "P50", "P95", "MAX", "µs", "ms", "s"]]
        # Of f, 4 calls, 2 of which ended: 1 was never submitted, 1 retried, 1 without an attempt; of g, 1.
        assert " ".join(rows(look)[0]) == "f 4 2 1 1 1 12 µs 1 4 µs 8 µs 8 µs █ 5 µs 20 µs 20 µs █▁"
        assert " ".join(rows(look)[1]) == "g 1 1 0 µs 0 µs 0 µs 0 µs ▁ 19 µs 19 µs 19 µs ▁"
        assert "1 of 3 attempts failed" in look.text
        await look.press("s")
        assert "COLD ▾" in look.text
        await look.pilot.click(TableHeads, offset=(look.body[0].index("CALLS"), 0))
        await look.until_shown("sorted by calls")
        await look.press("S")
        await look.until_shown("CALLS ▴", "sorted by calls, fewest first")
        assert rows(look)[0][0] == "g"
        assert look.app.settings.calls_sort == "calls, reversed"
        await look.press("escape", "A")
        await look.until_shown("CALLS ▴")
        await look.press("escape")
        assert look.is_on(TracesScreen)


@pytest.mark.parametrize("width", [80, 110, 160])
async def test_what_is_lost_or_runs_is_always_seen(width: int) -> None:
    """How many calls have no attempt, or no end, is said at every width, where it isn't none; other figures go."""
    lasting = Builder().span(
        "f ray.remote_worker", trace=1, span=20, parent=2, start=50, duration=None, kind="CONSUMER"
    )
    several = [document | {"name": f"{'m' * 30}.{document['name']}"} for document in [*documents(), lasting]]
    async with looking_at(*several, size=(width, 30)) as look:
        await look.press("A")
        await look.until_shown("5 calls of 2 functions", "NO ATTEMPT", "NO END")
        heads, line = look.body[0], next(line for line in look.body if "f  " in line)
        for head in ("NO ATTEMPT", "NO END"):
            assert line[: heads.index(head) + len(head)].endswith("   1")
    async with looking_at(*documents()[:-4], size=(width, 30)) as look:
        await look.press("A")
        await look.until_shown("FUNCTION")
        assert "NO END" not in look.text


async def test_what_counts_any_stays_before_what_counts_none() -> None:
    """At 80 cells retries are seen where there are any; where there are none, figures are."""
    async with looking_at(*documents(), size=(80, 24)) as look:
        await look.press("A")
        await look.until_shown("FUNCTION", "FAILED", "RETRIED", "NO ATTEMPT")
    async with looking_at(*documents()[:2], documents()[6], size=(80, 24)) as look:
        await look.press("A")
        await look.until_shown("FUNCTION", "WAIT P95", "RUN P95")
        assert "RETRIED" not in look.text


async def test_from_a_function_to_one_call() -> None:
    """The calls of a function, slowest first, with how they went; Enter shows the last attempt in its trace."""
    async with looking_at(*documents(), size=(120, 30)) as look:
        await look.press("A")
        await look.until_shown("5 calls")
        await look.press("enter")
        await look.until_shown("4 calls")
        assert look.is_on(FunctionCallsScreen)
        lines = [line for line in look.body[1:-2] if line.strip()]
        outcomes = ["ended", "retried", "✖ submit failed", "◌ no attempt seen"]
        assert [each for line in lines for each in outcomes if each in line] == outcomes
        # The date is the same for all, and said once.
        assert "2023-11-14" in look.header
        assert not any("2023-11-14" in line for line in lines)
        await look.press("e")
        assert look.is_on(TraceScreen)
        assert "error 1 of " in look.footer
        await look.press("escape")
        assert look.screen.query_one(CallLines).cursor == 2
        await look.press("s", "s", "s")
        await look.until_shown("SUBMITTED ▾")
        assert "no attempt seen" in look.body[1]
        await look.press("end", "enter")
        assert look.is_on(TraceScreen)
        await look.until_shown(" f ray.remote_worker   ", " on worker ")
        await look.press("escape", "home", "enter")
        await look.until_shown(" f ray.remote ! no attempt seen   PRODUCER")


def odd_documents() -> list[Document]:
    """Return a call that can't be submitted, a generator's, and a PRODUCER that found an actor."""
    name, build = "ray.data._internal.x._map_task", Builder()
    actor = {"ray.actor_id": "a"}
    return [
        build.span(f"{name} ray.remote", span=1, kind="PRODUCER", start=0, duration=2),
        build.span(f"{name} ray.remote_worker", span=2, parent=1, kind="CONSUMER", start=20, duration=2),
        build.span("A.__init__ ray.remote", trace=2, span=3, kind="PRODUCER", start=30, duration=2, attributes=actor),
        build.span(
            "A.__init__ ray.remote_worker", trace=2, span=4, parent=3, kind="CONSUMER", start=40, attributes=actor
        ),
        build.span("A.__init__ ray.remote", trace=3, span=5, kind="PRODUCER", start=60, duration=2, attributes=actor),
    ]


async def test_what_went_on_while_a_call_waited() -> None:
    """Where nothing shows what it waited for, it is said of the selected call below the list."""
    data, build = Growing(), Builder()
    # Two workers have started; g runs in the greater part of the wait of f.
    times = {"a": (0, 2, 3), "b": (0, 2, 3), "g": (10, 13, 110), "f": (11, 191, 192)}
    for number, (name, (submitted, start, end)) in enumerate(times.items(), 1):
        of_task = {"ray.remote": "function"}
        producer = build.span(
            f"{name} ray.remote",
            trace=number,
            span=number,
            start=submitted * 1000,
            duration=1000,
            kind="PRODUCER",
            attributes=of_task,
        )
        attempt = build.span(
            f"{name} ray.remote_worker",
            trace=number,
            span=number + 10,
            parent=number,
            start=start * 1000,
            duration=(end - start) * 1000,
            kind="CONSUMER",
            attributes=of_task,
        )
        data.add(producer, path="spans/1.txt")
        data.add(attempt, path=f"spans/{2 + number % 2}.txt")
    async with looking_at(data=data, size=(120, 30)) as look:
        await look.press("A")
        await look.until_shown("TOTAL WAIT")
        await look.press("enter")
        await look.until_shown("waited 179 ms, cause unknown; meanwhile g ran 97 ms")


async def test_what_is_no_call_and_what_has_no_run() -> None:
    """What found an actor isn't counted, and says so; a generator's runs aren't known."""
    async with looking_at(*odd_documents(), size=(100, 30)) as look:
        await look.press("A")
        await look.until_shown("2 calls of 2 functions, 1 cold start")
        # How many of a generator's calls have ended isn't known, either: the next figure is their wait.
        assert look.body[1].split()[1:3] == ["1", "18"]
        assert "unknown" in look.body[1]
        await look.press("end")
        await look.until_shown("1 already existed, no calls")
        await look.press("enter")
        await look.until_shown("1 call, 1 already existed")
        assert "◌ already existed" in look.text
        await look.press("end")
        await look.until_shown("already existed: not a call: get_if_exists found the actor")
        await look.press("escape", "home")
        await look.until_shown("a generator: its runs aren't known   1 cold start")
        await look.press("enter")
        await look.until_shown("1 call, a generator")
        assert "not known  " in look.text
        assert "  generator made" in look.text
        assert "run time not known: its span ends when the generator is made" in look.text
        assert "ended: no error seen" not in look.text


def placed_documents() -> list[Document]:
    """Return two calls of an actor and one of a task on two nodes, and a call of Ray's own actor."""
    build, ids = Builder(), iter(range(1, 99))
    spans = []
    for name, actor, node in (
        ("m.A.f", "1", "n1"),
        ("m.A.f", "1", "n1"),
        ("m.g", "", "n2"),
        ("_StatsActor.f", "2", "n2"),
    ):
        parent = next(ids)
        what = (
            {"ray.actor_id": actor * 32, "ray.actor_class": name.split(".")[-2]}
            if actor
            else {"ray.remote": "function"}
        )
        spans += [
            build.span(f"{name} ray.remote", trace=parent, span=parent, kind="PRODUCER", duration=1, attributes=what),
            build.span(
                f"{name} ray.remote_worker",
                trace=parent,
                span=next(ids),
                parent=parent,
                kind="CONSUMER",
                start=5 * parent,
                duration=3,
                attributes=what | {"ray.node_id": node},
            ),
        ]
    return spans


async def test_by_actor_node_and_job() -> None:
    """`b` counts the same calls by something else; Enter lists those of a line, with their functions."""
    async with looking_at(*placed_documents(), size=(120, 30)) as look:
        await look.press("A")
        await look.until_shown("4 calls of 3 functions", "A.f")
        await look.press("b")
        await look.until_shown("4 calls of 3 actors", "ACTOR", "A (actor 1111)", "tasks")
        await look.press("b")
        await look.until_shown("4 calls of 2 nodes", "NODE")
        assert sorted(row[:2] for row in rows(look)[:2]) == [["n1", "2"], ["n2", "2"]]
        await look.press("x")
        await look.until_shown("3 calls of 2 nodes, without Ray's own")
        assert sorted(row[:2] for row in rows(look)[:2]) == [["n1", "2"], ["n2", "1"]]
        await look.press("enter")
        await look.until_shown("calls of node n")
        assert look.body[0].split()[:2] == ["FUNCTION", "SUBMITTED"]
        await look.press("b")
        assert "Esc goes back to all calls" in look.footer
        await look.press("escape", "b")
        await look.until_shown("3 calls of 1 job", "not known")
        await look.press("b", "x")
        await look.until_shown("4 calls of 3 functions")


async def test_of_one_trace() -> None:
    """From a trace, its calls only; where there are none, that is said."""
    async with looking_at(*documents(), Builder().span("alone", trace=9, span=99, start=500), size=(120, 30)) as look:
        await look.press("end", "enter", "A")
        await look.until_shown("Ray calls of run   3 calls of 2 functions")
        await look.press("escape", "escape", "home", "enter", "A")
        await look.until_shown("no Ray calls in this trace")
        assert look.is_on(TraceScreen)


def test_names_have_room() -> None:
    """Whatever the width, the figures leave some of it to the names."""
    table = calls_table(CallsBy.FUNCTION, {})
    for width in range(30, 250):
        assert cell_len(table.fit(width).heads_text()) <= width
        assert table.fit(width).cells[0][1] >= 8
    assert table.fit(250).heads_text().rstrip().endswith("  CONCURRENT")
    assert len(table.fit(40).cells) < len(table.fit(80).cells) < len(table.fit(110).cells) < len(table.fit(200).cells)


async def test_calls_of_several_days_have_their_dates() -> None:
    """Where they aren't of one day, each line says which."""
    day_us = 86_400_000_000
    spans = [
        Builder().span("f ray.remote", trace=number, span=number, kind="PRODUCER", start=number * day_us)
        for number in (1, 2)
    ]
    async with looking_at(*spans, size=(120, 30)) as look:
        await look.press("A", "enter")
        await look.until_shown("2023-11-15")
        assert "2023-11" not in look.header
        assert {word for line in look.body for word in line.split() if word.startswith("2023")} == {
            "2023-11-15",
            "2023-11-16",
        }
