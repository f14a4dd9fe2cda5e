"""Torn records: cut off at any byte, read in any pieces, left behind by killed writers."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

from builders import Builder
from spanview import load
from spanview.model.problems import ProblemKind

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


def _cuts() -> Iterator[tuple[str, bytes]]:
    """Yield what to say of a file, and the file: three whole records and one that breaks off before the last two."""
    for indent in _INDENTS:
        build = Builder()
        records = [json.dumps(_rich(build, name), indent=indent).encode() for name in ("a", "torn", "b", "c")]
        before, torn, *after = records
        for cut in range(1, len(torn)):
            for filling, joint in _FILLINGS.items():
                content = b"\n".join((before, torn[:cut] + joint + after[0], *after[1:], b""))
                yield f"indent {indent}, byte {cut}, {filling}", content


def _cut_anywhere(_: int, folder: Path) -> Figures:
    figures, path = Figures(), folder / "4711.json"
    for where, content in _cuts():
        path.write_bytes(content)
        figures.trials += 1
        store = load(path)
        figures.compare("abc", [span.name for span in spans_of(store)], where)
        torn = [(problem.file, problem.offset) for problem in store.problems() if problem.kind is ProblemKind.TORN]
        figures.expect(holds=torn == [(str(path), content.index(b"\n{") + 1)], what=f"{where}: torn at {torn}")
    return figures


_CUTS: Final = 8_000
"""As many as there are, at the least."""

ROWS: Final = (Row("1", "record cut off mid-write, writer goes on", "cuts", _CUTS, _CUTS, _cut_anywhere),)
