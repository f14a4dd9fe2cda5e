"""Wrong shapes in valid JSON: a document is a span, with a warning where something in it can't be, or it is skipped.

document                                        what it is
--------                                        ----------
an object with a name, a context that is an
object, and a kind, a time or a parent's id     a span, whatever else is in it
any other object, or list                       skipped
a number, a text, true, null                    text between documents
"""

from __future__ import annotations

import copy
import json
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, span_id, store_of_files, time_text, trace_id
from spanview.index.summary import summary_of

from .dice import Dice
from .exported import exported_spans
from .figures import Figures, Row

if TYPE_CHECKING:
    from pathlib import Path

    from builders import Document

_CONTEXT: Final = {"trace_id": trace_id(4), "span_id": span_id(5), "trace_state": "[]"}
_EVENT: Final[dict[str, Any]] = {"name": "event", "timestamp": time_text(1), "attributes": {}}
_LINK: Final[dict[str, Any]] = {"context": _CONTEXT, "attributes": {}}
_NO_TEXT: Final[tuple[Any, ...]] = (0, 1.5, True, [], {}, ["a"], {"a": 1}, float("nan"), 2**70)
_NO_OBJECT: Final[tuple[Any, ...]] = (0, 1.5, True, None, [], "", "x", ["a"], [{}], float("inf"))
_NO_ID: Final[tuple[Any, ...]] = (0, 1.5, True, [], {}, "x", "1" * 33, "\ud800", 2**70)
_NO_TIME: Final[tuple[Any, ...]] = (0, 1.5, True, [], {}, "", "soon", "2023-13-01T00:00:00Z", "2023-11-14T22:13:20+1")
_NO_EVENT: Final[tuple[Any, ...]] = (0, "x", None, [], {}, *({**_EVENT, key: 7} for key in _EVENT))
_NO_LINK: Final[tuple[Any, ...]] = (
    *(0, "x", None, [], {}),
    *({**_LINK, key: 7} for key in _LINK),
    {"context": {**_CONTEXT, "span_id": 7}},
)
_SHAPES: Final[dict[tuple[str, ...], tuple[tuple[Any, ...], tuple[Any, ...]]]] = {
    # place: what it may be, what it can't be
    ("name",): (("", "x", "\ud800", "\x1b"), (None, *_NO_TEXT)),
    ("context", "trace_id"): ((trace_id(1), "1" * 32, "0X" + "AB" * 16, "1"), (None, "", "0" * 32, *_NO_ID)),
    ("context", "span_id"): ((span_id(1), "1" * 16, "0X" + "AB" * 8, "1"), (None, "", "0" * 16, *_NO_ID)),
    ("context", "trace_state"): ((None, "[]", "['{key=a, value=1}']"), _NO_TEXT),
    ("parent_id",): ((None, "", "0" * 16, span_id(9), "1"), _NO_ID),
    ("kind",): (("SpanKind.SERVER", "CLIENT"), (None, "", "SpanKind.", "server", *_NO_TEXT)),
    ("start_time",): ((None, time_text(0), "2023-11-14T22:13:20Z", "2023-11-14T23:13:20.5+01:00"), _NO_TIME),
    ("end_time",): ((time_text(10**6), "2024-11-14T22:13:20Z"), _NO_TIME),
    ("status",): (("OK", {"status_code": "StatusCode.ERROR"}), (None, "", "ok", {}, {"code": 2}, 2, [], True)),
    ("status", "status_code"): (("OK", "UNSET", "StatusCode.ERROR"), (None, "", "Ok", *_NO_TEXT)),
    ("status", "description"): ((None, "", "\ud800"), _NO_TEXT),
    ("attributes",): (({}, {"a": {"b": [None, float("nan"), 2**70]}}), _NO_OBJECT),
    ("events",): (
        ([], [_EVENT], [{**_EVENT, "timestamp": None}, {**_EVENT, "attributes": None}]),
        (None, {}, "", 0, True, *([_EVENT, event] for event in _NO_EVENT)),
    ),
    ("links",): (([], [_LINK, _LINK]), (None, {}, "", 0, True, *([_LINK, link] for link in _NO_LINK))),
    ("resource",): (({}, {"a": 1}, {"attributes": {"service.name": "s"}}), _NO_OBJECT),
    ("resource", "attributes"): (({}, {"service.name": 5}, {"a": [float("inf")]}), ()),
    ("resource", "schema_url"): ((None, "", "a URL"), _NO_TEXT),
}
CHANGES: Final = tuple(
    (place, value, is_wrong)
    for place, shapes in _SHAPES.items()
    for is_wrong, values in enumerate(shapes)
    for value in values
)
"""A place in a span, a value, and whether that is of a wrong shape there."""
_IS_ONE_BY: Final = ("kind", "start_time", "end_time", "parent_id")
_OF_WRONG_SHAPE: Final = {"odd_value", "bad_id"}
_IN_A_FILE: Final = 20


def _shape(documents: int, _: Path) -> Figures:
    figures = Figures()
    while figures.trials < documents:
        dice = Dice(figures.trials)
        drawn = [_draw(dice, figures.trials + number) for number in range(_IN_A_FILE)]
        texts = [json.dumps(value, indent=dice.choice((None, 4))).encode() for value, _ in drawn]
        where = f"documents from {figures.trials} on"
        try:
            _compare(figures, drawn, texts, where)
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not as promised
            figures.expect(holds=False, what=f"{where}: {error!r}")
        figures.trials += _IN_A_FILE
    return figures


def _compare(figures: Figures, drawn: list[tuple[Any, bool | None]], texts: list[bytes], where: str) -> None:
    """Compare a file of documents with what each of them is."""
    store = store_of_files({"1.json": b"\n".join([*texts, b""])})
    exported = exported_spans(store)
    by_place = {(span["source"]["offset"], span["source"]["length"]): span for span in exported}
    expected, skipped, at = {}, [], 0
    for (value, is_wrong), text in zip(drawn, texts, strict=True):
        if _is_span(value):
            expected[at, len(text)] = is_wrong
        elif isinstance(value, dict | list):
            skipped.append((at, len(text)))
        at += len(text) + 1
    # Records that say the same are counted once: here none does.
    figures.compare([*expected], [*by_place], where)
    for place, span in by_place.items():
        is_wrong, has_warning = expected.get(place), not _OF_WRONG_SHAPE.isdisjoint(span["warnings"])
        is_as_expected = is_wrong in (None, has_warning)
        figures.expect(holds=is_as_expected, what=f"{where}: {span['warnings']}: {texts[[*by_place].index(place)]!r}")
    problems = [(problem.kind.value, problem.offset, problem.length) for problem in store.problems()]
    figures.expect(
        holds=summary_of(store).skipped == len(skipped) and problems == [("skipped", *place) for place in skipped[:1]],
        what=f"{where}: {problems}, skipped {skipped}",
    )


def _is_span(value: Any) -> bool:
    return (
        isinstance(value, dict)
        and "name" in value
        and isinstance(value.get("context"), dict)
        and any(key in value for key in _IS_ONE_BY)
    )


def _draw(dice: Dice, number: int) -> tuple[Any, bool | None]:
    """Draw a document, and whether something in it has a wrong shape; None where that isn't said."""
    document = Builder().span(f"span {number}", trace=number + 1, span=number + 1, start=number)
    draw = dice.random()
    if draw < 2 / 5:
        place, value, is_wrong = dice.choice(CHANGES)
        return changed(document, place, value), bool(is_wrong)
    if draw < 4 / 5:
        for _ in range(dice.randint(1, 6)):
            place, value, _wrong = dice.choice(CHANGES)
            document = changed(document, place, dice.choice((value, dice.value())))
            document.pop(dice.choice([*document]) if dice.random() < 1 / 4 else "", None)
        return document, None
    value = dice.choice((dice.value(), [dice.value()], dice.attributes(), {**document, "context": dice.value()}))
    is_list_of_spans = isinstance(value, list) and value and _is_span(value[0])
    return (None if is_list_of_spans else value), None


def changed(document: Document, place: tuple[str, ...], value: Any) -> Document:
    """Return a copy of a document with another value at a place, where there is one."""
    document = copy.deepcopy(document)
    holder: Any = document
    for key in place[:-1]:
        holder = holder.get(key) if isinstance(holder, dict) else None
    if isinstance(holder, dict):
        holder[place[-1]] = value
    return document


_DOCUMENTS: Final = 20_000
ROWS: Final = (Row("14a", "wrong shapes in valid JSON", "documents", _DOCUMENTS, _DOCUMENTS // 40, _shape),)
