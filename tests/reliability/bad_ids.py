"""Ids as nobody should write them: each span is kept, its id normalised, or left out with the reason.

spelling in the file                   the id
--------------------                   ------
no 0x, upper case, short, padded       the same as the SDK's
base64, as protobuf writes it          the bytes
all zeros, text, numbers, null …       none, and the span says `bad_id`
no parent: null, "", all zeros         none, and nothing to say
"""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, file_of
from ids import NO_IDS, NOTHING, SPAN_TEXT, TRACE_TEXT
from programs import spanview

from .exported import strictly
from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Document


@dataclass(frozen=True, slots=True)
class _Spelling:
    """What a file may have in the place of an id."""

    value: object
    trace_id: str | None = None
    """What it is as a trace id."""
    span_id: str | None = None
    """What it is as a span id, or as a parent's."""
    means_none: bool = False
    """Whether it means that there is no parent."""


_GOOD: Final = (
    _Spelling(TRACE_TEXT, trace_id=TRACE_TEXT),
    _Spelling(f"0x{TRACE_TEXT}", trace_id=TRACE_TEXT),
    _Spelling(f"0X{TRACE_TEXT.upper()}", trace_id=TRACE_TEXT),
    _Spelling(SPAN_TEXT, trace_id=f"{SPAN_TEXT:0>32}", span_id=SPAN_TEXT),
    _Spelling(f"0x{SPAN_TEXT}", trace_id=f"{SPAN_TEXT:0>32}", span_id=SPAN_TEXT),
    _Spelling(f"0X{SPAN_TEXT.upper()}", trace_id=f"{SPAN_TEXT:0>32}", span_id=SPAN_TEXT),
    _Spelling(f" {SPAN_TEXT}\n", trace_id=f"{SPAN_TEXT:0>32}", span_id=SPAN_TEXT),
    _Spelling("1", trace_id=f"{1:032}", span_id=f"{1:016}"),
    _Spelling("0xA", trace_id=f"{10:032x}", span_id=f"{10:016x}"),
    _Spelling(base64.b64encode(bytes.fromhex(TRACE_TEXT)).decode(), trace_id=TRACE_TEXT),
    _Spelling(base64.b64encode(bytes.fromhex(SPAN_TEXT)).decode(), span_id=SPAN_TEXT),
    _Spelling("f" * 32, trace_id="f" * 32),
)
_BAD: Final = (*(_Spelling(value, means_none=True) for value in NOTHING), *map(_Spelling, NO_IDS))
_TABLE: Final = (*_GOOD, *_BAD)
_PLACES: Final = ("trace_id", "span_id", "parent_id")


def _spell(_: int, folder: Path) -> Figures:
    figures, path = Figures(), folder / "4711.json"
    written = {document["name"]: expected for document, expected in _documents()}
    path.write_bytes(file_of((document for document, _ in _documents()), indent=4))
    spans = [strictly(line) for line in spanview("spans", path).output.splitlines()]
    figures.compare([*written], [span["name"] for span in spans])
    for span in spans:
        expected = written[span["name"]]
        found = {key: span[key] for key in expected}
        figures.expect(holds=found == expected, what=f"{span['name']}: {found}, not {expected}")
    tree = strictly(spanview("export", path).output)
    summary = tree["summary"]
    figures.expect(holds=(summary["spans"], summary["skipped"], summary["torn"]) == (len(written), 0, 0), what=summary)
    unplaced = sum(trace["span_count"] for trace in tree["traces"] if trace["trace_id"] is None)
    without = sum(expected["trace_id"] is None for expected in written.values())
    figures.expect(holds=unplaced == without, what=f"{unplaced} spans without a trace, not {without}")
    figures.trials = len(_TABLE)
    return figures


def _documents() -> Iterator[tuple[Document, dict[str, Any]]]:
    """Yield each spelling in each place, with what is to come of it."""
    build = Builder()
    for number, spelling in enumerate(_TABLE):
        for place in _PLACES:
            name = f"{number} {place}: {json.dumps(spelling.value)}"
            document = build.span(name, trace=1_000 * (number + 1))
            context = document["context"]
            expected = {key: context[key].removeprefix("0x") for key in context if key != "trace_state"}
            holder = document if place == "parent_id" else context
            holder[place] = spelling.value
            id_ = spelling.trace_id if place == "trace_id" else spelling.span_id
            is_bad = id_ is None and not (place == "parent_id" and spelling.means_none)
            yield document, {"parent_id": None, **expected, place: id_, "warnings": ["bad_id"] if is_bad else []}


ROWS: Final = (Row("13", "bad ids", "ids", len(_TABLE), len(_TABLE), _spell),)
