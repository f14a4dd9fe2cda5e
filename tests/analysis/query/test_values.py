"""How a query sees attribute values: 500 and "500" are one number, true is none."""

from __future__ import annotations

from typing import Any

import pytest

from spanview.analysis.query.values import is_equal, number_of, text_of


@pytest.mark.parametrize(
    ("value", "number"),
    [
        (5, 5),
        (2**70, 2**70),
        (0.5, 0.5),
        ("5", 5),
        ("-5", -5),
        ("+5", 5),
        ("0.5", 0.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        (str(2**70), 2**70),
        ("9" * 5000, float("inf")),
        (True, None),
        (None, None),
        ("", None),
        ("5ms", None),
        ("\N{ARABIC-INDIC DIGIT FIVE}", None),
        ("nan", None),
        ("1_000", None),
        ([5], None),
    ],
)
def test_number_of(value: Any, number: float | None) -> None:
    """Numbers, and texts that spell one in ASCII, have a size; nothing else has."""
    assert number_of(value) == number
    assert type(number_of(value)) is type(number)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x", "x"),
        (5, "5"),
        (0.5, "0.5"),
        (True, "true"),
        (None, "null"),
        (float("-inf"), "-Infinity"),
        ({"a": [1]}, '{"a":[1]}'),
        ('"', '"'),
    ],
)
def test_text_of(value: Any, text: str) -> None:
    """A value is searched in as JSON writes it, a text without its quotes."""
    assert text_of(value) == text


@pytest.mark.parametrize(
    ("value", "text", "equal"),
    [
        (500, "500", True),
        ("500", "500", True),
        (500.0, "500", True),
        ("500.0", "500", False),
        ("0500", "500", False),
        (True, "true", True),
        (True, "1", False),
        (False, "0", False),
        ("true", "true", True),
        (2**53 + 1, str(2**53), False),
    ],
)
def test_is_equal(value: Any, text: str, *, equal: bool) -> None:
    """Numbers are equal as numbers, everything else as text."""
    assert is_equal(value, text, number_of(text)) is equal
