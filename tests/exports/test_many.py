"""Exports of many spans, whose trees are told at once and whose records are alike, are to the byte those of few.

folders         as `quick/folders.py` makes them: both layouts, odd records, damage, doubles, missing parents
afterwards      files are cut, overwritten or gone
shares          small ones, so that they end anywhere
"""

from __future__ import annotations

import random
import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from builders import Builder, MemoryReader, file_of, span_id, store_of_files, trace_id
from quick.folders import make
from seeds import seeds
from spanview.analysis import walk
from spanview.exports import alike_spans, alike_texts, shares, span_texts, trace_tree
from spanview.exports.by_name import chunks_of
from spanview.exports.jsonl import jsonl_chunks, line_of
from spanview.exports.losses import Losses
from spanview.exports.page.details import AlikeDetails, detail_blocks
from spanview.exports.span_texts import SpanTexts
from spanview.exports.surroundings import Surroundings
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.formats.console.spans import span_of
from spanview.formats.otlp.write import OtlpLines
from spanview.formats.tags import ignore_loss
from spanview.formats.usual import NOWHERE
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.index.whole_spans import spans_at
from spanview.model.span import Source, Span
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from builders import Document

SEEDS: Final = seeds(20)
_EVENT: Final = b'{"name":"e","timestamp":null,"attributes":{"k":"%b"}}'


def exported(store: Store, traces: Sequence[int], rows: Sequence[int]) -> tuple[bytes, bytes]:
    """Return both exports, of some traces and of some rows."""
    tree = trace_tree_chunks(store, traces, summary=summary_of(store), problems=store.problems())
    return b"".join(tree), b"".join(jsonl_chunks(store, rows))


def both_ways(
    store: Store,
    monkeypatch: pytest.MonkeyPatch,
    traces: Sequence[int] | None = None,
    rows: Sequence[int] | None = None,
) -> list[tuple[bytes, bytes]]:
    """Return both exports as they are made of few spans and of many."""
    traces = store.traces_in_order() if traces is None else traces
    rows = store.rows_in_order() if rows is None else rows
    ways = []
    for most in (1 << 60, 0):
        with monkeypatch.context() as patch:
            patch.setattr(span_texts, "MANY_SPANS", most)
            ways.append(exported(store, traces, rows))
    return ways


def foreign_both_ways(
    store: Store, monkeypatch: pytest.MonkeyPatch, traces: Sequence[int] | None = None
) -> list[dict[str, tuple[bytes, list[str]]]]:
    """Return the formats of others as they are made of few spans and of many, and what is lost of each."""
    traces = store.traces_in_order() if traces is None else traces
    ways = []
    for most in (1 << 60, 0):
        losses = {name: Losses(name) for name in ("otlp", "zipkin", "jaeger", "chrome")}
        with monkeypatch.context() as patch:
            patch.setattr(span_texts, "MANY_SPANS", most)
            texts = {
                name: b"".join(chunks_of(store, traces, name, lost, Surroundings())) for name, lost in losses.items()
            }
        ways.append({name: (texts[name], lost.lines()) for name, lost in losses.items()})
    return ways


def assert_same(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make sure that all exports are the same as of few spans."""
    one_by_one, at_once = both_ways(store, monkeypatch)
    assert at_once == one_by_one
    foreign, foreign_at_once = foreign_both_ways(store, monkeypatch)
    assert foreign_at_once == foreign


def details_both_ways(store: Store, rows: Sequence[int]) -> list[tuple[list[bytes], list[str]]]:
    """Return a page's details of some rows, span by span and with those at once that are alike, and what is lost."""
    ways = []
    for alike in (None, AlikeDetails(store)):
        losses: list[str] = []
        ways.append(([*detail_blocks(store, rows, alike, range(len(rows)), losses.append)] if rows else [], losses))
    return ways


@pytest.fixture(name="eager")
def make_templates_for_few(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Make templates for fewer spans than they pay for."""
    monkeypatch.setattr(alike_texts, "_MIN_ALIKE", 16)
    monkeypatch.setattr(alike_texts, "_WORTH_SPANS", 0)
    monkeypatch.setattr(alike_spans, "_MIN_OF_PROCESS", 1)
    return monkeypatch


@pytest.fixture
def small(eager: pytest.MonkeyPatch) -> None:
    """Make shares and batches so small that they end anywhere, and find templates among few."""
    eager.setattr(alike_texts, "_MAX_BATCH_SPANS", 31)
    eager.setattr(alike_texts, "_MAX_COMPARED_BYTES", 9_000)
    eager.setattr(alike_texts, "_MIN_ALIKE", 2)
    eager.setattr(shares, "SHARE_SPANS", 37)
    eager.setattr(trace_tree, "BATCH_SPANS", 11)
    eager.setattr(walk, "_MAX_DEPTH", 6)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", SEEDS)
def test_whatever_the_files_hold(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Random folders, whole or changed since they were read, and some of their traces and rows in any order."""
    dice = random.Random(seed)
    make(tmp_path, dice, files=5, records=150, anywhere=True)
    store = load_store(tmp_path)
    if dice.random() < 0.4:
        _change(tmp_path, dice)
    traces, rows = store.traces_in_order().tolist(), store.rows_in_order()
    if dice.random() < 0.3:
        traces = dice.sample(traces, dice.randint(0, len(traces)))
        rows = dice.sample(rows, dice.randint(0, len(rows)))
    one_by_one, at_once = both_ways(store, monkeypatch, traces, rows)
    assert at_once[0] == one_by_one[0]
    assert at_once[1] == one_by_one[1]
    details, details_at_once = details_both_ways(store, rows)
    assert details_at_once == details
    foreign, foreign_at_once = foreign_both_ways(store, monkeypatch, traces)
    assert foreign_at_once == foreign


def _change(folder: Path, dice: random.Random) -> None:
    for path in sorted(folder.iterdir()):
        data = bytearray(path.read_bytes())
        for _ in range(dice.choice((0, 1, 20, 200)) if data else 0):
            data[dice.randrange(len(data))] = dice.choice(b'0a}" \n\\\xff')
        path.write_bytes(data[: dice.choice((len(data), len(data), len(data) // 2))])
        if dice.random() < 0.2:
            path.unlink()


VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "text": ("abcd", "null", "12 4", 'q"a', "a\\b", "tab\t", "\x7f..."),
    "escaped": ("abcdef", "é", "ghijkl", "\ud800"),
    "long": ("x 12345678901234567890", "a+b 678901234567890123"),
    "id": ("00ff", "ff00", "1234"),
    "number": (10_000, 99_999, 1e16, 12_345, -1234),
    "large": (10**19, 10**20 - 1, 12_345_678_901_234_567_890),
    "ratio": (0.5, 1e16, 1e-7),
    "odd": (float("nan"), None, True),
    "timestamp": ("2023-11-14T22:13:20.000001Z", "2023-13-14T22:13:20.000001Z", "2023-11-14T22:13:60.000001Z"),
    "trace_id": ("a", "b"),
    "inner": ({"text": "one"}, {"text": "two"}),
    "stack": ("Traceback (most recent call last):", "No traceback, but of the same width"[:34]),
    "ray.pid": ("1234", "5678", "none"),
    "host.name": ("node1", "node2"),
    "ray.node_id": ("77aa", "88bb"),
    "error": ("true", "some"),
    "span.kind": ("client", "server", "abcdef"),
    "otel.status_code": ("OK", "no"),
    "otel.dropped_events_count": (5, 7),
    "network.peer.port": (10_000, 70_000, 65_535),
    "network.peer.address": ("10.0.0.1", "10.0.0.x", "2001::ff"),
    "peer.service": ("shop", "cart"),
    "server.address": ("east", "west"),
}
"""Of each key values that are mostly written in one width."""


def alike(count: int, dice: random.Random) -> list[Document]:
    """Return spans of a program that has few keys, of which each has one value or several."""
    build, spans = Builder(), []
    keys = dice.sample([*VALUES], dice.randint(1, 4))
    values = {key: dice.sample(VALUES[key], dice.choice((1, len(VALUES[key])))) for key in keys}
    kinds = dice.choice((("INTERNAL",), ("PRODUCER", "CONSUMER"), ("CLIENT", "SERVER", "INTERNAL")))
    has_event, has_description, has_link = (dice.random() < 0.3 for _ in range(3))
    for number in range(1, count + 1):
        some = {key: dice.choice(choice) for key, choice in values.items()}
        span = build.span(
            dice.choice(("f", "g")),
            span=number,
            kind=dice.choice(kinds),
            trace=dice.choice((1, 2 << 90, 3 << 90)),
            parent=dice.choice((None, dice.randint(1, count), max(1, number - 1))),
            start=dice.choice((number, dice.randrange(50))),
            attributes=some,
            resource={"host": dice.choice("abc"), "service.name": dice.choice(("shop", "cart"))},
        )
        if has_event:
            time = dice.choice(VALUES["timestamp"])
            span["events"] = [{"name": dice.choice("ef"), "timestamp": time, "attributes": some}]
        if has_description:
            span["status"] = {"status_code": "ERROR", "description": dice.choice(("no", "on"))}
        if has_link:
            context = {"trace_id": trace_id(dice.randint(1, 9)), "span_id": span_id(4), "trace_state": "[]"}
            span["links"] = [{"context": context, "attributes": {"l": dice.choice("mn")}}]
        spans.append(span)
    return spans


_ODD_LINES: Final = (
    (rb'"stringValue":"([a-z0-9]{4})"', rb'"bytesValue":"\1"'),
    (rb'"intValue":"([0-9]+)"', rb'"intValue":\1'),
    (rb'"intValue":"([0-9]{2})', rb'"intValue":"00'),
    (rb'"intValue":"([0-9]{2})', rb'"intValue":"-1'),
    (rb'"intValue":"([0-9]{2})', rb'"intValue":"1e'),
    (rb'"intValue":"[0-9]+"', rb'"doubleValue":"77777"'),
    (rb'"intValue":"([0-9]+)"', rb'"doubleValue":\1'),
    (rb'"key":"(text|long)"', rb'"key":"text"'),
    (rb'"key":"span.kind"', rb'"key":"ray.task1"'),
    (rb'"name":"([fg])","kind"', rb'"name":"\1","name":"\1","kind"'),
    (rb'"spanId":"0+', rb'"spanId":"AB'),
    (rb'"stringValue":"abcd"', rb'"stringValue":"\\u0061"'),
    (rb',"kind":', rb',"flags":256,"kind":'),
)
"""What a line of OTLP may have instead of what most have."""


_MORE_NS: Final = ((0,), (0, 1_000, 7), (7,))
"""What starts and ends have more than whole microseconds."""
_ODD_OWN_LINES: Final = (
    (rb'"kind":"INTERNAL"', rb'"kind":"ODDERNAL"'),
    (rb'"duration_ns":([0-9]{2})', rb'"duration_ns":-1'),
    (rb'"self_time_ns":([0-9]+)', rb'"self_time_ns":"\1"'),
    (rb'"offset":([0-9]{2})', rb'"offset":0.'),
    (rb'"code":"UNSET"', rb'"code":"UNSAD"'),
    (rb'"scope":null', rb'"scope":7777'),
    (rb'"(attributes|warnings)":', rb'"more":{"a":"bc"},"\1":'),
    (rb'"trace_state":\{\}', rb'"trace_state":[]'),
)
"""What a line of spanview's own may have instead of what most have."""


def lines_of_own(documents: Sequence[Document], dice: random.Random, odd_share: float = 0.2) -> bytes:
    """Return spans of the SDK as lines of spanview's own, some of them odd."""
    lines, odd = [], dice.sample(_ODD_OWN_LINES, 2)
    more_ns = dice.choice(_MORE_NS) if odd_share else _MORE_NS[0]
    for document in documents:
        span = span_of(document, Source(dice.choice(("x", "y")), dice.choice((5, 77_777, 88_888)), 777))
        start, end = ((time or 0) + dice.choice(more_ns) for time in (span.start_ns, span.end_ns))
        line = line_of(replace(span, start_ns=start, end_ns=end), self_time_ns=dice.choice((None, 77, 88, 10**9)))
        lines.append(re.sub(*dice.choice(odd), line) if dice.random() < odd_share else line)
    return b"".join(lines)


def lines_of_otlp(documents: Sequence[Document], dice: random.Random, odd_share: float = 0.2) -> bytes:
    """Return spans of the SDK as lines of OTLP, some of them odd, or in another order."""
    lines, odd = [], dice.sample(_ODD_LINES, 2)
    more_ns = dice.choice(_MORE_NS) if odd_share else _MORE_NS[0]
    for document in documents:
        span = span_of(document, NOWHERE)
        start, end = ((time or 0) + dice.choice(more_ns) for time in (span.start_ns, span.end_ns))
        (line,) = OtlpLines(ignore_loss).of([replace(span, start_ns=start, end_ns=end)])
        if dice.random() < odd_share:
            line = re.sub(*dice.choice(odd), line)
        lines.append(line)
    return b"".join(lines)


def joined_lines(lines: Sequence[bytes], dice: random.Random, odd: float = 0) -> bytes:
    """Return lines of OTLP with the spans of several of some lines each, by resource and scope."""
    texts, ends = b"", dice.choice(((b"",), (b"", b',"schemaUrl":"https://a/1"')))
    for number, line in enumerate(lines):
        head, _, rest = line.partition(b'"spans":[')
        _, _, scope = head.partition(b'"scopeSpans":[')
        span = rest.removesuffix(b"]}]}]}\n")
        end_of_scope, end_of_resource = (b"]%b}" % dice.choice(ends) for _ in range(2))
        way = dice.choice((0, 0, 0, 0, 1, 2, 3)) if number else 4
        texts += (
            b",",
            end_of_scope + b"," + scope + b'"spans":[',
            end_of_scope + end_of_resource + b"," + head.removeprefix(b'{"resourceSpans":[') + b'"spans":[',
            end_of_scope + end_of_resource + b"]}\n" + head + b'"spans":[',
            head + b'"spans":[',
        )[way]
        texts += b"7," * (dice.random() < odd) + span
        texts += dice.choice((b",{}", b"\n", b',"more"', b",[{}]")) * (dice.random() < odd)
    return texts + b"]}]}]}\n"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("layout", [None, 4, "own", "otlp", "batches"])
@pytest.mark.parametrize("seed", SEEDS)
def test_values_of_all_kinds(seed: int, layout: int | str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Records that differ in single values only, of which some are written in another way than they are read."""
    dice = random.Random(seed)
    names = ("a", 'b"', "c" * 300)
    if isinstance(layout, str):
        lines_of = lines_of_own if layout == "own" else lines_of_otlp
        files = {name: lines_of(alike(120, dice), dice) for name in names}
    else:
        files = {name: file_of(alike(120, dice), indent=layout) for name in names}
    if layout == "batches":
        odd = dice.choice((0, 0, 0.1))
        files = {name: joined_lines(data.splitlines(keepends=True), dice, odd) for name, data in files.items()}
    reader = MemoryReader()
    store = store_of_files(files, reader=reader)
    one_by_one, at_once = both_ways(store, monkeypatch)
    assert at_once == one_by_one
    details, details_at_once = details_both_ways(store, store.rows_in_order())
    assert details_at_once == details
    foreign, foreign_at_once = foreign_both_ways(store, monkeypatch)
    assert foreign_at_once == foreign
    # Now bytes are other ones than when they were read, and lines with several spans aren't remembered.
    store.intake.details.take_numbers(range(len(files)))
    for source, data in enumerate(reader.files):
        changed = bytearray(data or b"")
        for _ in range(20):
            changed[dice.randrange(len(changed))] = dice.choice(b'0123456789abcdef}" \\')
        reader.files[source] = bytes(changed)
    one_by_one, at_once = both_ways(store, monkeypatch)
    if layout == "batches":
        # In a line that isn't JSON any more, spans may still be found that are as the columns say.
        for plain, quick in zip(one_by_one[1].splitlines(), at_once[1].splitlines(), strict=True):
            assert plain == quick or b'"detail_lost"' in plain
        return
    assert at_once == one_by_one
    details, details_at_once = details_both_ways(store, store.rows_in_order())
    assert details_at_once == details
    foreign, foreign_at_once = foreign_both_ways(store, monkeypatch)
    assert foreign_at_once == foreign


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("usual", "odd"),
    [
        (rb'"intValue":"\2"', rb'"intValue":"00777"'),
        (rb'"intValue":"\2"', rb'"intValue":"-7777"'),
        (rb'"intValue":"\2"', rb'"intValue":"1e007"'),
        (rb'"intValue":"\2"', rb'"bytesValue":"AQI="'),
        (rb'"intValue":\2', rb'"intValue":7.777'),
        (rb'"doubleValue":"\2"', rb'"doubleValue":"1e007"'),
        (rb'"bytesValue":"AQ\1="', rb'"bytesValue":"A===="'),
        (rb'"bytesValue":"AQ\1="', rb'"bytesValue":"AQIDB"'),
        (rb'"stringValue":"\2"', rb'"stringValue":"\\u00"'),
        (rb'"boolValue":true},"\2":{"key":"a"', rb'"boolValue":null},"00000":{"key":"a"'),
    ],
)
def test_odd_values_among_usual_ones(usual: bytes, odd: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line of OTLP differs from many in a value that is none, or is written in another way than it is read."""
    lines = []
    for number in range(60):
        (line,) = OtlpLines(ignore_loss).of([span_of(Builder().span(span=1 + number, attributes={"a": 7}), NOWHERE)])
        digits = b"%d" % (10_000 + 137 * number)
        lines.append(
            line.replace(
                b'"intValue":"7"',
                odd if number % 9 == 5 else usual.replace(b"\\1", digits[-2:]).replace(b"\\2", digits),
            )
        )
    store = store_of_files({"a": b"".join(lines)})
    assert_same(store, monkeypatch)


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize(
    ("member", "usual", "odd"),
    [
        (b'"events":[{"name":"%b","timestamp":null,"attributes":{}}]', b"ev%04d", b"a|{}|1"),
        (b'"trace_state":{"congo":"%b"}', b"ev%04d", b"ev=1,2"),
        (b'"extra":{"flags":%b},"links":[]', b"123456%04d", b"9999999999"),
        (b'"extra":{"dropped_attributes_count":%b},"links":[]', b"123456%04d", b"9999999999"),
        (b'"extra":{"zipkin":{"localEndpoint":{"port":%b}}},"links":[]', b"2%04d", b"99999"),
        (b'"links":[{"trace_id":"1","span_id":"2","trace_state":{"k":"%b"},"attributes":{}}]', b"ev%04d", b"ev=1,2"),
        (
            b'"attributes":{"abcd":"v"},"extra":{"jaeger":{"more":[{"key":"%b","type":"string","value":"w"}]}}',
            b"%04d",
            b"abcd",
        ),
        (b'"attributes":{"error":"%b"}', b"%04d", b"true"),
        (
            b'"attributes":{"k":"%b"},"extra":{"jaeger":{"less":[{"key":"k","type":"string","value":"0000"}]}}',
            b"%04d",
            b"0000",
        ),
        (b'"events":[%b,%b]' % (_EVENT % b"0000", _EVENT), b"%04d", b"0000"),
        (b'"end_time":"%b"', b"2023-11-14T22:13:20.00%04d001Z", b"2023-11-14T22:13:20.000000002Z"),
    ],
)
def test_odd_values_in_own_lines(member: bytes, usual: bytes, odd: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """A line differs from many in a value that a format of others writes in another way, or says something of."""
    key, lines = member[: member.index(b":") + 1], []
    key = b'"links":' if key == b'"extra":' else key
    for number in range(60):
        span = span_of(Builder().span(trace=1 << 100, span=1 + number), NOWHERE)
        value = odd if number % 9 == 5 else usual % (5_000 + number)
        lines.append(re.sub(key + rb'(?:"[^"]*"|\[\]|\{\})', member % value, line_of(span), count=1))
    assert {*map(len, lines)} == {len(lines[0])}
    store = store_of_files({"a": b"".join(lines)})
    assert_same(store, monkeypatch)


@pytest.mark.usefixtures("small")
def test_links_to_one_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """All spans have the same link, which leads from some of them into their own trace."""
    dice = random.Random(1)
    linked = dice.getrandbits(128)
    link = {"context": {"trace_id": trace_id(linked), "span_id": span_id(7), "trace_state": "[]"}, "attributes": {}}
    traces = [linked if number % 9 == 5 else dice.getrandbits(128) for number in range(60)]
    documents = [Builder().span(trace=trace, span=8 + number, links=[link]) for number, trace in enumerate(traces)]
    store = store_of_files({"a": file_of(documents)})
    assert_same(store, monkeypatch)


@pytest.mark.usefixtures("small")
def test_an_escape_as_wide_as_other_values(monkeypatch: pytest.MonkeyPatch) -> None:
    """A value may be written as the escape of one letter, which no export repeats."""
    build = Builder()
    spans = [build.span("f", span=number, attributes={"task": f"{number:06d}"}) for number in range(1, 201)]
    data = file_of(spans).replace(b'"000150"', rb'"\u0041"')
    one_by_one, at_once = both_ways(store_of_files({"a": data}), monkeypatch)
    assert at_once == one_by_one
    assert rb"\u0041" not in b"".join(one_by_one)


@pytest.mark.usefixtures("eager")
def test_most_spans_have_a_template(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of spans that a program writes again and again few are written by the plain writer."""
    dice, build = random.Random(3), Builder()
    spans = [
        build.span(
            dice.choice(("f", "g")),
            span=number,
            parent=dice.choice((None, 1)),
            attributes={"task": f"{dice.getrandbits(60):015x}", "pid": dice.randint(10_000, 99_999)},
            status=dice.choice(("UNSET", "ERROR")),
            events=[{"name": "e", "timestamp": f"2023-11-14T22:13:20.{number:06d}Z", "attributes": {}}] * (number % 2),
        )
        for number in range(1, 1_001)
    ]
    store = store_of_files({"a": file_of(spans[:500]), "b": file_of(spans[500:], indent=4)})
    written: list[int] = []
    of = SpanTexts.of

    def counted(self: SpanTexts, rows: Sequence[int], *rest: Sequence[int]) -> list[bytes]:
        written.extend(rows)
        return of(self, rows, *rest)

    (expected, _), _ = both_ways(store, monkeypatch)
    monkeypatch.setattr(SpanTexts, "of", counted)
    monkeypatch.setattr(span_texts, "MANY_SPANS", 0)
    assert exported(store, store.traces_in_order(), [])[0] == expected
    assert len(written) < 100
    # The times of events are told from the start of their span.
    told = [type(span) for span in AlikeDetails(store).spans(store.rows_in_order())]
    assert 500 <= told.count(Span) < 550


@pytest.mark.usefixtures("eager")
def test_details_tell_processes_apart() -> None:
    """Who has written a span is told from values in which its record differs from a similar one, and from its file."""
    build = Builder()
    values = [(pid, host) for pid in ("1234", 5678, "none") for host in ("north", "south")] * 40
    spans = [
        build.span("f", span=number, attributes={"ray.pid": pid}, resource={"host.name": host})
        for number, (pid, host) in enumerate(values, 1)
    ]
    store = store_of_files({"7-1.json": file_of(spans[:120]), "7-2.json": file_of(spans[120:])})
    rows = store.rows_in_order()
    details, details_at_once = details_both_ways(store, rows)
    assert details_at_once == details
    assert not any(isinstance(span, Span) for span in AlikeDetails(store).spans(rows))


@pytest.mark.usefixtures("eager")
@pytest.mark.parametrize("layout", ["sdk", "own", "otlp", "batches"])
@pytest.mark.parametrize("form", ["otlp", "zipkin", "jaeger", "chrome", "jsonl", "trace-tree"])
def test_formats_have_templates(form: str, layout: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of spans that a program writes again and again few are made into objects."""
    dice, build = random.Random(3), Builder()
    spans = [
        build.span(
            "f",
            span=number,
            trace=1 << 90,
            # As wide as a time is in OTLP.
            attributes={"task": f"{dice.getrandbits(60):019x}", "time": f"{10**18 + dice.getrandbits(50)}"},
        )
        for number in range(1, 1_001)
    ]
    files = {"a": file_of(spans[:500]), "b": file_of(spans[500:], indent=4)}
    if layout == "own":
        files = {"a": lines_of_own(spans, dice, odd_share=0)}
    elif layout != "sdk":
        lines = lines_of_otlp(spans, dice, odd_share=0).splitlines(keepends=True)
        files = {"a": b"".join(lines) if layout == "otlp" else joined_lines(lines, dice)}
    store = store_of_files(files)

    def written() -> bytes:
        return b"".join(chunks_of(store, store.traces_in_order(), form, Losses(form), Surroundings()))

    monkeypatch.setattr(span_texts, "MANY_SPANS", 1 << 60)
    expected = written()
    made: list[int] = []
    span_in, of = Store.span_in, SpanTexts.of

    def counted(store: Store, row: int, record: bytes | None) -> Span:
        made.append(row)
        return span_in(store, row, record)

    def read(store: Store, rows: Sequence[int]) -> Iterator[Span]:
        made.extend(rows)
        return spans_at(store, rows)

    def plain(self: SpanTexts, rows: Sequence[int], *rest: Sequence[int]) -> list[bytes]:
        made.extend(rows)
        return of(self, rows, *rest)

    monkeypatch.setattr(Store, "span_in", counted)
    monkeypatch.setattr(SpanTexts, "of", plain)
    monkeypatch.setattr(alike_spans, "spans_at", read)
    monkeypatch.setattr(span_texts, "MANY_SPANS", 0)
    assert written() == expected
    assert len(made) < 150


def test_a_value_that_is_written_for_some_spans_only() -> None:
    """What changes nothing of a sample may change something of another span."""
    build = Builder()
    spans = [build.span("f", span=number, attributes={"task": f"{number % 20:04}"}) for number in range(1, 201)]
    store = store_of_files({"a": file_of(spans)})

    def tell(span: Span, _: object) -> tuple[bytes, None]:
        return b"the seventh" if span.attributes["task"] == "0007" else b"any of all", None

    told = [
        tell(span, None)[0] if isinstance(span, Span) else span[0]
        for span in alike_spans.AlikeSpans(store, tell).spans(store.rows_in_order())
    ]
    assert told == [tell(store.span(row), None)[0] for row in store.rows_in_order()]


def test_lines_are_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines of a group without a trace id among others begin as they should."""
    store = store_of_files({"a": file_of([Builder().span(trace=0), Builder().span(trace=5)])})
    (_, one_by_one), (_, at_once) = both_ways(store, monkeypatch)
    assert at_once == one_by_one
    assert {orjson.loads(line)["trace_id"] for line in at_once.splitlines()} == {None, f"{5:032x}"}


def test_a_growing_store_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another thread adds to can't be looked at as a whole."""
    store = store_of_files({"a": file_of([Builder().span()])})
    monkeypatch.setattr(span_texts, "MANY_SPANS", 0)
    assert span_texts.are_many(store, 1)
    store.is_growing = True
    assert not span_texts.are_many(store, 1)
