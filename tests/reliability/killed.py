"""Writers that are killed by SIGKILL while they write, and others that then append to what they left behind."""

from __future__ import annotations

import random
import selectors
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from independent_reader import key_of, read_folder
from records import record_of
from spanview.index.store import Store
from spanview.sources.details import RecordReader
from spanview.sources.loading import load_store
from spanview.sources.session import Session
from spanview.sources.terms import ReadOptions

from .figures import Figures, Row
from .shown import spans_of
from .traced import Writing, line_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

_ROOT: Final = Path(__file__).parents[2]
_FILES: Final = 4
"""So many processes write at a time, each into a file of its own."""
_LONGEST_S: Final = 0.05
_IN_A_WRITE: Final = 0.7
_TORN_AT_LEAST: Final = 0.1
"""Of the kills that are asked for; where fewer tear a record, nothing is tried."""


def _kill(kills: int, folder: Path) -> Figures:
    figures, torn = Figures(), 0
    words = [sys.executable, "-m", "tests.reliability.traced"]
    with subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_ROOT) as writers:
        # How many kills tear a record, chance and the other programs say: it goes on until enough have.
        while figures.trials < kills or torn < kills * _TORN_AT_LEAST:
            inside = folder / str(figures.trials)
            inside.mkdir()
            reading = _Reading(inside)
            for writings in _rounds(inside, seed=figures.trials):
                reading.read_while(writers, writings)
                figures.trials += len(writings)
                torn += sum(_is_torn(Path(writing.path)) for writing in writings)
            expected = [(name, key_of(record)) for name, records in read_folder(inside).items() for record in records]
            figures.compare(expected, _shown(load_store(inside), inside), f"{inside}, read at once")
            figures.compare(expected, reading.shown(), f"{inside}, read while it was written")
        figures.notes.append(f"{torn} of {figures.trials} kills tore a record")
    return figures


def _is_torn(path: Path) -> bool:
    """Tell whether a file ends in the middle of a record; a process that was killed at once has none."""
    content = path.read_bytes() if path.exists() else b""
    return bool(content) and not content.endswith(b"}\n")


def _rounds(folder: Path, *, seed: int) -> Iterator[list[Writing]]:
    """Yield what processes write at a time; the later ones append to what the earlier ones left behind."""
    dice = random.Random(seed)
    for turn in range(2):
        yield [
            Writing(
                path=str(folder / f"{number}.{'txt' if number % 2 else 'json'}"),
                is_compact=bool(number % 2),
                seed=seed + _FILES * turn + number,
                seconds=dice.uniform(0, _LONGEST_S),
                in_a_write=dice.random() < _IN_A_WRITE,
            )
            for number in range(_FILES)
        ]


class _Reading:
    """A session that looks at a folder again and again."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._details = RecordReader()
        self._store = Store(self._details)
        self._session = Session(ReadOptions((str(folder),), follow=True), self._store, self._details)
        for _ in self._session.load():
            pass

    def read_while(self, writers: subprocess.Popen[str], writings: Iterable[Writing]) -> None:
        """Let processes write, and look until they are dead."""
        assert writers.stdin is not None
        assert writers.stdout is not None
        writers.stdin.write(line_of(writings))
        writers.stdin.flush()
        with selectors.DefaultSelector() as waiting:
            waiting.register(writers.stdout, selectors.EVENT_READ)
            while not waiting.select(0.01):
                self._session.look()
        assert writers.stdout.readline() == "dead\n"

    def shown(self) -> list[tuple[str, str]]:
        """Read what is left, and return what is shown then."""
        while self._session.look().has_more:
            pass
        self._session.close()
        shown = [*_shown(self._store, self._folder)]
        self._details.close()
        return shown


def _shown(store: Store, folder: Path) -> Iterator[tuple[str, str]]:
    """Yield each span that is shown with its file, as the independent reader has it."""
    for span in spans_of(store):
        yield str(Path(span.source.file).relative_to(folder)), key_of(record_of(span))


_KILLS: Final = 200
ROWS: Final = (Row("3", "writer killed with SIGKILL", "kills", _KILLS, _KILLS // 26, _kill),)
