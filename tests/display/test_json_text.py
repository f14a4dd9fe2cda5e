"""JSON among a span's attributes: written out, folded where it is long, and nothing of it lost.

value                       lines
-----                       -----
{"a": 1}                    ▾ {
                                "a": 1
                              }
{"a": …, … "n": …}          ▸ {… 14 keys}
[1, 2]                      [1,2]
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, store_of
from spanview.display.json_text import nested_in
from spanview.display.span_in_tree import SpanInTree
from spanview.display.span_text import DetailView, detail_lines

if TYPE_CHECKING:
    from spanview.display.parts import DetailLine

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=12) | st.dictionaries(st.text(max_size=5), inner, max_size=12),
    max_leaves=40,
)


class Unfolded(dict[Any, bool]):
    """Everything is unfolded."""

    def get(self, _path: Any, _otherwise: Any = None) -> bool:
        """Return that it is."""
        return True


def lines_of(value: Any, folds: Any = None, width: int = 100) -> list[DetailLine]:
    """Return the lines of an attribute."""
    store = store_of(Builder().span(attributes={"k": value}))
    subject = SpanInTree(store.span(0), store, 0, store.tree(0), 0)
    return detail_lines(subject, "Attributes", width, DetailView({} if folds is None else folds))


def texts(lines: list[DetailLine]) -> list[str]:
    """Return the texts."""
    return [line.text for line in lines]


@pytest.mark.parametrize("as_text", [False, True])
def test_an_object(as_text: bool) -> None:  # noqa: FBT001 - a case of the table
    """An object is written out, whether it is the value or the value's text; what is copied is the value."""
    value = {"a": 1, "b": {"c": [1, 2], "d": []}, "e": "x\n"}
    lines = lines_of(json.dumps(value) if as_text else value)
    assert texts(lines) == [
        "▾ {",
        '    "a": 1,',
        '  ▾ "b": {',
        '      "c": [1,2],',
        '      "d": []',
        "    },",
        '    "e": "x\\n"',
        "  }",
    ]
    assert [line.key for line in lines] == ["k", *[""] * 7]
    assert lines[0].value == (json.dumps(value) if as_text else '{"a":1,"b":{"c":[1,2],"d":[]},"e":"x\\n"}')
    assert [line.value for line in lines[1:4]] == ["1", '{"c":[1,2],"d":[]}', "[1,2]"]


def test_what_is_long_is_folded() -> None:
    """A value of many lines is one, and says how much it hides; unfolded, what is long in it is folded in its turn."""
    value = {f"k{number}": number for number in range(13)} | {"all": list(range(1000)), "one": ["x" * 200]}
    assert texts(lines_of(value)) == ["▸ {… 15 keys}"]
    opened = lines_of(value, {("Attributes", 0): True})
    assert texts(opened)[14:16] == ['  ▸ "all": [… 1,000 items],', '  ▾ "one": [']
    assert texts(lines_of(value, {("Attributes", 0): True, ("Attributes", 0, "all"): True}))[15:17] == [
        "      0,",
        "      1,",
    ]
    assert texts(lines_of({"a": 1}, {("Attributes", 0): False})) == ["▸ {… 1 key}"]


def test_very_many_members_come_by_and_by() -> None:
    """Of a hundred thousand members the first five hundred are shown, and the others when they are asked for."""
    value = list(range(100_000))
    lines = lines_of(value, {("Attributes", 0): True})
    assert texts(lines)[-3:] == ["    499,", "  ▸ … 99,500 more", "  ]"]
    assert lines[-2].part.fold is not None
    more = lines_of(value, {("Attributes", 0): True, lines[-2].part.fold: True})
    assert texts(more)[501:503] == ["  ▾ … 99,500 more", "    500,"]
    assert texts(more)[-2] == "  ▸ … 99,000 more"


@pytest.mark.parametrize(
    "text",
    ["", "{", "{}", "[]", "{x}", "[INFO] started [1]", "{'a': 1}", '"{}"', "12", "{\ud800}", "[1] [2]", "{" * 100_000],
)
def test_other_texts_stay_as_they_are(text: str) -> None:
    """What only looks like JSON, and what is empty, is no more than a text."""
    assert nested_in(text) is None


def test_any_depth() -> None:
    """A value that nests deeper than the interpreter calls is folded like any other."""
    depth = 5_000
    assert texts(lines_of("[" * depth + "1" + "]" * depth)) == ["▸ [… 1 item]"]


@settings(max_examples=150, deadline=None)
@given(VALUES, st.booleans())
def test_unfolded_lines_are_the_value(value: Any, as_text: bool) -> None:  # noqa: FBT001 - a case of the table
    """With everything unfolded, the lines without their marks are JSON again, of the same value."""
    if not isinstance(value, dict | list) or not value:
        value = [value]
    lines = lines_of(json.dumps(value) if as_text else value, Unfolded(), width=100_000)
    # What is shown of controls are their pictures; what they are made of is the value.
    texts_of_parts = [line.part.text for line in lines]
    assert len(texts_of_parts) == len({id(line.part) for line in lines})
    text = "".join(
        text.lstrip(" ▾") if line.part.fold else text for text, line in zip(texts_of_parts, lines, strict=True)
    )
    assert json.loads(text) == value
    assert all(line.text.isprintable() for line in lines)


def test_big_numbers_are_exact() -> None:
    """Numbers over 64 bits keep their digits, in a text too."""
    assert texts(lines_of(f'{{"n": {2**70}}}'))[1] == f'    "n": {2**70}'


def test_a_trace_inside() -> None:
    """A stack trace among the members is shown as one."""
    stack = 'Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1'
    assert texts(lines_of({"error": stack, "n": 1})) == [
        "▾ {",
        '    "error": ',
        "      Traceback (most recent call last):",
        '      ▸ File "a.py", line 1, in f',
        "      ✖ KeyError: 1",
        '    "n": 1',
        "  }",
    ]
