"""OTLP's JSON written: protobuf's own reader takes it, and what is read again is what was written.

X → spanview → X keeps     all that OTLP's JSON can say, whatever the grouping
span → OTLP → span keeps   all but what is told on standard error
"""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from math import inf, nan
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from builders import Builder, file_of
from otlp_messages import DOCUMENTS, message_of, parts_of
from programs import spanview as run
from seeds import sample
from spanview.api.trace import traces_of
from spanview.exports.jsonl import line_of
from spanview.formats.jsontext import dumps_sorted
from spanview.formats.otlp import read as otlp
from spanview.formats.otlp.write import OtlpLines
from spanview.index.summary import summary_of
from spanview.model.problems import Warnings
from spanview.model.span import BytesText, Event, Link, Resource, Scope, Source, Span, Status
from spanview.sources.loading import load_store

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from spanview.index.store import Store

FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
RECORDINGS: Final = sorted(path.parent.name for path in FIXTURES.glob("*/spans"))
NOWHERE: Final = Source("", 0, 0)
LONGEST_LINE: Final = 1024 * 1024
"""Bytes of a line that the collector's receiver for files reads."""


def written(spans: Iterable[Span]) -> tuple[list[dict[str, Any]], Counter[str]]:
    """Return the documents that spans are written as, and what was lost."""
    lost = Counter[str]()
    return [json.loads(line) for line in OtlpLines(lambda what: lost.update((what,))).of(spans)], lost


def read(documents: Iterable[dict[str, Any]]) -> list[Span]:
    """Return the spans of documents."""
    return [span for document in documents for span in otlp.spans_of(document, NOWHERE)]


@settings(max_examples=300, deadline=None)
@given(DOCUMENTS)
def test_everything_is_kept(document: dict[str, Any]) -> None:
    """A document that is read and written again says the same, span by span, to protobuf's reader."""
    documents, lost = written(otlp.spans_of(document, NOWHERE))
    assert parts_of(*map(message_of, documents)) == parts_of(message_of(document))
    assert not lost


_TEXTS: Final = st.text(max_size=4)
_NAMES: Final = st.text(min_size=1, max_size=4)
_TIMES: Final = st.just(None) | st.integers(1, 2**63 - 1)
_VALUES: Final = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats()
    | _TEXTS
    | st.sampled_from([BytesText(""), BytesText("AAEC")]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_TEXTS, inner, max_size=3),
    max_leaves=6,
)
_ATTRIBUTES: Final = st.dictionaries(_TEXTS, _VALUES, max_size=4)
_STATES: Final = st.dictionaries(st.sampled_from(["a", "b@c"]), st.sampled_from(["1", "x=y", ""]))
_TRACE_IDS: Final = st.integers(1, 2**128 - 1).map("{:032x}".format)
_SPAN_IDS: Final = st.integers(1, 2**64 - 1).map("{:016x}".format)


def _extra(*names: str) -> st.SearchStrategy[dict[str, int]]:
    return st.dictionaries(st.sampled_from(names), st.integers(1, 2**32 - 1), max_size=2)


_SPANS: Final = st.builds(
    Span,
    trace_id=_TRACE_IDS,
    span_id=_SPAN_IDS,
    parent_id=st.none() | _SPAN_IDS,
    name=_TEXTS,
    kind_value=st.none() | st.integers(0, 4),
    start_ns=_TIMES,
    end_ns=_TIMES,
    status=st.builds(Status, st.integers(0, 2), st.none() | _NAMES),
    attributes=_ATTRIBUTES,
    events=st.lists(st.builds(Event, _TEXTS, _TIMES, _ATTRIBUTES, _extra("dropped_attributes_count")), max_size=2).map(
        tuple
    ),
    links=st.lists(
        st.builds(Link, _TRACE_IDS, _SPAN_IDS, _STATES, _ATTRIBUTES, _extra("flags", "dropped_attributes_count")),
        max_size=2,
    ).map(tuple),
    trace_state=_STATES,
    resource=st.builds(Resource, _ATTRIBUTES, _TEXTS, _extra("dropped_attributes_count")),
    scope=st.none()
    | st.builds(Scope, _NAMES, st.none() | _NAMES, st.none() | _NAMES, _ATTRIBUTES, _extra("dropped_attributes_count")),
    extra=_extra("flags", "dropped_attributes_count", "dropped_events_count", "dropped_links_count"),
    source=st.just(NOWHERE),
    warnings=st.just(Warnings(0)),
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_SPANS, max_size=4))
def test_spans_come_back(spans: list[Span]) -> None:
    """Spans of all that OTLP can say are read again as they were, types and infinities included."""
    documents, lost = written(spans)
    assert sorted(map(_text_of, read(documents))) == sorted(map(_text_of, spans))
    assert len(parts_of(*map(message_of, documents))) == len(spans)
    assert not lost


def _text_of(span: Span) -> str:
    """Return a text that equal spans have in common, types of values included."""
    return dumps_sorted(span).decode()


def _nested(levels: int) -> Any:
    value: Any = "end"
    for at in range(levels):
        value = {"k": value} if at % 2 else [value]
    return value


_FINE: Final = Span(f"{7:032x}", f"{8:016x}", None, "a", 0, 1, 2, source=NOWHERE)
_LOSSES: Final = [
    ({"attributes": {"a": 2**63}}, "wrote {integer} of more than 64 bits as text", {"attributes": {"a": str(2**63)}}),
    ({"name": "a\ud800"}, "replaced invalid Unicode in {text}", {"name": "a\ufffd"}),
    ({"start_ns": 0}, "dropped {time} before 1970", {"start_ns": None}),
    ({"start_ns": -5}, "dropped {time} before 1970", {"start_ns": None}),
    (
        {"span_id": None, "warnings": Warnings.BAD_ID},
        "dropped {unusable id}",
        {"span_id": None, "warnings": Warnings.BAD_ID},
    ),
    ({"extra": {"parent_span_id": "x"}}, "dropped {unusable id}", {"extra": {}}),
    (
        {"warnings": Warnings.ODD_VALUE},
        "dropped the warning of {span} with a malformed field",
        {"warnings": Warnings(0)},
    ),
    (
        {"warnings": Warnings.DETAIL_LOST},
        "lost the details of {span}, which are no longer in the files",
        {"warnings": Warnings(0)},
    ),
    ({"extra": {"shared": True}}, "dropped fields of {span part} that only other formats have", {"extra": {}}),
    ({"extra": {"flags": "x"}}, "dropped fields of {span part} that only other formats have", {"extra": {}}),
    ({"trace_state": {"a": "1,2"}}, "dropped {trace state} invalid in W3C's format", {"trace_state": {}}),
    ({"resource": Resource({}, "", {"x": 1})}, "dropped fields of {span part} that only other formats have", {}),
]


@pytest.mark.parametrize(("changes", "told", "kept"), _LOSSES, ids=str)
def test_losses_are_told(changes: dict[str, Any], told: str, kept: dict[str, Any]) -> None:
    """What OTLP can't say is told, once, and all else of the span is written."""
    documents, lost = written([replace(_FINE, **changes)])
    assert lost == {told: 1}
    expected = replace(_FINE, **changes)
    assert read(documents) == [replace(expected, **kept) if "resource" not in changes else _FINE]
    assert [*map(message_of, documents)]


def test_what_nests_too_deep() -> None:
    """Protobuf's reader takes what nests as deep as it can, and what nests deeper is text from there on."""
    events = tuple(Event("e", 1, {"a": _nested(levels)}) for levels in (31, 32, 5_000))
    documents, lost = written([replace(_FINE, events=events[:1])])
    assert message_of(documents[0])
    assert (read(documents)[0].events, lost) == (events[:1], {})
    documents, lost = written([replace(_FINE, events=events)])
    assert message_of(documents[0])
    assert lost == {"wrote {value} as text, nested too deeply for protobuf": 2}


def test_odd_shapes_of_own_lines() -> None:
    """Whatever a line of spanview's own has in its extra fields, it is written or told."""
    odd: list[Any] = [None, 5, "x", [5], [{"type": 5, "id_keys": ["a", 5]}], {"a": 1}]
    for value in odd:
        extra = {"entity_refs": value, "dropped_attributes_count": value, "trace_state": value, "flags": value}
        part = replace(_FINE, extra=extra, resource=Resource({}, "", extra), links=(Link(None, None, {}, {}, extra),))
        documents, lost = written([part])
        assert message_of(documents[0])
        assert lost


def test_numbers() -> None:
    """Integers of 64 bits are text, infinities the names that protobuf gives them."""
    values = {"i": 2**62, "f": 1.0, "n": nan, "p": inf, "m": -inf, "b": True}
    (document,), _ = written([replace(_FINE, attributes=values)])
    (span,) = document["resourceSpans"][0]["scopeSpans"][0]["spans"]
    assert [pair["value"] for pair in span["attributes"]] == [
        {"intValue": str(2**62)},
        {"doubleValue": 1.0},
        {"doubleValue": "NaN"},
        {"doubleValue": "Infinity"},
        {"doubleValue": "-Infinity"},
        {"boolValue": True},
    ]
    assert (span["kind"], span["startTimeUnixNano"]) == (1, "1")


def test_lines_are_bounded() -> None:
    """Of a large trace each line is written as soon as it is full, in the order of the spans, by resource and scope."""
    given_so_far = 0

    def spans() -> Iterator[Span]:
        nonlocal given_so_far
        for at in range(5_000):
            given_so_far += 1
            resource = Resource({"service.name": f"s{at % 2}"})
            yield replace(_FINE, span_id=f"{at + 1:016x}", resource=resource, attributes={"text": "x" * 1000})

    sizes, at = [], []
    numbers: dict[str, list[int]] = {"s0": [], "s1": []}
    for line in OtlpLines(lambda _: None).of(spans()):
        sizes.append(len(line))
        at.append(given_so_far)
        for of_resource in json.loads(line)["resourceSpans"]:
            service = of_resource["resource"]["attributes"][0]["value"]["stringValue"]
            (of_scope,) = of_resource["scopeSpans"]
            numbers[service] += [int(span["spanId"], 16) for span in of_scope["spans"]]
    assert max(sizes) < LONGEST_LINE
    assert len(sizes) > 5
    assert at[0] <= 5_000 / (len(sizes) - 1)
    assert numbers == {"s0": [*range(1, 5_001, 2)], "s1": [*range(2, 5_001, 2)]}


# -- the command ------------------------------------------------------------------------------------------------------


def spans_of(store: Store) -> list[bytes]:
    """Return the spans of a store as lines, in an order that doesn't depend on their places."""
    spans = map(store.span, range(len(store.spans)))
    return sorted(line_of(replace(span, source=NOWHERE)) for span in spans)


@pytest.mark.shortened
@pytest.mark.parametrize("recording", sample([each for each in RECORDINGS if each not in {"made", "sdk-versions"}], 12))
def test_recordings(recording: str, tmp_path: Path) -> None:
    """Exported and read again, a recording has the same spans and traces; protobuf's reader takes each line."""
    folder, path = FIXTURES / recording / "spans", tmp_path / "again.jsonl"
    done = run("export", folder, "--format", "otlp", "-o", path)
    assert done.status == 0
    assert "otlp:" not in done.notices
    before, after = load_store([str(folder)]), load_store([str(path)])
    assert spans_of(after) == spans_of(before)
    assert replace(summary_of(after), files=0, bytes=0, torn=0, skipped=0, duplicates=0) == replace(
        summary_of(before), files=0, bytes=0, torn=0, skipped=0, duplicates=0
    )
    messages = [message_of(json.loads(line)) for line in path.read_bytes().splitlines()]
    assert len(parts_of(*messages)) == len(before.spans)
    assert len(messages) >= len(traces_of(before))


@pytest.mark.parametrize("recording", ["made", "sdk-versions"])
def test_odd_recordings(recording: str, tmp_path: Path) -> None:
    """Of spans with all that can be wrong, none is missing, and what was lost is told on standard error."""
    folder, path = FIXTURES / recording / "spans", tmp_path / "again.jsonl"
    done = run("export", folder, "--format", "otlp", "-o", path)
    assert "spanview: otlp: replaced invalid Unicode in " in done.notices
    messages = [message_of(json.loads(line)) for line in path.read_bytes().splitlines()]
    assert len(parts_of(*messages)) == len(load_store(str(folder)).spans)


def test_of_otlp_itself(tmp_path: Path) -> None:
    """A file of OTLP that is exported as OTLP says the same as before."""
    source, path = FIXTURES / "otlp-json" / "spans" / "ray_official_file_exporter", tmp_path / "again.jsonl"
    assert run("export", source, "--format", "otlp", "-o", path).notices == ""
    lines = [line for file in sorted(source.iterdir()) for line in file.read_bytes().splitlines()]
    before, after = (
        parts_of(*(message_of(json.loads(line)) for line in some)) for some in (lines, path.read_bytes().splitlines())
    )
    assert before == after
    assert len(before) == 98


def test_selection(tmp_path: Path) -> None:
    """A query and a trace choose whole traces, as for trees."""
    build = Builder()
    spans = [build.span("a", trace=1), build.span("b", trace=1, parent=1), build.span("c", trace=2)]
    (tmp_path / "a.json").write_bytes(file_of(spans))
    done = run("export", tmp_path, "--format", "otlp", "-q", "name=a")
    assert [span.name for span in read(map(json.loads, done.output.splitlines()))] == ["a", "b"]
    assert run("export", tmp_path, "--format", "otlp", "-q", "name=none").output == b""
