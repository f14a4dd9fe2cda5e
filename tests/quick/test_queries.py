"""What the bytes of records tell of an attribute is what decoding all of them tells, however it is written."""

from __future__ import annotations

import json
import random
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

import pytest

from builders import Builder, Document, time_text
from one_by_one import matches_trace
from seeds import seeds
from spanview.analysis.query.matches import matching_traces, rows_that_match
from spanview.analysis.query.query import parse_query
from spanview.index import blocks
from spanview.index.store import Store

from .folders import make, otlp_line
from .test_same import load

if TYPE_CHECKING:
    from pathlib import Path

_KEYS: Final = ("k", "k", "k", "a/b", "other", "name", 'q"k', "\\k", "K", "kk")
_VALUES: Final[tuple[Any, ...]] = (
    *("v", "v", "v", "w", "vv", "", "V", "1", "1.0", "true", "k", '"k": "v"', '\\"k', '", "k": "v', "{", "é", "a/b"),
    *(1, 1.0, 2, 0.5, True, None, ["v", "w"], ["w"], [1], {"k": "v"}, {"inner": {"k": "v"}}, [], 10**20),
    *(
        {"k": "\tabc"},
        "\tabc",
        {"k": ["\x1f", "\U0001f600", "deep"]},
        "café",
        1e22,
        "http://a/b?c=d",
        False,
        {"k": False},
    ),
)
_QUERIES: Final = (
    *("k=v", "k!=v", "-k=v", "k~v", "-k~^v$", "k=1", "k=true", "k>0", "k<=1", "k=é", 'k=""', 'k="{"', "other=k"),
    *("a/b=v", "a/b=a/b", "name=f", '"name"=f', '"q\\"k"=v', "status=ERROR k=v", "k=v -k=w", "k=v other=v", "-k=v f"),
    *(
        "trace.spans>1 k=v",
        "depth=0 k=v",
        "pid=3 k=v",
        "trace.complete=true",
        "k=v duration>1ms",
        "duration>1ms",
        "duration<1ms",
        '"attributes"=v',
        "self>1ms",
        "-self<9us k=v",
    ),
    *("any=v", "any!=v", "any~v", "-any~v", "any~^v$", "any=1", "any=2.0", "any~1", "any=k", "any=f", "any~tabc"),
    *("any~abc", "any~deep", "any~caf", "any=café", "any=a/b", "any~a/b", "any~a\\.b", "any~http://a", "any=true"),
    *("any~rue", "any~1e", "any~inner", "any~ll", "any~nner any~v", "any~000a", "any~00A", "any~^0+7$", "any=0000"),
    *(
        'any~"k\\": \\"v"',
        "any=0x00000000000000000000000000000003",
        "any~no OR any~ref",
        "any~SDK",
        "any~1f",
        "any~:fals",
    ),
    *("event=k", "event!=k", "-event=k", "event~K", "event~^k$", "event=True", "event~True"),
    *("description=refused", "description!=refused", "-description~fuse", 'description=""', "description~True"),
    *("f > g", "f >> k=v", "-(k=v > -any~v) g", "k!=v >> (f OR trace.spans>3) > status=ERROR", "pid=3 OR f >> g"),
    *("start>00:00", "start<=22:13:20.00001 k=v", "start!=3:00"),
    *('"7"=v', "true!=v", '"null"~v', 'any~"/8"', 'any="+/8="', 'any="-_8"', "any~_8"),
    *("scope=x", 'scope=""', "trace~3$", "span=000000000000000", "span!=0000000000000001 any~v"),
)


def _grouped(dice: random.Random) -> list[str]:
    """Return queries in which some of these stand in parentheses, beside an OR or not."""
    groups = []
    for _ in range(15):
        parts = [dice.choice(("", "-")) + f"({text})" for text in dice.sample(_QUERIES, 3)]
        inner = dice.choice((" OR ", " ")).join(parts[:2])
        groups.append(f"{dice.choice(('', '-'))}({inner}){dice.choice((' OR ', ' '))}{parts[2]}")
    return groups


def _attributes(dice: random.Random) -> Document:
    return {dice.choice(_KEYS): dice.choice(_VALUES) for _ in range(dice.randrange(4))}


def _text(dice: random.Random, document: Document) -> str:
    text = json.dumps(document, indent=dice.choice((None, 4)), ensure_ascii=dice.random() < 0.8)
    odd = dice.random()
    if odd < 0.05:
        return text.replace('"k"', '"\\u006b"')
    if odd < 0.1:
        return text.replace("a/b", "a\\/b").replace('"v"', '"\\u0076"')
    if odd < 0.12:
        return text.replace("\\t", "\\u0009").replace("refused", "re\\u0066used").replace("0x0", "0X0")
    if odd < 0.15:
        return text.replace('"k": ', '"k":')
    # A key that is there twice: the last one counts.
    return text.replace('"other": ', '"k": "v", "k": ') if odd < 0.2 else text


def _write(folder: Path, dice: random.Random) -> None:
    for file in range(3):
        build, texts = Builder(), []
        for _ in range(dice.randrange(60)):
            document = build.span(
                dice.choice(("f", "g", '"k": "v"', 'f", "k": "v')),
                trace=file * 10 + dice.randrange(1, 9),
                status=dice.choice(("ERROR", "OK")),
                parent=dice.choice((None, dice.randrange(1, 60))),
                description=dice.choice((None, None, "refused", "", "k")),
                attributes=_attributes(dice),
                resource=_attributes(dice) if dice.random() < 0.3 else {},
            )
            if dice.random() < 0.2:
                document["events"] = [{"name": "k", "timestamp": time_text(1), "attributes": _attributes(dice)}]
            if dice.random() < 0.05:
                # What isn't text becomes one.
                document["status"]["description"] = dice.choice((True, 1e22, {"k": "\tv"}))
                document["events"] = [{"name": True, "timestamp": time_text(1), "attributes": {}}]
            if dice.random() < 0.1:
                document["links"] = [{"context": document["context"], "attributes": _attributes(dice)}]
            if dice.random() < 0.05:
                document["context"]["k"] = "v"
            if dice.random() < 0.05:
                # Further apart than 64 bits of nanoseconds.
                document |= {"start_time": "1700-01-01T00:00:00.000000Z", "end_time": "2250-01-01T00:00:00.000000Z"}
            texts.append(_text(dice, document) + "\n")
        (folder / f"{file}.json").write_text("".join(texts), encoding="utf-8")


def _any_value(dice: random.Random, value: Any) -> Document:
    if isinstance(value, dict):
        return {"kvlistValue": {"values": _pairs(dice, value)}}
    if isinstance(value, list):
        return {"arrayValue": {"values": [_any_value(dice, item) for item in value]}}
    if isinstance(value, int) and not isinstance(value, bool):
        return {"intValue": dice.choice((str(value), str(value), f"0{value}", f"-{value}", value, f"{value}.0"))}
    member = {bool: "boolValue", float: "doubleValue", str: "stringValue"}.get(type(value))
    if member is None or dice.random() < 0.02:
        return dice.choice(({}, {"bytesValue": "-_8"}))
    odd = {"string_value": value} if member == "stringValue" else {member: str(value)}
    return odd if dice.random() < 0.05 else {member: value}


def _pairs(dice: random.Random, attributes: Document) -> Any:
    if dice.random() < 0.02:
        return {key: _any_value(dice, value) for key, value in attributes.items()}
    pairs: list[Document] = [{"key": key, "value": _any_value(dice, value)} for key, value in attributes.items()]
    for number, pair in enumerate(pairs):
        if dice.random() < 0.03:
            pairs[number] = dict(reversed(pair.items()))
        if dice.random() < 0.03:
            pair["value"] |= dice.choice(({"intValue": "1"}, {"stringValue": "v"}, {"more": "w"}))
        if dice.random() < 0.02:
            pair["key"] = dice.choice((7, True, None))
        if dice.random() < 0.02:
            pair["more"] = {"key": "k", "value": {"stringValue": "v"}}
    return pairs + ([dice.choice(pairs)] if pairs and dice.random() < 0.03 else [])


def _line(dice: random.Random, document: Document) -> bytes:
    """Return a span as a line of OTLP, mostly as the hook writes it."""
    value = json.loads(otlp_line(document))
    (of_resource,) = value["resourceSpans"]
    (of_scope,) = of_resource["scopeSpans"]
    (span,) = of_scope["spans"]
    span["attributes"] = _pairs(dice, document["attributes"])
    of_resource["resource"]["attributes"] = _pairs(dice, document["resource"]["attributes"])
    more = {
        "events": [{"timeUnixNano": "1700000000000000007", "name": "k", "attributes": _pairs(dice, _attributes(dice))}],
        "links": [{"traceId": "1" * 32, "spanId": "1" * 16, "attributes": _pairs(dice, _attributes(dice))}],
        "traceState": "k=v",
        "droppedEventsCount": 1,
        "more": dice.choice(([{"key": "k", "value": {"stringValue": "v"}}], {"k": "v"})),
    }
    span |= {name: more[name] for name in dice.sample([*more], 1) if dice.random() < 0.2}
    if dice.random() < 0.05:
        of_scope["scope"]["attributes"] = _pairs(dice, _attributes(dice))
    if dice.random() < 0.05:
        span["status"] = {
            "code": 2,
            "message": dice.choice(("refused", "k", '{"key":"k","value":{"stringValue":"v"}}')),
        }
    if dice.random() < 0.05:
        of_scope["schemaUrl"] = "k"
    if dice.random() < 0.03:
        of_scope["spans"].insert(dice.randrange(2), {"key": "k", "value": {"stringValue": "v"}})
    separators = (", ", ": ") if dice.random() < 0.05 else (",", ":")
    text = json.dumps(value, separators=separators, ensure_ascii=dice.random() < 0.5)
    odd = dice.random()
    for part, changed, until in (
        ('"k"', '"\\u006b"', 0.04),
        ('"v"', '"\\u0076"', 0.08),
        ("a/b", "a\\/b", 0.1),
        ('{"key":"k"', '{"key":"w","key":"k"', 0.12),
        ('{"key":"k"', '{"key":"k","key":"w"', 0.14),
        ('{"stringValue":"v"', '{"stringValue":"w","stringValue":"v"', 0.16),
        ('"value":{"stringValue":"v"}', '"value":{"stringValue":"v"},"value":{"stringValue":"w"}', 0.18),
        ("2.0", "2E0", 0.2),
    ):
        if odd < until:
            return text.replace(part, changed).encode("utf-8", "surrogatepass") + b"\n"
    return text.encode("utf-8", "surrogatepass") + b"\n"


def _write_lines(folder: Path, dice: random.Random) -> None:
    for file in range(3):
        build, lines = Builder(), []
        for _ in range(dice.randrange(60)):
            document = build.span(
                dice.choice(("f", "g", '"k": "v"', '{"key":"k","value":{"stringValue":"v"}}', "[")),
                trace=file * 10 + dice.randrange(1, 9),
                status=dice.choice(("ERROR", "OK")),
                parent=dice.choice((None, dice.randrange(1, 60))),
                attributes=_attributes(dice),
                resource=_attributes(dice) if dice.random() < 0.3 else {},
            )
            lines.append(_line(dice, document))
        (folder / f"{file}.jsonl").write_bytes(b"".join(lines))


def _compare(store: Store, dice: random.Random) -> int:
    rows = store.rows_in_order()
    found = 0
    for text in (*_QUERIES, *_grouped(dice)):
        query = parse_query(text)
        expected = [row for row in rows if query.keeps(store, row)]
        assert rows_that_match(store, query, rows) == expected, text
        traces = range(0, len(store.trace_table), 2)
        matching = {trace for some, _ in matching_traces(store, query, traces) for trace in some}
        assert matching == {trace for trace in traces if matches_trace(query, store, trace)}, text
        found += len(expected)
    return found


@pytest.mark.parametrize("seed", seeds(14))
def test_attributes_of_any_kind(seed: int, tmp_path: Path) -> None:
    """Keys and values that look like others, twice, nested, escaped, in events, links, resources and names."""
    dice = random.Random(seed)
    _write(tmp_path, dice)
    with patch.object(blocks, "_MAX_READ_BYTES", dice.choice((100, 5_000, 1 << 20))):
        assert _compare(load(tmp_path, quick_from=0, decodes_all=True), dice)


@pytest.mark.parametrize("seed", seeds(14))
def test_attributes_in_lines_of_otlp(seed: int, tmp_path: Path) -> None:
    """The same in pairs, whose values say of what type they are, with lists of other things around them."""
    dice = random.Random(seed)
    _write_lines(tmp_path, dice)
    with patch.object(blocks, "_MAX_READ_BYTES", dice.choice((100, 5_000, 1 << 20))):
        assert _compare(load(tmp_path, quick_from=0, decodes_all=True), dice)


_USUAL: Final = '{"key":"k","value":{"stringValue":"v"}}'
_INSTEAD: Final = {
    "usual": _USUAL,
    "another": _USUAL.replace('"v"', '"w"'),
    "a longer one": _USUAL.replace('"v"', '"vv"'),
    "of a link": f'],"links":[{{"spanId":"{1:016x}","attributes":[{_USUAL}]}}',
    "in a map": f'{{"key":"m","value":{{"kvlistValue":{{"values":[{_USUAL}]}}}}}}',
    "in a pair": f'{{"key":"m","more":{_USUAL},"value":{{}}}}',
    "beside the span": f"]}},{_USUAL}]}}]}}]}}",
    "another member": _USUAL.replace("key", "kez"),
    "twice": _USUAL + "," + _USUAL.replace('"v"', '"w"'),
    "another value": _USUAL.replace('"value"', '"valve"'),
    "the value first": '{"value":{"stringValue":"v"},"key":"k"}',
    "two values": _USUAL[:-1] + ',"value":{"stringValue":"w"}}',
    "two keys": '{"key":"k","value":{"stringValue":"v"},"key":"w"}',
    "two texts": '{"key":"k","value":{"stringValue":"v","stringValue":"w"}}',
    "text and number": '{"key":"k","value":{"stringValue":"v","intValue":"1"}}',
    "number and text": '{"key":"k","value":{"intValue":"1","stringValue":"v"}}',
    "an escape": _USUAL.replace('"v"', '"\\u0076"'),
    "a number": '{"key":"k","value":{"intValue":"1"}}',
    "a fraction": '{"key":"k","value":{"doubleValue":1.0}}',
    "no value": '{"key":"k"}',
}
"""What stands where a line of OTLP has the attributes of its span."""


_AROUND: Final = {
    "of the resource": ('"resource":{"attributes":[', _USUAL),
    "another of the resource": ('"resource":{"attributes":[', _INSTEAD["another"]),
    "a number of the resource": ('"resource":{"attributes":[', _INSTEAD["a number"]),
    "in a map of the resource": ('"resource":{"attributes":[', _INSTEAD["in a map"]),
    "behind a list of the resource": (
        '"resource":{"attributes":[',
        f'{{"key":"m","value":{{"arrayValue":{{"values":[]}}}}}},{_USUAL}',
    ),
    "beside the resource's": ('"resource":{', f'"more":[{_USUAL}],'),
    "of the scope": ('"scope":{', f'"attributes":[{_USUAL}],'),
    "in a map of the scope": ('"scope":{', f'"attributes":[{_INSTEAD["in a map"]}],'),
    "where spans are not": ('"scope":{', f'"spans":[[{_USUAL}]],'),
}
"""What stands before a span, after which text."""


@pytest.mark.parametrize("of_span", ["", _USUAL, _INSTEAD["another"]], ids=["nothing", "the same", "another"])
@pytest.mark.parametrize(("after", "more"), _AROUND.values(), ids=_AROUND)
def test_what_looks_like_an_attribute_before_a_span(after: str, more: str, of_span: str, tmp_path: Path) -> None:
    """The same, with nothing in the span, or an attribute with that key, of which both values count."""
    build, end = Builder(), '"attributes":[]}]}]}]}'
    lines = [otlp_line(build.span("f")).decode().replace(after, after + more) for _ in range(2)]
    _are_as_decoded([line.replace(end, end.replace("[", f"[{of_span}", 1)) for line in lines], tmp_path)


@pytest.mark.parametrize("instead", _INSTEAD.values(), ids=_INSTEAD)
def test_what_looks_like_an_attribute(instead: str, tmp_path: Path) -> None:
    """Each that is scanned, alone: what it is to a decoder."""
    build = Builder()
    first, line = (otlp_line(build.span("f")).decode() for _ in range(2))
    end = line.rindex("]}]}]}]}")
    tail = "" if instead.endswith("]}]}]}") else line[end:-1]
    _are_as_decoded([first, line[:end] + instead + tail + "\n"], tmp_path)


def _are_as_decoded(lines: list[str], folder: Path) -> None:
    """Ask for an attribute of lines that are scanned; the first of a kind is decoded."""
    (folder / "1.jsonl").write_text("".join(lines))
    store = load(folder, quick_from=0)
    assert len(store.spans) == 2
    assert 1 in store.intake.scanned[0]
    rows = store.rows_in_order()
    for text in ("k=v", "-k=v", "k!=v", "k~v", "k=1", "k>0", "k=vv", "w=v"):
        query = parse_query(text)
        assert rows_that_match(store, query, rows) == [row for row in rows if query.keeps(store, row)], text


@pytest.mark.parametrize("seed", seeds(14))
def test_folders_of_any_kind(seed: int, tmp_path: Path) -> None:
    """With damage and doubles."""
    dice = random.Random(seed)
    make(tmp_path, dice, files=6, records=60, anywhere=True)
    _compare(load(tmp_path, quick_from=0, decodes_all=True), dice)


def test_nothing_usual_is_decoded(tmp_path: Path) -> None:
    """Where the key stands as the SDK writes it, its bytes decide, whatever they say."""
    build = Builder()
    spans = [build.span(attributes={"k": f"v{at % 3}", "n": at}, resource={"host": "h"}) for at in range(90)]
    (tmp_path / "1.json").write_text("".join(json.dumps(span, indent=4) + "\n" for span in spans))
    (tmp_path / "2.json").write_text("".join(json.dumps(build.span(attributes={"m": "x"})) + "\n" for _ in range(9)))
    lines = [build.span(attributes={"l": f"w{at % 4}", "line": at}, resource={"node": "up"}) for at in range(40)]
    events = [{"timeUnixNano": "1700000000000000007", "name": "retry", "attributes": []}]
    (tmp_path / "3.jsonl").write_bytes(
        b"".join(otlp_line(line, events=events[: at % 2]) for at, line in enumerate(lines))
    )
    store = load(tmp_path, quick_from=0)
    rows = store.rows_in_order()
    with patch.object(Store, "span", side_effect=AssertionError("decoded")):
        for text, count in (
            ("k=v1", 30),
            ("host=h", 90),
            ("-host=h", 49),
            ("m=x", 9),
            ("z~1", 0),
            ("k=v1 m=x", 0),
            ("n>=80", 10),
            ("k~1 n<9", 3),
            ("any=nowhere", 0),
            ("any~no\\.where -any~else", 0),
            ("event=exception", 0),
            ("-description~refused m=x", 9),
            ("any=span", 139),
            ("l=w1", 10),
            ("l=w", 0),
            ("node=up line=7", 1),
            ("node!=up", 0),
            ("l~[12] line<9", 4),
        ):
            assert len(rows_that_match(store, parse_query(text), rows)) == count


def test_files_that_are_gone(tmp_path: Path) -> None:
    """What can't be read again has no attributes; its columns are asked still."""
    _write(tmp_path, random.Random(1))
    store = load(tmp_path, quick_from=0)
    (tmp_path / "1.json").write_text("")
    _compare(store, random.Random(0))
