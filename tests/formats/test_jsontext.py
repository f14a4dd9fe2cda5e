r"""JSON as programs write it comes in, strict JSON goes out.

in the file                 the value                  in an export
-----------                 ---------                  ------------
NaN, Infinity, -Infinity    the floats                 "NaN", "Infinity", "-Infinity"
1180591620717411303424      the integer, exactly       1180591620717411303424
"\ud800"                    the lone surrogate         U+FFFD
a byte 0xFF in a string     U+FFFD                     U+FFFD
"""

from __future__ import annotations

import json
import math
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanview.formats.jsontext import (
    BadJsonError,
    dumps_sorted,
    dumps_strict,
    has_long_integer,
    loads_exact,
    loads_quick,
)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (b'{"v": Infinity}', {"v": math.inf}),
        (b'{"v": -Infinity}', {"v": -math.inf}),
        (b'{"v": 1e400}', {"v": math.inf}),
        (b'"\\ud800"', "\ud800"),
        (b'"\\ud83d\\ude00"', "😀"),
        (b'"\xff"', "\ufffd"),
        (b'"\xed\xa0\x80"', "\ufffd\ufffd\ufffd"),
        (b'\xef\xbb\xbf{"v": 1}', {"v": 1}),
        (b"[" * 500 + b"]" * 500, None),
        (b'{"v": 1, "v": 2}', {"v": 2}),
    ],
)
def test_odd_values_are_read(text: bytes, value: Any) -> None:
    """What strict decoders refuse is read, quickly and exactly alike."""
    assert loads_quick(text) == loads_exact(text)
    assert value is None or loads_quick(text) == value


def test_nan_is_read() -> None:
    """NaN, which equals nothing, is NaN."""
    assert math.isnan(loads_quick(b"[NaN]")[0])
    assert math.isnan(loads_exact(b"[NaN]")[0])


@pytest.mark.parametrize("number", [2**53 + 1, 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70, 10**300, -(2**63), -(2**70)])
def test_integers_of_any_size_stay_exact(number: int) -> None:
    """An integer beyond 64 bits is neither rounded nor turned into a float, in either direction."""
    value = {"v": [number], "w": number}
    text = json.dumps(value).encode()
    assert loads_exact(text) == value
    assert type(loads_exact(text)["w"]) is int
    assert json.loads(dumps_strict(value)) == value


@pytest.mark.parametrize(
    ("text", "may_have"),
    [
        ('{"id": "0000000000000000000000000000", "n": 1}', False),
        ('{"n": 123456789012345678}', False),
        ("0.123456789012345678901", False),
        *[(text, True) for text in ("[%s]", "[1,%s]", '{"n":%s}', '{"n":\n%s}', "[-%s]", "%s", "\t%s ", "\r%s")],
    ],
)
def test_long_integers_are_seen(text: str, may_have: bool) -> None:  # noqa: FBT001 - it is what is expected
    """A number of 19 digits may be too long for 64 bits wherever it stands; digits inside a text aren't one."""
    assert has_long_integer(text.replace("%s", "9" * 19).encode()) is may_have


def test_integers_beyond_the_interpreters_limit_stay_digits() -> None:
    """A number with more digits than Python converts costs no record: its digits are kept as text."""
    digits = "9" * 5_000
    for value in (
        loads_quick(f'{{"v": {digits}, "w": 1}}'.encode()),
        loads_exact(f'{{"v": {digits}, "w": 1}}'.encode()),
    ):
        assert value == {"v": digits, "w": 1}


@pytest.mark.parametrize(
    "text",
    [b"", b" ", b"{", b"nonsense", b"{'a': 1}", b'{"a": 1} {"b": 2}', b'{"a": 1,}', b"[1,]", b'"\x01"', b"[" * 200_000],
)
def test_no_json(text: bytes) -> None:
    """What is no document raises one kind of error, bottomless nesting included."""
    with pytest.raises(BadJsonError):
        loads_quick(text)
    with pytest.raises(BadJsonError):
        loads_exact(text)


def test_no_json_in_a_view() -> None:
    """A part of a buffer is decoded in place, with the same leniency."""
    assert loads_quick(memoryview(b'xx{"v": NaN, "w": 2}yy')[2:-2])["w"] == 2


@given(VALUES)
def test_exact_is_the_standard_library(value: Any) -> None:
    """Whatever a program writes is read as the standard library reads it, types included."""
    text = json.dumps(value).encode()
    assert repr(loads_exact(text)) == repr(json.loads(text))


@given(VALUES)
def test_strict_output_reads_back(value: Any) -> None:
    """What goes out is the same value again, read by a strict decoder."""
    assert json.loads(dumps_strict(value)) == value
    if all(-(2**63) <= number < 2**64 for number in integers_in(value)):
        assert orjson.loads(dumps_strict(value)) == value


def integers_in(value: Any) -> list[int]:
    """Return all integers in a value."""
    if isinstance(value, dict):
        return integers_in([*value.values()])
    if isinstance(value, list):
        return [number for item in value for number in integers_in(item)]
    return [value] if isinstance(value, int) else []


@pytest.mark.parametrize("has_non_finite", [True, False])
def test_strict_output(has_non_finite: bool) -> None:  # noqa: FBT001 - both paths
    """Surrogates become U+FFFD in keys and values at any depth; other text stays itself."""
    value: Any = {"k\ud800": ["\udfff\ud83d", {"😀é": "a\u2028\x00"}], "pair": "\ud83d\ude00"}
    text = dumps_strict(value, has_non_finite=has_non_finite)
    assert json.loads(text) == {"k\ufffd": ["\ufffd\ufffd", {"😀é": "a\u2028\x00"}], "pair": "😀"}
    text.decode("utf-8")


def test_keys_that_become_the_same_are_all_kept() -> None:
    """Of keys that differ in lone surrogates only, none takes another's place, nor that of a key as it is written."""
    keys = ("k\ud800", "k\ufffd", "k\udfff", "k\ufffd (2)", "\udc00\ud800", "\ufffd\ufffd ")
    value = dict(zip(keys, range(6), strict=True))
    assert [*json.loads(dumps_strict({"v": [value]}))["v"][0].items()] == [
        ("k\ufffd (3)", 0),
        ("k\ufffd", 1),
        ("k\ufffd (4)", 2),
        ("k\ufffd (2)", 3),
        ("\ufffd\ufffd", 4),
        ("\ufffd\ufffd ", 5),
    ]


def test_many_keys_that_become_the_same() -> None:
    """However many there are, each is numbered once."""
    value = {f"{chr(0xD800 + high)}{chr(0xD800 + low)}": high for high in range(200) for low in range(200)}
    assert [*json.loads(dumps_strict(value)).values()] == [*value.values()]


def test_odd_numbers_become_text() -> None:
    """NaN and the infinities become the texts of their names, at any depth."""
    value = {"a": math.nan, "b": [math.inf, {"c": -math.inf}], "d": 1.5}
    assert json.loads(dumps_strict(value)) == {"a": "NaN", "b": ["Infinity", {"c": "-Infinity"}], "d": 1.5}


def test_strict_leaves_its_argument_alone() -> None:
    """The value that is written isn't changed by it."""
    value = {"a": [math.nan, "\ud800", {"b": (1, 2)}]}
    before = repr(value)
    dumps_strict(value)
    assert repr(value) == before


def test_deep_values() -> None:
    """Values that nest far deeper than the interpreter's stack are written, and compared."""
    deep: Any = "bottom"
    other: Any = "bottom"
    for _ in range(5_000):
        deep, other = [{"k": deep}], [{"k": other}]
    assert dumps_strict(deep) == b'[{"k":' * 5_000 + b'"bottom"' + b"}]" * 5_000
    assert dumps_sorted(deep) == dumps_sorted(other)
    assert dumps_sorted(deep) != dumps_sorted([{"k": other}])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": 1, "b": {"c": 2, "d": 3}}, {"b": {"d": 3, "c": 2}, "a": 1}),
        ([1, 2.5, None], (1, 2.5, None)),
        (math.nan, math.nan),
    ],
)
def test_equal_values_have_one_text(one: Any, other: Any) -> None:
    """The order of keys makes no difference."""
    assert dumps_sorted(one) == dumps_sorted(other)


def test_values_of_other_types_have_other_texts() -> None:
    """Integer, float, boolean, text and none are never the same, nor are a list and its element."""
    values: list[Any] = [1, 1.0, True, "1", [1], "true", None, "null", 0, False, "", {}, []]
    texts = [dumps_sorted({"v": value}) for value in values]
    assert len(set(texts)) == len(texts)
