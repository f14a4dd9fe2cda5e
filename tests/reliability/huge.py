"""A trace as deep, and one as wide, as nobody reads to the end: written out, read back, drawn, counted, looked at.

deep                   wide
----                   ----
level 0                root
  level 1                leaf 0
    level 2              leaf 1
      …                  …

Nothing that reads them back here recurses: `json.loads` and every other recursive reader crashes the interpreter.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import time
from array import array
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import IO, TYPE_CHECKING, Any, Final

import ijson

from builders import Builder
from peaks import WITH_PEAK
from programs import RENAMED
from slow_trees import read_without_facts, without_facts
from terminals import Terminal

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence
    from pathlib import Path

_TRACE: Final = 0xABC
_BEGAN: Final = datetime(2024, 5, 28, 18, 5, 4, tzinfo=UTC)
_FILES: Final = 8
_NAMES: Final = 1_000
"""So many names there are; more would be no trace that a program writes."""
_PATIENCE_S: Final = 60.0


@dataclass(slots=True)
class _Huge:
    """What is written: span number n has the id n + 1; the first is the root."""

    noun: str
    parents: Sequence[int]
    """The number of each span's parent; -1 for the root."""
    starts: Sequence[int]
    """Microseconds."""
    ends: Sequence[int]
    own: Sequence[int]
    """Self times in microseconds."""
    last: int
    """The number of the one that is drawn last."""
    places: dict[int, tuple[str, int, int]] = field(default_factory=dict)
    """File, offset and length of each."""

    def name(self, number: int) -> str:
        """Return a span's name."""
        if number == self.last:
            return "the last of all"
        return f"{self.noun} {number % _NAMES}" if number else "the root"

    def write(self, folder: Path) -> None:
        """Write all spans into some files, in no order; every other file is indented."""
        folder.mkdir()
        numbers = [*range(len(self.parents))]
        random.Random(22).shuffle(numbers)
        for part in range(_FILES):
            path = folder / f"{part}.json"
            template, offset = _template(4 if part % 2 else None), 0
            with path.open("wb") as file:
                for number in numbers[part::_FILES]:
                    parent = self.parents[number]
                    text = template % {
                        "name": self.name(number),
                        "span": number + 1,
                        "parent": "null" if parent < 0 else f'"0x{parent + 1:016x}"',
                        "start": _time(self.starts[number]),
                        "end": _time(self.ends[number]),
                        "number": number,
                    }
                    file.write(text.encode())
                    self.places[number] = str(path), offset, len(text) - 1
                    offset += len(text)

    def expected(self, number: int) -> dict[str, Any]:
        """Return a span as the exports have it, without its children."""
        file, offset, length = self.places[number]
        parent = self.parents[number]
        return {
            "span_id": f"{number + 1:016x}",
            "parent_id": None if parent < 0 else f"{parent + 1:016x}",
            "name": self.name(number),
            "kind": "INTERNAL",
            "start_time": _time(self.starts[number]),
            "end_time": _time(self.ends[number]),
            "duration_ns": (self.ends[number] - self.starts[number]) * 1_000,
            "self_time_ns": self.own[number] * 1_000,
            "status": {"code": "UNSET"},
            "attributes": {"number": number},
            "events": [],
            "links": [],
            "trace_state": {},
            "resource": {"attributes": {}, "schema_url": ""},
            "scope": None,
            "source": {"file": file, "offset": offset, "length": length},
            "warnings": [],
        }

    def children(self) -> list[list[int]]:
        """Return the children of each span by start, then id."""
        children: list[list[int]] = [[] for _ in self.parents]
        for number in sorted(range(1, len(self.parents)), key=lambda number: (self.starts[number], number)):
            children[self.parents[number]].append(number)
        return children


def _deep(levels: int) -> _Huge:
    """Return a chain in which each span starts a microsecond after its parent and ends one before."""
    numbers = range(levels)
    return _Huge(
        "level",
        parents=array("q", (number - 1 for number in numbers)),
        starts=numbers,
        ends=array("q", (2 * levels - number for number in numbers)),
        own=array("q", [*[2] * (levels - 1), 2 * levels - 2 * (levels - 1)]),
        last=levels - 1,
    )


def _wide(children: int) -> _Huge:
    """Return a root with so many children, of which three start at a time, in no order of their ids."""
    starts = array("q", [0, *(number * 7_919 % children // 3 for number in range(children))])
    last = max(starts) + 1
    return _Huge(
        "leaf",
        parents=array("q", [-1, *[0] * children]),
        starts=starts,
        ends=array("q", [last + 5, *(start + 1 for start in starts[1:])]),
        own=array("q", [last + 5 - len({*starts[1:]}), *[1] * children]),
        last=max(range(1, children + 1), key=lambda number: (starts[number], number)),
    )


@cache
def _time(us: int) -> str:
    return (_BEGAN + timedelta(microseconds=us)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def _template(indent: int | None) -> str:
    """Return a span as the SDK writes it, to be filled with `%`."""
    document = Builder().span("%(name)s", trace=_TRACE, span=1, parent=2, attributes={"number": "%(number)d"})
    document["context"]["span_id"] = "0x%(span)016x"
    document |= {"parent_id": "%(parent)s", "start_time": "%(start)s", "end_time": "%(end)s"}
    text = json.dumps(document, indent=indent) + "\n"
    return text.replace('"%(parent)s"', "%(parent)s").replace('"%(number)d"', "%(number)d")


# -- reading back ------------------------------------------------------------------------------------------------------


def _nodes(stream: IO[bytes]) -> Iterator[dict[str, Any]]:
    """Yield every object that has children, each with their ids in the place of the children, and the document last.

    The document has the ids of its traces' roots in their places.
    """
    top: list[Any] = []
    holders: list[Any] = [top]
    keys: list[str] = [""]
    for event, value in ijson.basic_parse(stream, use_float=True):
        if event == "map_key":
            keys[-1] = value
            continue
        if event in ("end_map", "end_array"):
            whole = holders.pop()
            keys.pop()
            if event == "end_map" and "children" in whole:
                yield whole
                holder = holders[-1]
                # The last that it holds is what has ended.
                holder[-1] = whole["span_id"]
            continue
        item = {} if event == "start_map" else [] if event == "start_array" else value
        holder = holders[-1]
        if type(holder) is list:
            holder.append(item)
        else:
            holder[keys[-1]] = item
        if event in ("start_map", "start_array"):
            holders.append(item)
            keys.append("")
    yield top[0]


def _read_tree(figures: Figures, huge: _Huge, path: Path) -> None:
    """Compare a trace-tree export with what was written."""
    children, numbers = huge.children(), []
    with path.open("rb") as stream:
        for node in _nodes(stream):
            if "schema" in node:
                break
            number = node["attributes"]["number"]
            numbers.append(number)
            found = node.pop("children")
            below = [f"{child + 1:016x}" for child in children[number]]
            is_right = found == below and without_facts(node) == huge.expected(number)
            figures.expect(holds=is_right, what=f"span {number} is exported as {node}"[:1_000])
    figures.compare(range(len(huge.parents)), numbers, "the trace tree")
    (trace,) = node["traces"]
    spans = len(huge.parents)
    figures.expect(holds=trace["roots"] == [f"{1:016x}"], what=f"roots: {trace['roots'][:3]}")
    figures.expect(holds=(trace["span_count"], trace["complete"]) == (spans, True), what=trace)
    expected = {"files": _FILES, "spans": spans, "traces": 1, "roots": 1, "missing_parents": 0, "duplicates": 0}
    figures.expect(holds=node["summary"].items() >= expected.items() and node["problems"] == [], what=node["summary"])


def _read_lines(figures: Figures, huge: _Huge, path: Path) -> None:
    """Compare a flat export with what was written; its lines come by path and offset."""
    numbers, before = [], ("", -1)
    with path.open("rb") as stream:
        for line in stream:
            value = read_without_facts(line)
            number = value["attributes"]["number"]
            numbers.append(number)
            place = value["source"]["file"], value["source"]["offset"]
            is_right = value == {"trace_id": f"{_TRACE:032x}", **huge.expected(number)} and place > before
            figures.expect(holds=is_right, what=f"span {number} is printed as {value}"[:1_000])
            before = place
    figures.compare(range(len(huge.parents)), numbers, "the lines")


def _read_drawing(figures: Figures, huge: _Huge, path: Path) -> None:
    """Compare a drawing with what was written: the names, from the top."""
    children, pending, expected = huge.children(), [0], []
    while pending:
        number = pending.pop()
        expected.append(huge.name(number))
        pending.extend(reversed(children[number]))
    title, *lines = path.read_text(encoding="utf-8").splitlines()
    figures.expect(holds=f"{len(expected):,} spans" in title and title.endswith("complete"), what=title)
    found = [line for line in lines if line]
    figures.expect(holds=len(found) == len(expected), what=f"{len(found)} lines")
    wrong = [line for line, name in zip(found, expected, strict=False) if not line.endswith(f" {name}")]
    figures.expect(holds=not wrong, what=f"wrong lines: {wrong[:3]}")


def _read_statistics(figures: Figures, huge: _Huge, path: Path) -> None:
    """Compare the statistics with what was written."""
    durations: dict[str, list[int]] = {}
    own: Counter[str] = Counter()
    for number, (start, end, self_us) in enumerate(zip(huge.starts, huge.ends, huge.own, strict=True)):
        durations.setdefault(huge.name(number), []).append((end - start) * 1_000)
        own[huge.name(number)] += self_us * 1_000
    expected = {
        name: (
            len(values),
            sum(values),
            own[name],
            min(values),
            sorted(values)[(len(values) + 1) // 2 - 1],
            max(values),
        )
        for name, values in durations.items()
    }
    rows = json.loads(path.read_bytes())["rows"]
    found = {
        row["key"]: (
            *(row["count"], row["duration_ns"]["total"], row["self_time_ns"]),
            *(row["duration_ns"][name] for name in ("min", "p50", "max")),
        )
        for row in rows
    }
    figures.expect(holds=found == expected and len(rows) == len(found), what="the statistics are wrong")


_COMMANDS: Final[tuple[tuple[tuple[str, ...], Callable[[Figures, _Huge, Path], None]], ...]] = (
    (("export",), _read_tree),
    (("export", "--format", "jsonl"), _read_lines),
    (("tree",), _read_drawing),
    (("stats", "--json"), _read_statistics),
)
_NOTES: Final[dict[tuple[str, ...], list[str]]] = {("stats", "--json"): [RENAMED]}
"""How the lines on standard error begin, of the commands that write some."""


def _round_trip(huge: _Huge, folder: Path, step: int = 1) -> Figures:
    """Run the commands, or every nth, and compare what they write with what was written."""
    figures, output = Figures(trials=len(huge.parents) - 1), folder / "output"
    huge.write(folder / "spans")
    for words, read in _COMMANDS[::step]:
        to_file = ("-o", output) if words[0] == "export" else ()
        with (folder / "printed").open("wb") as stream:
            program = [*WITH_PEAK, *words, folder / "spans", *to_file]
            began = time.monotonic()
            done = subprocess.run(program, stdout=stream, stderr=subprocess.PIPE, text=True, check=False)
            seconds = time.monotonic() - began
        figures.took(seconds)
        *notices, peak = done.stderr.splitlines() or [""]
        is_as_expected = [notice[: len(RENAMED)] for notice in notices] == _NOTES.get(words, [])
        figures.expect(holds=not done.returncode and is_as_expected, what=f"{words}: {done}"[-1_000:])
        written = output if to_file else folder / "printed"
        size_mib, peak_mib = written.stat().st_size / 2**20, int(peak) / 2**10
        # Some memory for the program, and some for each span.
        most_mib = 100 + 600 * len(huge.parents) / 2**20
        figures.expect(holds=peak_mib <= most_mib, what=f"{words}: {peak_mib:,.0f} MiB; allowed: {most_mib:,.0f}")
        figures.notes.append(f"{' '.join(words)}: {seconds:.1f} s, {peak_mib:,.0f} MiB; {size_mib:,.1f} MiB written")
        read(figures, huge, written)
        written.unlink()
    return figures


def _look_at(huge: _Huge, folder: Path) -> Figures:
    """Open the trace at a terminal, and press keys of which each has to show something that is far away."""
    figures, below = Figures(trials=len(huge.parents) - 1), f"+{len(huge.parents) - 1:,}"
    huge.write(folder / "spans")
    root, last = huge.name(0), huge.name(huge.last)
    above_last, first = huge.name(huge.parents[huge.last]), huge.name(huge.children()[0][0])
    steps = (
        ("open the trace", b"\r", f"   complete   {_TRACE:032x}"),
        ("End", b"\x1b[F", last),
        ("Home", b"\x1b[H", root),
        ("collapse all", b"[", below),
        ("expand all", b"]", first),
        ("G", b"G", last),
        ("g", b"g", root),
        ("collapse", b"h", below),
        ("expand", b"l", first),
        ("G", b"G", last),
        ("to the parent", b"h", above_last),
        ("search", b"/" + last.encode() + b"\r", "match 1 of 1"),
        ("open the span", b"\r", "Attributes"),
        ("back", b"\x1b[27u\x1b[27u\x1b[27u", "PROCS"),
    )
    # No details stand below the tree in so few lines: each key paints what it is about, and nothing else.
    with Terminal("--no-cache", str(folder / "spans"), size=(110, 24)) as terminal:
        began = time.monotonic()
        is_shown = terminal.shows(f"{len(huge.parents):,} spans", _PATIENCE_S)
        figures.expect(holds=is_shown, what="the trace was not loaded")
        figures.notes.append(f"loaded: {time.monotonic() - began:.1f} s")
        for what, keys, text in steps:
            began = time.monotonic()
            terminal.send(keys)
            figures.expect(holds=terminal.shows(text, _PATIENCE_S), what=f"{what}: no {text!r}")
            seconds = time.monotonic() - began
            figures.took(seconds)
            figures.notes.append(f"{what}: {seconds:.2f} s")
        terminal.send(b"q")
        figures.expect(holds=terminal.wait() == 0, what="the viewer didn't end well")
    return figures


def _deep_round_trip(levels: int, folder: Path) -> Figures:
    return _round_trip(_deep(levels + 1), folder)


def _wide_round_trip(children: int, folder: Path) -> Figures:
    return _round_trip(_wide(children), folder, 1 if children > _FEW else 2)


def _look_deep(levels: int, folder: Path) -> Figures:
    return _look_at(_deep(levels + 1), folder)


def _look_wide(children: int, folder: Path) -> Figures:
    return _look_at(_wide(children), folder)


def _no_terminals() -> str:
    return "" if os.name == "posix" else "pseudo-terminals are POSIX"


_FEW: Final = 52_000
"""More than are counted one by one: they are written out and read back as trees alone."""
ROWS: Final = (
    Row("22a", "very deep trace, written out and read back", "levels", 100_000, 10_000, _deep_round_trip),
    Row("22b", "very wide trace, written out and read back", "children", 1_000_000, _FEW, _wide_round_trip),
    Row("22c", "very deep trace at a terminal", "levels", 100_000, 10_000, _look_deep, 60, _no_terminals),
    Row("22d", "very wide trace at a terminal", "children", 1_000_000, 60_000, _look_wide, 60, _no_terminals),
)
