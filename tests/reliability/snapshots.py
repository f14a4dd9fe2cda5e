"""Start and end records of one span, several of each, of any resource: one span, however they are read.

records                  in files of their own, read in every order: decoded, scanned, and all at once
-------                  ----------------------------------------------------------------------------
S of process 1           a 1-5, for that is what E says
S of process 2
E of process 2, twice
"""

from __future__ import annotations

import random
from itertools import count, permutations
from typing import TYPE_CHECKING, Any, Final

from builders import Builder, file_of
from quick.folders import otlp_line
from quick.test_same import contents
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions, WorkerStart

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_NEVER: Final = 1 << 60
_FEWEST, _MOST = 3, 5
"""Records of the span."""


def _records(dice: random.Random) -> list[bytes]:
    """Return records of one span, of which those with an end say the same."""
    size, end, is_otlp = dice.randint(_FEWEST, _MOST), dice.choice((None, 5, 7)), dice.random() < 1 / 2

    def record(name: str, pid: int, end: int | None) -> bytes:
        duration = None if end is None else end - 1
        document = Builder().span(name, span=1, start=1, duration=duration, service="shop", resource={"pid": pid})
        return otlp_line(document) if is_otlp else file_of([document])

    ended = [record("a", 2, end)] * dice.randint(1, 2)
    return ended + [record(dice.choice("aA"), dice.randint(1, 3), None) for _ in range(size - len(ended))]


def _read(paths: Iterable[Path], **how: Any) -> dict[str, Any]:
    """Return what is known after reading some PATHs, one after the other."""
    details = RecordReader()
    store = Store(details)
    for path in paths:
        for _ in Session(ReadOptions((str(path),), **how), store, details).load():
            pass
    return contents(store) | {"duplicates": store.intake.duplicates}


def _in_any_order(orders: int, folder: Path) -> Figures:
    figures, dice = Figures(), random.Random(31)
    for number in count():
        place = folder / f"{number}"
        place.mkdir()
        records = _records(dice)
        paths = [place / f"{index}.jsonl" for index in range(len(records))]
        for path, record in zip(paths, records, strict=True):
            path.write_bytes(record)
        known = _read([place], quick_from=_NEVER)
        figures.compare([(1, 1)], [(span[2], span[3]) for span in known["spans"]], place)
        ways: list[dict[str, Any]] = [{"quick_from": 0}, {"quick_from": 0, "processes": WorkerStart.FORKED}]
        for way in ways:
            figures.expect(holds=_read([place], **way) == known, what=f"{records} with {way}")
        for order in permutations(paths):
            for limit in (0, _NEVER):
                found = _read(order, quick_from=limit)
                figures.expect(holds=found == known, what=f"{records} as {[path.name for path in order]}, {limit}")
            figures.trials += 1
            if figures.trials >= orders:
                return figures
    return figures


ROWS: Final = (Row("31b", "start and end records of one span, in any order", "orders", 2_000, 30, _in_any_order),)
