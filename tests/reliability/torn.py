"""Torn records: cut off at any byte, read in any pieces, left behind by killed writers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from builders import Builder
from spanview.model.problems import ProblemKind
from spanview.sources.loading import load_store

from .figures import Figures, Row
from .shown import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Document

_FILLINGS: Final = {"glued": b"", "newline": b"\n", "NUL hole": bytes(96)}
_INDENTS: Final = (None, 4)


def _rich(build: Builder, name: str) -> Document:
    """Return a span that has everything in it that might be taken for a span by itself."""
    inner = build.span("inner")
    return build.span(
        name,
        attributes={"json": json.dumps(inner), "braces": '}\n{"name": 1}\n{', "list": [1, None, "]"]},
        events=[{"name": "exception", "timestamp": inner["start_time"], "attributes": {"exception.message": "}"}}],
        links=[{"context": inner["context"], "attributes": {}}],
    )


def _cuts(share: float) -> Iterator[tuple[str, bytes]]:
    """Yield what to say of a file, and the file: three whole records and one that breaks off before the last two.

    Args:
        share: So many of the cuts, each filled in every way, are yielded, evenly.
    """
    due = 0.0
    for indent in _INDENTS:
        build = Builder()
        records = [json.dumps(_rich(build, name), indent=indent).encode() for name in ("a", "torn", "b", "c")]
        before, torn, *after = records
        for cut in range(1, len(torn)):
            for filling, joint in _FILLINGS.items():
                due += share
                if due >= 1:
                    due -= 1
                    content = b"\n".join((before, torn[:cut] + joint + after[0], *after[1:], b""))
                    yield f"indent {indent}, byte {cut}, {filling}", content


def _cut_anywhere(cuts: int, folder: Path) -> Figures:
    figures, path = Figures(), folder / "4711.json"
    for where, content in _cuts(min(1.0, cuts / _CUTS)):
        path.write_bytes(content)
        figures.trials += 1
        store = load_store(path)
        figures.compare("abc", [span.name for span in spans_of(store)], where)
        torn = [(problem.file, problem.offset) for problem in store.problems() if problem.kind is ProblemKind.TORN]
        figures.expect(holds=torn == [(str(path), content.index(b"\n{") + 1)], what=f"{where}: torn at {torn}")
    return figures


def _holding(build: Builder, name: str) -> Document:
    """Return a span that holds whole spans, as an attribute that is an object may be one."""
    held = [build.span(f"held {number}") for number in range(5)]
    return build.span(
        name,
        attributes={"first": 1, "object": held[0], "list": [held[1], held[2]], "last": [{"of": held[3]}]},
        events=[{"name": "event", "timestamp": build.span()["start_time"], "attributes": {"object": held[4]}}],
    )


def _holding_cuts(share: float) -> Iterator[tuple[str, bytes]]:
    """Yield what to say of a file, and the file, for some of the cuts, evenly.

    Left out is where all stands on one line and the cut is right behind something that is held: the same bytes come
    about where a record breaks off before a value and another one is glued to it, and that one must not be lost.
    """
    due = 0.0
    for indent in _INDENTS:
        build = Builder()
        before, torn, *after = (
            json.dumps(_holding(build, name), indent=indent).encode() for name in ("a", "torn", "b", "c")
        )
        for cut in range(1, len(torn)):
            if indent is None and torn[:cut].rstrip().endswith(b"}"):
                continue
            for filling, joint in _FILLINGS.items():
                due += share
                if due >= 1:
                    due -= 1
                    content = b"\n".join((before, torn[:cut] + joint + after[0], *after[1:], b""))
                    yield f"indent {indent}, byte {cut}, {filling}", content


def _cut_what_holds(cuts: int, folder: Path) -> Figures:
    figures, path = Figures(), folder / "4711.json"
    for where, content in _holding_cuts(min(1.0, cuts / _HOLDING_CUTS)):
        path.write_bytes(content)
        figures.trials += 1
        store = load_store(path)
        names = [store.names.texts[store.spans.name[row]] for row in store.rows_in_order()]
        figures.compare("abc", names, where)
    return figures


_CUTS: Final = 8_000
"""As many as there are, at the least."""

_HOLDING_CUTS: Final = 21_000
"""No more than there are."""

ROWS: Final = (
    Row("1", "record cut off mid-write, writer goes on", "cuts", _CUTS, _CUTS // 32, _cut_anywhere),
    Row("1b", "the same, and it holds what looks like records", "cuts", _HOLDING_CUTS, 300, _cut_what_holds),
)
