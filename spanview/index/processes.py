"""Which process a span is of: the one that its file is named after, else what its resource says, else its file.

file                            resource                              process
----                            --------                              -------
8714.jsonl                      service.instance.id=a1                8714.jsonl
8714.jsonl.1                    service.instance.id=a1                8714.jsonl.1
node7-8714-1717000000.2.jsonl   service.instance.id=a1                node7-8714-1717000000.jsonl
received-20261123T133005Z.jsonl service.name=api, .instance.id=a1     api a1, also in the files that follow
traces.json                     host.name=web-1, process.pid=12       web-1 12
traces.json                     service.name=api                      traces.json

The generation of a file counts, too: after truncation, another process may write to it.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from spanview.index.table import FileSource, Interned

if TYPE_CHECKING:
    from collections.abc import Sequence

END: Final = r"(?:\.gz|\.zst)?$"
"""Compressed, a file is still named after what wrote it."""
_PID: Final = re.compile(rf"(?:^|[/\\])([0-9]{{1,18}})\.(?:txt|json|jsonl|ndjson|log)(?:\.[0-9]{{1,3}})?{END}")
_RAY_LOG: Final = re.compile(r"(?:^|[/\\])worker-[0-9a-f]+-([0-9a-f]+)-([0-9]{1,18})\.(?:out|err)$")
# The stem of ip-10-0-0-5-8714-1717000000.2.started.jsonl, and its ending.
_OF_PROCESS: Final = re.compile(rf"(-[0-9]{{1,7}}-[0-9]{{9,20}})(?:\.[0-9]+)?(?:\.started)?(\.jsonl{END})")
# In milliseconds, as in ip-10-0-0-5-8714-1717000000123.started.jsonl.
_BEGAN: Final = re.compile(rf"-[0-9]{{1,7}}-([0-9]{{13}})(?:\.[0-9]+)?(?:\.started)?\.jsonl{END}")
RECEIVED_FILE: Final = re.compile(r"received-\d{8}T\d{6}Z(?:\.\d+)?\.jsonl")
"""The name of a file that `spanview receive` has written."""
_GENERATION: Final = "\0"
"""Between the path and the generation of a file; no path has it, and no text that a resource gives."""


def pid_of_file(path: str) -> int | None:
    """Return the pid that a file is named after; None if it isn't, or may not be."""
    if (match := _PID.search(path)) is not None:
        return int(match[1])
    return None if (match := _RAY_LOG.search(path)) is None else int(match[2])


def has_starts(path: str) -> bool:
    """Tell whether a file is named as those of spanview's hook, which writes spans when they start, too."""
    return _OF_PROCESS.search(path) is not None


def job_of_file(path: str) -> str:
    """Return the job of a Ray worker from the name of its output file; empty for other names."""
    match = _RAY_LOG.search(path)
    return "" if match is None else match[1]


def file_of_process(path: str) -> str:
    """Return the first file of a process's spans, where a file has more of them, or those that it started.

    Every other path is returned as it is.
    """
    return _OF_PROCESS.sub(r"\1\2", path)


def began_ns_of_file(path: str) -> int | None:
    """Return when the process began that a file of spanview's hook is named after, in nanoseconds since 1970."""
    match = _BEGAN.search(path)
    return None if match is None else int(match[1]) * 1_000_000


class SpanProcesses:
    """The processes of all spans, numbered in the order in which they come."""

    def __init__(self, sources: Sequence[FileSource]) -> None:
        self._sources = sources
        self.texts = Interned()
        """What each is known by."""
        self._first_files: dict[str, int] = {}

    def __len__(self) -> int:
        return len(self.texts.texts)

    def number(self, source: int, said: str) -> int:
        """Return the number of a process.

        Args:
            said: What the resource says of the process, as `Resource.process` has it.
        """
        if not said or self._is_named(source):
            return self.texts[self._of_file(source)]
        return self.texts.number(said.replace(_GENERATION, " "))

    def file(self, number: int) -> FileSource | None:
        """Return the first file of a process, with its generation; None for one that is known by its resource."""
        path, generation, digits = self.texts.texts[number].partition(_GENERATION)
        return FileSource(path, int(digits)) if generation else None

    def first_file(self, number: int) -> int | None:
        """Return the number of the first file of a process, empty ones included; None if its resource tells it."""
        text = self.texts.texts[number]
        if text not in self._first_files and _GENERATION in text:
            for source in range(len(self._sources)):
                self._first_files.setdefault(self._of_file(source), source)
        return self._first_files.get(text)

    def text(self, number: int) -> str:
        """Return what a process is known by: `api 627cc493`, `spans/8714.txt`, `spans/8714.txt #2`."""
        file = self.file(number)
        if file is None:
            return self.said(number)
        return f"{file.path} #{file.generation + 1}" if file.generation else file.path

    def said(self, number: int) -> str:
        """Return what resources say of a process; empty for one that is known by its file."""
        text = self.texts.texts[number]
        return "" if _GENERATION in text else text

    def forget_files(self) -> None:
        """Forget the numbers of files, which are others from now on."""
        self._first_files.clear()

    def _of_file(self, source: int) -> str:
        file = self._sources[source]
        return f"{file_of_process(file.path)}{_GENERATION}{file.generation}"

    def _is_named(self, source: int) -> bool:
        path = self._sources[source].path
        return pid_of_file(path) is not None or _OF_PROCESS.search(path) is not None
