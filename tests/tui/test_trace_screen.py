"""One trace, walked by keys and mouse: folding, searching, errors, time, and the details of a span.

run 0-1000
  load 100-300
    read 120-200      failed
    parse 210-290
  work 400-900
    step 410-500
    step 510-600      failed
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder, Document, time_text
from spanview.analysis.query import matches
from spanview.tui.app.opening import Opening
from spanview.tui.span.details import DetailLines, Details, TabLine
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.trace.waterfall import Waterfall
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.traces.traces_screen import TracesScreen
from spanview.tui.widgets.linelist import LineList
from spanview.tui.widgets.minimap import Minimap
from spanview.tui.widgets.prompt import Prompt
from viewers import Look, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from spanview.analysis.query.query import Query
    from spanview.index.arrays import Places
    from spanview.index.store import Store
    from spanview.tui.trace.trace_model import TraceModel

SMALL, USUAL = (80, 24), (120, 40)
LITTLE = (80, 22)
"""Too few lines for the spans of a longer trace and for details."""


def documents() -> list[Document]:
    """Return the spans of the drawing."""
    drawn = Builder().draw(
        """
        run 0-1000
          load 100-300
            read 120-200
            parse 210-290
          work 400-900
            step 410-500
            step 510-600
        """
    )
    attributes = {
        "exception.type": "OSError",
        "exception.message": "gone",
        "exception.stacktrace": 'Traceback:\n  File "a.py", line 3\nOSError: gone\n',
    }
    event = {"name": "exception", "timestamp": time_text(190), "attributes": attributes}
    drawn[2] |= {"status": {"status_code": "ERROR", "description": "OSError: gone"}, "events": [event]}
    drawn[6] |= {"status": {"status_code": "ERROR"}}
    drawn[1] |= {"attributes": {"path": "/data/file", "tries": 3}}
    return drawn


def more_documents() -> list[Document]:
    """Return the spans of the drawing, and some more."""
    build = Builder()
    return [*documents(), *(build.span("tail", span=20 + number, parent=1, start=950) for number in range(9))]


def waterfall(look: Look) -> Waterfall:
    """Return the rows."""
    return look.screen.query_one(Waterfall)


def model(look: Look) -> TraceModel:
    """Return what the rows are made from."""
    return waterfall(look).model


def here(look: Look) -> str:
    """Return the name of the span under the cursor."""
    rows = waterfall(look)
    assert rows.node is not None
    store = look.data.store
    return store.names.texts[store.spans.name[rows.model.tree.rows[rows.node]]]


def shown(look: Look) -> list[str]:
    """Return the names of the rows, from the top."""
    store, rows = look.data.store, model(look)
    return [store.names.texts[store.spans.name[rows.tree.rows[node]]] for node, _ in rows.rows]


# -- folding ----------------------------------------------------------------------------------------------------------


async def test_collapse_and_expand() -> None:
    """To the left collapses and then goes to the parent; to the right expands and then goes to the first child."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "right")
        assert here(look) == "load"
        await look.press("l")
        assert here(look) == "read"
        await look.press("left")
        assert here(look) == "load"
        await look.press("h")
        assert shown(look) == ["run", "load", "work", "step", "step"]
        assert "▸ load" in look.text
        assert "+2 ✖1" in look.text
        await look.press("left")
        assert here(look) == "run"
        await look.press("down", "right")
        assert len(shown(look)) == 7
        assert here(look) == "load"


async def test_collapse_and_expand_all() -> None:
    """All are collapsed to the root and opened again; the cursor stays on what can be seen of its span."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "G", "left_square_bracket")
        assert shown(look) == ["run"]
        assert here(look) == "run"
        await look.press("right_square_bracket", "G", "right_square_bracket")
        assert len(shown(look)) == 7
        assert here(look) == "step"


async def test_folding_by_the_mouse() -> None:
    """A click on the arrow before a name folds and unfolds; a click beside it selects; the second one opens."""
    async with looking_at(*documents()) as look:
        await look.press("enter")
        row = look.line_of("▾ load") - waterfall(look).region.y
        x = look.lines[look.line_of("▾ load")].index("▾ load")
        await look.pilot.click(Waterfall, offset=(x, row))
        assert shown(look) == ["run", "load", "work", "step", "step"]
        await look.pilot.click(Waterfall, offset=(x, row))
        assert len(shown(look)) == 7
        await look.pilot.click(Waterfall, offset=(x + 3, row + 1))
        assert here(look) == "read"
        assert look.is_on(TraceScreen)
        await look.pilot.click(Waterfall, offset=(x + 4, row + 1))
        await look.until(lambda: look.is_on(SpanScreen))


# -- searching and errors ---------------------------------------------------------------------------------------------


async def test_search() -> None:
    """A search counts its matches; Enter goes to the first from here on; n and N go round; Esc drops it."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "slash")
        await look.type("step")
        await look.until_shown("2 matches, n N")
        await look.press("enter")
        await look.until_shown("match 1 of 2")
        assert waterfall(look).cursor == 5
        await look.press("n")
        assert waterfall(look).cursor == 6
        await look.press("n")
        assert waterfall(look).cursor == 5
        await look.press("N")
        assert waterfall(look).cursor == 6
        assert "match 2 of 2" in look.footer
        await look.press("escape")
        assert not waterfall(look).matched
        assert look.is_on(TraceScreen)
        assert "╱" not in look.body[1]
        await look.press("escape")
        assert look.is_on(TracesScreen)


async def test_a_search_ends_with_its_screen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slow search says that it goes on; what it finds when its screen was left, or another typed, changes nothing."""
    asked, go_on = threading.Event(), threading.Event()

    def matching_rows(_store: Store, query: Query, rows: Places) -> Iterator[tuple[Places, int]]:
        if query.text == "slow":
            asked.set()
            go_on.wait(20)
        yield rows, 0

    monkeypatch.setattr(matches, "matching_rows", matching_rows)
    async with looking_at(*documents()) as look:
        await look.press("enter")
        await look.type("/slow")
        await look.until(asked.is_set)
        await look.until_shown("searching…")
        await look.type("er")
        await look.until_shown("7 matches, n N")
        await look.type("/")
        await look.until_shown("7 matches, n N")
        asked.clear()
        for _ in "er/":
            await look.press("backspace")
        await look.until(asked.is_set)
        for _ in range(2):
            # One at a time: between keys that are pressed together, what is worked on is waited for.
            await look.press("escape")
        assert look.is_on(TracesScreen)
        go_on.set()
        await look.until(lambda: all(worker.is_finished for worker in look.app.workers))
        assert look.app.is_running


async def test_a_screen_takes_no_key_before_it_has_its_widgets() -> None:
    """An action is refused while the screen is still being put together."""
    async with looking_at(*documents()) as look:
        look.app.push_screen(TraceScreen(look.data.store, 0))
        screen = look.app.screen
        assert isinstance(screen, TraceScreen)
        assert not screen.check_action("back", ())
        await look.until(lambda: screen.check_action("back", ()))


async def test_a_screen_that_was_left_rests() -> None:
    """What was still on its way to a screen when it was left finds nothing to do there."""
    async with looking_at(*documents()) as look:
        await look.press("enter")
        screen = look.app.screen
        assert isinstance(screen, TraceScreen)
        rows = screen.rows
        await look.press("escape")
        assert screen.is_left
        await screen.on_prompt_typed(Prompt.Typed("load", done=True))
        screen.on_line_list_moved(LineList.Moved(rows))
        screen.on_line_list_chosen(LineList.Chosen(rows))
        screen._details.show()
        screen._begin_elsewhere()
        screen.stitcher.stitch()
        assert look.is_on(TracesScreen)


async def test_search_opens_what_hides_a_match() -> None:
    """A match inside what is collapsed is revealed; what has nothing to do with it stays collapsed."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "left_square_bracket", "slash")
        await look.type("tries=3")
        await look.until_shown("1 match, n N")
        await look.press("enter")
        await look.until_shown("match 1 of 1")
        assert shown(look) == ["run", "load", "work"]
        assert here(look) == "load"


async def test_search_without_matches_and_with_mistakes() -> None:
    """What isn't found and what can't be searched is said; emptied, the search is over."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "slash")
        await look.type("nobody")
        await look.until_shown("0 matches, any~… looks further")
        await look.press("ctrl+u")
        await look.type("weather=fine")
        await look.until_shown("0 matches, n N", "no span of this trace has weather")
        await look.press("ctrl+u")
        await look.type("nobody")
        await look.until_shown("0 matches, any~…")
        await look.press("enter")
        await look.until_shown("no match in this trace")
        await look.press("n")
        assert "no match in this trace" in look.footer
        await look.press("slash")
        await look.type(" x<")
        await look.until_shown("query, character 10")
        for _ in range(9):
            await look.press("backspace")
        assert "character" not in look.text
        await look.press("enter")
        assert "╱" not in look.body[1]


async def test_errors() -> None:
    """The keys for errors go from the newest to the next, round the ends, and open what hides them."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "left_square_bracket", "e")
        assert waterfall(look).cursor == 4
        assert here(look) == "step"
        assert "error 1 of 2" in look.footer
        # From where nothing failed, it goes on where it was.
        await look.press("g", "e")
        assert here(look) == "read"
        assert "error 2 of 2" in look.footer
        await look.press("e")
        assert here(look) == "step"
        await look.press("E")
        assert "error 2 of 2" in look.footer


async def test_an_exception_is_shown_where_it_began() -> None:
    """The newest failure of a chain is the innermost span; those that passed the exception on come next."""
    drawn = Builder().draw(
        """
        old 0-90
          caught 10-20
          new 30-60
            origin 40-50
        """
    )
    for document, message in zip(drawn, ("gone", "other", "gone", "gone"), strict=True):
        event = {"name": "exception", "timestamp": time_text(45), "attributes": {"exception.message": message}}
        document |= {"status": {"status_code": "ERROR"}, "events": [event]}
    async with looking_at(*drawn) as look:
        visited = []
        for _ in drawn:
            await look.press("e")
            visited.append(here(look))
        assert visited == ["origin", "new", "old", "caught"]


async def test_a_folded_row_leads_to_its_newest_failure() -> None:
    """Of similar siblings in one row, it is the one that failed last, whatever was visited before."""
    build = Builder()
    spans = [build.span("run", start=0, duration=900, status="ERROR")]
    spans += [build.span("leaf", parent=1, start=10 * n, status="ERROR" if n in {3, 7} else "OK") for n in range(1, 12)]
    async with looking_at(*spans) as look:
        await look.press("e")
        await look.until_shown("error 1 of 3")
        assert waterfall(look).cursor == 7
        await look.press("g", "R", "R", "down", "e")
        await look.until_shown("error 1 of 3")
        assert waterfall(look).cursor == 7


async def test_what_never_ran_is_named() -> None:
    """`e` says of a call without an error what makes it a failure."""
    build = Builder()
    spans = [
        build.span("A.__init__ ray.remote", trace=1, span=1, start=0, kind="PRODUCER"),
        build.span(
            "A.__init__ ray.remote_worker",
            trace=1,
            span=2,
            parent=1,
            start=1,
            kind="CONSUMER",
            status="ERROR",
            attributes={"ray.actor_id": "a" * 32},
        ),
        build.span(
            "A.send ray.remote",
            trace=1,
            span=3,
            start=5,
            kind="PRODUCER",
            attributes={"ray.actor_id": "a" * 32, "ray.actor_class": "A"},
        ),
    ]
    async with looking_at(*spans) as look:
        await look.press("enter", "E")
        await look.until_shown("silent failure: no error, but A.send never ran: constructor failed")


async def test_failures_of_a_trace_by_their_time() -> None:
    """The newest comes first, with an error or without; an exception's spans stay together, a retried one is last."""
    build = Builder()
    attempt: dict[str, Any] = {"name": "f ray.remote_worker", "parent": 20, "kind": "CONSUMER"}
    of_client: dict[str, Any] = {"parent": 1, "kind": "CLIENT", "attributes": {"http.status_code": 500}}
    spans = [
        build.span("run", span=1, start=0, duration=900),
        build.span("outer", span=2, parent=1, start=100, duration=300, status="ERROR"),
        build.span("inner", span=3, parent=2, start=110, duration=40, status="ERROR"),
        build.span("late", span=4, start=420, duration=10, **of_client),
        build.span("between", span=5, start=200, duration=10, **of_client),
        build.span("early", span=6, start=50, duration=10, **of_client),
        build.span("old", span=7, parent=1, start=80, duration=10, status="ERROR"),
        build.span("f ray.remote", span=20, parent=1, start=500, duration=1, kind="PRODUCER"),
        build.span(**attempt, span=21, start=510, duration=10, status="ERROR"),
        build.span(**attempt, span=22, start=530, duration=10),
    ]
    async with looking_at(*spans, size=(140, 40)) as look:
        await look.press("enter")
        await look.until_shown("late  ", "! HTTP 500")
        visited = list[str]()
        rows = look.screen.query_one(Waterfall)
        for _ in range(7):
            await look.press("e")
            assert rows.node is not None
            visited.append(rows.texts.name(rows.node))
        assert visited == ["late", "inner", "outer", "between", "old", "early", "f"]


async def test_silent_failures_among_errors() -> None:
    """They are marked in their rows, and the headline says how they failed; of all failures the newest comes first."""
    build = Builder()
    spans = [
        build.span("older", trace=2, span=1, start=0, status="ERROR"),
        build.span("quiet", trace=3, span=1, start=90, kind="SERVER", attributes={"http.status_code": "503"}),
        build.span("run", trace=1, span=1, start=100),
        build.span(
            "get", trace=1, start=101, span=2, parent=1, kind="CLIENT", attributes={"http.response.status_code": 404}
        ),
        build.span(
            "well", trace=1, start=102, span=3, parent=1, kind="CLIENT", attributes={"http.response.status_code": 200}
        ),
        build.span("bad", trace=1, start=103, span=4, parent=1, status="ERROR", description="gone"),
    ]
    async with looking_at(*spans) as look:
        await look.until_shown("HTTP 503", "HTTP 404")
        await look.press("e")
        await look.until_shown("bad ✖ gone", "error 1 of 1", "✖ gone", "! HTTP 404")
        assert "!" not in look.lines[look.line_of("well")]
        await look.press("e")
        await look.until_shown("silent failure: no error, but HTTP status 404", "get ! HTTP status 404   CLIENT")
        # The status codes are among the attributes.
        await look.until_shown("http.response.status_code  404")
        await look.press("e")
        await look.until_shown("‹ quiet", "silent failure: no error, but HTTP status 503")
        await look.press("e")
        await look.until_shown("‹ older", "error 1 of 1")
        await look.press("e")
        await look.until_shown("‹ run", "error 1 of 1")
        await look.press("E")
        await look.until_shown("‹ older", "error 1 of 1")
        await look.press("E", "E")
        await look.until_shown("‹ run", "silent failure: ")
        await look.press("escape")
        assert look.is_on(TracesScreen)
        assert look.screen.query_one(TraceList).selected == 2


async def test_no_errors() -> None:
    """In a trace without errors that is said."""
    async with looking_at(Builder().span()) as look:
        await look.press("enter", "e", "n")
        assert "no match in this trace" in look.footer


# -- time -------------------------------------------------------------------------------------------------------------


async def test_zoom_and_pan() -> None:
    """Zooming keeps the selected span in sight; panning stops at the trace's ends; the whole comes back."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "down", "down", "plus", "plus")
        whole, window, span = (
            model(look).whole,
            model(look).shown,
            model(look).stitched.interval(waterfall(look).node or 0),
        )
        assert span is not None
        assert window.length_ns == pytest.approx(whole.length_ns * 0.36, rel=0.01)
        assert window.start_ns <= span[0] < span[1] <= window.end_ns
        await look.press("greater_than_sign")
        assert model(look).shown.start_ns > window.start_ns
        assert model(look).shown.length_ns == pytest.approx(window.length_ns, abs=2)
        await look.press(*["greater_than_sign"] * 30)
        assert model(look).shown.end_ns == whole.end_ns
        await look.press(*["less_than_sign"] * 30)
        assert model(look).shown.start_ns == whole.start_ns
        await look.press("0")
        assert model(look).shown == whole
        await look.press("minus")
        assert model(look).shown == whole


async def test_zoom_has_an_end() -> None:
    """However often one zooms, there is time left to show, and the way back out."""
    async with looking_at(*documents()) as look:
        await look.press("enter", *["plus"] * 40)
        assert 900 <= model(look).shown.length_ns <= 1_100
        await look.press(*["minus"] * 40)
        assert model(look).shown == model(look).whole


async def test_fit() -> None:
    """Fitting shows the selected span with a little of what is round it."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "down", "f")
        window, span = model(look).shown, model(look).stitched.interval(waterfall(look).node or 0)
        assert span is not None
        assert (window.start_ns, window.end_ns) == (span[0] - 10_000, span[1] + 10_000)
        assert "90 µs" in look.body[2]


# -- where the time went ----------------------------------------------------------------------------------------------


async def test_where_the_time_went() -> None:
    """It is said above the trace for as long as that is shown, and follows the trace as it grows."""
    async with looking_at(Builder().span("run", span=1, start=0, duration=100), size=USUAL) as look:
        await look.press("enter")
        await look.until(lambda: look.body[0].strip() == "100 µs, all in run   c shows the path")
        await look.press("c")
        await look.until(lambda: "c hides the path" in look.body[0])
        await look.grow(Builder().span("sql", span=2, parent=1, start=10, duration=60))
        await look.until(lambda: look.body[0].startswith(" so far 100 µs = 60 µs in sql + 40 µs in run"))


# -- details ----------------------------------------------------------------------------------------------------------


async def test_details_follow_the_cursor() -> None:
    """Where there is room, the selected span's details stand below, and follow the cursor."""
    async with looking_at(*documents(), size=USUAL) as look:
        await look.press("enter")
        await look.until_shown("run   INTERNAL   1 ms", "Attributes 0  Events 0", "no attributes", "spans/1.json @ 0")
        await look.press("down")
        await look.until_shown("load   INTERNAL   200 µs", "Attributes 2", "path   /data/file")
        await look.press("down")
        await look.until_shown("read ✖ OSError: gone   INTERNAL   80 µs", "Events 1")


async def test_sections() -> None:
    """Tab goes to the next section that isn't empty, o to the record and back, a click on a title to its section."""
    async with looking_at(*documents(), size=USUAL) as look:
        await look.press("enter", "down", "down")
        await look.until_shown("read ✖")
        await look.press("tab")
        await look.until_shown("✖ OSError: gone   +70 µs", 'File "a.py", line 3')
        await look.press("tab", "tab")
        await look.until_shown("in the trace", "starts 120 µs after the trace")
        await look.press("o")
        await look.until_shown('"name": "read"')
        await look.press("o")
        await look.until_shown("in the trace")
        await look.pilot.click(TabLine, offset=(3, 0))
        await look.until_shown("no attributes")
        titles = look.lines[look.screen.query_one(TabLine).region.y]
        await look.pilot.click(TabLine, offset=(titles.index("Raw") + 1, 0))
        await look.until_shown('"name": "read"')
        await look.press("tab")
        await look.until_shown("OSError: gone   +70 µs")


async def test_details_on_a_screen_of_their_own() -> None:
    """On a small screen Enter shows the details alone, and leads back to the span."""
    async with looking_at(*more_documents(), size=LITTLE) as look:
        await look.press("enter", "down", "down")
        assert not look.screen.query_one(Details).display
        await look.press("enter")
        assert look.is_on(SpanScreen)
        await look.until_shown(" ‹ run › read", "read ✖ OSError: gone", "no attributes")
        await look.press("tab")
        await look.until_shown('File "a.py", line 3')
        await look.press("q")
        assert here(look) == "read"


async def test_details_where_there_is_little_room() -> None:
    """On a small screen Tab shows the details over the lower half, o the record; Esc hides them again."""
    async with looking_at(*more_documents(), size=LITTLE) as look:
        await look.press("enter", "down", "down", "tab")
        await look.until_shown(
            "Attributes 0  Events 1", "no attributes", "attributes of the span; Esc hides the details"
        )
        assert here(look) == "read"
        await look.press("tab")
        await look.until_shown("OSError: gone   +70 µs", "events of the span")
        await look.press("escape")
        assert not look.screen.query_one(Details).display
        assert look.is_on(TraceScreen)
        await look.press("o")
        await look.until_shown('"name": "read"', "raw of the span")
        await look.press("o")
        await look.until_shown("OSError: gone   +70 µs")
        await look.press("o", "escape", "o")
        await look.until_shown('"name": "read"')
        await look.press("escape", "escape")
        assert not look.is_on(TraceScreen)


async def test_details_without_any_room() -> None:
    """Where the details would leave nothing of the tree, Tab says what shows them, and o opens the span's screen."""
    async with looking_at(*documents(), size=(100, 14)) as look:
        await look.press("enter", "tab")
        assert "no room for details here: Enter opens them" in look.footer
        assert not look.screen.query_one(Details).display
        await look.press("o")
        assert look.is_on(SpanScreen)
        await look.until_shown('"name": "run"')
        await look.press("escape", "enter")
        await look.until_shown("no attributes")


async def test_resizing() -> None:
    """The details come and go with the room for them, and move beside the rows where the screen is wide."""
    async with looking_at(*more_documents(), size=LITTLE) as look:
        await look.press("enter", "down")
        await look.pilot.resize_terminal(*USUAL)
        await look.until(lambda: look.screen.query_one(Details).display)
        await look.press("down", "up")
        await look.until_shown("/data/file")
        await look.pilot.resize_terminal(160, 20)
        await look.until(lambda: look.screen.query_one(Details).region.x > 90)
        top = look.screen.query_one(Minimap).region.y
        assert look.screen.query_one(Details).region.y == top
        assert "/data/file" in look.lines[top + 2]
        assert waterfall(look).region.width < 100
        await look.pilot.resize_terminal(*LITTLE)
        await look.until(lambda: not look.screen.query_one(Details).display)
        assert waterfall(look).region.width == LITTLE[0]


async def test_room_of_the_details() -> None:
    """A short trace leaves the rest to its details; in a long one they are as high as their content, within limits."""
    async with looking_at(*documents(), size=SMALL) as look:
        await look.press("enter", "down")
        await look.until_shown("/data/file")
        rows, below = waterfall(look).region, look.screen.query_one(Details).region
        assert (rows.height, below.y) == (7, rows.bottom)
        assert below.bottom == SMALL[1] - 1
        await look.press("left_square_bracket")
        await look.until(lambda: waterfall(look).region.height == 1)
    build = Builder()
    many = {f"key {number}": number for number in range(60)}
    spans = [build.span(f"s{number}", attributes=many if number == 2 else {"k": 1}) for number in range(60)]
    async with looking_at(*spans, size=USUAL) as look:
        await look.press("enter")
        pane = look.screen.query_one(Details)
        await look.press("R", "down")
        await look.until(lambda: pane.region.height == 4)
        await look.press("down")
        await look.until(lambda: pane.region.height == 16)
        await look.press("e")
        assert pane.region.height == 16


async def test_what_is_clicked_in_the_details_stays_in_sight(monkeypatch: pytest.MonkeyPatch) -> None:
    """A click on a line of the details selects it and scrolls nothing away."""
    monkeypatch.setattr("spanview.tui.trace.details_below._CURSOR_RESTS_S", 0.001)
    document = Builder().span(attributes={f"key {number}": number for number in range(60)})
    async with looking_at(document) as look:
        await look.press("enter")
        await look.until_shown("key 3")
        lines = look.screen.query_one(DetailLines)
        lines.scroll_to(y=20, animate=False, immediate=True)
        await look.pilot.pause()
        await look.pilot.click(DetailLines, offset=(5, 3))
        await look.pilot.pause()
        assert (lines.cursor, lines.scroll_offset.y) == (23, 20)


async def test_long_values_are_whole() -> None:
    """A value of many lines loses nothing at their ends, with a scrollbar beside it or without."""
    value = "".join(f"<{number}>" for number in range(3_000))
    for size in (SMALL, USUAL):
        async with looking_at(Builder().span(attributes={"long": value}), size=size) as look:
            await look.press("enter", "enter")
            lines = look.screen.query_one(DetailLines)
            await look.until_shown("<9>")
            rows = [lines.segments_of(row, lines.line_width) for row in range(lines.row_count)]
            assert "".join(row[-1].text.rstrip() for row in rows) == value
            assert {sum(part.cell_length for part in row) for row in rows} == {lines.line_width}


async def test_a_parent_that_was_not_seen() -> None:
    """A placeholder says what it is, and opening it says that there is nothing to open."""
    async with looking_at(Builder().span("orphan", parent=9)) as look:
        await look.press("enter")
        await look.until_shown("? parent not seen 00000000", "it has not ended yet, or its record is lost")
        assert "incomplete" in look.header
        await look.press("enter", "tab", "o")
        assert look.is_on(TraceScreen)
        await look.press("enter")
        assert "nothing to open" in look.footer


async def test_runs_with_the_same_ids() -> None:
    """The title says that a trace is likely several runs."""
    for later, is_said in ((42_000_000, True), (900, False)):
        runs = [Builder().span("drawn", span=1, start=start) for start in (0, later)]
        async with looking_at(*runs, size=(120, 30)) as look:
            await look.press("enter")
            await look.until_shown("drawn")
            assert ("likely several runs with the same ids" in look.header) == is_said


async def test_a_call_that_hangs() -> None:
    """Its trace has all its parents, and isn't called complete."""
    build = Builder()
    async with looking_at(build.span("run"), build.span("f ray.remote", parent=1, kind="PRODUCER")) as look:
        await look.press("enter")
        await look.until(lambda: "1 call without attempt" in look.header)
        assert "complete" not in look.header


HOSTILE = "[@click=app.quit]\x1b[2J\u202e\n\x9b[/nope]"
SHOWN = "[@click=app.quit]␛[2J\\u202e␊\\x9b[/nope]"


async def test_hostile_texts_are_shown_as_they_are() -> None:
    """In header, tree, details and the span's own screen: markup is shown, what would act has a stand-in."""
    said: Document = {
        "description": HOSTILE,
        "service": HOSTILE,
        "attributes": {"k\x1b": HOSTILE},
        "resource": {"r\u202e": 1},
    }
    first_line = SHOWN.split("␊", maxsplit=1)[0]
    async with looking_at(Builder().span(HOSTILE, status="ERROR", **said), size=(300, 60)) as look:
        assert f" {SHOWN} " in look.text
        await look.press("enter")
        headline = f" {SHOWN} ✖ {first_line}   INTERNAL   10 µs   {SHOWN[:20]}"
        await look.until_shown(f" ‹ {SHOWN}   ", f"  {SHOWN} ", headline)
        assert f"k␛  {first_line} " in look.text
        assert "  \\x9b[/nope] " in look.text
        await look.press("tab")
        await look.until_shown(f" ✖ {first_line} ")
        await look.press("tab", "tab")
        await look.until_shown("r\\u202e       1 ")
        await look.press("enter")
        await look.until_shown(f"‹ {SHOWN} › {SHOWN}   {1:016x}")


# -- copying ----------------------------------------------------------------------------------------------------------


async def test_copying() -> None:
    """In the tree the span id is copied, in the details the whole value of the line."""
    async with looking_at(*documents()) as look:
        await look.press("enter", "down", "y")
        assert look.app.clipboard == f"{2:016x}"
        assert "copied the span id" in look.footer
        await look.press("enter")
        await look.until_shown("/data/file")
        await look.press("y")
        assert look.app.clipboard == "/data/file"
        assert "copied the value" in look.footer
        await look.press("escape", "down", "o", "enter")
        await look.until_shown('"name": "read"')
        await look.press("y")
        assert look.app.clipboard.startswith('{"name": "read"')


async def test_nothing_to_copy() -> None:
    """Where a section is empty, the clipboard is left as it is."""
    async with looking_at(Builder().span(), size=(120, 30)) as look:
        await look.press("enter", "enter")
        assert "no attributes" in look.text
        await look.press("y")
        assert look.app.clipboard == ""
        assert "nothing to copy" in look.footer


@pytest.mark.parametrize("value", ["\ud800 lone", "\x1b]52;c;x\x07", "", "漢字", "a\nb"])
async def test_copying_any_value(value: str) -> None:
    """Any value can be copied, one that is no valid Unicode, too."""
    async with looking_at(Builder().span(attributes={"k": value}), size=SMALL) as look:
        await look.press("enter", "enter")
        await look.until(lambda: look.screen.query_one(DetailLines).row_count)
        await look.press("y")
        assert look.app.clipboard == value.replace("\ud800", "?")


# -- from the command line --------------------------------------------------------------------------------------------


async def test_a_trace_from_the_command_line() -> None:
    """A trace that was asked for opens when everything was read; back leads to the list."""
    builder = Builder()
    spans = [builder.span(f"t{number}", trace=number) for number in (0xA0, 0xB0)]
    async with looking_at(*spans, opening=Opening(("spans",), trace="0" * 30 + "a")) as look:
        await look.until(lambda: look.is_on(TraceScreen))
        assert "‹ t160" in look.header
        await look.press("q")
        assert look.is_on(TracesScreen)


@pytest.mark.parametrize("trace", ["ff", "0", "[/nope]"])
async def test_no_such_trace(trace: str) -> None:
    """An id that fits none or several ends the program with 2."""
    builder = Builder()
    spans = [builder.span(trace=number) for number in (0xA0, 0xB0)]
    async with looking_at(*spans, opening=Opening(("spans",), trace=trace)) as look:
        await look.until(lambda: look.app.return_code is not None)
        assert look.app.return_code == 2
