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
from programs import spanview

from .exported import strictly
from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from builders import Document

_TRACE: Final = "0af7651916cd43dd8448eb211c80319c"
_SPAN: Final = "b7ad6b7169203331"


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
    _Spelling(_TRACE, trace_id=_TRACE),
    _Spelling(f"0x{_TRACE}", trace_id=_TRACE),
    _Spelling(f"0X{_TRACE.upper()}", trace_id=_TRACE),
    _Spelling(_SPAN, trace_id=f"{_SPAN:0>32}", span_id=_SPAN),
    _Spelling(f"0x{_SPAN}", trace_id=f"{_SPAN:0>32}", span_id=_SPAN),
    _Spelling(f"0X{_SPAN.upper()}", trace_id=f"{_SPAN:0>32}", span_id=_SPAN),
    _Spelling(f" {_SPAN}\n", trace_id=f"{_SPAN:0>32}", span_id=_SPAN),
    _Spelling("1", trace_id=f"{1:032}", span_id=f"{1:016}"),
    _Spelling("0xA", trace_id=f"{10:032x}", span_id=f"{10:016x}"),
    _Spelling(base64.b64encode(bytes.fromhex(_TRACE)).decode(), trace_id=_TRACE),
    _Spelling(base64.b64encode(bytes.fromhex(_SPAN)).decode(), span_id=_SPAN),
    _Spelling("f" * 32, trace_id="f" * 32),
)
_BAD: Final = (
    _Spelling(None, means_none=True),
    _Spelling("", means_none=True),
    _Spelling("0", means_none=True),
    _Spelling("0x", means_none=True),
    _Spelling("0x0", means_none=True),
    _Spelling("0" * 16, means_none=True),
    _Spelling("0x" + "0" * 16, means_none=True),
    _Spelling("0" * 32, means_none=True),
    *map(
        _Spelling,
        (
            " ",
            "xyz",
            "0xg" + "1" * 15,
            "1" * 33,
            "0x" + "1" * 33,
            "-1",
            "+1",
            "1 2",
            "1_000",
            "0x0x1",
            "\u0661\u0662",
            "\uff11",
            "\ud800",
            "=",
            "AAAA=",
            "AAECAwQFBg==",
            "!!!!!!!!!!!=",
            "AAAAAAAAAAA=",
            0,
            1,
            1.5,
            2**70,
            float("nan"),
            True,
            False,
            [],
            [_SPAN],
            {},
            {"low": 1},
        ),
    ),
)
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
