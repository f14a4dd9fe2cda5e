"""The scanner against the standard library's decoder, which knows whole and not whole but not why.

text            verdict        where
----            -------        -----
{"a": 1} x      WHOLE          behind the brace
{"a": 1         UNFINISHED     -
{"a": 01}       BROKEN         at the number
{"a" 1}         BROKEN         at the number
"""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from spanview.formats.framing import scanner
from spanview.formats.framing.scanner import MAX_DEPTH, Scanner, ScanVerdict

SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
DOCUMENTS = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
).map(lambda value: value if isinstance(value, dict | list) else [value])
TEXTS = st.builds(
    lambda value, indent, ascii_only: json.dumps(value, indent=indent, ensure_ascii=ascii_only).encode(
        "utf-8", "surrogatepass"
    ),
    DOCUMENTS,
    st.sampled_from([None, 0, 4]),
    st.booleans(),
)


def scan(data: bytes) -> tuple[ScanVerdict, int]:
    """Return the verdict on a document at the start of a text, and where it was reached."""
    scanner = Scanner(0)
    return scanner.scan(data), scanner.position


def end_of(data: bytes) -> int | None:
    """Return where the standard library's decoder ends, or None where it finds no document."""
    try:
        text = data.decode("latin-1")
        return json.JSONDecoder().raw_decode(text)[1]
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("text", "verdict", "position"),
    [
        (b'{"a": 1} x', ScanVerdict.WHOLE, 8),
        (b"{}", ScanVerdict.WHOLE, 2),
        (b"[]{", ScanVerdict.WHOLE, 2),
        (b'{ \r\n\t"a"\n:\n[ 1 ,\n-2.5e+3 , true , false , null ] }', ScanVerdict.WHOLE, 50),
        (b"[NaN, Infinity, -Infinity]", ScanVerdict.WHOLE, 26),
        (b'["\\u00e9\\"\\\\\\/\\b\\f\\n\\r\\t", "\xff"]', ScanVerdict.WHOLE, 31),
        (b'{"a": 1', ScanVerdict.UNFINISHED, 6),
        (b'{"a": tru', ScanVerdict.UNFINISHED, 6),
        (b'["\\u00', ScanVerdict.UNFINISHED, 2),
        (b'["\\', ScanVerdict.UNFINISHED, 2),
        (b"[", ScanVerdict.UNFINISHED, 1),
        (b'{"a": 01}', ScanVerdict.BROKEN, 6),
        (b'{"a" 1}', ScanVerdict.BROKEN, 5),
        (b'{"a": 1,}', ScanVerdict.BROKEN, 8),
        (b"[1,]", ScanVerdict.BROKEN, 3),
        (b"[,1]", ScanVerdict.BROKEN, 1),
        (b"[1 2]", ScanVerdict.BROKEN, 3),
        (b"[1}", ScanVerdict.BROKEN, 2),
        (b'{"a"}', ScanVerdict.BROKEN, 4),
        (b"{1: 2}", ScanVerdict.BROKEN, 1),
        (b'["a\nb"]', ScanVerdict.BROKEN, 3),
        (b'["\\x"]', ScanVerdict.BROKEN, 2),
        (b'["\\u12g4"]', ScanVerdict.BROKEN, 2),
        (b"[-]", ScanVerdict.BROKEN, 1),
        (b"[-NaN]", ScanVerdict.BROKEN, 1),
        (b"[\x00]", ScanVerdict.BROKEN, 1),
    ],
)
def test_verdict(text: bytes, verdict: ScanVerdict, position: int) -> None:
    """Each text has its verdict, reached at its place."""
    assert scan(text) == (verdict, position)


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.binary(max_size=3))
def test_whole_document(text: bytes, after: bytes) -> None:
    """A document is whole at its last byte, whatever follows, and every part of it is unfinished, not broken."""
    assert scan(text + after) == (ScanVerdict.WHOLE, len(text))
    assert {scan(text[:cut])[0] for cut in range(len(text))} == {ScanVerdict.UNFINISHED}


@settings(max_examples=500, deadline=None)
@given(TEXTS, st.lists(st.integers(0, 400), max_size=8))
def test_pieces(text: bytes, cuts: list[int]) -> None:
    """A scan that goes on with every piece comes to what a scan of the whole comes to."""
    scanner = Scanner(0)
    for cut in sorted(min(cut, len(text) - 1) for cut in cuts):
        assert scanner.scan(text[:cut]) is ScanVerdict.UNFINISHED
    assert (scanner.scan(text), scanner.position) == (ScanVerdict.WHOLE, len(text))


@settings(max_examples=1_000, deadline=None)
@given(TEXTS, st.data())
def test_damaged_document(text: bytes, data: st.DataObject) -> None:
    """Of a damaged document the scanner thinks as the standard library does, and never takes back a break."""
    at = data.draw(st.integers(1, len(text)))
    size = data.draw(st.integers(0, 3))
    patch = data.draw(st.sampled_from([b"", b'"', b"{", b"}", b"[", b"]", b",", b":", b"\\", b"\n", b"1", b"0", b"x"]))
    damaged = text[:at] + patch + text[at + size :]
    verdict, position = scan(damaged)
    end = end_of(damaged)
    assert (verdict is ScanVerdict.WHOLE) == (end is not None)
    if verdict is ScanVerdict.WHOLE:
        assert position == end
    if verdict is ScanVerdict.BROKEN:
        broken: list[Any] = [scan(damaged + suffix)[0] for suffix in (b'"', b'"}', b"}", b"]", b"1}", b'": 1}')]
        assert set(broken) == {ScanVerdict.BROKEN}


def test_depth() -> None:
    """Nesting is followed without recursion, up to a bound beyond which it counts as broken."""
    depth = 20_000
    assert scan(b"[" * depth + b"]" * depth) == (ScanVerdict.WHOLE, 2 * depth)
    assert scan(b"[" * (MAX_DEPTH + 1)) == (ScanVerdict.BROKEN, MAX_DEPTH)


def test_endless_number() -> None:
    """A number without an end is not waited for forever."""
    assert scan(b"[" + b"1" * 100_000)[0] is ScanVerdict.UNFINISHED
    assert scan(b"[" + b"1" * 1_000_002)[0] is ScanVerdict.BROKEN


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6), st.data())
def test_runs_make_no_difference(texts: list[bytes], data: st.DataObject) -> None:
    """Token by token a scan comes to the same state as by runs, whole or damaged, wherever the text is cut."""
    text = b'{"a": [' + b", ".join(texts) + b', 1], "b": null, "c": {"d": "e"}, "f": 2}'
    if data.draw(st.booleans()):
        at = data.draw(st.integers(0, len(text)))
        text = (
            text[:at]
            + data.draw(st.sampled_from([b"\x01", b'"', b"}", b"]", b",", b"\\", b"0", b"{", b""]))
            + text[at + 1 :]
        )
    cuts = [*sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=3))), len(text)]
    # Whether a string is a key is of no account outside of one.
    names, states = [name for name in Scanner.__slots__ if name != "_string_is_key"], []
    for least in (0, 1 << 60):
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(scanner, "_MIN_RUN_BYTES", least)
            one = Scanner(0)
            state = []
            for cut in cuts:
                verdict = one.scan(text[:cut])
                state.append((verdict, *(getattr(one, name) for name in names)))
                if verdict is not ScanVerdict.UNFINISHED:
                    break
            states.append(state)
    assert repr(states[0]) == repr(states[1])
