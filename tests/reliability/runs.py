"""Several roots, and one trace id in two runs: whatever belongs together by its id is shown together, all of it.

run 1          run 2, a day later      shown
-----          ------------------      -----
a              a                       one trace: a, b, a, b, each of the equal ids with `duplicate_id`
  b              b
"""

from __future__ import annotations

import json
import os
from collections import Counter
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, file_of
from forked import Server
from programs import RENAMED
from slow_trees import Written, export_of, read_without_facts
from terminals import Terminal

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from builders import Document

_DAY: Final = 86_400 * 1_000_000
_MANY: Final = 1_000
_PATIENCE_S: Final = 10.0


def _cases() -> Iterator[tuple[str, Mapping[str, Sequence[Document]]]]:
    """Yield what a case is, and the spans of each file; all that differ have different names."""
    build = Builder()
    first = build.draw("a-span 0-10\n  b-span 2-5")
    later = [build.span("c-span", start=_DAY), build.span("d-span", parent=3, start=_DAY + 1)]
    yield "two roots", {"1.json": build.draw("e-span 0-10\n  f-span 2-5\ng-span 3-20\n  h-span 4-5")}
    yield "two roots in two files", {"1.json": build.draw("i-span 0-10"), "2.json": build.draw("j-span 5-20")}
    yield "two runs, a file each", {"run 1/1.json": first, "run 2/1.json": later}
    yield "two runs, one file", {"1.json": [*first, *later]}
    again = [
        build.span("a-again-span", span=1, start=_DAY),
        build.span("b-again-span", span=2, parent=1, start=_DAY + 1),
        build.span("then-span", span=9, parent=2, start=_DAY + 2),
    ]
    yield "two runs with the same span ids", {"run 1/1.json": first, "run 2/1.json": again}
    yield "the same, in one file", {"1.json": [*again, *first]}
    yield "the same run, copied", {"run 1/1.json": first, "copy/1.json": first}
    yield "a run without its root, and one with it", {"1.json": first[1:], "2.json": [again[0], again[2]]}
    yield "a run without its root, and one without its middle", {"1.json": first[1:], "2.json": [again[2]]}
    yield (
        "two runs without roots",
        {"1.json": [build.span("k-span", parent=100)], "2.json": [build.span("l-span", parent=101)]},
    )
    roots = [build.span(f"root-{number}", start=number, span=1_000 + number) for number in range(_MANY)]
    yield f"{_MANY} roots", {"1.json": roots[::2], "2.json": roots[1::2]}


_ALL: Final = tuple(_cases())


def _shown_everywhere(trials: int, folder: Path) -> Figures:
    """Compare the export, the flat export, the drawing and what the viewer shows with what was written."""
    figures = Figures()
    with Server() as server:
        for trial, (what, files) in enumerate(_ALL[:trials]):
            _show(figures, server, folder / f"{trial}", what, files)
            figures.trials += 1
    return figures


def _show(figures: Figures, server: Server, folder: Path, what: str, files: Mapping[str, Sequence[Document]]) -> None:
    spans, output = folder / "spans", folder / "output"

    def printed(*words: str) -> bytes:
        ended = server.call(*words, spans, output=output)
        notes = [RENAMED] if words == ("stats", "--json") else []
        is_as_expected = [line[: len(RENAMED)] for line in ended.notices.splitlines()] == notes
        figures.expect(holds=not ended.status and is_as_expected, what=f"{what}, {words}: {ended}")
        return output.read_bytes()

    written = _write(spans, files)
    traces, counts = export_of(written)
    exported = read_without_facts(printed("export"))
    is_right = exported["traces"] == traces and exported["summary"].items() >= counts.items()
    figures.expect(holds=is_right, what=f"{what}: {exported}; expected: {traces}, {counts}"[:2_000])
    names = Counter(one.document["name"] for one in written)
    if counts["duplicates"]:
        names = Counter({*names})
    lines = [json.loads(line)["name"] for line in printed("export", "--format", "jsonl").splitlines()]
    figures.compare(names.elements(), lines, f"{what}: the flat export")
    drawn = printed("tree").decode().splitlines()
    figures.compare(names.elements(), _names_in(drawn, names), f"{what}: the drawing")
    counted = Counter({row["key"]: row["count"] for row in json.loads(printed("stats", "--json"))["rows"]})
    figures.expect(holds=counted == names, what=f"{what}: {counted}")
    _look(figures, spans, what, [*names])


def _write(folder: Path, files: Mapping[str, Sequence[Document]]) -> list[Written]:
    written = []
    for name, documents in files.items():
        path, offset = folder / name, 0
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(file_of(documents))
        for document in documents:
            length = len(json.dumps(document))
            written.append(Written(document, str(path), offset, length))
            offset += length + 1
    return written


def _names_in(lines: Sequence[str], names: Mapping[str, Any]) -> Iterator[str]:
    """Yield the name in each line of a drawing that has one."""
    for line in lines:
        label = line.partition("  [")[0].rstrip()
        found = [name for name in names if label.endswith((f"  {name}", f"─ {name}"))]
        yield from found


def _look(figures: Figures, folder: Path, what: str, names: Sequence[str]) -> None:
    """See each name in the viewer: one trace, with all its roots."""
    with Terminal("--no-cache", str(folder), size=(120, 40)) as terminal:
        terminal.until("1 trace ")
        terminal.send(b"\r")
        first = names if len(names) < _MANY else [f"root-{number}" for number in range(20)]
        for name in first:
            figures.expect(holds=terminal.shows(f"{name} ", _PATIENCE_S), what=f"{what}: {name} isn't shown")
        if first is not names:
            terminal.send(b"G")
            figures.expect(holds=terminal.shows(f"root-{_MANY - 1} "), what=f"{what}: the last isn't shown")
        terminal.send(b"qq")
        figures.expect(holds=terminal.wait() == 0, what=f"{what}: the viewer didn't end well")


def _no_terminals() -> str:
    return "" if os.name == "posix" else "pseudo-terminals are POSIX"


ROWS: Final = (
    Row("26", "several roots, trace id used twice", "folders", len(_ALL), 3, _shown_everywhere, None, _no_terminals),
)
