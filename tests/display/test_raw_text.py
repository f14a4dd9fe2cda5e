"""A record laid out as lines: nothing of it is lost or changed, but for blanks, and each part can be folded."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanview.display.raw_text import raw_parts

RECORD = """{
    "name": "a \\"b\\" \\u00e9 {",
    "n": 1.50e3, "n": NaN,
    "status": {"status_code": "OK"},
    "empty": {}, "none": [ ],
    "attributes": {"list": [1,
        2], "deep": {"x": [{"y": null}]}}
}"""
LINES = """\
▾ {
    "name": "a \\"b\\" \\u00e9 {",
    "n": 1.50e3,
    "n": NaN,
    "status": {"status_code": "OK"},
    "empty": {},
    "none": [],
  ▾ "attributes": {
      "list": [1, 2],
    ▾ "deep": {
      ▾ "x": [
          {"y": null}
        ]
      }
    }
  }"""
FOLDED = """\
▾ {
    "name": "a \\"b\\" \\u00e9 {",
    "n": 1.50e3,
    "n": NaN,
    "status": {"status_code": "OK"},
    "empty": {},
    "none": [],
  ▸ "attributes": {… 2 keys}
  }"""


def lines(text: str, *, folds: dict[Any, bool] | None = None, room: int = 60) -> list[str]:
    """Return the lines of a record."""
    parts = raw_parts(text, "Raw", folds=folds or {}, room=room)
    assert parts is not None
    return [part.text for part in parts]


def test_a_record() -> None:
    """Texts and numbers are as the file has them, a key that comes twice too."""
    assert lines(RECORD) == LINES.split("\n")


def test_folding() -> None:
    """What is folded says how much it hides; what is copied is its part of the record."""
    parts = raw_parts(RECORD, "Raw", folds={}, room=60)
    assert parts is not None
    folding = next(part for part in parts if "attributes" in part.text)
    assert folding.fold is not None
    assert folding.whole == RECORD[RECORD.index('{"list"') : -2]
    inside = [part for part in parts if part.inside == folding.fold]
    assert [part.text.strip() for part in inside] == ['"list": [1, 2],', '▾ "deep": {', "}"]
    assert parts[0].whole == RECORD
    assert lines(RECORD, folds={folding.fold: False}) == FOLDED.split("\n")
    assert lines(RECORD, folds={parts[0].fold: False}) == ["▸ {… 7 keys}"]


def test_little_room() -> None:
    """What has no room on one line has a line for each member."""
    assert lines('{"a": [1, 2, 3]}', room=12) == [
        "▾ {",
        '  ▾ "a": [',
        "      1,",
        "      2,",
        "      3",
        "    ]",
        "  }",
    ]


ODD = ["", "x", "1", '"{}"', "{", '{"a": 1', "{]", "[1}", "[,]", "{} {}", '["a', "[1]]", '{"a":}', "[:]", "[" * 40_000]


@pytest.mark.parametrize("text", ODD, ids=range(len(ODD)))
def test_what_is_no_record(text: str) -> None:
    """What isn't whole, or has no end of members, is left as it is."""
    assert raw_parts(text, "Raw", folds={}, room=60) is None


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda each: st.lists(each, max_size=5) | st.dictionaries(st.text(), each, max_size=5),
    max_leaves=10,
)


@settings(max_examples=50, deadline=None)
@given(
    st.lists(VALUES, max_size=5) | st.dictionaries(st.text(), VALUES, max_size=5),
    st.sampled_from((None, 1, 4)),
    st.integers(10, 100),
)
def test_nothing_is_lost(value: Any, indent: int | None, room: int) -> None:
    """However a value is written, its lines are the same value, and all that is folded has its lines."""
    text = json.dumps(value, indent=indent)
    parts = raw_parts(text, "Raw", folds={}, room=room)
    assert parts is not None
    joined = "\n".join(re.sub("^( *)▾ ", r"\1", part.text) for part in parts)
    # NaN isn't equal to itself.
    assert json.dumps(json.loads(joined)) == json.dumps(value)
    assert parts[0].whole == text
    for part in parts:
        if part.fold is not None:
            folded = raw_parts(text, "Raw", folds={part.fold: False}, room=room)
            assert folded is not None
            assert len(folded) < len(parts)
