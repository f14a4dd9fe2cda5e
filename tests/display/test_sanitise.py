r"""Nothing that a file says can act on the terminal: every code point, and what stands in for it.

in the data            on the screen
-----------            -------------
ESC, LF, tab, NUL      the control picture of each
DEL                    its picture
C1, bidi, zero width   \x9b, \u202e, \U000e0041
a blank of any width   a blank
the rest               itself
"""

from __future__ import annotations

import sys
import time
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seeds import THOROUGH
from spanview.display.sanitise import MAX_LENGTH, meant, sanitise, sanitise_lines, typed

STAND_INS = [
    ("", ""),
    ("plain", "plain"),
    ("漢字 é ✖", "漢字 é ✖"),
    ("\x00\x07\x1b\x1f", "␀␇␛␟"),
    ("\t\r\n", "␉␍␊"),
    ("\x7f", "␡"),
    ("\x80\x85\x9b\x9d\x9f", "\\x80\\x85\\x9b\\x9d\\x9f"),
    ("\u200b\u200d\u2060\ufeff\u00ad", "\\u200b\\u200d\\u2060\\ufeff\\xad"),
    ("\u202e\u202a\u2066\u2069\u200f\u061c", "\\u202e\\u202a\\u2066\\u2069\\u200f\\u061c"),
    ("\u2028\u2029", "\\u2028\\u2029"),
    ("\ud800\udfff", "\\ud800\\udfff"),
    ("\ue000\ufffe", "\\ue000\\ufffe"),
    ("\U000e0041\U0010ffff", "\\U000e0041\\U0010ffff"),
    ("\u3164\u115f\u034f\uffa0", "\\u3164\\u115f\\u034f\\uffa0"),
    ("\U000e0101", "\\U000e0101"),
    ("⚠\ufe0f", "⚠\ufe0f"),
    ("a\u00a0b\u2003c\u3000d", "a b c d"),
    ("\x1b]52;c;eA==\x07", "␛]52;c;eA==␇"),
    ("[@click=app.quit]x[/]", "[@click=app.quit]x[/]"),
    ("\\x9b", "\\x9b"),
]
"""What a file has, and what is shown."""


@pytest.mark.parametrize(("text", "expected"), STAND_INS)
def test_stand_ins(text: str, expected: str) -> None:
    """What a terminal would act on, or not show, has a visible stand-in."""
    assert sanitise(text) == expected


@pytest.mark.shortened
def test_every_code_point() -> None:
    """Of all code points, what is shown can be printed and written as UTF-8, and isn't empty."""
    # Those that are alike in thousands are tried here and there.
    alike = range(0x30000, 0xE0000), range(0xE1000, sys.maxunicode)
    for code in range(sys.maxunicode + 1):
        if not THOROUGH and code % 97 and any(code in each for each in alike):
            continue
        shown = sanitise(chr(code))
        assert shown, hex(code)
        assert shown.isprintable(), hex(code)
        assert not {unicodedata.category(each) for each in shown} & {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"}
        shown.encode()


HIDDEN_LETTERS = "\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u3164\uffa0"
"""Those of Unicode's Default_Ignorable_Code_Point that are letters or marks, without the selectors of variants."""


def test_letters_that_nothing_is_shown_for() -> None:
    """A letter without a glyph is shown by its number, among others and alone."""
    for each in HIDDEN_LETTERS:
        assert sanitise(f"漢{each}x") == f"漢\\u{ord(each):04x}x"


@given(st.text(st.characters()))
def test_any_text_is_one_line(text: str) -> None:
    """Whatever a text has in it, it is one line that says no less than its printable characters."""
    shown = sanitise(text)
    assert len(shown.splitlines()) <= 1
    assert shown.isprintable()
    left = set(text) - set(shown)
    assert not [
        each
        for each in left
        if each.isprintable() and each not in HIDDEN_LETTERS and not 0xE0100 <= ord(each) <= 0xE01EF
    ]


@given(st.text(st.characters()))
def test_what_is_typed_means_what_was_pasted(text: str) -> None:
    """What stands for a character in a line that is typed on means it; blanks stay what they are."""
    shown = typed(text)
    assert "".join(shown.split()) == "".join("".join(map(sanitise, text)).split())
    if meant(text) == text:
        assert meant(shown) == text


@pytest.mark.parametrize(
    "text", ["\\x41", "\\u0041", "\\U00110000", "\\x9", "\\X9B", "\\u202E", "\\x0a", "\\U0000202e"]
)
def test_what_stands_for_nothing_means_itself(text: str) -> None:
    """Only a stand-in as it would be shown means something else."""
    assert meant(text) == text


@pytest.mark.parametrize(("length", "longest"), [(MAX_LENGTH, MAX_LENGTH), (10, 10), (1, 1), (0, 1)])
def test_what_fits_is_whole(length: int, longest: int) -> None:
    """A text of just the longest length isn't cut."""
    assert sanitise("x" * length, longest) == "x" * length


def test_what_is_longer_is_cut() -> None:
    """One character more, and an ellipsis stands for the rest."""
    assert sanitise("x" * 11, 10) == "x" * 9 + "…"
    assert len(sanitise("\x1b" * (MAX_LENGTH + 1))) == MAX_LENGTH


@pytest.mark.parametrize("character", ["x", "漢", "\x1b", "\u202e", "\n", "\t"])
def test_ten_megabytes_take_no_time(character: str) -> None:
    """A text of ten megabytes is cut before anything is done with it."""
    text = character * 10_000_000
    begun = time.thread_time()
    shown = sanitise(text)
    assert time.thread_time() - begun < 0.1
    assert len(shown) <= MAX_LENGTH * 10


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        ("one", ["one"]),
        ("one\ntwo\n", ["one", "two", ""]),
        ("one\r\ntwo", ["one␍", "two"]),
        ("a\tb\n\tc", ["a   b", "    c"]),
        ("one\u2028two\x0bthree\x85four", ["one\\u2028two␋three\\x85four"]),
        ("\x1b[2J\n\x9b2J", ["␛[2J", "\\x9b2J"]),
    ],
)
def test_lines(text: str, expected: list[str]) -> None:
    """A text of several lines is broken at line feeds only; its tabs are as wide as an editor's."""
    assert sanitise_lines(text) == expected
