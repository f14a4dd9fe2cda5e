"""Bytes to documents: any pieces give the same, and damage costs the damaged record only.

file                                    documents      gaps
----                                    ---------      ----
A⏎B⏎C⏎                                  A B C
A⏎B…C⏎      B breaks off, C glued       A C            B
A⏎B…⏎C⏎     … C on the next line        A C            B
A⏎B…␀␀␀C⏎   … C behind a hole           A C            B
A⏎B…        the end of the file         A              B
[A, B]      a list of records           A B
[1, 2]      a list of something else    the list
text⏎A⏎     text between documents      A
"""

from __future__ import annotations

import itertools
import json
import re
import time
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from builders import Builder, Document, span_id, time_text, trace_id
from seeds import THOROUGH
from spanview.formats.console.columns import is_span
from spanview.formats.framing.framer import DEFAULT_CAP, Framer
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from spanview.formats.framing.frames import Frames

MARK: Final = b"\xef\xbb\xbf"


class Framed(NamedTuple):
    """All that a file's bytes came to."""

    documents: list[tuple[int, int, Any]]
    gaps: list[tuple[ProblemKind, int, int]]
    has_text: bool

    @property
    def values(self) -> list[Any]:
        """The documents without their places."""
        return [value for _, _, value in self.documents]


def same(value: Any) -> Any:
    """Keep all of a decoded value."""
    return value


def joined(parts: Iterable[Frames]) -> Framed:
    """Return several frames as one."""
    documents, gaps, has_text = [], [], False
    for part in parts:
        documents += part.documents
        gaps += [(gap.kind, gap.offset, gap.length) for gap in part.gaps]
        has_text = has_text or part.has_text
    return Framed(documents, gaps, has_text)


def frame(*pieces: bytes, cap: int = DEFAULT_CAP) -> Framed:
    """Return what a file comes to that arrives in these pieces."""
    framer = Framer(is_span, same, cap=cap)
    return joined([*map(framer.feed, pieces), framer.close()])


def rich_span(build: Builder, name: str) -> Document:
    """Return a span with everything in it that might be taken for a span by itself."""
    context = {"trace_id": trace_id(9), "span_id": span_id(9), "trace_state": "[]"}
    return build.span(
        name,
        kind="SERVER",
        status="ERROR",
        description='it said "{\\"name\\": 1}"\n{',
        attributes={"text": 'a\\" }\n]', "list": [1, -2.5e-3, True, None], "é€😀": "\x00\x1f"},
        events=[{"name": "exception", "timestamp": time_text(1), "attributes": {"n": {"m": []}}}],
        links=[{"context": context, "attributes": {}}],
    )


LAYOUTS: Final[dict[str, Callable[[Document], bytes]]] = {
    "indented": lambda document: json.dumps(document, indent=4).encode(),
    "compact": lambda document: json.dumps(document).encode(),
    "indent-0": lambda document: json.dumps(document, indent=0).encode(),
    "tightest": lambda document: json.dumps(document, separators=(",", ":"), ensure_ascii=False).encode(),
    "CRLF": lambda document: json.dumps(document, indent=4).encode().replace(b"\n", b"\r\n"),
}
FILLINGS: Final = {"glued": b"", "newline": b"\n", "NUL hole": bytes(96), "CRLF": b"\r\n"}


def _cuts(text: bytes, cases: Iterable[str], case: str) -> range:
    """Return the bytes at which a text is cut in one of some cases: each in one of these, and in all with THOROUGH."""
    names = [*cases]
    return range(1, len(text)) if THOROUGH else range(1 + names.index(case), len(text), len(names))


@pytest.mark.shortened
@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_torn_at_every_byte(layout: str, filling: str) -> None:
    """Wherever a record breaks off, its neighbours are all there, nothing else is, and one gap covers it."""
    build, dump = Builder(), LAYOUTS[layout]
    before, torn, *after = (rich_span(build, name) for name in ("before", "torn", "after", "last"))
    head, text = dump(before) + b"\n", dump(torn)
    tail = b"".join(dump(document) + b"\n" for document in after)
    for cut in _cuts(text, FILLINGS, filling):
        rest = FILLINGS[filling] + tail
        framed = frame(head + text[:cut] + rest)
        assert framed.values == [before, *after], cut
        # A hole is blank: where nothing else is known of its end, it belongs to the gap.
        gap = (ProblemKind.TORN, len(head), cut + len(FILLINGS[filling]))
        assert framed.gaps == [gap], cut
        assert not framed.has_text, cut


@pytest.mark.shortened
@pytest.mark.parametrize("filling", [b"\n", b"\r\n", bytes(5)], ids=["newline", "CRLF", "NUL hole"])
@pytest.mark.parametrize("layout", ["compact", "indented"])
def test_torn_before_another_key_order(layout: str, filling: bytes) -> None:
    """Behind a torn record, one whose first key isn't its name is found where a line or a hole ends, in any pieces."""
    build, dump = Builder(), LAYOUTS[layout]
    torn, after = rich_span(build, "torn"), dict(reversed(rich_span(build, "after").items()))
    text = dump(torn)
    for cut in range(1, len(text), 3 if THOROUGH else 7):
        first, second = text[:cut] + filling, dump(after) + b"\n"
        for pieces in (
            (first + second,),
            (first, second),
            (first, second[:1], second[1:]),
            (first[:-1], first[-1:], second),
            (first + second[:-1], second[-1:]),
        ):
            framed = frame(*pieces)
            assert framed.values == [after], cut
            assert framed.gaps == [(ProblemKind.TORN, 0, len(first))], cut


@pytest.mark.shortened
@pytest.mark.parametrize("layout", LAYOUTS)
def test_torn_while_it_is_followed(layout: str) -> None:
    """A record that breaks off, is looked at in the quiet, and is followed by others costs nothing but itself."""
    build, dump = Builder(), LAYOUTS[layout]
    before, torn, after = (rich_span(build, name) for name in ("before", "torn", "after"))
    head, text = dump(before) + b"\n", dump(torn)
    for cut in _cuts(text, LAYOUTS, layout):
        framer = Framer(is_span, same)
        first = [framer.feed(head + text[:cut]), framer.tail(), framer.tail()]
        assert joined(first).values == [before], cut
        assert joined(first).gaps == [], cut
        framed = joined([*first, framer.feed(dump(after) + b"\n"), framer.close()])
        assert framed.values == [before, after], cut
        assert framed.gaps == [(ProblemKind.TORN, len(head), cut)], cut


@pytest.mark.parametrize("layout", LAYOUTS)
def test_torn_and_then_finished(layout: str) -> None:
    """A record that is looked at in the quiet when half of it is there is whole when the rest comes."""
    build, dump = Builder(), LAYOUTS[layout]
    documents = [rich_span(build, name) for name in ("before", "slow", "after")]
    text = b"".join(dump(document) + b"\n" for document in documents)
    # Behind a quote that opens a text, what follows is taken for a part of it.
    for cut in sorted({*range(1, len(text), 9), *(match.end() for match in re.finditer(b'"', text))}):
        framer = Framer(is_span, same)
        framed = joined([framer.feed(text[:cut]), framer.tail(), framer.feed(text[cut:]), framer.close()])
        assert framed.values == documents, cut
        assert (framed.gaps, framed.has_text) == ([], False), cut


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_record_that_holds_spans_is_finished(layout: str) -> None:
    """What a record holds that is looked at in the quiet isn't taken out of it, unless all lines are alike."""
    build, dump = Builder(), LAYOUTS[layout]
    slow, after = nesting_span(build, "slow"), build.span("after")
    text, behind = dump(slow), b"\n" + dump(after) + b"\n"
    for cut in (cut for cut in range(1, len(text)) if not cut % 29 or text[cut - 1] in b"}]\n"):
        if layout == "indent-0" and text[:cut].endswith(b"\n"):
            continue
        framer = Framer(is_span, same)
        framed = joined([framer.feed(text[:cut]), framer.tail(), framer.feed(text[cut:] + behind), framer.close()])
        assert framed.values == [slow, after], cut
        assert framed.gaps == [], cut


@pytest.mark.shortened
@pytest.mark.parametrize("layout", LAYOUTS)
def test_torn_at_the_end(layout: str) -> None:
    """A record that the end of the file cuts off is one gap, and no part of it is a span."""
    build, dump = Builder(), LAYOUTS[layout]
    before, torn = rich_span(build, "before"), rich_span(build, "torn")
    head, text = dump(before) + b"\n", dump(torn)
    for cut in _cuts(text, LAYOUTS, layout):
        framed = frame(head + text[:cut])
        assert framed.values == [before], cut
        assert framed.gaps == [(ProblemKind.TORN, len(head), cut)], cut


def nesting_span(build: Builder, name: str) -> Document:
    """Return a span that holds whole spans, as an object that somebody makes an attribute of may be one."""
    kept = [build.span(f"held {number}") for number in range(5)]
    return build.span(
        name,
        attributes={"first": 1, "object": kept[0], "list": [kept[1], kept[2]], "last": [{"of": kept[3]}]},
        events=[{"name": "e", "timestamp": time_text(1), "attributes": {"object": kept[4]}}],
    )


@pytest.mark.shortened
@pytest.mark.parametrize("between", [b"\n", b",\n"], ids=["lines", "commas"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_spans_that_a_torn_one_holds(layout: str, between: bytes) -> None:
    """What a torn record holds whole is no record of its own, and never costs one that follows.

    Where all stands on one line, or nothing is indented, one cut is left: right behind what is held. The same bytes
    come about where a record breaks off before a value and another one is glued to it.
    """
    build, dump = Builder(), LAYOUTS[layout]
    before, torn, *after = (nesting_span(build, name) for name in ("before", "torn", "after", "last"))
    head, text = dump(before) + between, dump(torn)
    tail = b"".join(dump(document) + between for document in after)
    is_indented = layout in {"indented", "CRLF"}
    cuts = [cut for cut in range(1, len(text)) if not cut % 29 or text[cut - 1] in b"}],"]
    for cut, filling in zip(cuts[:: 1 if THOROUGH else 3], itertools.cycle(FILLINGS.values()), strict=False):
        framed = frame(head + text[:cut] + filling + tail)
        names = [value["name"] for value in framed.values if is_span(value)]
        ghosts = [name for name in names if name not in {"before", "after", "last"}]
        assert [name for name in names if name not in ghosts] == ["before", "after", "last"], cut
        if is_indented or (between == b"\n" and not text[:cut].rstrip().endswith(b"}")):
            assert ghosts == [], cut


@pytest.mark.parametrize("joint", [b"", b"\n"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_torn_before_a_value(layout: str, joint: bytes) -> None:
    """A record that stands where a torn one broke off before a value is no value of it, however large that one is."""
    build, dump = Builder(), LAYOUTS[layout]
    torn = build.span("torn", attributes={"long": "x" * 3_000, "object": build.span("held"), "VALUE": {}})
    text = dump(torn)
    for place in (b'"context":', b'"attributes":', b'"VALUE":', b'"events":', b'"links":'):
        start = text.index(place) + len(place)
        torn_text = text[: start + (text[start : start + 1] == b" ")] + joint
        for after in ([build.span("after", attributes={"v": "y" * 500})], [build.span("b"), build.span("c")]):
            data = torn_text + b"".join(dump(document) + b"\n" for document in after)
            for cap in (1_500, DEFAULT_CAP):
                for size in (64, 1_000, len(data)):
                    framed = frame(*(data[at : at + size] for at in range(0, len(data), size)), cap=cap)
                    assert framed.values == after, (place, cap, size)
                    assert [gap[1:] for gap in framed.gaps] == [(0, len(torn_text))]


@pytest.mark.shortened
@pytest.mark.parametrize("layout", LAYOUTS)
def test_front_cut_off(layout: str) -> None:
    """A file that begins in the middle of a record has all the others."""
    build, dump = Builder(), LAYOUTS[layout]
    cut_off, *others = (rich_span(build, name) for name in ("cut off", "second", "third"))
    text = dump(cut_off) + b"\n"
    tail = b"".join(dump(document) + b"\n" for document in others)
    for cut in _cuts(text[:-1], LAYOUTS, layout):
        values = [value for value in frame(text[cut:] + tail).values if is_span(value)]
        assert values == others, cut


@pytest.mark.parametrize("size", [1, 6, 14, 15, 1_000])
def test_part_of_a_torn_record_is_no_document(size: int) -> None:
    """What stands on a line of its own behind a torn record is a document only if nothing follows it there."""
    for rest, documents in ((b', {"e": 2}\n', []), (b"\n", [{"e": 1}])):
        data = b'{"a"}\n{"e": 1}' + rest + TEXT_A + b"\n"
        framed = frame(*(data[at : at + size] for at in range(0, len(data), size)))
        assert framed.values == [*documents, A]


def test_several_torn_in_a_row() -> None:
    """Torn records that follow each other are one gap, up to the next whole one."""
    build = Builder()
    first, last = build.span("first"), build.span("last")
    torn = json.dumps(rich_span(build, "torn"), indent=4).encode()
    pieces = b"".join(torn[: len(torn) * part // 7] for part in range(1, 7))
    head = json.dumps(first).encode() + b"\n"
    framed = frame(head + pieces + json.dumps(last).encode() + b"\n")
    assert framed.values == [first, last]
    assert framed.gaps == [(ProblemKind.TORN, len(head), len(pieces))]


def test_places() -> None:
    """A document's offset and length are those of its bytes, without line ends."""
    build = Builder()
    texts = [
        json.dumps(build.span("a")).encode(),
        json.dumps(build.span("é"), indent=4, ensure_ascii=False).encode(),
        json.dumps(build.span("c"), indent=2).replace("\n", "\r\n").encode(),
        b'{"no": "span"}',
    ]
    data = MARK + b"\n\ntext\n" + b"\r\n".join(texts)
    framed = frame(data)
    assert [data[at : at + size] for at, size, _ in framed.documents] == texts
    assert frame(data, b"").documents == framed.documents


A, B = Builder().span("a"), Builder().span("b", attributes={"deep": {"in": [{"it": 1}]}})
TEXT_A, TEXT_B = json.dumps(A).encode(), json.dumps(B, indent=4).encode()
FILES: Final[list[tuple[str, bytes, list[Any], int, bool]]] = [
    ("empty", b"", [], 0, False),
    ("blank", b" \n\r\n\t\n", [], 0, False),
    ("NULs", bytes(10_000), [], 0, False),
    ("mark only", MARK, [], 0, False),
    ("mark", MARK + TEXT_A, [A], 0, False),
    ("two marks", MARK + TEXT_A + b"\n" + MARK + TEXT_B, [A, B], 0, False),
    ("no final newline", TEXT_A + b"\n" + TEXT_B, [A, B], 0, False),
    ("CRLF", TEXT_A + b"\r\n" + TEXT_B.replace(b"\n", b"\r\n") + b"\r\n", [A, B], 0, False),
    ("no newline between", TEXT_A + TEXT_B + TEXT_A, [A, B, A], 0, False),
    ("blanks between", TEXT_A + b" \t" + TEXT_B + b"\n\n \n" + TEXT_A, [A, B, A], 0, False),
    ("commas between", TEXT_A + b",\n" + TEXT_B + b",\n" + TEXT_A, [A, B, A], 0, False),
    ("NULs between", TEXT_A + b"\n" + bytes(99) + TEXT_B + b"\n", [A, B], 0, False),
    ("text between", b"hello\n" + TEXT_A + b"\nworld {\n" + TEXT_B + b"\nend\n", [A, B], 0, True),
    ("indented", b"  " + TEXT_A + b"\n  " + TEXT_A + b"\n", [A, A], 0, False),
    ("text before on the line", b"INFO: " + TEXT_A + b"\n" + TEXT_A + b"\n", [A, A], 0, True),
    ("list", b"[" + TEXT_A + b"," + TEXT_B + b"]", [A, B], 0, True),
    ("list over lines", b"[\n" + TEXT_A + b",\n" + TEXT_B + b"\n]\n", [A, B], 0, True),
    (
        "a log's brackets",
        b"[INFO] up\n[2026-11-20 11:55:46,917 I 1] x\n" + TEXT_A + b"\n[1/2] y\n" + TEXT_B,
        [A, B],
        0,
        True,
    ),
    ("brackets before a record", b"[app] " + TEXT_A + b"\n[app] " + TEXT_A, [A, A], 0, True),
    ("brackets before each line", b"[app] " + b"\n[app] ".join(TEXT_B.splitlines()), [], 0, True),
    ("empty list", b"[]\n" + TEXT_A, [[], A], 0, False),
    ("foreign list", b"[1, [2], {}]\n" + TEXT_A, [[1, [2], {}], A], 0, False),
    ("list of foreign objects", b'[{"a": 1}, {"b": 2}]\n' + TEXT_A, [[{"a": 1}, {"b": 2}], A], 0, False),
    ("foreign object", b'{"a": [1]}\n' + TEXT_A, [{"a": [1]}, A], 0, False),
    ("foreign object with a span in it", b'{"a": ' + TEXT_A + b"}\n", [{"a": A}], 0, False),
    ("empty object", b"{}\n" + TEXT_A + b"{}", [{}, A, {}], 0, False),
    ("no JSON in braces", b"{name}\n" + TEXT_A, [A], 1, False),
    ("a brace alone", b"{\n" + TEXT_A, [A], 1, False),
    ("a bracket alone", b"[\n" + TEXT_A + b"\n", [A], 0, False),
    ("a bracket before a list", b"[\n[" + TEXT_A + b",\n" + TEXT_B + b"]\n", [A, B], 0, True),
    ("a bracket and nothing", TEXT_A + b"\n[ \n", [A], 1, False),
    ("closing braces", b"}\n]\n" + TEXT_A, [A], 0, True),
    ("numbers", b"1\n2\n" + TEXT_A + b"\n3", [A], 0, True),
    ("a string", b'"text"\n' + TEXT_A, [A], 0, True),
    ("two lines of one record joined wrongly", TEXT_A[:-1] + b"\n" + TEXT_A, [A], 1, False),
]


@pytest.mark.parametrize(
    ("data", "values", "gaps", "has_text"), [row[1:] for row in FILES], ids=[row[0] for row in FILES]
)
def test_file(data: bytes, values: list[Any], gaps: int, has_text: bool) -> None:  # noqa: FBT001 - a table's column
    """Each file has its documents, gaps and text, whole and byte for byte."""
    framed = frame(data)
    assert framed.values == values
    # What stands around the elements of a list is neither here nor there.
    assert len(framed.gaps) == gaps
    assert framed.has_text == has_text or data.startswith(b"[")
    assert frame(*(data[at : at + 1] for at in range(len(data)))) == framed


def test_quiet_file_gives_its_last_record() -> None:
    """A last record without a line end is given when the file has become quiet, and once only."""
    framer = Framer(is_span, same)
    assert framer.feed(TEXT_A).documents == []
    assert (framer.waiting, framer.offset) == (True, 0)
    assert joined([framer.tail()]).values == [A]
    assert (framer.waiting, framer.offset) == (False, len(TEXT_A))
    assert joined([framer.tail(), framer.feed(b"\n" + TEXT_B), framer.tail(), framer.close()]).values == [B]


@pytest.mark.shortened
@pytest.mark.parametrize("filling", FILLINGS)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_quiet_file_gives_the_record_behind_a_torn_one(layout: str, filling: str) -> None:
    """Wherever a record breaks off, the whole one behind it needs nothing but quiet to be seen, and comes once."""
    build, dump = Builder(), LAYOUTS[layout]
    torn, whole = (rich_span(build, name) for name in ("torn", "whole"))
    text, behind = dump(torn), FILLINGS[filling] + dump(whole) + b"\n"
    # Behind a quote that opens a text, what follows is taken for a part of it.
    cuts = sorted({*range(1, len(text), 9), *(match.end() for match in re.finditer(b'"', text))})
    for cut in cuts if THOROUGH else cuts[[*FILLINGS].index(filling) :: len(FILLINGS)]:
        framer = Framer(is_span, same)
        framed = joined([framer.feed(text[:cut]), framer.tail(), framer.feed(behind), framer.tail()])
        assert framed.values == [whole], cut
        assert joined([framer.tail(), framer.close()]).values == [], cut


def test_quiet_file_keeps_waiting_for_half_a_record() -> None:
    """Quiet alone doesn't tear a record: the rest may still come."""
    framer = Framer(is_span, same)
    framer.feed(TEXT_A[:-5])
    for _ in range(3):
        assert joined([framer.tail()]) == Framed([], [], False)
        assert (framer.waiting, framer.offset) == (True, 0)
    assert joined([framer.feed(TEXT_A[-5:]), framer.tail()]).values == [A]


def test_offset_of_a_file_that_is_read_from_the_middle() -> None:
    """Places count from the file's first byte, wherever reading begins."""
    framer = Framer(is_span, same, offset=1000)
    assert framer.feed(TEXT_A + b"\n").documents == [(1000, len(TEXT_A), A)]
    assert framer.offset in {1000 + len(TEXT_A), 1001 + len(TEXT_A)}


# Above the cap --------------------------------------------------------------------------------------------------------


def big(size: int) -> bytes:
    """Return a span's record of so many bytes."""
    empty = len(json.dumps(Builder().span("big", attributes={"v": ""})))
    return json.dumps(Builder().span("big", attributes={"v": "x" * (size - empty)})).encode()


@pytest.mark.parametrize("piece", [1 << 20, 777, 64])
def test_cap(piece: int) -> None:
    """A record of the cap's size is kept, one byte more is passed over with its place, and the neighbours are kept."""
    cap = 2_000
    for size, is_kept in ((cap, True), (cap + 1, False), (5 * cap, False)):
        data = TEXT_A + b"\n" + big(size) + b"\n" + TEXT_B + b"\n"
        framed = frame(*(data[at : at + piece] for at in range(0, len(data), piece)), cap=cap)
        names = [value["name"] for value in framed.values]
        assert names == (["a", "big", "b"] if is_kept else ["a", "b"])
        assert framed.gaps == ([] if is_kept else [(ProblemKind.TOO_LARGE, len(TEXT_A) + 1, size)])


@pytest.mark.parametrize("before", [b"", b"text\n", b'{"name": "a', b'{"name": "a", "x": '])
def test_a_hole_costs_no_more_than_looking_at_it(before: bytes) -> None:
    """Zero bytes are passed over at once, wherever a hole begins: at 4 ns each at most, where it may take 20."""
    pieces = [before, *[bytes(4 << 20)] * 5, b"\n" + json.dumps(Builder().span("a")).encode() + b"\n"]
    began = time.process_time()
    assert [value["name"] for value in frame(*pieces).values] == ["a"]
    assert time.process_time() - began < 20e-9 * (20 << 20) + 0.2


def test_too_large_record_that_breaks_off() -> None:
    """Behind a record that is over the cap and breaks off, the next one is found."""
    piece = b'{"name": "' + b"x" * 3_000
    data = piece + b"\n" + TEXT_A + b"\n" + TEXT_B + b"\n"
    for size in (100, 1_000, len(data)):
        framed = frame(*(data[at : at + size] for at in range(0, len(data), size)), cap=2_000)
        assert framed.values == [A, B]
        assert [at for _, at, _ in framed.gaps] == [0]


@pytest.mark.parametrize("indent", [None, 4])
def test_documents_of_any_lengths(indent: int | None) -> None:
    """A document that is shorter than all before it, or much longer, ends where it ends."""
    lengths = [300, 40, 41, 39, 1, 500, 0, 2, 300, 0]
    documents = [{"name": "n" * length, "inner": {"a": {}}} for length in lengths]
    text = b"".join(json.dumps(document, indent=indent).encode() + b"\n" for document in documents)
    framed = frame(text)
    assert framed.values == documents
    assert [json.loads(text[at : at + size]) for at, size, _ in framed.documents] == documents
    assert framed.gaps == []


def test_what_is_kept() -> None:
    """Of each document there is what the caller keeps of it, whichever way it was framed."""
    framer = Framer(is_span, keep=len)
    frames = [
        framer.feed(b'{"a": 1}\n{"a": 1, "b": 2}\n{\n"c":\n{\n}\n}\n[1, 2, 3]\n'),
        framer.feed(b"{}"),
        framer.close(),
    ]
    assert joined(frames).values == [1, 2, 1, 3, 0]
