"""Records with the same ids: what says the same is counted once, what differs in anything is kept and marked.

one record                  another one                        shown
----------                  -----------                        -----
a, compact                  a, indented, in another file       a, once
a, ids with 0x              a, ids without, upper case         a, once
attribute 1                 attribute 1.0, true or "1"         both, each with `duplicate_id`
a without an end            a with an end                  the one with an end, if start, parent and kind are the same
"""

from __future__ import annotations

import json
import random
from collections import defaultdict
from itertools import product
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, MemoryReader, time_text
from programs import Following, spanview
from spanview.exports.jsonl import jsonl_chunks
from spanview.formats.decoder import Decoder
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence
    from pathlib import Path

    from builders import Document

_TRACE: Final = 10**31
"""All digits of a trace id are decimal here, so that those of one trace can take the place of another's in any text."""


def _base(**fields: Any) -> Document:
    """Return a span that has something of everything; fields are as `Builder.span` takes them."""
    event = {"name": "event", "timestamp": time_text(3), "attributes": {"in event": 1}}
    link = {"context": {"trace_id": f"0x{5:032x}", "span_id": f"0x{6:016x}", "trace_state": "[]"}, "attributes": {}}
    given = {"attributes": {"value": 1, "more": {"b": [1, {"d": 2, "c": 3}], "a": "é"}}, "service": "s"} | fields
    document = Builder().span("one", span=0xAB, parent=0xCD, start=2, events=[event, event], links=[link], **given)
    document["context"]["trace_id"] = f"0x{_TRACE}"
    return document


def _with(document: Document, *path: str | int, value: Any) -> Document:
    """Return a copy of a document in which one value is another one."""
    copy: Document = json.loads(json.dumps(document))
    holder: Any = copy
    for key in path[:-1]:
        holder = holder[key]
    holder[path[-1]] = value
    return copy


def _without(document: Document, key: str) -> Document:
    return {name: value for name, value in document.items() if name != key}


def _reversed(value: Any) -> Any:
    """Return the same with all keys in the other order."""
    if isinstance(value, dict):
        return {key: _reversed(part) for key, part in reversed(value.items())}
    return [*map(_reversed, value)] if isinstance(value, list) else value


def _layouts(document: Document) -> list[bytes]:
    texts = [
        json.dumps(document),
        json.dumps(document, separators=(",", ":")),
        json.dumps(document, indent=2),
        json.dumps(_reversed(document), indent=4),
        json.dumps(document, indent=4).replace("\n", "\r\n"),
        json.dumps(document, ensure_ascii=False),
    ]
    return [text.encode() for text in texts]


def _spellings() -> list[bytes]:
    """Return the base span, as many records as there are ways to write it."""
    base = _base()
    start, end = base["start_time"], base["end_time"]
    values = [
        _with(base, "context", "trace_id", value=f"{_TRACE}"),
        _with(base, "context", "span_id", value="00000000000000ab"),
        _with(base, "context", "span_id", value="0xAB"),
        _with(base, "parent_id", value="CD"),
        _with(base, "start_time", value=start.replace("Z", "+00:00")),
        _with(base, "start_time", value=start.replace("T22:", "T23:").replace("Z", "+01:00")),
        _with(base, "end_time", value=end.replace("T", " ").replace("Z", "000Z")),
        _with(base, "kind", value="INTERNAL"),
        _with(base, "status", value={"status_code": "StatusCode.UNSET", "description": None}),
        _with(base, "resource", value=base["resource"]["attributes"]),
        _without(base, "status"),
    ]
    return [*_layouts(base), *(json.dumps(value).encode() for value in values)]


_ODD_VALUES: Final[tuple[Any, ...]] = (
    *(1.0, True, "1", [1], [], {}, None, 0, 0.0, -0.0, False, "", "0", [1.0], {"1": 1}, 1.5, "e\u0301", "é", "1.0"),
    *(2**53 + 1, float(2**53), 2**64, 2**64 + 1, float(2**64), -(2**70), float("nan"), "NaN", float("inf"), "Infinity"),
)
"""What is not the base's 1, and all different."""


def _others() -> Iterator[Document]:
    """Yield spans that have the base's ids, and differ from it and from each other."""
    base = _base()
    for value in _ODD_VALUES:
        yield _with(base, "attributes", "value", value=value)
    for number, place in enumerate(
        (
            ("attributes", "other"),
            ("attributes", "more", "b", 1, "d"),
            ("events", 0, "attributes", "in event"),
            ("events", 1, "attributes", "in event"),
            ("links", 0, "attributes", "in link"),
            ("resource", "attributes", "in resource"),
        )
    ):
        yield _with(base, *place, value=7)
        yield _with(base, *place, value=7.0 if number % 2 else "7")
    yield _with(base, "attributes", "more", "b", value=[{"d": 2, "c": 3}, 1])
    yield _with(base, "events", 1, "timestamp", value=time_text(4))
    yield _with(base, "events", 0, "timestamp", value=time_text(4))
    yield _with(base, "events", value=base["events"][:1])
    yield _with(base, "links", 0, "context", "span_id", value=f"0x{7:016x}")
    yield _with(base, "resource", "schema_url", value="https://example.org")
    yield _with(base, "context", "trace_state", value="['{key=a, value=1}']")
    yield _with(base, "status", "description", value="")
    yield _with(base, "status", "status_code", value="OK")
    yield _with(base, "kind", value="SpanKind.SERVER")
    yield _with(base, "parent_id", value=None)
    yield _with(base, "parent_id", value=f"0x{0xCE:016x}")
    yield _with(base, "start_time", value=time_text(2.001))
    yield _with(base, "start_time", value=None)
    yield _with(base, "end_time", value=time_text(11))
    yield _with(base, "end_time", value=None)
    yield _with(base, "name", value="One")
    yield _without(base, "attributes")


def _records() -> list[tuple[int, bytes]]:
    """Return all records, each with the number of the span that it is a record of."""
    records = [(0, record) for record in _spellings()]
    for number, document in enumerate(_others(), 1):
        records += [(number, json.dumps(document).encode()), (number, _layouts(document)[3])]
    return records


def _number_of(document: Document) -> int:
    """Return the number that one of the others has among the records."""
    return next(number for number, other in enumerate(_others(), 1) if other == document)


_BEGUN: Final = _number_of(_with(_base(), "end_time", value=None))
_ANOTHER: Final = frozenset(
    number
    for number, document in enumerate(_others(), 1)
    if any(document.get(key) != _base().get(key) for key in ("kind", "parent_id", "start_time"))
)
"""Those that are of another span than the one that has begun."""


def _has_ended(one: int, other: int) -> bool:
    """Return whether a span with the first number has ended as one with the other number."""
    return one == _BEGUN and other != _BEGUN and other not in _ANOTHER


# -- the table ---------------------------------------------------------------------------------------------------------


class _Pairs:
    """Pairs of records with the same ids, each pair in a trace of its own."""

    def __init__(self, count: int) -> None:
        everything = [*product(_records(), repeat=2)]
        # So that few pairs are not all of the first records.
        random.Random(25).shuffle(everything)
        self.firsts: list[bytes] = []
        self.seconds: list[bytes] = []
        self.are_doubles: list[bool] = []
        self.begun: list[tuple[bool, bool]] = []
        """Whether the first is of the second before it has ended, or the second of the first."""
        for number, ((one, first), (other, second)) in enumerate(everything[:count]):
            mark, own = str(_TRACE).encode(), str(_TRACE + 1 + number).encode()
            self.firsts.append(first.replace(mark, own) + b"\n")
            self.seconds.append(second.replace(mark, own) + b"\n")
            self.are_doubles.append(one == other)
            self.begun.append((_has_ended(one, other), _has_ended(other, one)))

    def __len__(self) -> int:
        return len(self.firsts)

    def expect(
        self,
        figures: Figures,
        lines: Iterable[Mapping[str, Any]],
        places: Sequence[tuple[tuple[str, int], tuple[str, int]]],
        where: str,
        *,
        are_live: bool = False,
    ) -> None:
        """Compare the exported lines with what the pairs are.

        Args:
            figures: Take what is wrong.
            lines: The flat export.
            places: Path and offset of both records of each pair.
            where: What the trial was.
            are_live: Whether a line was printed before what followed it was there.
        """
        shown: defaultdict[int, list[tuple[tuple[str, int], bool]]] = defaultdict(list)
        for line in lines:
            place = line["source"]["file"], line["source"]["offset"]
            shown[int(line["trace_id"]) - _TRACE - 1].append((place, "duplicate_id" in line["warnings"]))
        written, found = [], []
        for number, (first, second) in enumerate(places):
            if self.are_doubles[number]:
                # While printing, what came first has been printed; else the first by path and offset counts.
                kept = [(first if are_live else min(first, second), False)]
            elif any(self.begun[number]):
                kept = [(second if self.begun[number][0] else first, False)]
                # What has begun is printed, too, unless it is known to have ended.
                kept += [(first, False)] if are_live and self.begun[number][0] else []
            else:
                kept = [(first, not are_live), (second, True)]
            written += [(number, place) for place in kept]
            found += [(number, place) for place in shown.pop(number, [])]
        figures.compare(written, found, where)
        figures.expect(holds=not shown, what=f"{where}: other traces: {[*shown][:3]}")


def _lines_of(store: Store) -> list[dict[str, Any]]:
    return [*map(json.loads, b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines())]


def _places(path: str, records: Iterable[bytes], begin: int = 0) -> list[tuple[str, int]]:
    """Return where records stand that follow each other in a file."""
    places = []
    for record in records:
        places.append((path, begin))
        begin += len(record)
    return places


def _store_of_files(files: Mapping[str, bytes], piece: int) -> Store:
    reader = MemoryReader()
    store = Store(reader)
    for path, content in files.items():
        reader.files.append(content)
        source, decoder = store.add_source(path), Decoder()
        for at in range(0, len(content), piece):
            store.add(source, decoder.feed(content[at : at + piece]))
        store.add(source, decoder.close())
    return store


def _table(trials: int, folder: Path) -> Figures:
    """Read all pairs in one file, in two files in both orders, in small pieces, while following and by the program."""
    pairs = _Pairs(trials)
    figures = Figures(trials=len(pairs))
    one_file = [*pairs.firsts, *pairs.seconds]
    in_one = _places("a.json", one_file)
    in_two = [*zip(_places("a.json", pairs.firsts), _places("b.json", pairs.seconds), strict=True)]
    firsts, seconds = b"".join(pairs.firsts), b"".join(pairs.seconds)
    for piece in (300, 200_000):
        store = _store_of_files({"a.json": firsts + seconds}, piece)
        places = [*zip(in_one[: len(pairs)], in_one[len(pairs) :], strict=True)]
        pairs.expect(figures, _lines_of(store), places, f"one file, pieces of {piece:,}")
        _expect_count(figures, store, pairs)
    for order in ({"a.json": firsts, "b.json": seconds}, {"b.json": seconds, "a.json": firsts}):
        store = _store_of_files(order, 200_000)
        pairs.expect(figures, _lines_of(store), in_two, f"two files, {[*order]}")
        _expect_count(figures, store, pairs)
    _followed(figures, pairs, folder / "followed")
    _by_program(figures, pairs, folder / "program")
    return figures


def _expect_count(figures: Figures, store: Store, pairs: _Pairs) -> None:
    counted, expected = summary_of(store).duplicates, sum(pairs.are_doubles)
    figures.expect(holds=counted == expected, what=f"{counted:,} duplicates counted, of {expected:,}")


def _followed(figures: Figures, pairs: _Pairs, folder: Path) -> None:
    """Let the seconds be appended, some at a time, while they are followed."""
    folder.mkdir()
    first, second = folder / "b.json", folder / "a.json"
    first.write_bytes(b"".join(pairs.firsts))
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), follow=True), store, details)
    for _ in session.load():
        pass
    for at in range(0, len(pairs), 100):
        with second.open("ab") as file:
            file.write(b"".join(pairs.seconds[at : at + 100]))
        session.look()
    places = zip(_places(str(first), pairs.firsts), _places(str(second), pairs.seconds), strict=True)
    pairs.expect(figures, _lines_of(store), [*places], "followed")
    _expect_count(figures, store, pairs)
    session.close()
    details.close()


def _by_program(figures: Figures, pairs: _Pairs, folder: Path) -> None:
    """Let the program print them as they come, and export them when they are all there."""
    folder.mkdir()
    first, second = folder / "b.json", folder / "a.json"
    first.write_bytes(b"".join(pairs.firsts))
    places = [*zip(_places(str(first), pairs.firsts), _places(str(second), pairs.seconds), strict=True)]
    expected = 2 * len(pairs) - sum(pairs.are_doubles) - sum(has_ended for _, has_ended in pairs.begun)
    with Following("spans", "--follow", folder) as program:
        program.wait_for(lambda: len(program.lines) >= len(pairs))
        second.write_bytes(b"".join(pairs.seconds))
        program.wait_for(lambda: len(program.lines) >= expected)
        program.stop()
        pairs.expect(figures, map(json.loads, program.lines), places, "printed", are_live=True)
    lines = spanview("export", "--format", "jsonl", folder).output.splitlines()
    pairs.expect(figures, map(json.loads, lines), places, "exported")
    check = json.loads(spanview("check", "--json", folder).output)
    counted = check["summary"]["duplicates"]
    figures.expect(holds=counted == sum(pairs.are_doubles), what=f"{counted:,} duplicates told by check")


# -- many records of few spans -----------------------------------------------------------------------------------------


def _mixtures(trials: int, _: Path) -> Figures:
    """Read records of which several are of one span, in several files: each is a span, or a double of one."""
    figures, everything = Figures(), _records()
    for trial in range(trials):
        chance = random.Random(trial)
        texts = dict.fromkeys("abcd", b"")
        places: dict[tuple[int, int], list[tuple[str, int]]] = defaultdict(list)
        count = chance.randrange(24)
        few = chance.sample(everything, 6)
        for _number in range(count):
            (span, record), trace = chance.choice(few), chance.randrange(1, 4)
            path = chance.choice("abcd")
            places[trace, span].append((path, len(texts[path])))
            texts[path] += record.replace(str(_TRACE).encode(), str(_TRACE + trace).encode()) + b"\n"
        paths = [*texts]
        chance.shuffle(paths)
        store = _store_of_files({path: texts[path] for path in paths}, chance.choice((500, 100_000)))
        written = []
        for trace, begun in [*places]:
            if any(_has_ended(begun, span) for other, span in places if other == trace):
                count -= len(places.pop((trace, begun)))
        for (trace, _span), found in places.items():
            is_shared = sum(1 for other, _ in places if other == trace) > 1
            written.append((f"{_TRACE + trace}", *min(found), is_shared))
        lines = _lines_of(store)
        shown = [
            (line["trace_id"], line["source"]["file"], line["source"]["offset"], "duplicate_id" in line["warnings"])
            for line in lines
        ]
        figures.compare(written, shown, f"mixture {trial}")
        is_right = summary_of(store).duplicates == count - len(places)
        figures.expect(holds=is_right, what=f"mixture {trial}: {summary_of(store).duplicates} duplicates")
        figures.trials += 1
    return figures


ALL: Final = len(_records()) ** 2
ROWS: Final = (
    Row("25a", "records with the same ids, same or different", "pairs", ALL, ALL // 80 + 1, _table),
    Row("25b", "many records of few spans, across files", "mixtures", 10_000, 50, _mixtures),
)
