r"""Spans in the console's log of a Ray program, whoever prints between their lines, and however the log arrives.

(App pid=1) {                       \x1b[36m(App pid=2, ip=192.0.2.7)\x1b[0m {
(App pid=1)     "name": "a", …      what nobody's name is before is the program's own
"""

from __future__ import annotations

import random
from itertools import chain, zip_longest
from typing import TYPE_CHECKING, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, Document, file_of, store_of_files
from independent_reader import read_text
from records import record_of
from seeds import seeds
from spanview.formats.decoder import Decoder
from spanview.formats.framing.prefixed import MixedLines, unmixed
from spanview.model.problems import ProblemKind

if TYPE_CHECKING:
    from spanview.formats.framing.frames import Gap
    from spanview.formats.rows import Batch

NAMES: Final = (
    b"",
    b"(App pid=1) ",
    b"\x1b[36m(App pid=2)\x1b[0m ",
    b"\x1b[36m(ServeReplica:app:Model pid=3)\x1b[0m ",
    b"(Worker(rank=0) pid=4, ip=192.0.2.7) ",
    b"\x1b[36m(pid=12)\x1b[0m ",
    b"api-1      | ",
    b"\x1b[33mdb-1   |\x1b[0m ",
    b"[pod/api-6f/app] ",
    b"api-1      | \x1b[36m(App pid=2)\x1b[0m ",
)
CHATTER: Final = (
    b"INFO 2026-11-20 11:55:46,917 app_Ingress kfntrr5d -- GET / 200 4.3ms",
    b"[2026-11-20 11:55:46,917 E 1 2] core_worker.cc:1: lost",
    b'  File "/srv/app.py", line 1, in f',
    b"{'x': 1}",
    b"42 items",
    b'"quoted" and more',
    b"Traceback (most recent call last):",
    b"",
)


def decoded(pieces: list[bytes]) -> tuple[Batch, ...]:
    """Return the batches of a file that arrives in pieces."""
    decoder = Decoder()
    return (*map(decoder.feed, pieces), decoder.tail(), decoder.close())


def ids_of(batches: tuple[Batch, ...]) -> list[int]:
    """Return the span ids of batches."""
    return [span_id for batch in batches for span_id in batch.columns.span_ids]


def behind(name: bytes, text: bytes) -> bytes:
    """Return a text with a name before each line."""
    return b"".join(name + line + b"\n" for line in text.splitlines())


@st.composite
def logs(draw: st.DrawFn) -> tuple[bytes, list[Document]]:
    """Return a log of several processes, and the spans that they printed."""
    chance, builder = draw(st.randoms(use_true_random=False)), Builder()
    names = draw(st.lists(st.sampled_from(NAMES), min_size=1, max_size=4, unique=True))
    end, chatter = draw(st.sampled_from((b"\n", b"\r\n"))), draw(st.sampled_from((0.0, 0.2)))
    texts, every = [], []
    for name in names:
        spans = [builder.span(f"of {name!r}", attributes={"x": [1, {"y": None}]}) for _ in range(chance.randint(0, 4))]
        every += spans
        printed = file_of(spans, indent=draw(st.sampled_from((None, 0, 4))))
        texts.append([name + line for line in printed.splitlines()])
    # Only by a name it is such a log.
    lines = [b"(App pid=9) hello"]
    while any(texts):
        if chance.random() < chatter:
            lines.append(chance.choice(names) + chance.choice(CHATTER))
        text = chance.choice([text for text in texts if text])
        taken = chance.choice((1, 1, 5, 100))
        lines += text[:taken]
        del text[:taken]
    return b"".join(line + end for line in lines), every


def pieces_of(text: bytes, chance: random.Random, most: int) -> list[bytes]:
    """Return a text cut at up to so many places."""
    places = sorted(chance.randrange(len(text) + 1) for _ in range(most))
    return [text[start:stop] for start, stop in zip([0, *places], [*places, len(text)], strict=True)]


@settings(max_examples=300, deadline=None)
@given(logs(), st.randoms(use_true_random=False), st.integers(0, 20))
def test_any_mixture(log: tuple[bytes, list[Document]], chance: random.Random, cuts: int) -> None:
    """Whatever is printed between the lines of a span, and wherever the log is cut, all spans are there, once."""
    text, spans = log
    batches = decoded(pieces_of(text, chance, cuts))
    assert sorted(ids_of(batches)) == [int(span["context"]["span_id"], 16) for span in spans]
    assert not any(batch.gaps or batch.skipped or batch.fragments for batch in batches)


@settings(max_examples=100, deadline=None)
@given(logs())
def test_spans_are_read_again(log: tuple[bytes, list[Document]]) -> None:
    """Each span is read again out of the mixture with all that it has."""
    store = store_of_files({"driver.log": log[0]})
    found = {span["span_id"]: span for span in (record_of(store.span(row)) for row in range(len(store.spans)))}
    expected = {span["span_id"]: span for span in read_text(file_of(log[1]).decode())}
    assert found == expected


def test_byte_by_byte() -> None:
    """A log that arrives byte by byte is the log that is read at once."""
    spans = [Builder().span(str(number)) for number in range(3)]
    one, other = (b"(A pid=%d) " % number for number in range(2))
    printed = behind(one, file_of(spans, indent=4)), behind(other, file_of(spans))
    mixed = chain(*zip_longest(*(text.splitlines(keepends=True) for text in printed), fillvalue=b""))
    text = b"hello\n" + b"".join(mixed)
    whole, cut = (decoded(pieces) for pieces in ([text], [text[at : at + 1] for at in range(len(text))]))
    assert sorted(ids_of(whole)) == sorted(ids_of(cut)) != []
    places = [sorted(place for batch in batches for place in batch.documents) for batches in (whole, cut)]
    assert places[0] == places[1]


@pytest.mark.parametrize("name", NAMES[1:])
def test_each_name_tells_what_kind_of_file_it_is(name: bytes) -> None:
    """A log whose first line with a name is that of a span is read, also where it comes byte by byte."""
    text = b"Started | now\n[INFO] a | b\n" + behind(name, file_of([Builder().span()], indent=4))
    for pieces in ([text], [text[at : at + 1] for at in range(len(text))]):
        batches = decoded(pieces)
        assert ids_of(batches) == [1]
        assert not any(batch.gaps or batch.skipped for batch in batches)


def test_what_breaks_off() -> None:
    """A span whose process was killed is one gap, told with its place; what others print in it isn't lost."""
    builder = Builder()
    mine, others = (behind(name, file_of([builder.span()], indent=4)) for name in (b"(A pid=1) ", b"(B pid=2) "))
    torn = b"".join(mine.splitlines(keepends=True)[:5])
    text = b"hello\n" + torn + others + mine
    batches = decoded([text])
    assert ids_of(batches) == [2, 1]
    gap = next(gap for batch in batches for gap in batch.gaps)
    assert (gap.kind, gap.offset) == (ProblemKind.TORN, len(b"hello\n"))
    assert torn.splitlines()[-1] in text[gap.offset : gap.offset + gap.length]
    assert sum(batch.fragments for batch in batches) == 0


def test_a_writer_that_never_goes_on() -> None:
    """What was begun and isn't ended within some megabytes isn't waited for."""
    builder, decoder = Builder(), Decoder()
    begun = b"".join(behind(b"(A pid=1) ", file_of([builder.span()], indent=4)).splitlines(keepends=True)[:5])
    decoder.feed(b"hello\n" + begun)
    assert decoder.offset == len(b"hello\n")
    gaps: list[Gap] = []
    for _ in range(6):
        gaps += decoder.feed(b"(B pid=2) work\n" * 70_000).gaps
    assert [gap.offset for gap in gaps] == [len(b"hello\n")]
    assert not decoder.unread


def test_lines_that_were_left_out() -> None:
    """What Ray's de-duplication destroyed is counted: its marks, and the spans for which one line stands."""
    document = behind(b"(A pid=1) ", file_of([Builder().span()], indent=4))
    lines = document.splitlines(keepends=True)
    left_out = b"".join(line for line in lines if b"kind" not in line)
    marked = b'(A pid=1)         "trace_id": "0x01", \x1b[32m [repeated 17x across cluster]\x1b[0m\n'
    batches = decoded([document + left_out + marked])
    assert ids_of(batches) == [1]
    assert sum(batch.repeated for batch in batches) == 1
    assert sum(batch.fragments for batch in batches) == 17 + 1


def test_a_line_of_otlp() -> None:
    """Several spans in one line behind a name are as many rows; over several lines only the SDK's spans are read."""
    spans = [{"traceId": f"{1:032x}", "spanId": f"{at:016x}", "name": str(at)} for at in (1, 2, 3)]
    document = {"resourceSpans": [{"resource": {}, "scopeSpans": [{"spans": spans}]}]}
    text = behind(b"(A pid=1) ", file_of([document]) + file_of([Builder().span(attributes={"x": 1})], indent=4))
    store = store_of_files({"driver.log": text + behind(b"(A pid=1) ", file_of([document], indent=4))})
    assert [store.span(row).name for row in range(len(store.spans))] == ["1", "2", "3", "span"]
    assert store.span(3).attributes == {"x": 1}


def test_a_hole() -> None:
    """What began before a hole doesn't go on behind it."""
    document = behind(b"(A pid=1) ", file_of([Builder().span()], indent=4))
    decoder = Decoder()
    batches = (decoder.feed(document[:100]), decoder.skip(4096), decoder.feed(document), decoder.close())
    assert ids_of(batches) == [1]
    assert [place for batch in batches for place in batch.documents] == [(100 + 4096, len(document) - 1)]
    assert sum(len(batch.gaps) for batch in batches) == 1


def test_no_lines_of_others() -> None:
    """`unmixed` leaves out what others printed, and what is no part of a document."""
    record = b'(A pid=1) {\n(B pid=2) {\nINFO hello\n(A pid=1) WARNING no\n(A pid=1)   "x": 1\n(A pid=1) }'
    assert unmixed(record) == b'{\n  "x": 1\n}'


@pytest.mark.parametrize("seed", seeds(30))
def test_documents_of_mixed_lines(seed: int) -> None:
    """What is taken out of a stretch of a log is what each document's own lines give."""
    dice, build = random.Random(seed), Builder()
    writers = [b"(A pid=1) ", b"\x1b[36m(B pid=2)\x1b[0m ", b"api-1      | ", b""]
    waiting = [
        [prefix + line + b"\n" for line in reversed(file_of([build.span() for _ in range(3)], indent=4).splitlines())]
        for prefix in writers
    ]
    data = b""
    while any(waiting):
        data += dice.choice([lines for lines in waiting if lines]).pop()
        data += b"INFO hello\n" if dice.random() < 0.1 else b""
    lines = MixedLines(data, 1000)
    decoder = Decoder()
    batches = [decoder.feed(data), decoder.close()]
    places = [place for batch in batches for place in batch.documents]
    assert places
    for begin, size in places:
        assert lines.document(begin + 1000, size) == unmixed(data[begin : begin + size])
    assert lines.document(1000 + len(data), 1) is None
    assert lines.document(places[0][0] + 1000, len(data) + 1) is None


def test_a_whole_document_that_stands_for_others() -> None:
    """A document on one line is read that Ray has put its mark behind; only those are lost that it stands for."""
    builder = Builder()
    first, second = (file_of([builder.span(attributes={"x": name})]) for name in "ab")
    text = b"(f pid=7) " + first + b"(f pid=8) " + second[:-1] + b"\x1b[32m [repeated 5x across cluster]\x1b[0m\n"
    batches = decoded([text])
    assert ids_of(batches) == [1, 2]
    assert sum(batch.fragments for batch in batches) == 4
    assert sum(batch.repeated for batch in batches) == 1
    store = store_of_files({"driver.log": text})
    assert [store.span(row).attributes for row in range(2)] == [{"x": "a"}, {"x": "b"}]
