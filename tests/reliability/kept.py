"""Kept indexes of which a part is another one: they are not used, without a word, and figures stay what they are.

what is another one                                   the seal
-------------------                                   --------
any value of the header, a text among texts even      as it was
a value of another kind, left out or out of range     made anew, as if spanview had written it
all: it is a copy                                     as it was
its owner, or who may write to it                     as it was
"""

from __future__ import annotations

import copy
import json
import os
import random
from typing import TYPE_CHECKING, Any, Final
from unittest.mock import patch

from quick.folders import SDK_LAYOUTS, make
from quick.test_same import contents
from spanview.index.store import Store
from spanview.sources import kept
from spanview.sources.details import RecordReader
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

_FOLDERS: Final = 5
"""Whose indexes are changed, in turn."""
_OTHERS: Final = 0o666
_ODD: Final[tuple[Any, ...]] = (None, True, -1, 0.5, "x", [], {}, 2**70, float("inf"), [[[1]]], {"x": 1})
_PLAUSIBLE: Final[tuple[Any, ...]] = (0, 1, 7, "a", "torn", [0, 1], False)


def _load(folder: Path) -> tuple[dict[str, Any], bool]:
    """Return what is known of a folder, and whether that came from a kept index."""
    details = RecordReader()
    store = Store(details)
    session = Session(ReadOptions((str(folder),), quick_from=1, use_cache=True), store, details)
    for _ in session.load():
        pass
    session.keep()
    return contents(store) | {"duplicates": store.intake.duplicates}, session._is_from_kept


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Yield each place in a value: what holds it, and the key or the index there."""
    keys = value.keys() if isinstance(value, dict) else range(len(value)) if isinstance(value, list) else ()
    for key in keys:
        yield value, key
        yield from _places(value[key])


def _changed(header: Any, dice: random.Random, *, is_odd: bool) -> Any:
    """Return another header.

    Args:
        header: The header.
        dice: Decides.
        is_odd: Whether what is changed gets a value of another kind, or is left out.
    """
    changed = copy.deepcopy(header)
    holder, key = dice.choice([*_places(changed)])
    old = holder[key]
    if isinstance(holder, dict) and dice.random() < 1 / 4:
        del holder[key]
        return changed
    odd = [value for value in _ODD if type(value) is not type(old) or value in (-1, 2**70)]
    holder[key] = dice.choice(odd if is_odd else [value for value in (*odd, *_PLAUSIBLE) if value != old])
    return changed


def _rewritten(path: Path, dice: random.Random, *, is_sealed: bool) -> None:
    """Write another header into an index."""
    begin = len(kept._MAGIC) + kept._LENGTHS.size
    data = path.read_bytes()
    length, seal = kept._LENGTHS.unpack(data[len(kept._MAGIC) : begin])
    text = json.dumps(_changed(json.loads(data[begin : begin + length]), dice, is_odd=is_sealed)).encode()
    with path.open("r+b") as file:
        seal = kept._seal(file, text) if is_sealed else seal
        file.truncate(0)
        file.write(kept._MAGIC + kept._LENGTHS.pack(len(text), seal) + text + data[begin + length :])


def _copied(path: Path) -> None:
    copied = path.with_suffix(".copy")
    copied.write_bytes(path.read_bytes())
    copied.replace(path)


def _given_away(path: Path) -> None:
    if hasattr(os, "geteuid") and not os.geteuid():
        os.chown(path, 61234, -1)
    else:
        path.chmod(_OTHERS)


def _changes(dice: random.Random) -> list[tuple[str, Callable[[Path], None]]]:
    return [
        ("a header without its seal", lambda path: _rewritten(path, dice, is_sealed=False)),
        ("a header with a seal", lambda path: _rewritten(path, dice, is_sealed=True)),
        ("a header with a seal", lambda path: _rewritten(path, dice, is_sealed=True)),
        ("a copy", _copied),
        ("another user's", _given_away),
        ("open to others", lambda path: path.chmod(_OTHERS)),
    ]


def _not_used(trials: int, folder: Path) -> Figures:
    figures, dice, cache = Figures(), random.Random(33), folder / "cache"
    with patch.object(kept, "cache_folder", lambda: str(cache)), patch.object(kept, "_RACY_NS", 0):
        folders = [folder / f"{number}" for number in range(_FOLDERS)]
        for place in folders:
            place.mkdir()
            make(place, dice, files=5, records=40, layouts=SDK_LAYOUTS)
        while figures.trials < trials:
            place = folders[figures.trials % _FOLDERS]
            for path in cache.glob("*"):
                path.unlink()
            expected, _ = _load(place)
            figures.expect(holds=_load(place) == (expected, True), what=f"{place.name}: not kept")
            what, change = dice.choice(_changes(dice))
            (path,) = cache.iterdir()
            change(path)
            try:
                found, is_used = _load(place)
            except Exception as error:  # noqa: BLE001 - whatever it is, it is what must not be
                figures.expect(holds=False, what=f"{what}: {error!r}")
            else:
                figures.expect(holds=found == expected, what=f"{what}: other figures")
                figures.expect(holds=not is_used, what=f"{what}: used")
            figures.trials += 1
    return figures


ROWS: Final = (Row("33", "kept index with odd contents, or not one's own", "indexes", 500, 30, _not_used),)
