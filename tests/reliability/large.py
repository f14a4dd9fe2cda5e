"""Records that are larger, or nest deeper, than any program writes, among others: read as files by spanview itself."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, file_of
from peaks import spanview_with_peak

from .figures import Figures, Row

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Document

_MIB: Final = 2**20
_MOST_MIB: Final = 160
"""The most memory that it may take, however large a record is; without any it takes 35."""
_PLACE: Final = "what is large"


@dataclass(frozen=True, slots=True)
class _Large:
    """A record, or something like one, in which something comes often."""

    unit: bytes
    count: int
    before: bytes = b""
    after: bytes = b""

    @property
    def size(self) -> int:
        return len(self.before) + len(self.unit) * self.count + len(self.after)

    def write(self, path: Path, head: bytes, tail: bytes) -> None:
        """Write it between other records, never all of it in memory."""
        at_once = max(1, _MIB // len(self.unit))
        with path.open("wb") as file:
            file.write(head + self.before)
            for _ in range(self.count // at_once):
                file.write(self.unit * at_once)
            file.write(self.unit * (self.count % at_once) + self.after + b"\n" + tail)


def _huge_text(mib: int, folder: Path) -> Figures:
    """A text without an end: compact and whole, then indented and torn."""
    figures, build = Figures(trials=mib), Builder()
    compact, compact_end = json.dumps(_span(build)).encode().split(_PLACE.encode())
    indented, _ = json.dumps(_span(build), indent=4).encode().split(_PLACE.encode())
    _read(figures, folder / "whole.txt", "too_large", _Large(b"x", mib * _MIB, compact, compact_end))
    _read(figures, folder / "torn.json", "too_large", _Large(b"x", mib * _MIB, indented))
    return figures


def _deep_nesting(levels: int, folder: Path) -> Figures:
    """Openers without an end, alone and in a span, and what closes all of them again."""
    figures = Figures(trials=levels)
    before, after = json.dumps(_span(Builder())).encode().split(json.dumps(_PLACE).encode())
    for name, large in {
        "open.txt": _Large(b"[", levels),
        "closed.txt": _Large(b"[", levels, after=b"]" * levels),
        "attribute.txt": _Large(b"[", levels, before, b"]" * levels + after),
        "torn.txt": _Large(b"[", levels, before),
        "objects.txt": _Large(b'{"a":', levels // 2),
        "beginnings.txt": _Large(b'{"name":', levels // 10),
    }.items():
        _read(figures, folder / name, "torn", large)
    return figures


def _span(build: Builder) -> Document:
    return build.span("huge", attributes={"v": _PLACE})


def _read(figures: Figures, path: Path, kind: str, large: _Large) -> None:
    """Let spanview export a file in which something large is among spans, and comes to a problem of a kind."""
    build = Builder()
    head, tail = (file_of([build.span(name), build.span(f"{name} too")], indent=4) for name in ("before", "after"))
    large.write(path, head, tail)
    began = time.monotonic()
    outcome, peak_mib = spanview_with_peak("export", path)
    figures.notes.append(f"{path.name}: {time.monotonic() - began:.1f} s, {peak_mib:.0f} MiB")
    exported: dict[str, Any] = json.loads(outcome.output)
    names = [root["name"] for trace in exported["traces"] for root in trace["roots"]]
    figures.compare(["before", "before too", "after", "after too"], names, path.name)
    found = [(problem["kind"], problem["offset"], problem["length"]) for problem in exported["problems"]]
    # Whether the end of the line belongs to it is neither here nor there.
    is_told = found in [[(kind, len(head), length)] for length in (large.size, large.size + 1)]
    figures.expect(holds=is_told, what=f"{path.name}: {found}, not {kind} at {len(head)}, {large.size} bytes")
    figures.expect(holds=peak_mib <= _MOST_MIB, what=f"{path.name}: {peak_mib:.0f} MiB")
    path.unlink()


ROWS: Final = (
    Row("11a", "endless text in a record", "MiB", 1024, 104, _huge_text),
    Row("11b", "endless nesting", "brackets", 10_000_000, 30_000, _deep_nesting),
)
