"""Clocks that differ, and times that are missing or the wrong way round: raw times everywhere, and a word about them.

parent  |=============|
child |=====|             starts before its parent: `clock_skew`, clipped in the parent's self time
child        |==========|     outlives its parent: normal
child      ]=====[        ends before it starts: `negative_duration`, self time 0
"""

from __future__ import annotations

import json
import os
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from builders import EPOCH_NS, Builder, file_of, store_of, time_text
from programs import spanview
from spanview.api.trace import traces_of
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.index.summary import summary_of
from terminals import ESCAPE, Terminal

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from builders import Document

_DAY: Final = 86_400 * 1_000_000
_Times: TypeAlias = tuple[float | None, float | None]
_Told: TypeAlias = tuple[float | None, float | None, str]
"""Duration, self time, warnings."""

_USUAL: Final = (100, 200)
_TABLE: Final[tuple[tuple[_Times, _Told, _Times, _Told], ...]] = (
    # start and end of the parent, what is told of it, the same of its child; microseconds
    (_USUAL, (100, 90, ""), (110, 120), (10, 10, "")),
    (_USUAL, (100, 80, ""), (100, 120), (20, 20, "")),
    (_USUAL, (100, 0, ""), (100, 200), (100, 100, "")),
    (_USUAL, (100, 100, ""), (150, 150), (0, 0, "")),
    # early
    (_USUAL, (100, 80, ""), (99, 120), (21, 21, "")),
    (_USUAL, (100, 80, ""), (98, 120), (22, 22, "")),
    (_USUAL, (100, 80, ""), (97.999, 120), (22.001, 22.001, "clock_skew")),
    (_USUAL, (100, 80, ""), (97, 120), (23, 23, "clock_skew")),
    (_USUAL, (100, 80, ""), (100 - _DAY, 120), (_DAY + 20, _DAY + 20, "clock_skew")),
    (_USUAL, (100, 100, ""), (10, 20), (10, 10, "clock_skew")),
    (_USUAL, (100, 100, ""), (50, 100), (50, 50, "clock_skew")),
    (_USUAL, (100, 100, ""), (100 - _DAY, 120 - _DAY), (20, 20, "clock_skew")),
    (_USUAL, (100, 0, ""), (90, 210), (120, 120, "clock_skew")),
    (_USUAL, (100, 0, ""), (100 - _DAY, 200 + _DAY), (2 * _DAY + 100, 2 * _DAY + 100, "clock_skew")),
    # late
    (_USUAL, (100, 10, ""), (110, 201), (91, 91, "")),
    (_USUAL, (100, 10, ""), (110, 200 + _DAY), (_DAY + 90, _DAY + 90, "")),
    (_USUAL, (100, 100, ""), (200, 300), (100, 100, "")),
    (_USUAL, (100, 100, ""), (100 + _DAY, 120 + _DAY), (20, 20, "")),
    # the wrong way round
    (_USUAL, (100, 100, ""), (150, 140), (-10, 0, "negative_duration")),
    (_USUAL, (100, 100, ""), (150, 149.999), (-0.001, 0, "negative_duration")),
    (_USUAL, (100, 100, ""), (150, 150 - _DAY), (-_DAY, 0, "negative_duration")),
    (_USUAL, (100, 100, ""), (150 + _DAY, 150), (-_DAY, 0, "negative_duration")),
    (_USUAL, (100, 100, ""), (50, 40), (-10, 0, "negative_duration clock_skew")),
    ((200, 100), (-100, 0, "negative_duration"), (110, 120), (10, 10, "clock_skew")),
    ((200, 100), (-100, 0, "negative_duration"), (210, 220), (10, 10, "")),
    ((200, 100), (-100, 0, "negative_duration"), (200, 90), (-110, 0, "negative_duration")),
    ((200 + _DAY, 200), (-_DAY, 0, "negative_duration"), (210, 220), (10, 10, "clock_skew")),
    # missing
    (_USUAL, (100, 100, ""), (150, None), (None, None, "no_end")),
    (_USUAL, (100, 100, ""), (50, None), (None, None, "no_end clock_skew")),
    (_USUAL, (100, 100, ""), (150 + _DAY, None), (None, None, "no_end")),
    (_USUAL, (100, 100, ""), (None, 150), (None, None, "")),
    (_USUAL, (100, 100, ""), (None, None), (None, None, "no_end")),
    ((100, None), (None, None, "no_end"), (110, 120), (10, 10, "")),
    ((100, None), (None, None, "no_end"), (90, 120), (30, 30, "clock_skew")),
    ((100, None), (None, None, "no_end"), (110, None), (None, None, "no_end")),
    ((None, 200), (None, None, ""), (110, 120), (10, 10, "")),
    ((None, 200), (None, None, ""), (110 - _DAY, 120), (_DAY + 10, _DAY + 10, "")),
    ((None, None), (None, None, "no_end"), (110, 120), (10, 10, "")),
    ((None, None), (None, None, "no_end"), (None, None), (None, None, "no_end")),
    # nothing long
    ((100, 100), (0, 0, ""), (100, 110), (10, 10, "")),
    ((100, 100), (0, 0, ""), (90, 110), (20, 20, "clock_skew")),
)


def _documents(number: int, parent: _Times, child: _Times) -> list[Document]:
    """Return a trace of two spans; the child ends first, so it is written first."""
    build = Builder()
    documents = []
    for name, span, above, (start, end) in (("child", 2, 1, child), ("parent", 1, None, parent)):
        document = build.span(f"{name} {number}", trace=number + 1, span=span, parent=above)
        documents.append(document | {"start_time": time_text(start), "end_time": time_text(end)})
    return documents


def _expected(name: str, times: _Times, told: _Told) -> dict[str, Any]:
    """Return what the exports tell of a span: its times as the file has them, and what follows from them."""
    duration, own, warnings = told
    return {
        "name": name,
        "start_time": time_text(times[0]),
        "end_time": time_text(times[1]),
        "duration_ns": None if duration is None else round(duration * 1_000),
        "self_time_ns": None if own is None else round(own * 1_000),
        "warnings": warnings.split(),
    }


def _exported(trials: int, folder: Path) -> Figures:
    """Compare the exports, the public objects and the statistics with the table."""
    figures = Figures()
    for number, (parent, of_parent, child, of_child) in enumerate(_TABLE[:trials]):
        store = store_of(*_documents(number, parent, child))
        wanted = [_expected(f"parent {number}", parent, of_parent), _expected(f"child {number}", child, of_child)]
        chunks = trace_tree_chunks(store, store.traces_in_order(), summary=summary_of(store), problems=store.problems())
        (trace,) = json.loads(b"".join(chunks))["traces"]
        (root,) = trace["roots"]
        found = [{key: node[key] for key in wanted[0]} for node in (root, *root["children"])]
        figures.expect(holds=found == wanted, what=f"{parent}, {child}: {found}; expected: {wanted}")
        lines = [json.loads(line) for line in b"".join(jsonl_chunks(store, [1, 0])).splitlines()]
        found = [{key: line[key] for key in wanted[0]} for line in lines]
        figures.expect(holds=found == wanted, what=f"{parent}, {child}, flat: {found}; expected: {wanted}")
        times = [_ns(time) for time in (*parent, *child)]
        known = [time for time in times if time is not None]
        spans = [node.span for node, _ in traces_of(store)[0].walk()]
        raw = [time for span in spans if span for time in (span.start_ns, span.end_ns)]
        figures.expect(holds=raw == times, what=f"{parent}, {child}: times {raw}; expected: {times}")
        begin = min((time for time in (times[0], times[2]) if time is not None), default=None)
        end = max((time for time in (times[1], times[3]) if time is not None), default=None)
        is_right = (traces_of(store)[0].start_ns, traces_of(store)[0].end_ns) == (begin, end) and trace["complete"]
        figures.expect(holds=is_right, what=f"{parent}, {child}: the trace's times, of {known}")
        figures.trials += 1
    _expect_statistics(figures, folder, trials)
    return figures


def _ns(us: float | None) -> int | None:
    return None if us is None else EPOCH_NS + round(us * 1_000)


def _expect_statistics(figures: Figures, folder: Path, trials: int) -> None:
    """Durations are counted as they are, and spans without one are counted beside them."""
    _write(folder, trials)
    groups = json.loads(spanview("stats", "--json", folder / "spans").output)["groups"]
    found = {group["key"]: (group["count"], group["total_ns"], group["self_ns"], group["max_ns"]) for group in groups}
    expected = {}
    for number, (_, of_parent, _, of_child) in enumerate(_TABLE[:trials]):
        for name, (duration, own, _) in ((f"parent {number}", of_parent), (f"child {number}", of_child)):
            ns = None if duration is None else round(duration * 1_000)
            expected[name] = 1, ns, None if ns is None else round((own or 0) * 1_000), ns
    figures.expect(holds=found == expected, what=f"statistics: {found.items() ^ expected.items()}")


def _write(folder: Path, trials: int) -> None:
    (folder / "spans").mkdir()
    for number, (parent, _, child, _) in enumerate(_TABLE[:trials]):
        (folder / "spans" / f"{number}.json").write_bytes(file_of(_documents(number, parent, child), indent=4))


_STRIDE: Final = 11
_WORDS: Final = {
    "clock_skew": "it starts before its parent",
    "negative_duration": "it ends before it starts",
    "no_end": "the record has no end time",
}


def _shown(trials: int, folder: Path) -> Figures:
    """Draw every trace, and open it in the viewer: raw durations, and a word about what is odd."""
    figures = Figures()
    _write(folder, len(_TABLE))
    drawn = spanview("tree", folder / "spans").text
    for trial in range(trials):
        # Few trials are of all parts of the table.
        number = trial * _STRIDE % len(_TABLE)
        parent, of_parent, child, of_child = _TABLE[number]
        for name, times, told in ((f"parent {number}", parent, of_parent), (f"child {number}", child, of_child)):
            lines = [line for line in drawn.splitlines() if f" {name} " in f"{line} "]
            is_right = len(lines) == 1 and f" {_lasted(times, told[0])} " in lines[0]
            figures.expect(holds=is_right, what=f"{name}, {times}: {lines}")
        _look(figures, folder / "spans" / f"{number}.json", number, ((of_parent, parent), (of_child, child)))
        figures.trials += 1
    return figures


def _lasted(times: _Times, duration: float | None) -> str:
    """Return how the length of a span is shown."""
    if times[1] is None:
        return "no end"
    if duration is None:
        return "–"
    sign, size = "-" if duration < 0 else "", abs(duration)
    if size >= _DAY:
        return f"{sign}{int(size // _DAY)} d 00 h"
    if 0 < size < 1:
        return f"{sign}{round(size * 1_000)} ns"
    return f"{sign}{size:g} µs" if size == int(size) else f"{sign}{size:.1f} µs"


def _look(figures: Figures, path: Path, number: int, spans: Sequence[tuple[_Told, _Times]]) -> None:
    with Terminal("--no-cache", str(path), size=(120, 40)) as terminal:
        terminal.until("2 spans")
        terminal.send(b"\r")
        for name, (told, times) in zip(("parent", "child"), spans, strict=True):
            figures.expect(holds=terminal.shows(f"{name} {number}"), what=f"{name} {number} isn't shown")
            shown = f" {_lasted(times, told[0])} "
            figures.expect(holds=terminal.shows(shown), what=f"{name} {number}: no {shown}")
        for name, (told, _) in zip(("parent", "child"), spans, strict=True):
            # Open the span, and go to the section with its times.
            terminal.send(b"\r")
            terminal.until(f"{name} {number}")
            before = len(terminal.output)
            # Empty sections are passed over, all but that of links.
            terminal.send(b"\t\t")
            terminal.until("span id")
            # The next section is painted when all of this one was.
            terminal.send(b"\t")
            terminal.until('"context"')
            shown = terminal.output[before:].decode(errors="replace")
            found = {warning for warning, words in _WORDS.items() if words in shown}
            figures.expect(holds=found == {*told[2].split()}, what=f"{name} {number}: {found}, expected: {told[2]}")
            terminal.send(ESCAPE, b"j")
            terminal.until(f"child {number}")
        terminal.send(ESCAPE, ESCAPE, b"q")
        figures.expect(holds=terminal.wait() == 0, what=f"{number}: the viewer didn't end well")


def _no_terminals() -> str:
    return "" if os.name == "posix" else "pseudo-terminals are POSIX"


ROWS: Final = (
    Row("27a", "clock skew, ends before starts, no end", "pairs of spans", len(_TABLE), len(_TABLE), _exported),
    Row(
        "27b", "the same, drawn and at a terminal", "pairs of spans", len(_TABLE), 3, _shown, unavailable=_no_terminals
    ),
)
