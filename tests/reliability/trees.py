"""Trees of random spans, in any order of arrival: what a slow search makes of the same records, every span once.

in the files                  in the tree
------------                  -----------
a under itself                a, cut
b under a, no a yet           ? with b below, until a comes
b, b' with one id             both, the children below the first by path and offset
"""

from __future__ import annotations

import json
import random
from collections import deque
from itertools import permutations
from typing import TYPE_CHECKING, Any, Final, cast

from builders import Builder, Document, MemoryReader
from slow_trees import Written, export_of, lines_of, read_without_facts
from spanview.api.trace import traces_of
from spanview.exports.jsonl import jsonl_chunks
from spanview.exports.trace_tree import trace_tree_chunks
from spanview.formats.decoder import Decoder
from spanview.index.store import Store
from spanview.index.summary import summary_of
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row
from .shown import spans_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

_INDENTS: Final = (None, None, 4, 2)


class _Files:
    """Files that records are appended to, and what stands where."""

    def __init__(self) -> None:
        self.content: dict[str, bytes] = {}
        self.written: list[Written] = []

    def append(self, path: str, document: Document, *, indent: int | None = None) -> bytes:
        """Put a record at the end of a file; return its bytes, line end included."""
        record = json.dumps(document, indent=indent).encode()
        offset = len(self.content.setdefault(path, b""))
        self.content[path] += record + b"\n"
        self.written.append(Written(document, path, offset, len(record)))
        return record + b"\n"


def _any_graph(chance: random.Random, most: int) -> list[Document]:
    """Return spans whose ids, parents and times are anything: doubled, missing, in circles, all zero, null."""
    build, documents = Builder(), list[Document]()
    ids = range(chance.randrange(1, most + 1) + 1)
    for number in range(chance.randrange(1, most + 1)):
        if documents and not chance.randrange(8):
            # A double; its keys may stand in another order.
            again = list(chance.choice(documents).items())
            documents.append(dict(reversed(again) if chance.random() < 0.5 else again))
            continue
        span = chance.choice(ids)
        document = build.span(
            f"span {number}",
            trace=chance.choice((0, 1, 1, 1, 2)),
            span=span,
            parent=chance.choice((None, span, *[chance.choice(ids) for _ in range(4)], most + 7)),
            start=chance.randrange(chance.choice((1, 8, 40))),
            duration=chance.choice((None, *[chance.randrange(-3, 30) for _ in range(5)])),
            kind=chance.choice(("INTERNAL", "SERVER")),
            status=chance.choice(("UNSET", "OK", "ERROR")),
            service=chance.choice(("", "cart")),
            attributes={"number": number},
        )
        if not chance.randrange(6):
            document["start_time"] = None
        documents.append(document)
    return documents


def _expect_export(figures: Figures, store: Store, written: Sequence[Written], where: str) -> None:
    """Compare both exports, and what the public way shows, with what a slow search makes of the same records."""
    traces, counts = export_of(written)
    lines = lines_of(traces)
    figures.compare(
        [(line["name"], line["source"]["offset"], line["source"]["file"]) for line in lines],
        [(span.name, span.source.offset, span.source.file) for span in spans_of(store)],
        where,
    )
    chunks = trace_tree_chunks(store, store.traces_in_order(), summary=summary_of(store), problems=store.problems())
    exported = read_without_facts(b"".join(chunks))
    figures.expect(holds=exported["traces"] == traces, what=f"{where}: {_difference(traces, exported['traces'])}")
    is_right = exported["summary"].items() >= counts.items() and exported["problems"] == []
    figures.expect(holds=is_right, what=f"{where}: {exported['summary']}, {exported['problems']}; expected: {counts}")
    printed = [*map(read_without_facts, b"".join(jsonl_chunks(store, store.rows_in_order())).splitlines())]
    figures.expect(holds=printed == lines, what=f"{where}: {_difference(lines, printed)}")


def _difference(expected: Any, found: Any, place: str = "") -> str:
    """Return where two documents differ first."""
    if type(expected) is type(found) and isinstance(expected, dict) and expected.keys() == found.keys():
        pairs = [(key, expected[key], found[key]) for key in expected]
    elif type(expected) is type(found) and isinstance(expected, list) and len(expected) == len(found):
        pairs = [*zip(range(len(expected)), expected, found, strict=True)]
    else:
        return f"at {place}: {str(found)[:400]}; expected: {str(expected)[:400]}"
    return next((_difference(one, other, f"{place}/{key}") for key, one, other in pairs if one != other), "")


# -- any graph ---------------------------------------------------------------------------------------------------------


def _graphs(trials: int, _: Path) -> Figures:
    """Read random graphs in random pieces, which arrive in any order that their files allow."""
    figures = Figures()
    for trial in range(trials):
        chance = random.Random(trial)
        files = _Files()
        paths = [f"{number}.json" for number in range(chance.choice((1, 2, 4)))]
        chance.shuffle(paths)
        for document in _any_graph(chance, chance.choice((4, 8, 14, 30))):
            files.append(chance.choice(paths), document, indent=chance.choice(_INDENTS))
        store = _store_of_pieces(files, chance)
        figures.trials += 1
        _expect_export(figures, store, files.written, f"graph {trial}")
    return figures


def _store_of_pieces(files: _Files, chance: random.Random) -> Store:
    reader = MemoryReader()
    store = Store(reader)
    waiting: list[tuple[int, Decoder, deque[bytes]]] = []
    for path, content in files.content.items():
        cuts = sorted(chance.sample(range(len(content) + 1), min(len(content), chance.choice((0, 1, 5, 20)))))
        pieces = [content[at:end] for at, end in zip([0, *cuts], [*cuts, len(content)], strict=True)]
        reader.files.append(content)
        waiting.append((store.add_source(path), Decoder(), deque(pieces)))
    while waiting:
        source, decoder, rest = entry = chance.choice(waiting)
        if rest:
            store.add(source, decoder.feed(rest.popleft()))
        else:
            store.add(source, decoder.close())
            waiting.remove(entry)
    return store


# -- any order, while following ----------------------------------------------------------------------------------------


class _Followed:
    """A folder that is followed.

    Args:
        folder: Is made.
    """

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self.folder = folder
        self._details = RecordReader()
        self.store = Store(self._details)
        self._session = Session(ReadOptions((str(folder),), follow=True), self.store, self._details)
        for _ in self._session.load():
            pass

    def append(self, path: str, data: bytes) -> None:
        """Put bytes at the end of a file, and look."""
        with open(path, "ab") as file:
            file.write(data)
        self._session.look()

    def close(self) -> None:
        """Let go of everything."""
        self._session.close()
        self._details.close()


def _five(*rows: tuple[str, int, int | None, int]) -> list[Document]:
    return [Builder().span(name, span=number, parent=parent, start=start) for name, number, parent, start in rows]


_FIVE: Final[dict[str, list[Document]]] = {
    "chain": Builder().draw("a 0-9\n  b 1-8\n    c 2-7\n      d 3-6\n        e 4-5"),
    "fan": Builder().draw("a 0-9\n  b 1-2\n  c 1-2\n  d 0-9\n    e 0-20"),
    "missing": _five(("a", 1, None, 5), ("b", 2, 9, 1), ("c", 3, 9, 6), ("d", 4, 2, 2), ("e", 5, 8, 5)),
    "circle": _five(("a", 1, 3, 3), ("b", 2, 1, 3), ("c", 3, 2, 3), ("d", 4, 4, 1), ("e", 5, 2, 0)),
    "doubled ids": _five(("a", 1, None, 3), ("b", 1, None, 0), ("c", 2, 1, 5), ("d", 2, 2, 1), ("e", 3, 2, 0)),
}


def _orders_of_five(trials: int, folder: Path) -> Figures:
    """Let five spans come in each order, each into a file of its own, and all into one; look after each.

    All orders are tried with one of the graphs before any is tried with the next.
    """
    figures, graphs = Figures(), [*_FIVE]
    orders = [*permutations(range(5))]
    for trial in range(min(trials, len(orders) * len(graphs))):
        order, what = orders[trial % len(orders)], graphs[(trial + trial // len(orders)) % len(graphs)]
        figures.trials += 1
        for is_one_file in (False, True):
            files, followed = _Files(), _Followed(folder / f"{trial} {is_one_file}")
            for number in order:
                path = str(followed.folder / f"{0 if is_one_file else number}.json")
                followed.append(path, files.append(path, _FIVE[what][number], indent=_INDENTS[number % 4]))
                # A parent that is late is missing until it comes.
                where = f"{what}, {order}, {len(files.written)} there, one file: {is_one_file}"
                _expect_export(figures, followed.store, files.written, where)
            _expect_export(figures, _store_in_turn(files), files.written, f"{what}, {order}, at once")
            followed.close()
    return figures


def _store_in_turn(files: _Files) -> Store:
    """Return a store into which whole files were read, in the order in which they were begun."""
    reader = MemoryReader()
    store = Store(reader)
    for path, content in files.content.items():
        reader.files.append(content)
        source, decoder = store.add_source(path), Decoder()
        store.add(source, decoder.feed(content))
        store.add(source, decoder.close())
    return store


def _shuffles(trials: int, folder: Path) -> Figures:
    """Append shuffled spans to some files in pieces that end anywhere, and look after each piece."""
    figures = Figures()
    trees: dict[int, Any] = {}
    for trial in range(trials):
        # Ten orders of each set of spans; each span has a file that is its own in all orders.
        spans = _bigger(random.Random(trial // 10))
        chance, files = random.Random(trial), _Files()
        followed = _Followed(folder / str(trial))
        order = [*enumerate(spans)]
        chance.shuffle(order)
        pieces: list[tuple[str, bytes, int]] = []
        for number, document in order:
            path = str(followed.folder / f"{number:03}.json")
            record = files.append(path, document)
            cut = chance.randrange(len(record))
            pieces += [(path, record[:cut], len(files.written) - 1), (path, record[cut:], len(files.written))]
        checks = {*chance.sample(range(1, len(pieces), 2), 2), len(pieces) - 1}
        for at, (path, data, whole) in enumerate(pieces):
            followed.append(path, data)
            if at in checks:
                where = f"shuffle {trial}, {whole} of {len(order)} there"
                _expect_export(figures, followed.store, files.written[:whole], where)
        _expect_export(figures, _store_in_turn(files), files.written, f"shuffle {trial}, at once, in this order")
        store = load_store(followed.folder)
        _expect_export(figures, store, files.written, f"shuffle {trial}, at once")
        cast("RecordReader", store.intake.details.reader).close()
        names = [
            [(node.span and node.span.name, depth) for node, depth in it.walk()] for it in traces_of(followed.store)
        ]
        figures.expect(holds=trees.setdefault(trial // 10, names) == names, what=f"shuffle {trial}: another tree")
        figures.trials += 1
        followed.close()
    return figures


def _bigger(chance: random.Random) -> list[Document]:
    """Return a dozen or two of spans of one trace, most with a parent among them, some with one that never comes."""
    build, count = Builder(), chance.randrange(12, 24)
    return [
        build.span(
            f"span {number}",
            span=chance.randrange(1, count),
            parent=chance.choice((None, *[chance.randrange(1, count + count // 4) for _ in range(6)])),
            start=chance.randrange(12),
        )
        for number in range(count)
    ]


def _rows() -> Iterator[Row]:
    yield Row("23", "self-parents, cycles, doubled ids, null times", "graphs", 20_000, 80, _graphs)
    yield Row("24a", "parent missing, late or never: orders of five", "orders", 600, 15, _orders_of_five)
    yield Row("24b", "the same, bigger traces in pieces", "shuffles", 1_000, 10, _shuffles)


ROWS: Final = tuple(_rows())
