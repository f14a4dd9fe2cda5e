"""The check in the viewer: findings, what they rest on, what to do, and the problems of files.

trace 1     f ray.remote       no attempt
trace 2     a call that tracing broke, ERROR
trace 3     a child of a parent that is nowhere
1.json      breaks off at its end
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING
from unittest.mock import patch

import pytest
from rich.cells import cell_len

from builders import Builder, file_of
from spanview.analysis.diagnosis import report
from spanview.analysis.diagnosis.finding import Finding, Kind, Place, finding_of
from spanview.analysis.diagnosis.report import Diagnosis
from spanview.display.finding_text import finding_lines, place_text, wrapped
from spanview.formats.decoder import Decoder
from spanview.model.problems import Problem, ProblemKind, Severity, Summary
from spanview.tui.check.check_model import MOST_PROBLEMS, lines_of, severity_text
from spanview.tui.check.check_screen import CheckScreen
from spanview.tui.trace.trace_screen import TraceScreen
from viewers import Growing, looking_at

if TYPE_CHECKING:
    from builders import Document
    from spanview.tui.check.check_model import CheckLine
    from spanview.tui.widgets.table import TableList
    from viewers import Look


def _documents() -> list[Document]:
    build = Builder()
    said = "TypeError: got an unexpected keyword argument '_ray_trace_ctx'"
    return [
        build.span("f ray.remote", trace=1, span=1, kind="PRODUCER"),
        build.span("A.gen ray.remote", trace=2, span=2, kind="PRODUCER", status="ERROR", description=said),
        build.span("left over", trace=3, span=3, parent=77),
    ]


def _torn() -> Growing:
    data = Growing(*_documents())
    source = data.store.add_source("spans/2.json")
    data.reader.files.append(b"")
    decoder, text = Decoder(), file_of(_documents()[:1])[:80]
    data.store.tallies.add_bytes("spans/2.json", len(text))
    data.store.add(source, decoder.feed(text))
    data.store.add(source, decoder.close())
    return data


async def _open(look: Look, *keys: str) -> TableList[CheckLine]:
    await look.press(*keys, "exclamation_mark")
    await look.until(lambda: isinstance(look.screen, CheckScreen) and look.screen.rows.items)
    assert isinstance(look.screen, CheckScreen)
    return look.screen.rows


@pytest.mark.parametrize("size", [(80, 24), (200, 50)])
async def test_from_the_traces_to_a_span(size: tuple[int, int]) -> None:
    """What is worst comes first; Enter unfolds what it rests on, and leads to the span; `y` copies what to do."""
    async with looking_at(data=_torn(), size=size) as look:
        rows = await _open(look)
        assert "‹ check   5 findings   2 problems of files" in look.header
        assert "2 files" in look.body[0]
        assert "3 spans · 3 traces · 1 missing · 0 duplicates · 1 torn" in look.body[0]
        assert look.body[1].startswith("✖ error    trace_ctx ×1: 1 call was refused")
        marks = [severity_text(line).strip() for line in rows.items if line.severity and line.finding]
        assert marks == ["✖ error", "! warning", "· info", "· info", "· info"]
        assert "2 problems of files: data that can't be read as spans" in [line.text for line in rows.items]
        assert "▸ 1 place" in look.text
        await look.press("enter")
        # What tells places apart is at their ends: the middle goes first.
        place = next(line.rstrip() for line in look.body if "trace 0000" in line)
        assert place.endswith(f"span {2:016x} A.gen ray.remote")
        assert (f"trace {2:032x}" in place) == (size[0] > 80)
        await look.press("y")
        assert look.app.clipboard == 'ray.init(_tracing_startup_hook="spanview.ray.hook:setup_tracing")'
        while rows.selected is None or rows.selected.place is None:
            await look.press("j")
        await look.press("y")
        assert look.app.clipboard == f"{2:016x}"
        await look.press("enter")
        screen = look.screen
        assert isinstance(screen, TraceScreen)
        assert screen.rows.node is not None
        assert " ‹ A.gen " in look.header
        await look.press("q")
        assert look.is_on(CheckScreen)
        # Folded from anywhere in it, by its own line.
        await look.press("k", "enter")
        assert "trace 0000" not in look.text
        await look.press("escape")
        assert not look.is_on(CheckScreen)
        assert all(len(line) <= size[0] for line in look.lines)


async def test_from_a_trace_and_places_in_files() -> None:
    """From a trace it is the same check; a place in a file can't be opened, and is copied."""
    async with looking_at(data=_torn(), size=(100, 40)) as look:
        rows = await _open(look, "enter")
        kinds = [line.finding.kind for line in rows.items if line.finding]
        await look.press(*["j"] * kinds.index(Kind.TORN_TAIL), "y")
        assert look.app.clipboard == "spanview spans --follow"
        await look.press("enter")
        while rows.selected is None or rows.selected.place is None:
            await look.press("j")
        await look.press("enter")
        assert "a place in a file: y copies it" in look.footer
        await look.press("y")
        assert look.app.clipboard == "spans/2.json @ 0"
        await look.press("G", "y")
        assert look.app.clipboard == "spans/2.json @ 0"
        assert "copied the place in the file" in look.footer


async def test_nothing_odd() -> None:
    """Where nothing is odd, it says so; no key fails on it."""
    async with looking_at(Builder().span("well"), size=(80, 24)) as look:
        await _open(look)
        assert "nothing found" in look.text
        await look.press("enter", "y", "j", "G", "enter")
        assert look.is_on(CheckScreen)


async def test_it_is_found_in_a_thread() -> None:
    """While it looks the header says how far it is; who has gone isn't called back."""
    begun = []

    def slow(_store: object, tell: object, *_: object, **__: object) -> Diagnosis:
        begun.append(tell)
        while True:
            tell(0.5)  # type: ignore[operator]
            # What asks without a pause lets the viewer draw once in a while only.
            threading.Event().wait(0.001)

    async with looking_at(*_documents(), size=(100, 30)) as look:
        with patch.object(report, "diagnose", slow):
            await look.press("exclamation_mark")
            await look.until_shown("‹ check   looking … 50%")
            for key in ("enter", "y", "j", "escape"):
                # One at a time: between keys that are pressed together, what is worked on is waited for.
                await look.press(key)
            assert not look.is_on(CheckScreen)
        assert begun


def test_lines_of_many_problems() -> None:
    """So many problems have lines; the rest are counted."""
    problems = [Problem(ProblemKind.TORN, f"{at}.json", at, 1, "torn") for at in range(MOST_PROBLEMS + 7)]
    lines = lines_of(Diagnosis(Summary(), [], problems), 80, ())
    assert sum(line.problem is not None for line in lines) == MOST_PROBLEMS
    assert lines[-1].text == "and 7 more; spanview check --json prints them all"


HOSTILE = "a\x1b[2J\u202e" + "表" * 60 + "/" + "x" * 90


@pytest.mark.parametrize("width", [30, 80, 200])
def test_hostile_names_fit(width: int) -> None:
    """Whatever a file is called, nothing of it acts, and no line is wider than the screen."""
    finding = finding_of(Kind.TORN_TAIL, 1, f"It is {HOSTILE}.", [Place(HOSTILE, 7)])
    texts = finding_lines(finding, width)
    (place,) = [text for text in texts if text.startswith("    at ")]
    texts.remove(place)
    lines = lines_of(Diagnosis(Summary(), [finding], [Problem(ProblemKind.TORN, HOSTILE, 1, 2, HOSTILE)]), width, ())
    texts += [severity_text(line) + line.text for line in lines]
    assert all(text.isprintable() and cell_len(text) <= width for text in texts)
    assert place.isprintable()
    assert place_text(finding.evidence[0]) in place


def test_settings_are_commands() -> None:
    """What is copied is the command of the advice; all of it where there is none."""
    settings = {kind: Finding(kind, Severity.INFO, finding_of(kind, 1, "").certainty, 1, "").setting for kind in Kind}
    assert settings[Kind.SAMPLING] == "export RAY_SERVE_TRACING_SAMPLING_RATIO=1.0"
    assert settings[Kind.SEVERAL_RUNS] == "spanview --since last"
    assert settings[Kind.NO_END].startswith("Such spans were written when")
    assert not [kind for kind, text in settings.items() if "`" in text]
    assert wrapped("one two", 3) == ["one two"]
