"""One span on its screen: its values unfolded, its links both ways, its relatives, and what is copied of it."""

from __future__ import annotations

import json
import shlex
import threading
from typing import TYPE_CHECKING, Any
from unittest.mock import patch

import pytest

from builders import Builder, span_id, trace_id
from spanview.analysis import linked
from spanview.exports.jsonl import jsonl_chunks
from spanview.tui.app.opening import Opening
from spanview.tui.span import details, links
from spanview.tui.span.details import Details
from spanview.tui.span.span_screen import SpanScreen
from spanview.tui.trace.trace_screen import TraceScreen
from spanview.tui.widgets import work
from spanview.tui.widgets.copying import command_line
from viewers import Growing, Look, looking_at

if TYPE_CHECKING:
    from collections.abc import Iterator

    from builders import Document

SIZES = [(80, 24), (200, 50)]


def link(trace: int, span: int) -> Document:
    """Return a link to a span."""
    return {"context": {"trace_id": trace_id(trace), "span_id": span_id(span), "trace_state": "[]"}, "attributes": {}}


def line_under_cursor(look: Look) -> str:
    """Return the text of the detail line under the cursor."""
    lines = look.screen.query_one(Details).lines
    return lines.lines[lines.cursor].text


def name_of_selected(look: Look) -> str:
    """Return the name of the span under the cursor of a trace."""
    screen = look.screen
    assert isinstance(screen, TraceScreen)
    subject = screen._details.span
    assert subject is not None
    return subject.span.name


FAMILY = """
root 0-1000
  step 10-300
    leaf 20-30
  step 400-500
  other 600-700
    step 610-620
"""


# -- values -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("size", SIZES)
async def test_values_are_unfolded_and_folded(size: tuple[int, int]) -> None:
    """By the arrows, by Enter and by a click; the cursor stays where it is."""
    value = {f"k{number}": number for number in range(12)} | {"in": {"deep": [{"x": 1}] * 9}}
    async with looking_at(Builder().span(attributes={"a": 1, "value": json.dumps(value)}), size=size) as look:
        await look.press("enter", "enter", "j")
        assert line_under_cursor(look) == "▸ {… 13 keys}"
        await look.press("right")
        assert line_under_cursor(look) == "▾ {"
        assert '"k0": 0,' in look.text
        await look.press("l", "j", "h")
        assert line_under_cursor(look) == "▾ {"
        await look.press("left", "left")
        assert line_under_cursor(look) == "▸ {… 13 keys}"
        await look.press("enter")
        assert line_under_cursor(look) == "▾ {"
        await look.press("enter")
        assert '"k0"' not in look.text
        await look.pilot.click(offset=(12, look.line_of("▸ {… 13 keys}")))
        await look.until_shown('"k11": 11,')
        await look.pilot.click(offset=(12, look.line_of('▸ "in": {… 1 key}')))
        await look.until_shown('▾ "in": {')
        await look.press("y")
        assert look.app.clipboard == json.dumps(value["in"], separators=(",", ":"))
        await look.press("g", "j", "y")
        assert look.app.clipboard == json.dumps(value)


async def test_the_raw_record_is_folded() -> None:
    """With the keys that fold a value; the cursor stays where it is, and what is folded stays so."""
    async with looking_at(Builder().span("a", attributes={"k": 1, "deep": {"x": {"y": 2}}}), size=(80, 24)) as look:
        await look.press("enter", "enter", "o")
        assert line_under_cursor(look) == "▾ {"
        await look.press(*["j"] * (look.line_of('▾ "attributes"') - look.line_of("▾ {")), "left")
        assert line_under_cursor(look).strip() == '▸ "attributes": {… 2 keys},'
        await look.press("y")
        assert json.loads(look.app.clipboard) == {"k": 1, "deep": {"x": {"y": 2}}}
        await look.press("o", "o")
        assert '▸ "attributes": {… 2 keys},' in look.text
        await look.press("g", "enter")
        assert line_under_cursor(look).startswith("▸ {… ")
        await look.press("y")
        assert json.loads(look.app.clipboard)["name"] == "a"


async def test_another_span_is_folded_as_at_first() -> None:
    """What was unfolded is forgotten with the span that it was of, and kept while sections change."""
    value = {f"k{number}": number for number in range(12)}
    build = Builder()
    documents = [build.span("a", span=1, attributes={"v": value}), build.span("b", parent=1, attributes={"v": value})]
    async with looking_at(*documents) as look:
        await look.press("enter", "enter", "enter", "tab", "o", "o")
        for _ in range(3):
            await look.press("tab")
        assert "▾ {" in look.text
        await look.press("escape", "j", "enter")
        assert "▸ {… 12 keys}" in look.text
        await look.press("enter", "p")
        assert "▸ {… 12 keys}" in look.text


async def test_values_below_the_waterfall_unfold_by_a_click() -> None:
    """The arrows are the tree's there."""
    value = {f"k{number}": number for number in range(12)}
    async with looking_at(Builder().span(attributes={"v": value}), size=(120, 50)) as look:
        await look.press("enter")
        await look.until_shown("▸ {… 12 keys}")
        await look.pilot.click(offset=(8, look.line_of("▸ {… 12 keys}")))
        await look.until_shown('"k5": 5,')


async def test_stack_traces_have_marks_and_tones() -> None:
    """Own frames and what was raised are marked in words' places, and are of another style than libraries' frames."""
    stack = (
        'Traceback (most recent call last):\n  File "/x/site-packages/lib.py", line 1, in run\n    call()\n'
        '  File "/srv/app.py", line 2, in fail\n    raise\nValueError: bad'
    )
    async with looking_at(Builder().span(attributes={"ray.error": stack})) as look:
        await look.press("enter", "enter")
        assert "✖ ValueError: bad" in look.text
        lines = look.screen.query_one(Details).lines
        styles = {line.text.strip(): lines.segments_of(row, 100)[-1].style for row, line in enumerate(lines.lines)}
        own, library = styles["app.py:2 fail     raise"], styles["⋯ 1 frame in lib"]
        raised = styles["✖ ValueError: bad"]
        assert own != library != raised != own
        assert own is not None
        assert own.bold


async def test_frames_of_libraries_are_unfolded() -> None:
    """By Enter and by a click; so is the text as it was recorded, which y copies whole."""
    stack = (
        'Traceback (most recent call last):\n  File "/x/site-packages/lib.py", line 1, in run\n    call()\n'
        '  File "/srv/app.py", line 2, in fail\n    raise\nValueError: bad'
    )
    attributes = {"exception.type": "ValueError", "exception.message": "bad", "exception.stacktrace": stack}
    event = {"name": "exception", "timestamp": None, "attributes": attributes}
    async with looking_at(Builder().span(status="ERROR", events=[event])) as look:
        await look.press("e")
        await look.until_shown("⋯ 1 frame in lib")
        await look.pilot.click(offset=(8, look.line_of("⋯ 1 frame in lib")))
        await look.until_shown("▾ 1 frame in lib", "lib.py:1 run     call()")
        await look.press("enter")
        assert "⋯ 1 frame in lib" in look.text
        await look.press("j", "enter")
        await look.until_shown("lib.py:1 run     call()")
        await look.press("h", "G", "enter")
        assert "Traceback (most recent call last):" in look.text
        await look.press("j", "y")
        assert look.app.clipboard == stack


# -- links ------------------------------------------------------------------------------------------------------------


def linked_documents() -> list[Document]:
    """Return a span that others link to, of its trace and of another one."""
    build = Builder()
    return [
        build.span("target", trace=1, span=1, start=100),
        build.span("near", trace=1, span=2, parent=1, start=110, links=[link(1, 1)]),
        build.span("far root", trace=2, span=3, start=0),
        build.span("far", trace=2, span=4, parent=3, start=5, links=[link(1, 1), link(9, 9)]),
    ]


async def test_linked_from() -> None:
    """Who links to a span is looked for when it is asked, and followed; Esc comes back."""
    async with looking_at(*linked_documents(), size=(120, 40)) as look:
        await look.press("enter", "enter", "tab")
        assert "no links" in look.text
        assert "Enter looks through 4 records" in look.text
        await look.press("G", "enter")
        await look.until_shown("2 spans in all")
        assert "2 spans found" in look.footer
        assert look.line_of("far  (0000000000000004) of trace 00000000…") < look.line_of("near  (0000000000000002)")
        await look.press("g", "j", "enter")
        assert name_of_selected(look) == "far"
        await look.press("escape")
        assert look.is_on(SpanScreen)
        assert line_under_cursor(look).startswith("far  (")
        await look.press("escape", "j", "enter", "tab")
        assert "Enter looks through 4 records" in look.text
        await look.press("G", "enter")
        await look.until_shown("no span links to this one")


async def test_looking_can_be_ended() -> None:
    """Esc ends it and says how far it came; Enter begins anew; leaving the screen ends it too."""
    goes_on = threading.Event()
    real = linked.linking_rows

    def slow(*arguments: Any) -> Iterator[tuple[list[int], float]]:
        yield [], 0.5
        goes_on.wait(20)
        yield from real(*arguments)

    with patch.object(links, "linking_rows", slow), patch.object(work, "_PIECES_S", 0.0):
        async with looking_at(*linked_documents(), size=(120, 40)) as look:
            await look.press("enter", "enter", "tab", "G", "enter")
            await look.until_shown("50%, 0 found; Esc ends it")
            await look.press("escape")
            assert look.is_on(SpanScreen)
            assert "ended at 50%, 0 found" in look.text
            assert "stopped looking" in look.footer
            goes_on.set()
            await look.pilot.pause(0.05)
            assert "ended at 50%" in look.text
            await look.press("G", "enter")
            await look.until_shown("2 spans in all")
            goes_on.clear()
            await look.press("p", "w", "escape", "enter", "tab", "tab", "G", "enter", "q")
            assert look.is_on(TraceScreen)
            goes_on.set()


# -- relatives --------------------------------------------------------------------------------------------------------


async def test_relatives() -> None:
    """`p` shows the parent, `w` and `W` go round the spans of one name by start; Esc goes to the last one's row."""
    async with looking_at(*Builder().draw(FAMILY), size=(120, 40)) as look:
        await look.press("enter", "j", "j", "enter")
        assert "› leaf" in look.header
        await look.press("p")
        assert "› step   0000000000000002" in look.header
        for key, expected, number in (("w", 4, 2), ("w", 6, 3), ("w", 2, 1), ("W", 6, 3)):
            await look.press(key)
            assert f"› step   {expected:016x}" in look.header
            assert f"span of this name {number} of 3" in look.footer
        await look.press("p")
        assert "› other" in look.header
        await look.press("escape")
        assert name_of_selected(look) == "other"
        await look.press("enter", "p", "p")
        assert "this is a root" in look.footer
        await look.press("q")
        assert name_of_selected(look) == "root"


async def test_relatives_that_are_hidden_or_missing() -> None:
    """What was collapsed is shown again; a parent that no file holds is said so."""
    build = Builder()
    documents = [*build.draw("root 0-100\n  step 1-2"), build.span("lost", parent=99, start=50)]
    async with looking_at(*documents, size=(120, 40)) as look:
        await look.press("enter", "j", "enter", "escape", "left", "left", "enter", "w", "escape")
        assert name_of_selected(look) == "root"
        await look.press("G", "enter", "p")
        assert "this parent was not seen" in look.footer
        await look.press("w")
        assert "span of this name 1 of 1" in look.footer


async def test_relatives_that_came_later() -> None:
    """The trace is looked at as it is now, and its spans stay the same however they are numbered."""
    build = Builder()
    async with looking_at(build.span("child", parent=2, start=50), size=(120, 40)) as look:
        await look.press("enter", "j", "enter", "p")
        assert "this parent was not seen" in look.footer
        await look.grow(build.span("parent", span=2, start=10, duration=100))
        await look.press("p")
        assert "› parent" in look.header


# -- times ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("counted_soon", [0, 10_000])
async def test_among_its_name(counted_soon: int) -> None:
    """Rank, percentiles, a histogram with a mark, and shares; of many spans they are counted in a thread."""
    build = Builder()
    documents = [build.span("root", span=1, start=0, duration=1000)]
    documents += [build.span("step", parent=1, start=10, duration=length) for length in (1, 2, 3, 500)]
    with patch.object(details, "_SOON_COUNTED", counted_soon):
        async with looking_at(*documents, size=(120, 40)) as look:
            await look.press("enter", "j", "enter", "w", "w", "w", "tab", "tab")
            await look.until_shown("same name")
            await look.until_shown("slower than 100% of 3 spans", "p50 2 µs   p95 500 µs   max 500 µs")
            assert "starts 10 µs after its parent   50.0% of its parent" in look.text
            at = look.line_of("histogram, powers of ten")
            assert look.lines[at].index("█") == look.lines[at + 1].index("µs")
            assert look.lines[at + 2].index("▴") == look.lines[at].index("█") + 2
            assert look.lines[at][look.lines[at + 2].index("▴")] == "▁"


# -- copying ----------------------------------------------------------------------------------------------------------


async def test_copying() -> None:
    """The span as JSON, the trace id, and a command line, on every screen that has them."""
    documents = Builder().draw(FAMILY)
    opening = Opening(("my spans", "it's"))
    async with looking_at(*documents, size=(120, 40), opening=opening) as look:
        line = f"spanview 'my spans' 'it'\"'\"'s' --trace {1:032x}"
        await look.press("X")
        assert look.app.clipboard == line
        assert "copied the command line" in look.footer
        await look.press("enter", "j", "X")
        assert look.app.clipboard == line
        await look.press("I")
        assert look.app.clipboard == f"{1:032x}"
        await look.press("Y")
        await look.until(lambda: "copied the span as JSON" in look.footer)
        store = look.data.store
        row = next(row for row in range(len(store.spans)) if store.spans.span_id[row] == 2)
        (expected,) = jsonl_chunks(store, [row])
        assert look.app.clipboard == json.dumps(json.loads(expected), indent=2, ensure_ascii=False)
        assert json.loads(look.app.clipboard)["self_time_ns"] == 280_000
        await look.press("enter", "I")
        assert look.app.clipboard == f"{1:032x}"
        await look.press("X")
        assert look.app.clipboard == f"{line} -q span={2:016x}"
        look.app.copy("", "nothing")
        await look.press("Y")
        await look.until(lambda: look.app.clipboard)
        assert json.loads(look.app.clipboard) == json.loads(expected)


async def test_what_has_no_ids() -> None:
    """A placeholder is no span, and what has no trace id is not opened by it."""
    build = Builder()
    odd = build.span("odd", context={"trace_id": "?", "span_id": span_id(9), "trace_state": "[]"}, start=0)
    async with looking_at(odd, build.span("lost", parent=77, start=500)) as look:
        await look.press("enter", "Y")
        assert "nothing to copy" in look.footer
        await look.press("escape", "G", "X")
        assert "no trace id" in look.footer
        await look.press("enter", "I")
        assert "no trace id" in look.footer
        await look.press("enter", "tab", "G", "enter")
        assert "without usable ids" in look.footer


async def test_a_query_opens_the_trace_at_the_span() -> None:
    """The command line that was copied of a span opens its trace there."""
    opening = Opening(("spans",), f"span={6:x}".replace("6", f"{6:016x}"), f"{1:x}".zfill(32))
    async with looking_at(data=Growing(*Builder().draw(FAMILY)), opening=opening) as look:
        await look.until(lambda: look.is_on(TraceScreen))
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        await look.until(lambda: screen._details.span is not None and screen._details.span.span.span_id == f"{6:016x}")


@pytest.mark.parametrize(
    ("paths", "words"),
    [
        (["a b"], ["spanview", "a b", "--trace", "1f"]),
        (["tree"], ["spanview", "view", "tree", "--trace", "1f"]),
        (["-x", "$(y)"], ["spanview", "--trace", "1f", "--", "-x", "$(y)"]),
        (["-"], ["spanview", "-", "--trace", "1f"]),
        (["it's;rm"], ["spanview", "it's;rm", "--trace", "1f"]),
    ],
)
def test_command_lines(paths: list[str], words: list[str]) -> None:
    """A shell takes every PATH as it is, and spanview none of them for a command or an option."""
    assert shlex.split(command_line(paths, "1f")) == words


def test_paths_that_act() -> None:
    """What a terminal would act on when it is pasted is spelled out."""
    line = command_line(["a\x1b[201~\nls 'q\\é\udcff"], "1f")
    assert line == r"spanview $'a\x1b[201~\x0als \x27q\x5c\xc3\xa9\xff' --trace 1f"


async def test_what_an_error_says_has_the_rest_of_the_headline() -> None:
    """Where there is room all of it is there, and what stands behind it in any case; one other span is one span."""
    words = "connection refused, " * 6
    build = Builder()
    spans = [build.span("call", span=at, start=at, duration=at, status="ERROR", description=words) for at in (1, 2)]
    async with looking_at(*spans, size=(240, 40)) as look:
        await look.press("e")
        await look.until_shown("error 1 of 2")
        await look.press("enter")
        assert f"call ✖ {words.strip()}" in look.text
        await look.press(*["tab"] * 2)
        await look.until_shown("slower than the only other span with this name")
