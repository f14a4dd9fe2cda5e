"""Documents that nest deeper than recursion goes are decoded all the same, and nothing else is.

{"a": [[[[ … ]]]]}     up to 20,000 levels
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spanview.formats.deepjson import MAX_DEPTH, loads_deep
from spanview.formats.jsontext import BadJsonError, dumps_strict, loads_exact, loads_quick

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
)


@given(VALUES, st.sampled_from([None, 0, 2]))
def test_every_value_comes_back(value: Any, indent: int | None) -> None:
    """What the standard library writes is read to the same value."""
    assert loads_deep(json.dumps(value, indent=indent), int) == value


@given(VALUES, st.data())
def test_damage_is_refused_as_the_standard_library_refuses_it(value: Any, data: st.DataObject) -> None:
    """With one character taken out, it is a document exactly where the standard library finds one."""
    text = json.dumps(value)
    at = data.draw(st.integers(0, len(text) - 1))
    damaged = text[:at] + text[at + 1 :]
    try:
        expected = json.loads(damaged)
    except ValueError:
        with pytest.raises(ValueError, match=r"."):
            loads_deep(damaged, int)
    else:
        assert json.dumps(loads_deep(damaged, int)) == json.dumps(expected)


@pytest.mark.parametrize("depth", [1_100, 5_000, MAX_DEPTH - 2])
def test_deep_values_are_kept_and_written_again(depth: int) -> None:
    """A value of any depth up to the limit is decoded exactly and encoded to the same text."""
    text = b'{"v":' + b"[" * depth + b"7" + b"]" * depth + b"}"
    assert dumps_strict(loads_quick(text)) == text
    assert dumps_strict(loads_exact(text)) == text


def test_bottomless_values_are_refused() -> None:
    """Deeper than the limit is damage, and costs no more than the limit."""
    with pytest.raises(BadJsonError):
        loads_quick(b"[" * 1_000_000 + b"]" * 1_000_000)
