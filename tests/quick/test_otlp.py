"""Lines of OTLP that have one span each are scanned, and what is left of damaged ones is what the decoder makes of it.

a line in the layout           scanned
damaged anywhere before        scanned or decoded: the same either way
its attributes
a mark, and the end            one row, joined without Python's help
"""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any

import pytest

from builders import Builder
from go_stubs import stub_of
from receivers import document, request_of, span
from seeds import seeds
from spanview.formats.decoder import batch_of
from spanview.index.intake import Intake
from spanview.model.problems import Warnings
from spanview.model.times import NO_TIME
from spanview.otlp.body import Acceptance
from spanview.otlp.from_json import lines_of_json
from spanview.otlp.to_json import lines_of_protobuf
from spanview.quick import pages

from .folders import otlp_line
from .test_following import _followed
from .test_same import _compare, contents, load

if TYPE_CHECKING:
    from pathlib import Path

    from spanview.formats.framing.frames import Frames
    from spanview.formats.rows import Batch

_NEVER = 1 << 60


@pytest.fixture(name="decoded")
def note_decoded(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list into which the offsets of the records come that are decoded."""
    offsets: list[int] = []

    def note(frames: Frames) -> Batch:
        batch = batch_of(frames)
        offsets.extend(batch.offsets)
        return batch

    monkeypatch.setattr(pages, "batch_of", note)
    return offsets


@pytest.mark.parametrize("encoding", ["protobuf", "JSON"])
def test_received_lines_are_not_decoded(encoding: str, tmp_path: Path, decoded: list[int]) -> None:
    """What `spanview receive` writes is in the layout that is scanned, however it was sent."""
    if encoding == "protobuf":
        request = request_of(*range(1, 21), flags=257, parent_span_id=b"12345678")
        lines = [*lines_of_protobuf(request.SerializeToString(), Acceptance())]
    else:
        spans = (span(number, flags=257, parentSpanId="ab" * 8) for number in range(1, 21))
        lines = [*lines_of_json(json.dumps(document(*spans), sort_keys=True).encode(), Acceptance())]
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), decoded) == (20, [])
    _compare(tmp_path)


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"parentSpanId": "ab" * 8},
        {"status": {"code": 2, "message": 'of "x"'}},
        {"name": "n" * 300},
        {"name": 'with "quotes" and ä'},
        {"events": [{"timeUnixNano": "1700000000000000007", "name": "exception", "attributes": []}]},
        {"droppedAttributesCount": 3},
        {"traceState": "a=b"},
    ],
)
def test_usual_lines_are_not_decoded(fields: dict[str, Any], tmp_path: Path, decoded: list[int]) -> None:
    """Whatever the writer writes, links apart, is scanned."""
    build = Builder()
    order = ("traceId", "spanId", "parentSpanId")
    lines = []
    for _ in range(20):
        value = json.loads(otlp_line(build.span("a", service="s"), **fields))
        (span,) = value["resourceSpans"][0]["scopeSpans"][0]["spans"]
        value["resourceSpans"][0]["scopeSpans"][0]["spans"] = [
            {name: span[name] for name in order if name in span} | span
        ]
        lines.append(json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n")
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), decoded) == (20, [])
    _compare(tmp_path)


def test_lines_with_several_spans_are_not_decoded(tmp_path: Path, decoded: list[int]) -> None:
    """Whatever exporters write after the attributes, and in whichever groups."""
    build, lines = Builder(), []
    for size in (1, 2, 5, 40):
        of_resources: list[dict[str, Any]] = []
        for number in range(size):
            line = otlp_line(
                build.span(f"n{number % 3}", service=f"s{number % 4}", status="ERROR", parent=number or None)
            )
            (of_resource,) = json.loads(line)["resourceSpans"]
            (span,) = of_resource["scopeSpans"][0]["spans"]
            members: list[dict[str, Any]] = [
                {"events": [{"timeUnixNano": "1700000000000000007", "name": "}]", "attributes": []}]},
                {"links": [{"traceId": "1" * 32, "spanId": "1" * 16, "attributes": []}] * 2},
                {"droppedEventsCount": number, "status": {"message": 'of "x"', "code": 2}},
                {"status": {}},
            ]
            del span["status"], span["flags"]
            span |= {"flags": 256 + number, **members[number % 4]}
            if of_resources and number % 3 == 1:
                of_resources[-1]["scopeSpans"][-1]["spans"].append(span)
            elif of_resources and number % 3 == 2:
                of_resources[-1]["scopeSpans"].append({"scope": {"name": "other"}, "spans": [span], "schemaUrl": "a"})
            else:
                of_resources.append(of_resource | {"schemaUrl": "b"})
        lines += [json.dumps({"resourceSpans": of_resources}, separators=(",", ":")).encode() + b"\n"]
    (tmp_path / "a.jsonl").write_bytes(b"".join(lines))
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), decoded) == (48, [])
    assert [store.span(row).events != () for row in range(len(store.spans))].count(True) == 14
    _compare(tmp_path)


_AFTER: list[dict[str, Any]] = [
    {},
    {"status": {}},
    {"status": {"code": 2, "message": 'of "x"'}, "flags": 256},
    {"droppedAttributesCount": 0, "events": [], "status": {"code": 1}, "links": [], "droppedLinksCount": 0},
    {"status": {"code": 2}, "events": [{"timeUnixNano": "1700000000000000007", "name": "}", "attributes": []}]},
    {"events": [{"timeUnixNano": "1700000000000000007", "name": ',"status":{', "attributes": []}]},
]


@pytest.mark.parametrize("seed", seeds(4))
def test_damage_at_every_byte_behind_the_attributes(
    seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, decoded: list[int]
) -> None:
    """As most exporters have it, the status comes after the attributes, wherever there."""
    monkeypatch.setattr(pages, "PAGE_BYTES", 1 << 20)
    dice, build, lines = random.Random(seed), Builder(), list[bytes]()
    for number in range(60):
        value = json.loads(otlp_line(build.span("a", service="s")))
        (span,) = value["resourceSpans"][0]["scopeSpans"][0]["spans"]
        del span["status"]
        span |= _AFTER[number % len(_AFTER)]
        lines.append(json.dumps(value, separators=(",", ":")).encode() + b"\n")
    (tmp_path / "all.jsonl").write_bytes(b"".join(lines))
    store = load(tmp_path, quick_from=0)
    assert (len(store.spans), decoded) == (60, [])
    assert sorted({*store.spans.status}) == [0, 1, 2]
    _compare(tmp_path)
    line = lines[dice.choice((1, 2))]
    for at in range(line.index(b'],"status"'), len(line)):
        lines.append(line[:at] + dice.choice((dice.randbytes(1), b"", b"\n", b"}")) + line[at + 1 :])
        lines.append(lines[at % 60])
    (tmp_path / "all.jsonl").write_bytes(b"".join(lines))
    _compare(tmp_path)


@pytest.mark.parametrize("instead", [b"\x17", b"", b"5"], ids=["a control code", "nothing", "a digit"])
def test_attributes_that_never_end_before_a_status(instead: bytes, tmp_path: Path) -> None:
    """They are damaged, whatever stands for their last bracket: the line is no span."""
    value = json.loads(otlp_line(Builder().span("a", service="s")))
    (span,) = value["resourceSpans"][0]["scopeSpans"][0]["spans"]
    del span["status"]
    line = json.dumps(value, separators=(",", ":")).encode()
    whole = line.replace(b'"attributes":[]}]}]}]}', b'"attributes":[],"status":{}}]}]}]}') + b"\n"
    assert whole.count(b'[],"status"') == 1
    (tmp_path / "all.jsonl").write_bytes(whole + whole.replace(b'[],"status"', b"[" + instead + b',"status"') + whole)
    _compare(tmp_path)


_EVENT = {"timeUnixNano": "1700000000000000007", "name": "n", "attributes": []}
_ENDS: tuple[tuple[dict[str, Any], bytes, bytes], ...] = (
    # What else the span has, its line's end, and what is there instead: another span, or less.
    ({}, b"]}]}]}", b",{}]}]}]}"),
    ({"attributes": []}, b"]}]}]}", b",{}]}]}]}"),
    ({"events": [_EVENT]}, b"]}", b""),
    ({"events": [_EVENT, _EVENT | {"attributes": [{"key": "k", "value": {"stringValue": "["}}]}]}, b"]}", b""),
)


@pytest.mark.parametrize("has_status", [True, False])
@pytest.mark.parametrize(("fields", "end", "other"), _ENDS)
def test_ends_that_are_not_quite_those_of_one_span(
    fields: dict[str, Any], end: bytes, other: bytes, *, has_status: bool, tmp_path: Path
) -> None:
    """An empty span behind the one is told, and a line without its last brackets is torn."""
    usual = otlp_line(Builder().span("a", service="s"))
    line = otlp_line(Builder().span("b", service="s"), **fields).replace(b'"status":{},' * (not has_status), b"")
    (tmp_path / "a.jsonl").write_bytes(usual + line.removesuffix(end + b"\n") + other + b"\n" + usual)
    _compare(tmp_path)


@pytest.mark.parametrize("has_status", [True, False])
@pytest.mark.parametrize("events", [[], [_EVENT]])
@pytest.mark.parametrize("key", ["parentSpanId", "kind", "endTimeUnixNano"])
def test_what_comes_behind_the_attributes(
    key: str, events: list[dict[str, Any]], *, has_status: bool, tmp_path: Path
) -> None:
    """A parent, kind or end counts wherever a span has it."""
    build = Builder()
    lines = [json.loads(otlp_line(build.span("a", service="s", parent=9))) for _ in range(3)]
    for at, line in enumerate(lines):
        (span,) = line["resourceSpans"][0]["scopeSpans"][0]["spans"]
        span |= {"kind": 3, "events": events}
        if not has_status:
            span.pop("status", None)
        if at:
            span[key] = span.pop(key)
        if at == 1:
            span["events"] = span.pop("events")
    (tmp_path / "a.jsonl").write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    store = load(tmp_path, quick_from=0)
    assert [len({*column}) for column in (store.spans.parent_id, store.spans.kind)] == [1, 1]
    _compare(tmp_path)


@pytest.mark.parametrize("name", ["a", "ab"])
def test_a_record_of_go_inside_a_torn_line(name: str, tmp_path: Path) -> None:
    """It is seen by its trace id, at an even place and at an odd one, which Go calls `TraceID`."""
    whole = load(_written(tmp_path / "whole.jsonl", otlp_line(Builder().span(name, span=7))), quick_from=0)
    inner = json.dumps(stub_of(whole.span(0))).encode()
    usual, line = (otlp_line(Builder().span("b", attributes={"text": "so me"})) for _ in range(2))
    path = _written(tmp_path / "a.jsonl", usual + line.replace(b"so me", b"so " + inner) + usual)
    assert 7 in load(path, quick_from=0).spans.span_id
    _compare(path)


def _written(path: Path, content: bytes) -> Path:
    path.write_bytes(content)
    return path


def test_an_unusual_span_does_not_cost_its_line(tmp_path: Path, decoded: list[int]) -> None:
    """It alone is decoded, and all of its line if that doesn't tell everything."""
    build = Builder()
    values = [json.loads(otlp_line(build.span("a", service="s"))) for _ in range(8)]
    spans = [value["resourceSpans"][0]["scopeSpans"][0]["spans"][0] for value in values]
    spans[5]["status"] = spans[5].pop("name")
    spans[5] |= {"name": "b", "status": {"message": "no"}, "kind": 0}
    values[0]["resourceSpans"][0]["scopeSpans"][0]["spans"] = spans
    path = tmp_path / "a.jsonl"
    path.write_bytes(json.dumps(values[0], separators=(",", ":")).encode() + b"\n")
    assert (len(load(tmp_path, quick_from=0).spans), decoded) == (8, [])
    _compare(tmp_path)
    spans[2]["kind"] = "SPAN_KIND_ODD"
    path.write_bytes(json.dumps(values[0], separators=(",", ":")).encode() + b"\n")
    assert (len(load(tmp_path, quick_from=0).spans), len(decoded)) == (8, 8)
    _compare(tmp_path)


@pytest.mark.parametrize("seed", seeds(4))
def test_damage_at_every_byte(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A byte that is another one, or missing, or the line's last one, comes to what the decoder makes of it."""
    monkeypatch.setattr(pages, "PAGE_BYTES", 1 << 20)
    dice, build = random.Random(seed), Builder()
    document = build.span("a name", parent=dice.choice((None, 7)), service="s", status=dice.choice(("UNSET", "ERROR")))
    line = otlp_line(document | dice.choice(({}, {"end_time": None})))
    skipped = line.index(b'"attributes":[', line.index(b'"status"'))
    usual = [otlp_line(build.span("b", service="s")) for _ in range(40 * len(line) // 100)]
    for number, other in enumerate((None, b"", b"\n", b"}")):
        parts = []
        for at in range(len(line)):
            if not skipped <= at < len(line) - len(b"}]}]}]}\n"):
                parts += [line[:at] + (dice.randbytes(1) if other is None else other) + line[at + 1 :]]
            parts += [usual[at % len(usual)]] if dice.random() < 0.5 else []
        folder = tmp_path / str(number)
        folder.mkdir()
        # Each in its own file shows what it is alone, and all in one what they do to each other.
        for at, part in enumerate(parts[::7]):
            (folder / f"{at}.jsonl").write_bytes(usual[0] + part + usual[1])
        _compare(folder)
        (folder / "all.jsonl").write_bytes(b"".join(usual[:9] + parts))
        _compare(folder)


def _marked_folder(folder: Path, dice: random.Random) -> None:
    """Write spans that have ended, and what was written when they and others began, into files in any order."""
    build = Builder()
    documents = [build.span(f"s{n % 5}", trace=n // 9 + 1, service=f"p{n % 3}") for n in range(2_000)]
    begun = [otlp_line(document | {"end_time": None}, attributes=[]) for document in documents]
    ended = [otlp_line(document) for document in documents[:-40]]
    for lines in (begun, ended):
        dice.shuffle(lines)
    for name, lines in (("b", begun[:900]), ("a", ended[1000:]), ("c", ended[:1000]), ("d", begun[900:])):
        (folder / f"{name}.jsonl").write_bytes(b"".join(lines))


@pytest.mark.parametrize("newest_first", [False, True])
def test_marks_are_joined_at_once(*, newest_first: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In any order of files, none of the records goes through the index one by one, and all rows are scanned ones."""
    added: list[int] = []
    add = Intake._add_known

    def note(self: Intake, source: int, batch: Batch, trace: int, index: int) -> None:
        added.append(index)
        add(self, source, batch, trace, index)

    _marked_folder(tmp_path, random.Random(1))
    expected = contents(load(tmp_path, quick_from=_NEVER))
    monkeypatch.setattr(Intake, "_add_known", note)
    store = load(tmp_path, quick_from=0, newest_first=newest_first)
    assert not added
    assert contents(store) == expected
    assert [*store.spans.end_ns].count(NO_TIME) == 40
    assert {row for row, bits in enumerate(store.spans.warnings) if bits} == {
        row for row, end in enumerate(store.spans.end_ns) if end == NO_TIME
    }
    assert {*store.spans.warnings} == {0, int(Warnings.NO_END)}
    assert not store.intake.moved
    # The front of the file that is read first is decoded, what of it has not ended stays so.
    assert len(store.spans) - sum(map(len, store.intake.scanned)) in range(40)


def test_marks_while_following(tmp_path: Path) -> None:
    """What was scanned and has not ended ends when its end is written, in the file that was scanned or in another."""
    build = Builder()
    documents = [build.span("s", service="p") for _ in range(30)]
    (tmp_path / "a.started.jsonl").write_bytes(b"".join(otlp_line(each | {"end_time": None}) for each in documents))
    (tmp_path / "a.jsonl").write_bytes(b"".join(map(otlp_line, documents[:10])))
    session, store = _followed(tmp_path, quick_from=0)
    assert [*store.spans.end_ns].count(NO_TIME) == 20
    with (tmp_path / "a.jsonl").open("ab") as file:
        file.write(b"".join(map(otlp_line, documents[10:25])))
    session.look()
    assert (len(store.spans), [*store.spans.end_ns].count(NO_TIME)) == (30, 5)
    session.close()


def test_an_end_far_behind_its_mark(tmp_path: Path) -> None:
    """The only row is of the later record, whose place is larger than any that a row was added with."""
    begun = Builder().span("f")
    (tmp_path / "a.jsonl").write_bytes(otlp_line(begun | {"end_time": None}, name="n" * 300) + otlp_line(begun))
    _compare(tmp_path)
