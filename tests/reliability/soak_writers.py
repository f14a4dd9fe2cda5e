"""Many programs that are traced: each writes, rotates, cuts, removes and re-makes a file of its own, until it is ended.

Run as `python -m tests.reliability.soak_writers FOLDER WRITERS COUNTS`: it forks so many writers and waits for the end
of its standard input. COUNTS is a file of `Counts`: what is cut off before it was shown can't be shown any more, so the
writers wait for what whoever reads them tells there.
"""

from __future__ import annotations

import mmap
import os
import random
import select
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from builders import Builder, file_of

if TYPE_CHECKING:
    from collections.abc import Callable

_PER_SECOND: Final = 5.0
_PATIENCE_S: Final = 20.0
OWN_FOLDER_EACH: Final = 5
"""One in so many writers has a folder of its own."""
WRITTEN, SHOWN = range(2)


class Counts:
    """How many spans writers have written, and how many of them were shown; shared by processes.

    Args:
        path: The file, which is made where it isn't there.
        writers: How many there are.
    """

    def __init__(self, path: Path, writers: int) -> None:
        size = 8 * (2 * writers + 1)
        with path.open("a+b") as file:
            file.truncate(size)
            self._numbers = memoryview(mmap.mmap(file.fileno(), size)).cast("Q")

    @property
    def is_over(self) -> bool:
        """Whether the writers are to end."""
        return bool(self._numbers[-1])

    def end(self) -> None:
        """Let the writers end."""
        self._numbers[-1] = 1

    def get(self, writer: int, what: int) -> int:
        """Return a count of a writer."""
        return self._numbers[2 * writer + what]

    def set(self, writer: int, what: int, count: int) -> None:
        """Set a count of a writer."""
        self._numbers[2 * writer + what] = count


def name_of(writer: int, number: int) -> str:
    """Return the name of a span."""
    return f"writer {writer} {number}"


class _Writer:
    """One program."""

    def __init__(self, folder: Path, number: int, counts: Counts) -> None:
        self._number = number
        self._counts = counts
        self._dice = random.Random(number)
        self._build = Builder()
        self._written = 0
        self._has_folder = number % OWN_FOLDER_EACH == 0
        self._path = folder / str(number) / "1.json" if self._has_folder else folder / f"{number}.json"
        self._path.parent.mkdir(exist_ok=True)
        self._file = self._path.open("ab", buffering=0)

    def run(self) -> None:
        """Write until it is over."""
        ways = [self._rotate, self._remove, self._cut, self._open_anew, self._halve, self._halve]
        if self._has_folder:
            ways.append(self._remove_folder)
        while not self._counts.is_over:
            time.sleep(self._dice.expovariate(_PER_SECOND))
            self._write()
            if self._dice.random() < 0.04:
                self._dice.choice(ways)()

    def _write(self, *, pause_s: float = 0.0) -> None:
        name = name_of(self._number, self._written)
        padding = "x" * self._dice.choice([0, 100, 2_000])
        record = self._build.span(name, trace=1 + self._number, attributes={"of": name, "padding": padding})
        line = file_of([record])
        at = self._dice.randrange(len(line)) if pause_s else 0
        self._file.write(line[:at])
        time.sleep(pause_s)
        self._file.write(line[at:])
        self._written += 1
        self._counts.set(self._number, WRITTEN, self._written)

    def _until_shown(self) -> None:
        """Wait until all was shown, because it will be gone."""
        deadline = time.monotonic() + _PATIENCE_S
        while self._counts.get(self._number, SHOWN) < self._written and time.monotonic() < deadline:
            time.sleep(0.02)

    def _once_gone(self, lose: Callable[[], object]) -> None:
        """Lose the file's name, write to it still, and make the next one."""
        self._until_shown()
        self._write()
        lose()
        time.sleep(self._dice.uniform(0, 0.2))
        self._write()
        self._file.close()
        self._file = self._path.open("ab", buffering=0)

    def _rotate(self) -> None:
        self._once_gone(lambda: self._path.rename(self._path.with_suffix(".1")))

    def _remove(self) -> None:
        self._once_gone(self._path.unlink)

    def _remove_folder(self) -> None:
        self._until_shown()
        self._file.close()
        shutil.rmtree(self._path.parent)
        time.sleep(self._dice.uniform(0, 1))
        self._path.parent.mkdir()
        self._file = self._path.open("ab", buffering=0)

    def _cut(self) -> None:
        self._until_shown()
        self._file.truncate(0)

    def _open_anew(self) -> None:
        self._until_shown()
        self._file.close()
        self._file = self._path.open("wb", buffering=0)
        time.sleep(self._dice.uniform(0, 0.3))

    def _halve(self) -> None:
        self._write(pause_s=self._dice.uniform(0, 1))


def main() -> None:
    """Run the writers."""
    folder, writers, counts = Path(sys.argv[1]), int(sys.argv[2]), Counts(Path(sys.argv[3]), int(sys.argv[2]))
    children = []
    for number in range(writers):
        child = os.fork()
        if not child:
            _Writer(folder, number, counts).run()
            return
        children.append(child)
    select.select([sys.stdin], [], [])
    counts.end()
    sys.exit(sum(os.waitpid(child, 0)[1] != 0 for child in children))


if __name__ == "__main__":
    main()
