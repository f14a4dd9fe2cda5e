"""What the prompt proposes while a query is typed, by keys and by the mouse.

typed        below                           behind the cursor      Tab
-----        -----                           -----------------      ---
sta          ›status  start                  tus=                   status=
status=      ›ERROR ×1  OK ×0  UNSET ×2 …    ERROR                  status=ERROR
"""

from __future__ import annotations

import re
import threading
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from textual.widgets import Input

from builders import Builder, Document, store_of
from spanview.analysis.query import words
from spanview.analysis.query.complete import complete
from spanview.analysis.query.keys import OWN_KEYS
from spanview.analysis.query.parse import RawTerm, parse_parts
from spanview.analysis.telling import unheard
from spanview.display.sanitise import meant, typed
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.traces.trace_list import TraceList
from spanview.tui.widgets.completing import Offers
from spanview.tui.widgets.known import Known
from spanview.tui.widgets.prompt import Prompt
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from typing import Any

ENTER, ESCAPE = "enter", "escape"


def documents() -> list[Document]:
    """Return three traces; two names have blanks, and an attribute has values."""
    builder = Builder()
    return [
        builder.span("batch", trace=1, service="shop", attributes={"http.method": "GET", "http.code": 200}),
        builder.span("GET /cart", trace=2, status="ERROR", attributes={"http.method": "POST", "http.code": "none"}),
        builder.span("GET /item", trace=3, kind="SERVER", attributes={"two words": "a b"}),
    ]


def line(look: Look) -> Input:
    """Return the line in which is typed."""
    return look.screen.query_one(Prompt).query_one(Input)


def below(look: Look) -> str:
    """Return what stands below the prompt, without what the keys do."""
    shown = look.lines[look.line_of(" ╱ ") + 1]
    return re.sub(r"\d+ of .*", "", shown).strip()


def behind(look: Look) -> str:
    """Return what stands behind the cursor, still to be typed."""
    return line(look)._suggestion.removeprefix(line(look).value)


async def test_a_key_and_its_value() -> None:
    """Tab takes what is marked: a key with its operator, then a value; the query filters as if it was typed."""
    async with looking_at(*documents()) as look:
        await look.press("slash")
        assert below(look).startswith("›name  service  kind  status")
        # The keys of the language, and four attributes.
        await look.until_shown(f"1 of {len(OWN_KEYS) + 4}")
        await look.type("sta")
        assert below(look) == "›status  start  wait.worker_start  any~sta"
        assert behind(look) == "tus="
        assert "sta" in look.text
        assert "1 of 4  ↑↓  Tab takes it" in look.text
        await look.press("tab")
        assert line(look).value == "status="
        await look.until(lambda: below(look) == "›ERROR ×1  OK ×0  UNSET ×2  running  waiting  lost")
        assert "expected a value" not in look.text
        await look.press("tab")
        assert line(look).value == "status=ERROR"
        assert below(look) == ""
        await look.until_shown("1 of 3 traces")


async def test_all_in_one_go() -> None:
    """Keys that come as quickly as a terminal sends them take what belongs to what is typed before them."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"sta", "tab", "tab", " ", *"-kin", "right", *"se", "tab", ENTER)
        await look.until_shown("1 of 3 traces")
        await look.until(lambda: look.app.focused is not line(look))
        assert line(look).value == "status=ERROR -kind=SERVER"


async def test_choosing() -> None:
    """Up and Down mark another one, round the ends; where nothing is proposed they move in the list."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"status=")
        await look.press("down")
        await look.until(lambda: below(look) == "ERROR ×1 ›OK ×0  UNSET ×2  running  waiting  lost")
        assert behind(look) == "OK"
        await look.press("up", "up")
        assert below(look) == "ERROR ×1  OK ×0  UNSET ×2  running  waiting ›lost"
        await look.press("up", "up", "up")
        assert below(look) == "ERROR ×1  OK ×0 ›UNSET ×2  running  waiting  lost"
        assert look.screen.query_one(TraceList).cursor == 0
        await look.press("tab")
        await look.until_shown(" of 3 traces")
        await look.press("down")
        assert line(look).value == "status=UNSET"
        assert look.screen.query_one(TraceList).cursor == 1


async def test_what_is_no_name() -> None:
    """What a word may be instead of a name is the last that is offered: one key takes it."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"http")
        await look.until(lambda: below(look) == "›http.method  http.code  any~http")
        await look.send("ctrl+u", *"-shop")
        assert (below(look), behind(look)) == ("›any~shop", "")
        await look.press("down")
        assert look.screen.query_one(TraceList).cursor == 1
        await look.press("tab")
        assert line(look).value == "-any~shop"
        await look.until_shown("2 of 3 traces")
        await look.send("ctrl+u", *"sta", "up", "tab")
        assert line(look).value == "any~sta"


async def test_quotes() -> None:
    """A value with blanks gets its quotes, and stands behind the cursor without them."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"name=GET /c")
        assert line(look).value == "name=GET /c"
        await look.send(*["backspace"] * 3)
        await look.until(lambda: below(look) == "›GET /cart ×1  GET /item ×1")
        assert behind(look) == " /cart"
        await look.press("right")
        assert line(look).value == 'name="GET /cart"'
        await look.until_shown("1 of 3 traces")


async def test_attributes() -> None:
    """Their keys and values come from the records; those by size are numbers only."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"ht")
        await look.until(lambda: below(look) == "›http.method  http.code  any~ht")
        await look.send("down", "tab")
        assert line(look).value == "http.code="
        assert {*below(look).split()} in ({"›200", "×1", "none"}, {"200", "×1", "›none"})
        await look.send("backspace", ">")
        assert below(look) == "›200"
        await look.send("ctrl+u", *"-tw", "tab", "tab")
        assert line(look).value == '-"two words"="a b"'
        await look.until_shown("2 of 3 traces")


async def test_in_the_midst() -> None:
    """Only the term under the cursor is completed; what is selected, and the term behind the cursor, are let be."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"sta kind=SERVER", *["left"] * 12, "tab", "tab")
        assert line(look).value == "status=ERROR kind=SERVER"
        assert line(look).cursor_position == len("status=ERROR")
        await look.press("right")
        assert below(look) == ""
        await look.press("home")
        assert below(look) == ""
        await look.send("ctrl+u", "end", "ctrl+u", *"sta", "shift+home")
        assert below(look) == ""
        await look.press("tab")
        assert line(look).value == "sta"


async def test_by_the_mouse() -> None:
    """A click takes one, and more can be typed; beside them it takes none."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"status=")
        await look.until_shown("UNSET ×2")
        at = look.line_of("UNSET")
        await look.pilot.click(offset=(look.lines[at].index("UNSET") + 2, at))
        await look.until(lambda: line(look).value == "status=UNSET")
        await look.send(" ", "x")
        assert line(look).value == "status=UNSET x"
        await look.pilot.click(offset=(100, at))
        await look.send("y")
        assert line(look).value == "status=UNSET xy"


async def test_in_a_trace() -> None:
    """The search proposes the same; Tab, which elsewhere leads to the next section, stays in the prompt."""
    async with looking_at(*documents()) as look:
        await look.send(ENTER)
        await look.until(lambda: look.is_on(TraceScreen))
        await look.send("slash", *"kin", "tab", *"s", "tab", "tab", ENTER)
        assert line(look).value == "kind=SERVER"
        await look.until_shown("1 match, n N")
        assert look.app.focused is look.screen.query_one("Waterfall")


async def test_the_line_comes_and_goes_with_the_typing() -> None:
    """There is a line for it as long as something is typed; the palette has none."""
    async with looking_at(*documents()) as look:
        assert not look.screen.query(Offers)
        await look.send("slash", *"batch")
        assert look.screen.query_one(Offers).display
        await look.press(ENTER)
        assert not look.screen.query_one(Offers).display
        assert look.line_of("START") == look.line_of(" ╱ ") + 1 or look.screen.size.height >= 30
        await look.press("slash")
        assert look.screen.query_one(Offers).display
        await look.press(ESCAPE, "ctrl+p", "n")
        assert not look.screen.query_one(Offers).display


@pytest.mark.parametrize("size", [(80, 24), (40, 10), (200, 50)])
async def test_what_is_marked_is_in_sight(size: tuple[int, int]) -> None:
    """However many there are, and however narrow the screen is: going through them shows each."""
    builder = Builder()
    names = [f"{'long ' * (number % 9)}name {number:02}" for number in range(40)]
    spans = [builder.span(name, trace=number + 1) for number, name in enumerate(names)]
    async with looking_at(*spans, size=size) as look:
        await look.send("slash", *"name=")
        seen = set()
        for number in range(40):
            if size[0] > 40:
                await look.until_shown(f"{number + 1} of 40")
            shown = look.lines[look.line_of(" ╱ ") + 1]
            assert len(shown) == size[0]
            if size[0] > 40:
                assert f"{number + 1} of 40" in shown
            assert shown.count("›") == 1
            seen.add(shown.partition("›")[2])
            await look.press("down")
        assert len(seen) == 40


# -- what is looked through --------------------------------------------------------------------------------------------


async def test_what_is_typed_waits_for_nothing() -> None:
    """While records are still looked through, what is typed shows, and the columns' names are proposed."""
    is_going, gather = threading.Event(), words.gather

    def held(*arguments: Any) -> Any:
        is_going.wait(20)
        return gather(*arguments)

    with patch("spanview.tui.widgets.known.gather", held):
        async with looking_at(*documents()) as look:
            await look.send("slash", *"service=s")
            assert (line(look).value, below(look)) == ("service=s", "›shop")
            await look.send("ctrl+u", *"http")
            assert below(look) == "›any~http"
            is_going.set()
            await look.until(lambda: below(look).startswith("›http."))


def test_it_is_kept_until_the_store_has_grown() -> None:
    """Records are looked through once, and again when there are half as many more; names come at once."""
    build, looks = Builder(), list[int]()
    data = Growing(*(build.span("a", trace=number) for number in range(1, 11)))
    what = Known(data.store)

    def look() -> None:
        if what.begin_gathering():
            assert not what.begin_gathering()
            what.gather(unheard)
            looks.append(len(data.store.spans))

    look()
    look()
    assert what.vocabulary() is what.vocabulary()
    for number in range(11, 31):
        data.add(build.span(f"b{number}", trace=number))
        assert f"b{number}" in what.vocabulary().names
        look()
    assert looks == [10, 16, 25]


HOSTILE = ["a\x1b[31mb", "\u202ex", "two\nlines", "[@click=app.quit]x[/]", "\\x9b", "\u241b", "tab\there", "\ud800"]


async def test_hostile_names() -> None:
    """What is proposed is harmless, and means what it stands for when it is taken."""
    builder = Builder()
    spans = [builder.span(name, trace=number, attributes={name: name}) for number, name in enumerate(HOSTILE, 1)]
    async with looking_at(*spans, size=(200, 40)) as look:
        for key in ("name", "trace.root"):
            await look.send("slash", *f"{key}=")
            await look.until_shown("1 of 6")
            taken = set()
            for number in range(6):
                await look.send("ctrl+u", *f"{key}=", *["down"] * number, "tab")
                assert all(each.isprintable() for each in look.lines)
                (term,) = parse_parts(look.screen.query_one(Prompt).text)
                assert isinstance(term, RawTerm)
                taken.add(term.value)
                await look.until_shown("1 of 8 traces")
            # Those that stand for another character where they are typed can't be typed.
            assert taken == {*HOSTILE} - {"\\x9b", "\u241b"}
            await look.press(ESCAPE)


@settings(max_examples=300, deadline=None)
@given(
    st.lists(
        st.characters() | st.sampled_from(["\\", "\\x9b", "\u202e", "\\u202e", "\u241b", '"', " "]),
        min_size=1,
        max_size=4,
    )
)
def test_what_is_proposed_can_be_typed(pieces: list[str]) -> None:
    """What is taken of a store's texts is, as it is shown in the line, still what it was."""
    name = "".join(pieces)
    what = Known(store_of(Builder().span(name, attributes={name: name})))
    assert what.begin_gathering()
    what.gather(unheard)
    for text in ("name=", "trace.root~", ""):
        for candidate in complete(text, len(text), what.vocabulary()).candidates:
            assert meant(typed(f"{text}{candidate.text}")) == f"{text}{candidate.text}"


async def test_what_is_wrong_is_said_when_nothing_is_offered_any_more() -> None:
    """While something is offered that would mend it, it is silent; behind Enter it isn't."""
    async with looking_at(*documents()) as look:
        await look.send("slash", *"name=")
        assert "expected" not in look.text
        await look.press(ENTER)
        assert "expected a value after =" in look.text
