"""The first screen, walked by keys and mouse: order, groups, filter, and the ways out.

in the store     start    duration   errors
slow                0 µs     900 µs
batch              10 µs      20 µs
batch              20 µs      30 µs   1
quick              30 µs       5 µs
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder, Document
from spanview.analysis.query.query import parse_query
from spanview.analysis.query.select import selected_traces
from spanview.analysis.query.since import parse_since
from spanview.display.miss_text import Unnamed
from spanview.display.sanitise import sanitise
from spanview.display.units import duration
from spanview.exports.page.columns import Columns
from spanview.tui.app.opening import Opening
from spanview.tui.help.help_screen import HelpScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces.group_list import GroupList
from spanview.tui.traces.marks import TraceMarks
from spanview.tui.traces.preview import Preview
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.answer_line import AnswerLine
from spanview.tui.widgets.prompt import Prompt
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from spanview.index.store import Store


def documents() -> list[Document]:
    """Return the spans of the drawing."""
    builder = Builder()
    return [
        builder.span("slow", trace=1, start=0, duration=900),
        builder.span("batch", trace=2, start=10, duration=20),
        builder.span("batch", trace=3, span=3, start=20, duration=30),
        builder.span("quick", trace=4, start=30, duration=5),
        builder.span("bad step", trace=3, span=5, parent=3, start=21, duration=1, status="ERROR"),
    ]


def listed(look: Look) -> list[str | None]:
    """Return the root names of all traces that are listed, from the top."""
    model = look.screen.query_one(TraceList).model
    return [*map(model.root_name, model.order)]


def roots(look: Look) -> list[str]:
    """Return the root names of the rows on the screen, from the top."""
    names = ("slow", "batch", "quick")
    lists = look.screen.query_one(TraceList).region
    rows = look.lines[lists.y : lists.bottom]
    return [name for row in rows for name in names if f" {name} " in row]


def head_at(look: Look, text: str) -> tuple[int, int]:
    """Return where a column's head is, in cells of its line."""
    return look.lines[look.screen.query_one(TraceList).heads.region.y].index(text), 0


async def test_the_newest_is_first_and_selected() -> None:
    """The list begins with the newest trace, and the cursor on it."""
    async with looking_at(*documents()) as look:
        assert roots(look) == ["quick", "batch", "batch", "slow"]
        assert look.screen.query_one(TraceList).cursor == 0
        assert "4 traces · 5 spans   ✖ 1 error" in look.header


async def test_open_and_back() -> None:
    """Enter opens the selected trace; Esc and q go back to the list, where the cursor still is."""
    async with looking_at(*documents()) as look:
        for key in ("escape", "q"):
            await look.press("G", "enter")
            assert look.is_on(TraceScreen)
            assert look.header.startswith(" ‹ slow   900 µs   1 span   1 process   complete")
            await look.press(key)
            assert look.is_on(TracesScreen)
            assert look.screen.query_one(TraceList).cursor == 3


@pytest.mark.parametrize(("path", "count"), [("spans/all.json", 2), ("spans/7.json", 1)])
async def test_processes_are_counted_alike(path: str, count: int) -> None:
    """The list, the trace and the page count the services of a collector's file as a process each, a pid's as one."""
    builder, data = Builder(), Growing()
    data.add(builder.span("a", span=1, service="web"), builder.span("b", parent=1, service="db"), path=path)
    async with looking_at(data=data) as look:
        assert (facts := look.screen.query_one(TraceList).model.facts(0)) is not None
        assert facts.processes == count
        await look.press("enter")
        assert ("   2 processes   " in look.header) is (count > 1)
    columns = Columns(data.store, [0], {})
    assert columns.overview(lambda _: None)["traces"]["processes"] == [count]


async def test_quit() -> None:
    """On the first screen q ends the program, and Esc doesn't."""
    async with looking_at(*documents()) as look:
        await look.press("escape")
        assert look.app.is_running
        await look.press("q")
        assert look.app.return_code == 0


MOVES = [
    ("j j", 2),
    ("g down down k", 1),
    ("G", 3),
    ("home", 0),
    ("end g", 0),
    ("up", 0),
    ("j j j j j", 3),
    ("g pagedown", 3),
    ("pageup", 0),
]
"""Keys, and the row to which they lead from where the keys before them led."""


async def test_moving() -> None:
    """The cursor moves by rows, by pages and to the ends, and stops there."""
    async with looking_at(*documents()) as look:
        for keys, row in MOVES:
            await look.press(*keys.split())
            assert look.screen.query_one(TraceList).cursor == row, keys


async def test_sorting_by_keys() -> None:
    """Sorting goes from column to column; the order can be turned; whoever is not at the top stays on the trace."""
    async with looking_at(*documents()) as look:
        await look.press("s")
        assert roots(look) == ["slow", "batch", "batch", "quick"]
        assert "DURATION ▾" in look.text
        assert look.screen.query_one(TraceList).cursor == 0
        await look.press("G", "S")
        assert look.screen.query_one(TraceList).cursor == 0
        assert roots(look) == ["quick", "batch", "batch", "slow"]
        assert "DURATION ▴" in look.text
        for head in ("SPANS ▾", "ERR ▾"):
            await look.press("s")
            assert f" {head}" in look.text
        await look.press("s")
        assert roots(look) == ["batch", "batch", "quick", "slow"]
        await look.press("s")
        assert roots(look) == ["quick", "batch", "batch", "slow"]


async def test_services() -> None:
    """Where there are several, and room, each trace says its root's, and how many others it has."""
    build = Builder()
    one = [build.span("GET", span=1, service="shop"), build.span("GET", span=2, parent=1, service="shop")]
    async with looking_at(*one, size=(120, 24)) as look:
        assert "SERVICE" not in look.text
        await look.grow(
            build.span("GET", trace=2, span=3, service="cart"),
            build.span("GET", trace=2, span=4, parent=3, service="stock"),
            build.span("GET", trace=3, span=5, parent=99, service="stock"),
        )
        assert " SERVICE " in look.text
        assert [line.split("GET")[0].rstrip("● ").split()[-2:] for line in look.lines if " GET " in line] == [
            ["cart", "+1"],
            ["1", "shop"],
        ]
        assert "  stock                ● ? parent not seen" in look.text
        await look.pilot.resize_terminal(100, 24)
        await look.pilot.pause()
        assert "SERVICE" not in look.text


async def test_sorting_by_the_mouse() -> None:
    """A click on a column's head sorts by it, a second one turns the order."""
    async with looking_at(*documents()) as look:
        await look.pilot.click(look.screen.query_one(TraceList).heads, offset=head_at(look, "DURATION"))
        await look.until_shown("DURATION ▾")
        assert roots(look)[0] == "slow"
        await look.pilot.click(look.screen.query_one(TraceList).heads, offset=head_at(look, "DURATION"))
        await look.until_shown("DURATION ▴")
        assert roots(look)[0] == "quick"


async def test_heads_stand_above_their_columns() -> None:
    """Heads end where their figures end, with and without bars."""
    for width in (80, 120, 200):
        async with looking_at(*documents(), size=(width, 24)) as look:
            heads = look.body[0]
            row = look.body[roots(look).index("batch") + 1]
            assert row.index("batch") == heads.index("TRACE") == row.index("✖") + 2
            assert row[heads.index("SPANS") + 4] == "2"
            assert row[heads.index("ERR") + 2] == "1"
            assert row[: heads.index("DURATION") + 8].endswith("µs")


async def test_clicking_a_row() -> None:
    """A click selects a trace; another one on it opens it; so does a double click."""
    async with looking_at(*documents()) as look:
        await look.pilot.click(TraceList, offset=(20, 2))
        assert look.is_on(TracesScreen)
        assert look.screen.query_one(TraceList).cursor == 2
        await look.pilot.click(TraceList, offset=(22, 2))
        await look.until(lambda: look.is_on(TraceScreen))
        await look.press("escape")
        await look.pilot.click(TraceList, offset=(20, 3), times=2)
        await look.until(lambda: look.is_on(TraceScreen))
        assert "slow" in look.header


async def test_clicks_beside_the_rows_do_nothing() -> None:
    """A click below the last row leaves the cursor where it is."""
    async with looking_at(*documents()) as look:
        await look.pilot.click(TraceList, offset=(20, 30), times=2)
        assert look.is_on(TracesScreen)
        assert look.screen.query_one(TraceList).cursor == 0


async def test_groups() -> None:
    """Traces of one root name are one line; Enter shows them, and every step goes back by one."""
    async with looking_at(*documents()) as look:
        await look.press("r")
        groups = look.screen.query_one(GroupList)
        assert [(group.name, group.traces) for group in groups.items] == [("batch", 2), ("quick", 1), ("slow", 1)]
        assert "TRACES" in look.text
        await look.press("enter")
        assert roots(look) == ["batch", "batch"]
        await look.press("enter")
        assert look.is_on(TraceScreen)
        await look.press("escape", "escape")
        assert groups.display
        await look.press("down", "enter")
        assert roots(look) == ["quick"]
        await look.press("q")
        assert groups.cursor == 1
        await look.press("escape")
        assert roots(look) == ["quick", "batch", "batch", "slow"]
        assert look.app.is_running


async def test_where_the_time_of_the_selected_group_went() -> None:
    """The line above groups is of the one under the cursor, and says so."""
    async with looking_at(*documents()) as look:
        await look.press("r")
        groups = look.screen.query_one(GroupList)
        for group in groups.items:
            await look.until_shown(f" {group.name}: ")
            longest = duration(group.max_ns or 0)
            assert f"{longest}, all in" in look.body[0] or f"slowest {longest}" in look.body[0]
            await look.press("j")


async def test_group_key_goes_back_and_forth() -> None:
    """The same key that groups shows all traces again, from within an open group, too."""
    async with looking_at(*documents()) as look:
        await look.press("r", "r")
        assert len(roots(look)) == 4
        await look.press("r", "enter", "r")
        assert look.screen.query_one(GroupList).display
        await look.press("r")
        assert len(roots(look)) == 4


async def test_filter_as_it_is_typed() -> None:
    """The list narrows while a filter is typed, and says how many are left; Enter goes to the list; Esc drops it."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("batch")
        await look.until_shown("2 of 4 traces")
        assert roots(look) == ["batch", "batch"]
        await look.press("enter", "j")
        assert look.screen.query_one(TraceList).cursor == 1
        assert "batch" in look.body[0]
        await look.press("escape")
        assert len(roots(look)) == 4
        assert "╱" not in look.body[0]


async def test_a_filter_by_attributes_and_figures() -> None:
    """The whole query language filters."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("status=ERROR duration>500ns")
        await look.until_shown("1 of 4 traces")
        assert roots(look) == ["batch"]


async def test_a_mistake_in_a_filter() -> None:
    """A mistake is shown with its place while the list stays as it was, and is gone when it is mended."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("batch")
        await look.until_shown("2 of 4 traces")
        await look.type(" duration>")
        assert "query, character 16: expected a value after >" in look.body[1]
        assert "batch duration>" in look.body[0]
        assert len(roots(look)) in {0, 2}
        # What comes meanwhile is an answer to the filter before.
        await look.grow(Builder().span("batch", trace=77, span=770, start=900))
        await look.pilot.pause()
        assert "query, character 16: expected a value after >" in look.body[1]
        for _ in range(len("batch duration>")):
            await look.press("backspace")
        await look.type("duration>500us")
        await look.until_shown("1 of 5 traces")
        assert "character" not in look.text
        await look.type(" (")
        assert "character" in look.body[1]
        for _ in range(len("duration>500us (")):
            await look.press("backspace")
        assert "character" not in look.text
        assert "of 4 traces" not in look.text
        assert len(roots(look)) == 5


async def test_a_dropped_filter_leaves_nothing_behind() -> None:
    """When a filter is asked for again, the mistake of the last one is forgotten."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("x=")
        assert "character" in look.body[1]
        await look.press("escape", "slash")
        assert "character" not in look.text
        assert look.body[0].startswith(" ╱ a name, or key=value")
        await look.press("enter")
        assert "╱" not in look.body[0]


async def test_nothing_matches() -> None:
    """A filter that nothing matches says so, and keys still work."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("nobody")
        await look.until_shown("0 of 4 traces", "no trace matches")
        assert 'no span has "nobody" in its name · any~nobody looks in ids, services, attributes' in look.text
        await look.press("ctrl+u")
        await look.type("name=quic")
        await look.until_shown("no trace matches", "= is exact, name~quic looks inside")
        await look.press("enter", "s", "r", "enter", "e")
        assert "no trace here has failed" in look.text
        await look.press("y")
        assert "no trace id to copy here" in look.text
        await look.press("r", "escape")
        assert len(roots(look)) == 4


async def test_nothing_matched_before_a_mistake() -> None:
    """What nothing matches is named where something else is typed by now, and so it is in the bar."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("nobody")
        await look.until_shown("0 of 4 traces", "no trace matches")
        await look.type(" -")
        await look.until_shown("nothing matches nobody, the query before the mistake")
        assert "no trace matches" not in look.text
        assert "in nobody, 0 of 4" in look.bar
        await look.press("backspace", "backspace")
        await look.until_shown("no trace matches")


async def test_a_quote_is_open() -> None:
    """As long as a phrase may go on, it says what ends it; at Enter, it is a mistake."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type('"quick')
        assert 'a second " ends it' in look.text
        assert "character" not in look.text
        await look.type('"')
        await look.until_shown("of 4 traces")
        assert "ends it" not in look.text
        await look.press("backspace", "enter")
        assert 'expected a closing "' in look.text


async def test_what_no_name_has() -> None:
    """Only a word that no span has in its name is said to be in none, by the names that there are now."""
    unnamed = Unnamed(("quick", "a.b c", "late"))
    assert unnamed.says(["slow", "QUICKLY"]) == [
        'no span has "a.b c" in its name · any~"a\\\\.b c" looks in ids, services, attributes and events, too'
    ]
    assert 'no span has "late" in its name' in unnamed.says(["slow", "QUICKLY", "a.B c"])[0]
    assert unnamed.says(["slow", "QUICKLY", "a.B c", "later"]) == []
    async with looking_at(*documents(), opening=Opening(("spans",), query="quick duration>9h")) as look:
        await look.until_shown("0 of 4 traces", "no trace matches")
        assert "looks in ids" not in look.text


async def test_a_filter_from_the_command_line() -> None:
    """A query that was given begins as the filter, and keys go to the list."""
    async with looking_at(*documents(), opening=Opening(("spans",), query="name=quick")) as look:
        await look.until_shown("1 of 4 traces")
        assert "╱ name=quick" in look.body[0]
        await look.press("enter")
        assert look.is_on(TraceScreen)


async def test_filter_and_groups() -> None:
    """Groups have the traces that match."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("status=ERROR")
        await look.until_shown("1 of 4 traces")
        await look.press("enter", "r")
        assert [(group.name, group.traces) for group in look.screen.query_one(GroupList).items] == [("batch", 1)]


async def test_the_newest_failure() -> None:
    """One key opens the newest trace that failed, at the span that failed."""
    async with looking_at(*documents()) as look:
        await look.press("e")
        await look.until_shown("error 1 of 1")
        assert look.is_on(TraceScreen)
        assert look.screen.query_one(Waterfall).cursor == 1
        await look.until_shown("bad step ✖")


async def test_failure_after_failure() -> None:
    """The same key again opens the one that failed before, after the first one the newest, as from elsewhere."""
    build = Builder()
    spans = [build.span(f"t{n}", trace=n, start=n, status="ERROR" if n % 2 else "OK") for n in range(1, 7)]
    async with looking_at(*spans) as look:
        for name in ("t5", "t3", "t1", "t5"):
            await look.press("e")
            assert look.header.startswith(f" ‹ {name}")
            await look.press("escape")
            assert look.screen.query_one(TraceList).selected == int(name[1]) - 1
        await look.press("j", "e")
        assert look.header.startswith(" ‹ t5")
        await look.press("escape", "r", "e")
        assert look.header.startswith(" ‹ t")


async def test_silent_failures(monkeypatch: pytest.MonkeyPatch) -> None:
    """A trace in which a request failed without an error says so, once it is known; e opens the newest failure."""
    build = Builder()
    attributes = {"rpc.grpc.status_code": 14}
    spans = [
        build.span("fine", trace=1, kind="SERVER", attributes={"rpc.grpc.status_code": 0}),
        build.span("bad", trace=2, status="ERROR"),
        build.span("quiet", trace=3, kind="SERVER", attributes=attributes),
        build.span("inner", trace=3, kind="CLIENT", attributes=attributes),
    ]
    async with looking_at(*spans) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        screen._calm_down()
        await look.until_shown("! quiet  gRPC 14 ×2")
        assert "!" not in look.lines[look.line_of("fine")]
        await look.press("e")
        await look.until_shown(" ‹ quiet", "gRPC status 14 UNAVAILABLE")
        await look.press("escape", "e")
        assert look.header.startswith(" ‹ bad")
        await look.press("escape")
        monkeypatch.setattr(screen.marks, "_due", 0.0)
        await look.grow(build.span("late", trace=1, kind="CLIENT", attributes=attributes))
        screen._calm_down()
        await look.until(lambda: look.text.count("  gRPC 14") == 2)


async def test_what_takes_a_moment_is_waited_for_in_words(monkeypatch: pytest.MonkeyPatch) -> None:
    """Until it is known what failed without an error, the header says so; without spans there is nothing to find."""
    async with looking_at() as look:
        assert "looking" not in look.header
    # It begins by itself within a second.
    monkeypatch.setattr(TraceMarks, "find", lambda _: None)
    async with looking_at(Builder().span(), size=(80, 24)) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        assert "looking for silent failures …" in look.header
        monkeypatch.undo()
        screen._calm_down()
        await look.until(lambda: "looking" not in look.header)
        # Of what comes, the marks come soon after.
        await look.grow(Builder().span("late", trace=2, span=2))
        assert "looking" not in look.header


async def test_runs_with_the_same_ids() -> None:
    """A trace in which different spans share their ids is marked, with an error or without."""
    build = Builder()
    again = [build.span("again", trace=trace, span=trace, start=start) for trace in (1, 2) for start in (0, 9_000)]
    failed = build.span("failed", trace=2, span=3, parent=2, status="ERROR")
    async with looking_at(*again, failed, build.span("other", trace=3), size=(120, 120)) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        screen._calm_down()
        await look.until_shown("≡ again  several runs, likely", "✖ again  several runs, likely", "  other")
        await look.press("question_mark")
        await look.until_shown("≡", "likely several runs with the same ids: different spans share them")


async def test_what_a_retry_made_good_comes_after_what_lasted() -> None:
    """What lasted comes first, with an error or without, the newest before the others; then what a retry made good."""
    build = Builder()
    attempt: dict[str, Any] = {"name": "f ray.remote_worker", "trace": 1, "parent": 10, "kind": "CONSUMER"}
    spans = [
        build.span("f ray.remote", trace=1, span=10, start=900, duration=1, kind="PRODUCER"),
        build.span(**attempt, start=910, status="ERROR"),
        build.span(**attempt, start=990),
        build.span("lasted", trace=2, start=100, status="ERROR"),
        build.span("silent", trace=3, start=2000, kind="SERVER", attributes={"http.status_code": 500}),
    ]
    async with looking_at(*spans) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        screen._calm_down()
        await look.until(lambda: screen.marks.are_known)
        for name in ("silent", "lasted", "f", "silent"):
            await look.press("e")
            await look.until_shown(f" ‹ {name}   ")
            await look.press("escape")


async def test_only_what_failed() -> None:
    """One key lists what failed, with an error or without, and all again; the bar says so; what comes may fail, too."""
    build = Builder()
    attributes = {"http.status_code": 500}
    spans = [
        build.span("fine", trace=1),
        build.span("bad", trace=2, status="ERROR"),
        build.span("quiet", trace=3, kind="SERVER", attributes=attributes),
    ]
    async with looking_at(*spans, size=(140, 40)) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        await look.press("f")
        assert listed(look) == ["bad"]
        assert "only failed" in look.bar
        screen._calm_down()
        await look.until(lambda: listed(look) == ["quiet", "bad"])
        await look.grow(build.span("late", trace=1, status="ERROR"), build.span("new", trace=4))
        assert listed(look) == ["quiet", "bad", "fine"]
        await look.press("t")
        await look.until_shown("statistics of 3 traces")
        await look.press("escape", "escape")
        assert len(listed(look)) == 4
        assert "only failed" not in look.bar


async def test_nothing_has_failed() -> None:
    """That is said once it is known."""
    async with looking_at(Builder().span("fine")) as look:
        await look.press("f")
        await look.until_shown("looking for failures …", "f lists all again")
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        screen._calm_down()
        await look.until_shown("no trace here has failed")
        await look.press("f")
        assert listed(look) == ["fine"]


async def test_no_error_but_something_failed() -> None:
    """A filter for errors that matches nothing names what failed without one."""
    spans = [Builder().span("quiet", kind="SERVER", attributes={"http.status_code": 404})]
    async with looking_at(*spans, opening=Opening(("spans",), query="status=ERROR")) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        await look.until_shown("no trace matches")
        screen._calm_down()
        await look.until_shown("1 trace failed without an error (HTTP 404): Esc, then f lists them")
        await look.press("escape", "f")
        assert listed(look) == ["quiet"]


async def test_traces_that_are_not_as_usual() -> None:
    """List, title and preview say the same of them: no duration, no end, no root, no name, no time."""
    build = Builder()
    spans = [
        build.span("open", trace=1, start=0, duration=None),
        build.span("round", trace=2, span=20, parent=21, start=100),
        build.span("about", trace=2, span=21, parent=20, start=105),
        build.span("", trace=3, start=200, duration=20),
        build.span("instant", trace=4, start=300, duration=0),
    ]
    async with looking_at(*spans, size=(200, 40)) as look:
        top = look.screen.query_one(TraceList).region.y
        instant, unnamed, circle, open_ended = (line[:100] for line in look.lines[top : top + 4])
        assert " 0 µs " in instant
        assert "(no name)" in unnamed
        assert "◌ ↻ round  incomplete" in circle
        assert " – " in open_ended
        assert "◌ open  1 span without an end" in open_ended
        await look.until_shown("instant   0 µs   1 span", "0 µs: it ends when it starts")
        await look.press("end", "enter")
        await look.until_shown("‹ open   –   1 span   1 process   1 span without an end")
        await look.press("escape", "up", "enter")
        await look.until_shown("‹ ↻ round   15 µs   2 spans   1 process   incomplete", "in ↻ round")
        await look.press("escape", "g", "enter")
        await look.until_shown("‹ instant   0 µs   1 span   1 process   complete", "0 µs: it ends when it starts")
        await look.press("escape", "F")
        await look.until_shown("(no name)")


async def test_a_mistake_is_mended_where_it_was_typed() -> None:
    """Enter leaves it only once it is understood: what is typed next would be keys of the list else."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("dur>1s")
        await look.press("enter")
        assert "did you mean duration?" in look.text
        await look.press("ctrl+u")
        await look.type("dr")
        assert not look.screen.query_one(TraceList).has_focus
        await look.press("enter")
        assert look.screen.query_one(TraceList).has_focus
        assert look.app.marked is None


async def test_no_failure() -> None:
    """Where nothing failed, that is said; before that is known, that it is being found out."""
    async with looking_at(Builder().span("fine")) as look:
        screen = look.screen
        assert isinstance(screen, TracesScreen)
        screen.marks._known_of = -1
        await look.press("e")
        assert "looking for failures …" in look.footer
        screen.marks._asked_of = -1
        screen.marks.find()
        await look.until(lambda: screen.marks.are_known)
        await look.press("e")
        assert "no trace here has failed" in look.footer


async def test_copying_the_trace_id() -> None:
    """The id of the selected trace goes to the clipboard."""
    async with looking_at(*documents()) as look:
        await look.press("down", "y")
        assert look.app.clipboard == f"{3:032x}"
        assert "copied the trace id" in look.footer


async def test_empty() -> None:
    """With nothing to show, the screen says where it looked and how to turn tracing on; names are made harmless."""
    path = "/nowhere\x1b[2J[/nope]\u202e"
    opening = Opening((path,), nothing=(f"looked in {path}", "to turn tracing on:", "do this"))
    async with looking_at(opening=opening) as look:
        await look.until_shown("no spans here", f"looked in {sanitise(path)}", "do this")
        assert sanitise(path) in look.header
        await look.press("enter", "down", "e", "s", "r", "enter", "y", "slash", "escape")
        assert look.app.is_running


async def test_only_some_traces() -> None:
    """Where the traces are limited, only those and newer ones are listed."""
    async with looking_at(*documents(), opening=Opening(("spans",), choose=lambda _store: {0, 3})) as look:
        assert len(roots(look)) == 2
        await look.grow(Builder().span("quick", trace=9, start=99))
        assert len(roots(look)) == 3


async def test_the_newest_run_moves_on() -> None:
    """Where the newest run is asked for, one that begins takes the place of that before; shorter pauses are in one."""

    def newest(store: Store) -> set[int]:
        since = parse_since("last", 0).cutoff_ns(store)
        return {*selected_traces(store, query=parse_query(""), since_cutoff=since)}

    minute, build = 60_000_000, Builder()
    first, second = build.span("old", trace=1), build.span("first", trace=2, start=2 * minute)
    async with looking_at(first, second, opening=Opening(("spans",), choose=newest)) as look:
        assert "  first " in look.text
        assert "  old " not in look.text
        await look.grow(build.span("soon", trace=3, start=int(2.9 * minute)))
        await look.until_shown("  first ", "  soon ")
        await look.grow(build.span("next", trace=4, start=4 * minute))
        await look.until(lambda: "  next " in look.text and "  soon " not in look.text)
        assert "  first " not in look.text
        await look.grow(build.span("too", trace=5, start=4 * minute + 10))
        await look.until_shown("  next ", "  too ")


async def test_incomplete_traces_are_marked() -> None:
    """A trace whose parent is missing has no root name, but the id that its spans name."""
    async with looking_at(Builder().span("orphan", parent=0x3F1C9A0200000000)) as look:
        assert "? parent not seen (3f1c9a02)" in look.text
        assert "◌ ? parent not seen (3f1c9a02)  incomplete" in look.text


async def test_dates() -> None:
    """Starts more than a day apart have their dates."""
    builder = Builder()
    async with looking_at(builder.span(start=0), builder.span(trace=2, start=2 * 86_400e6), size=(80, 24)) as look:
        assert "2023-11-14 " in look.text or "2023-11-15 " in look.text
        assert " START ▾".strip() in look.body[0]


async def test_help() -> None:
    """The help opens, shows the keys of this screen first, and closes as every screen does."""
    async with looking_at(*documents()) as look:
        for key in ("escape", "q", "question_mark"):
            await look.press("question_mark")
            assert look.is_on(HelpScreen)
            assert look.line_of("on this screen") < look.line_of("traces grouped by root name")
            await look.press(key)
            assert look.is_on(TracesScreen)


async def test_a_mistake_leaves_room_for_what_is_typed() -> None:
    """On a narrow screen too, what is typed is seen beside what is wrong with it."""
    async with looking_at(*documents(), size=(80, 24)) as look:
        await look.press("slash")
        await look.type("http.response.status_code>=500 AND")
        assert "http.response.status_code>=500 AND" in look.body[0]
        assert "query, character 32: expected a term, not AND: a space means and" in look.body[1]


async def test_a_narrowed_list_says_so() -> None:
    """As long as a group or a range of times is all that is listed, the bar says which, and of how many."""
    async with looking_at(*documents(), size=(120, 24)) as look:
        await look.press("r", "enter")
        root = look.app.root_name(look.screen.query_one(TraceList).model.order[0])
        assert f"in {root}, 2 of" in look.bar
        await look.press("escape", "escape", "j", "left_curly_bracket")
        assert " – en" in look.bar
        await look.press("escape")
        assert "4 traces" in look.header
        assert " in " not in look.bar


async def test_what_a_key_did_stays_on_its_screen() -> None:
    """What was said of the list is not said of the trace that is opened next."""
    async with looking_at(*documents()) as look:
        await look.press("s")
        assert "sorted by" in look.footer
        await look.press("enter")
        assert "sorted by" not in look.footer


async def test_only_the_first_button_opens() -> None:
    """Other buttons of the mouse neither select nor open."""
    async with looking_at(*documents()) as look:
        top = look.line_of("START ▾") + 1
        await look.pilot.click(offset=(30, top), button=3)
        await look.pilot.click(offset=(30, top), button=3)
        assert look.is_on(TracesScreen)
        await look.pilot.click(offset=(30, top))
        await look.pilot.pause()
        assert not look.is_on(TracesScreen)


async def test_a_list_that_is_hidden_for_a_moment_keeps_the_keys() -> None:
    """While a filter has found nothing yet the list is hidden, and what is pressed then isn't typed into the filter."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        await look.type("batch")
        await look.press("enter")
        rows = look.screen.query_one(TraceList)
        # What Textual does when the hiding comes to its turn, though the list is shown again by then.
        rows.blur()
        await look.press("s")
        assert look.app.focused is rows
        assert "sorted by" in look.footer


async def test_a_mistake_is_told_whole() -> None:
    """What is wrong, where, and what was expected takes as many lines as it needs; the list begins below."""
    async with looking_at(*documents(), size=(60, 24)) as look:
        await look.press("slash")
        await look.type("trace.size>1 ")
        await look.until_shown("query, character 1: expected one of", "trace.complete; for")
        at, heads = look.line_of("query, character 1"), look.line_of("DURATION")
        assert heads - at > 1
        told = " ".join(" ".join(look.lines[at:heads]).split())
        assert told == look.screen.query_one(Prompt)._result
        assert told.endswith('write "trace.size" with the quotes')


async def test_the_preview() -> None:
    """On a wide screen the selected trace stands beside the list, follows the cursor, and a double click opens it."""
    async with looking_at(*documents(), size=(180, 30)) as look:
        await look.until(lambda: look.screen.query(Waterfall))
        names = roots(look)
        await look.until(lambda: look.screen.query_one(Waterfall).model.trace == look.app.first_screen.traces.selected)
        await look.press("G")
        await look.until(lambda: f"  {names[-1]}   " in look.text and look.screen.query(Waterfall))
        await look.until(lambda: look.screen.query_one(Waterfall).model.trace == look.app.first_screen.traces.selected)
        await look.until_shown("DURATION  0 µs")
        assert str(look.screen.query_one(Preview).query_one(AnswerLine).render()).strip().endswith(f"in {names[-1]}")
        await look.press("r")
        assert not look.screen.query_one(Preview).display
        await look.press("r")
        await look.pilot.resize_terminal(120, 30)
        await look.until(lambda: not look.screen.query_one(Preview).display)
