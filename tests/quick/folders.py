"""Folders in which anything is: records of the SDK in both layouts, lines of OTLP and of spanview's own, and damage.

drawn for each record       how often
---------------------       ---------
as the SDK writes it        mostly
unusual, but whole          links, events, a description, long and escaped names, trace states, upper case,
                            ids of zero, no end, an end before the start, other keys
damaged                     cut off, cut and glued, two heads or two tails, NULs, a line of text, another document
again                       a double, or other content under the same ids; a whole file once more
started                     of lines of OTLP: the same span without an end, in the same file or in another one
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast
from unittest.mock import patch

from builders import Builder, span_id, time_text, trace_id
from spanview.formats.console.spans import span_of
from spanview.formats.own.write import span_value
from spanview.model.codes import KIND_NAMES
from spanview.model.span import Source
from spanview.model.times import parse_time
from spanview.ray.lines import loss_line_of
from spanview.sources.terms import ReadOptions

if TYPE_CHECKING:
    import random
    from collections.abc import Sequence
    from contextlib import AbstractContextManager
    from pathlib import Path

    from builders import Document

Layout: TypeAlias = int | str | None
SDK_LAYOUTS: Final[Sequence[Layout]] = (None, 4, "any")
"""Indents, and any of them; there are no documents with several spans."""
LAYOUTS: Final[Sequence[Layout]] = (*SDK_LAYOUTS, "otlp", "otlp", "batches", "batches", "own", "own")
_NAMES: Final = (
    "f ray.remote",
    "f ray.remote_worker",
    "",
    "g",
    'with "quotes" and \\',
    "ü" * 20,
    "n" * 62,
    "n" * 63,
    "n" * 64,
    "n" * 100,
    "n" * 127,
    "n" * 128,
    "a longer name " * 30,
    "lone \ud800",
    "tab\there",
    "漢字",
)
_OTLP: Final = b'{"resourceSpans"'
_OWN, _OWN_REVERSED = b'{"trace_id"', b'{"warnings"'
_SERVICES: Final = ("", "shop", 'sh"op', "ü", "s" * 300)


def _usual(dice: random.Random, ids: list[tuple[int, int]]) -> Document:
    build = Builder()
    trace, span = (dice.choice(ids) if ids and dice.random() < 0.6 else (dice.getrandbits(128) or 1, 0))[0], 0
    span = dice.getrandbits(64) or 1
    parent = dice.choice([None, None, span_id(dice.getrandbits(64))] + [span_id(each) for _, each in ids[-3:]])
    ids.append((trace, span))
    start = dice.choice((0, 5, 10**6, 10**10, dice.randrange(10**14)))
    return build.span(
        dice.choice(_NAMES[:2] if dice.random() < 0.8 else _NAMES),
        context={"trace_id": trace_id(trace), "span_id": span_id(span), "trace_state": "[]"},
        parent_id=parent,
        start=start,
        duration=dice.choice((0, 1, 10**6, dice.randrange(10**9))),
        kind=dice.choice(("PRODUCER", "CONSUMER", "INTERNAL", "SERVER", "CLIENT")),
        status=dice.choice(("UNSET", "UNSET", "OK", "ERROR")),
        service=dice.choice(_SERVICES),
        attributes=dice.choice(({}, {"ray.pid": dice.randrange(9), "list": [1, "two", 0.5]}, {"code": 'f("x")\n\t}'})),
        resource=dice.choice(({}, {"host": dice.randrange(3)}, {"run": dice.getrandbits(40)})),
    )


_LINK: Final[Document] = {
    "context": {"trace_id": trace_id(1), "span_id": span_id(1), "trace_state": "[]"},
    "attributes": {},
}
_EVENT: Final[Document] = {"name": "exception", "timestamp": time_text(3), "attributes": {"exception.type": "E"}}
_LEAP: Final = "2023-11-14T22:13:60.000000Z"
_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "links": ([_LINK],),
    "events": ([_EVENT], [_EVENT, _EVENT], [_EVENT | {"timestamp": "soon"}], [{}], [7]),
    "context trace_state": ("['{key=a, value=b}']", "['{key=a, value=\"\\}']", "odd", 'a"b'),
    "context trace_id": (trace_id(0), "0xzz", trace_id(1).upper(), None, "0x" + "AB" * 16),
    "context span_id": (span_id(0), "0x" + "AB" * 8, "12" * 8),
    "status description": ("failed", 'of "x"', "", None),
    "status status_code": ("ODD", None, "StatusCode.OK"),
    "parent_id": (span_id(0), "0x" + "AB" * 8, "", "0x12", 7),
    "end_time": (None, time_text(-5), "soon", _LEAP),
    "start_time": (None, "2023-13-14T22:13:20.000001Z", "0001-01-01T00:00:00.000000Z", "2023-11-14T24:00:00.000000Z"),
    "kind": ("SpanKind.ODD", None, "SERVER"),
    "resource": ({"service.name": "flat"}, {}, {"attributes": {}, "schema_url": 7}, None),
    "name": (7, None, ["a"]),
    "more": ({"name": "more"},),
    "attributes": (
        {"nan": float("nan"), "big": 10**30, "inner": {"name": "x"}},
        {'}, "events": [], "links": [], "resource": {': '", "context": {"trace_id": "0x'},
    ),
}
"""What a document can have that is a span still, or at least JSON."""


def _unusual(dice: random.Random, document: Document) -> None:
    """Change a document into one that isn't as most are."""
    if dice.random() < 1 / len(_VALUES):
        document.pop(dice.choice(("events", "links", "attributes", "resource", "kind", "parent_id")))
        return
    *outer, key = (names := dice.choice([*_VALUES])).split()
    (document[outer[0]] if outer else document)[key] = dice.choice(_VALUES[names])


_MANY: Final = {"arrayValue": {"values": [{"intValue": "1"}, {"stringValue": "}]}]}]}"}]}}
_OF_LOGFIRE: Final = {"logfire.span_type": "pending_span", "logfire.pending_parent_id": "0" * 16}
_OTLP_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "traceId": ("0" * 32, "AB" * 16, "zz" * 16, "1" * 31, "", None, 7),
    "spanId": ("0" * 16, "AB" * 8, "1" * 15, None),
    "parentSpanId": ("0" * 16, "AB" * 8, "", None, "12", 7),
    "flags": (1, 12, 768, "256", 2**33, None),
    "name": (7, None, "", "n" * 70, 'traceId"', '"traceId":"', "\ud800", "\t"),
    "kind": (0, 6, 12, "SPAN_KIND_SERVER", None),
    "startTimeUnixNano": ("0" * 19, "5", 5, "9" * 19, "1700000000.00000000", "170000000000000000x", None),
    "endTimeUnixNano": ("0" * 19, "1600000000000000000", "9" * 19, 1_700_000_001_000_000_000, None),
    "status": ({"code": 2, "message": 'of "x"'}, {"code": 3}, {"message": "why"}, {"code": 2, "message": ""}, None, []),
    "attributes": (
        [{"key": "list", "value": _MANY}],
        [{"key": "traceId", "value": {"stringValue": "a"}}],
        [{"key": "code", "value": {"stringValue": '}]}]}]}\n","traceId":"'}}],
    ),
    "events": ([{"timeUnixNano": "1700000000000000007", "name": "exception", "attributes": []}],),
    "links": ([{"traceId": "1" * 32, "spanId": "1" * 16, "flags": 256, "attributes": []}],),
    "traceState": ("a=b",),
    "droppedEventsCount": (1, "1"),
    "more": (7, {"spans": []}),
}
"""What a span in OTLP can have that is a span still, or at least JSON: where the layout has it, or last."""
_UNSEEN: Final[dict[str, tuple[Any, ...]]] = {
    "attributes": (
        [{"key": "odd", "value": {"stringValue": 7}}],
        [{"key": "twice", "value": {"boolValue": True}}] * 2,
        {"a": {"intValue": 1}},
    ),
    "events": ([{}], [7]),
    "links": ([{"spanId": "x"}],),
    "traceState": ("odd",),
    "droppedEventsCount": (-1,),
}
"""The same, of which only a decoder sees that it isn't as the protocol has it."""


def _otlp_value(document: Document, more_ns: int) -> dict[str, Any]:
    """Return a usual document as OTLP has it, its keys in the order of the layout that is scanned."""
    context, status, resource = document["context"], document["status"], document["resource"]["attributes"]
    times = {
        f"{name}TimeUnixNano": f"{parse_time(document[f'{name}_time']) + more_ns:019}"
        for name in ("start", "end")
        if document[f"{name}_time"]
    }
    code = ("UNSET", "OK", "ERROR").index(status["status_code"])
    span = {
        "traceId": context["trace_id"][2:],
        "spanId": context["span_id"][2:],
        **({"parentSpanId": document["parent_id"][2:]} if document["parent_id"] else {}),
        "flags": 256,
        "name": document["name"],
        "kind": KIND_NAMES.index(document["kind"][9:]) + 1,
        **times,
        "status": {"code": code} if code else {},
        "attributes": _pairs(document["attributes"]),
    }
    of_scope = {"scope": {"name": "lib"}, "spans": [span]}
    return {"resourceSpans": [{"resource": {"attributes": _pairs(resource)}, "scopeSpans": [of_scope]}]}


def _batched(dice: random.Random, document: Document, *, odd: float, anywhere: bool) -> dict[str, Any]:
    """Return a document with the span of a usual one, perhaps unusual, in the order of an exporter or of the hook."""
    value = _otlp_value(document, dice.choice((0, 1, 999)))
    (of_resource,) = value["resourceSpans"]
    (of_scope,) = of_resource["scopeSpans"]
    (span,) = of_scope["spans"]
    if dice.random() < 0.6:
        span |= {key: span.pop(key) for key in ("attributes", "status", "flags")}
    for key, likely in {"events": 0.2, "links": 0.1}.items():
        if dice.random() < likely:
            span[key] = dice.choice((1, 2)) * _OTLP_VALUES[key][0]
    if dice.random() < 0.2:
        span["status"] = {"message": dice.choice(("no", 'of "x"', "\\d")), "code": 2}
    if dice.random() < odd:
        values = _UNSEEN if anywhere and dice.random() < 0.5 else _OTLP_VALUES
        key = dice.choice([*values])
        span |= {key: dice.choice(values[key])}
    if dice.random() < odd and document["parent_id"] and "endTimeUnixNano" in span:
        span |= {"endTimeUnixNano": span["startTimeUnixNano"], "attributes": _pairs(_OF_LOGFIRE)}
    for holder in (of_scope, of_resource):
        if dice.random() < 0.1:
            holder["schemaUrl"] = "https://a/1"
    return value


def _batch(dice: random.Random, documents: Sequence[Document], *, odd: float, anywhere: bool) -> bytes:
    """Return a line of OTLP with a span for each usual document, by resource and scope."""
    of_resources: list[dict[str, Any]] = []
    for document in documents:
        (of_resource,) = _batched(dice, document, odd=odd, anywhere=anywhere)["resourceSpans"]
        if not of_resources or dice.random() < 0.4:
            of_resources.append(of_resource)
        elif dice.random() < 0.4:
            of_resources[-1]["scopeSpans"] += of_resource["scopeSpans"]
        else:
            of_resources[-1]["scopeSpans"][-1]["spans"] += of_resource["scopeSpans"][0]["spans"]
    some = dice.choice(of_resources)
    of_scope = dice.choice(some["scopeSpans"])
    span = of_scope["spans"][-1]
    if dice.random() < odd:
        dice.choice(
            (
                lambda: some.pop("resource"),
                lambda: of_resources.append({"resource": {}}),
                lambda: some.update(resource=some.pop("resource")),
                lambda: some["scopeSpans"].append({"more": [span], "spans": []}),
                lambda: of_scope.update(more={"spans": [span]}),
                lambda: of_scope["spans"].append(dice.choice((7, {}, [span]))),
                lambda: of_scope["spans"].append(dict(reversed(span.items()))),
            )
        )()
    text = json.dumps({"resourceSpans": of_resources}, separators=(",", ":"), ensure_ascii=dice.random() < 0.5)
    return text.encode("utf-8", "surrogatepass")


_OWN_VALUES: Final[dict[str, tuple[Any, ...]]] = {
    "trace_id": ("0" * 32, "AB" * 16, "zz" * 16, "1" * 16, None, 7),
    "span_id": ("0" * 16, "AB" * 8, "1" * 15, None),
    "parent_id": ("0" * 16, "AB" * 8, "", "12", 7),
    "name": (None, 7, "n" * 70, 'trace_id"', '"trace_id":"', "\ud800", "\t"),
    "kind": ("ODD", None, 7),
    "start_time": (
        None,
        "soon",
        "2023-11-14T22:13:20.000000001Z",
        "2023-11-14T22:13:60.000000Z",
        "2023-11-14T22:13:20Z",
    ),
    "end_time": (None, "soon", "2262-04-11T23:47:16.854775807Z", "2262-04-11T23:47:16.854775808Z", time_text(-5)),
    "duration_ns": (None, -5, 0.5, "7", 10**30),
    "status": ({"code": "ERROR", "description": "d"}, {"code": "ODD"}, {}, {"code": "OK", "description": 7}, None),
    "attributes": ({"trace_id": "a"}, {"a": {"trace_id": 7}}, {"code": '}}\n","trace_id":"'}, {"a": [{"b": {}}, []]}),
    "links": ([{"trace_id": "1" * 32, "span_id": "1" * 16, "trace_state": {}, "attributes": {}}],),
    "trace_state": ({"a": "b"}, {"a": 7}, None),
    "resource": ({"attributes": {"service.name": 7}, "schema_url": ""}, {"attributes": {}}, {}, None),
    "scope": (None, {"name": "lib", "version": None, "schema_url": None, "attributes": {}}, {"name": 7}, 7),
    "extra": ({"flags": 256}, {}, 7),
    "source": ({}, None, {"file": "}}", "offset": 7}),
    "warnings": (["orphan"], ["bad_id"], ["odd_value", "orphan"], 7),
    "more": (7, {"trace": 7}),
}
"""What a line of spanview's own can have that is a span still, or at least JSON."""


def own_line(dice: random.Random, document: Document, *, odd: float) -> bytes:
    """Return the line of spanview's own of a usual document, perhaps an unusual one."""
    span = span_of(document, Source("a \u00e4.json", dice.randrange(10**6), dice.randrange(2000)))
    value = {"trace_id": span.trace_id, **span_value(span, dice.choice((None, 7, 10**9)))}
    if dice.random() < 0.3:
        value["scope"] = _OWN_VALUES["scope"][1]
    if dice.random() < 0.3:
        value = {**value, "extra": {"flags": 256}, "source": value.pop("source"), "warnings": value.pop("warnings")}
    if dice.random() < 0.4:
        value |= {"wait_ns": dice.choice((0, 7, 10**9)), "waited_for": "worker_start", "on_critical_path": True}
    if dice.random() < 0.2:
        value["end_time"] = value["duration_ns"] = None
    if dice.random() < 0.2 and value["end_time"]:
        value["end_time"] = value["end_time"].replace("Z", "777Z")
    if dice.random() < odd:
        key = dice.choice([*_OWN_VALUES])
        value[key] = dice.choice(_OWN_VALUES[key])
    if dice.random() < odd:
        value.pop(dice.choice([*value]))
    if dice.random() < odd / 4:
        value = dict(reversed(value.items()))
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=dice.random() < 0.3)
    return text.encode("utf-8", "surrogatepass")


def otlp_line(document: Document, **fields: Any) -> bytes:
    """Return the line of a usual document in the layout that is scanned.

    Args:
        document: As a builder makes it; its end may be left out.
        fields: What the span has besides or instead.
    """
    value = _otlp_value(document, 0)
    span = value["resourceSpans"][0]["scopeSpans"][0]["spans"][0] | fields
    value["resourceSpans"][0]["scopeSpans"][0]["spans"] = [span]
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


def _pairs(attributes: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {"key": key, "value": {"stringValue": value} if isinstance(value, str) else {"intValue": str(value)}}
        for key, value in attributes.items()
        if isinstance(value, str | int)
    ]


def _otlp_text(dice: random.Random, document: Document, *, odd: float, anywhere: bool) -> tuple[str, str]:
    """Return the line of a usual document, and what was written when its span began."""
    value = _otlp_value(document, dice.choice((0, 1, 999)))
    (of_resource,) = value["resourceSpans"]
    (of_scope,) = of_resource["scopeSpans"]
    (span,) = of_scope["spans"]
    if dice.random() < 0.1:
        of_scope["schemaUrl"] = of_resource["schemaUrl"] = "https://a/1"
    if dice.random() < 0.1:
        span["events"] = _OTLP_VALUES["events"][0]
    if dice.random() < 0.1:
        span["status"] = {"code": 2, "message": dice.choice(("no", 'of "x"', "\\d"))}
    begun = {key: part for key, part in span.items() if key not in {"endTimeUnixNano", "events"}} | {"status": {}}
    begun["attributes"] = begun["attributes"][:1]
    other = {"resourceSpans": [of_resource | {"scopeSpans": [of_scope | {"spans": [begun]}]}]}
    if dice.random() < odd:
        values = _UNSEEN if anywhere and dice.random() < 0.5 else _OTLP_VALUES
        key = dice.choice([*values])
        changed = span | {key: dice.choice(values[key])}
        span.clear()
        span |= {name: changed[name] for name in [*_OTLP_VALUES, *changed] if name in changed}
    if dice.random() < odd and document["parent_id"] and "endTimeUnixNano" in span:
        span |= {"endTimeUnixNano": span["startTimeUnixNano"], "attributes": _pairs(_OF_LOGFIRE)}
    if dice.random() < odd:
        dice.choice(
            (
                lambda: of_scope["spans"].append(span | {"spanId": f"{dice.getrandbits(64) | 1:016x}"}),
                of_scope["spans"].clear,
                lambda: span.pop(dice.choice([*({*span} - {"endTimeUnixNano"})])),
                lambda: of_resource.pop("resource"),
                lambda: of_scope.pop("scope"),
                lambda: of_resource["resource"].update(
                    attributes=[{"key": "service.name", "value": {"intValue": "1"}}]
                ),
                lambda: of_resource["resource"].update(attributes=[{"key": "a", "value": {"intValue": "x"}}]),
                lambda: value["resourceSpans"].append({"resource": {}}),
                lambda: value.update(more=7),
            )
        )()
    texts = (json.dumps(part, separators=(",", ":"), ensure_ascii=dice.random() < 0.5) for part in (value, other))
    return next(texts), next(texts)


def _records(
    dice: random.Random, documents: Sequence[Document], layout: Layout, *, odd: float, anywhere: bool
) -> tuple[bytes, bytes]:
    """Return the record of usual documents, perhaps an unusual one, and what was written when its span began.

    All but those with several spans are of the first document.
    """
    document = documents[0]
    if layout == "batches":
        return _batch(dice, documents, odd=odd, anywhere=anywhere), b""
    if layout == "own":
        return own_line(dice, document, odd=odd), b""
    if layout == "otlp":
        texts = _otlp_text(dice, document, odd=odd, anywhere=anywhere)
    else:
        if dice.random() < odd:
            _unusual(dice, document)
        text = _text(dice, document) if layout == "any" else json.dumps(document, indent=cast("int | None", layout))
        texts = text, ""
    record, begun = (part.encode("utf-8", "surrogatepass") for part in texts)
    return record, begun


def _text(dice: random.Random, document: Document) -> str:
    if dice.random() < 0.02:
        document = dict(reversed(document.items()))
    indent = dice.choice((None, 4)) if dice.random() < 0.9 else 2
    return json.dumps(document, indent=indent, ensure_ascii=dice.random() < 0.9)


def _damaged(dice: random.Random, text: bytes, other: bytes, *, anywhere: bool) -> bytes:
    """Return what damage makes of a record; `other` is another one."""
    cut, other_cut = dice.randrange(len(text)), dice.randrange(len(other))
    # Blanks between the two are seen wherever they are.
    blank_cut = other_cut
    once, behind_head, behind_skipped = b'"kind"', text.find(b'"attributes": {'), text.rfind(b'"links": [')
    if text.startswith(_OTLP):
        once = b'"traceId"'
        behind_head, behind_skipped = text.find(b'"attributes":[', text.find(b'"kind"')), len(text) - len(b"}]}]}]}")
    elif text.startswith((_OWN, _OWN_REVERSED)):
        once = b'"trace_id"'
        found = (text.find(key) for key in (b'"attributes"', b'"extra"', b'"source"'))
        behind_head, behind_skipped = min((at for at in found if at > 0), default=len(text)), len(text)
    if not anywhere and cut > behind_head and other_cut > other.find(once):
        # The front of one and the end of another look like a record; only a decoder sees it.
        other_cut = 0
    at = cut
    while not anywhere and behind_head < at < behind_skipped:
        at = dice.randrange(len(text))
    return dice.choice(
        (
            text[:cut],
            text[:cut] + b"\n",
            text[cut:] + b"\n",
            text[:cut] + other,
            text[:cut] + b"\n" + other + b"\n",
            text[:cut] + other[other_cut:] + b"\n",
            text[:cut] + bytes(dice.randint(1, 600)) + other[blank_cut:] + b"\n",
            text[:at] + bytes([dice.randrange(256)]) + text[at + 1 :] + b"\n",
            text[:at] + bytes([dice.randrange(256)]) + text[at:] + b"\n",
            text,
            text + b"\r\n",
            text + b"\n\n",
            b"[" + text + b",\n" + other + b"]\n",
            b"  " + text + b"\n",
            text + b",\n",
            b"a line of text\n" + text + b"\n",
            b"{" + text + b"\n",
            b'{"outer":\n' + text + b"\n" + other + b"\n}\n",
            b'{"not": "a span"}\n',
            loss_line_of({}, 17, 3, "a full disk") + text + b"\n",
            b"\xef\xbb\xbf" + text + b"\n",
        )
    )


def make(
    folder: Path,
    dice: random.Random,
    *,
    files: int,
    records: int,
    anywhere: bool = False,
    layouts: Sequence[Layout] = LAYOUTS,
) -> None:
    """Make files of some records each.

    Args:
        folder: Where.
        dice: Decides.
        files: So many, at most.
        records: Of each, at most.
        anywhere: Whether there may be damage that only a decoder sees.
        layouts: Those of the files, each as likely.
    """
    ids: list[tuple[int, int]] = []
    before: list[bytes] = []
    for number in range(dice.randint(1, files)):
        odd, broken = dice.choice((0, 0.02, 0.1, 0.7)), dice.choice((0, 0, 0.02, 0.1, 0.5))
        layout = dice.choice(layouts)
        # Two that follow one another can again look like a record that only a decoder sees through.
        parts, begun, was_broken = list[bytes](), list[bytes](), False
        for _ in range(dice.randint(0, records)):
            document = _usual(dice, ids)
            if dice.random() < 0.02 and len(ids) > 1:
                # Other content under ids that are there.
                trace, span = dice.choice(ids)
                document["context"] |= {"trace_id": trace_id(trace), "span_id": span_id(span)}
            more = [_usual(dice, ids) for _ in range(dice.randint(0, 4))] if layout == "batches" else []
            record, started = _records(dice, [document, *more], layout, odd=odd, anywhere=anywhere)
            begun += [started + b"\n"] * (dice.choice((0, 0, 0, 1, 1, 2)) if started else 0)
            if before and dice.random() < 0.03:
                record = dice.choice(before)
            before = [*before[-50:], record]
            was_broken = (anywhere or not was_broken) and dice.random() < broken
            parts.append(
                _damaged(dice, record, dice.choice(before), anywhere=anywhere) if was_broken else record + b"\n"
            )
        if begun and dice.random() < 0.5:
            dice.shuffle(begun)
            (folder / f"{number}.{dice.choice('az')}").write_bytes(b"".join(begun))
        elif begun and not broken:
            parts += begun
            dice.shuffle(parts)
        data = b"".join(parts)
        if number and dice.random() < 0.2:
            data = (folder / f"{dice.randrange(number)}.json").read_bytes()
        (folder / f"{number}.json").write_bytes(data[: len(data) - dice.choice((0, 0, 1, 3, 200))])


def quick_from(least: int) -> AbstractContextManager[object]:
    """Return a context in which whoever doesn't ask for another limit reads so many bytes, and more, quickly."""
    names = ReadOptions._fields
    defaults = [*(ReadOptions.__new__.__defaults__ or ())]
    defaults[names.index("quick_from") - len(names)] = least
    return patch.object(ReadOptions.__new__, "__defaults__", tuple(defaults))
