"""Measure spanview and print a table, then the same as JSON: `python -m tests.benchmarks [--quick] [P2 P4 …]`."""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from dataclasses import asdict, replace
from pathlib import Path
from subprocess import SubprocessError
from typing import TYPE_CHECKING, Final

from spanview.exports.html import MAX_SPANS
from spanview.sources.loading import load_store

from . import each_key, events, following, inside, peers, processes, pushing, receiving, trace_keys, viewer, writing
from .figures import Figure, as_installed, table
from .folders import PROCESSES, Form, Layout, Shape, folder_of, repeated
from .key_scripts import LISTED, OPENED

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_FULL, _QUICK = 200_000, 10_000
_LARGER: Final = 5
"""So many times more spans have the folders of what is measured on large ones."""
_HUGE: Final = 10
"""So many times more spans than these has what is measured on huge ones: 12 GB, for as long as it is measured."""
_SMALL: Final = 10
"""Spans of each trace where many traces are wanted."""
_PER_REQUEST: Final = 100
"""Spans for each request of Ray Serve, where every view is to have something to show."""
_OBJECTS: Final = 60_000
"""Spans that are looked at in Python."""
_MANY_FILES: Final = 2_000
_ASKED_FOR: Final = {"P15"}
"""What is measured only where it is named: it needs room, and a quarter of an hour."""
_GOALS: Final = (
    *(f"P{number}" for number in range(1, 23)),
    "keys",
    "peers",
)


def main(words: Sequence[str]) -> int:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument(
        "goals", nargs="*", metavar="GOAL", help=f"one of {' '.join(_GOALS)}; all but {' '.join(_ASKED_FOR)} without"
    )
    parser.add_argument("--quick", action="store_true", help="smaller folders: minutes become seconds")
    parser.add_argument("--rounds", type=int, help="how often each is run, in turns: 5 without, 2 with --quick")
    parser.add_argument("--folder", type=Path, help="measure these span files: what can be measured of any folder")
    given = parser.parse_args(words)
    rounds = given.rounds or (2 if given.quick else 5)
    as_installed()
    figures: list[Figure] = []
    has_failed = False
    spans = _QUICK if given.quick else _FULL
    for goal, measure in _measures(spans, rounds) if given.folder is None else _of(given.folder, rounds):
        if goal in given.goals or (not given.goals and goal not in _ASKED_FOR):
            try:
                figures += measure()
            except (OSError, RuntimeError, ValueError, SubprocessError) as error:
                # What took an hour to measure isn't lost by it.
                has_failed = True
                sys.stderr.write(f"couldn't measure {goal}: {error}\n")
            else:
                sys.stderr.write(f"measured {goal}\n")
    sys.stdout.write(table(figures) + "\n\n")
    sys.stdout.write(json.dumps([{**asdict(figure), "ratio": figure.ratio} for figure in figures], indent=1) + "\n")
    return int(has_failed)


def _measures(spans: int, rounds: int) -> list[tuple[str, Callable[[], list[Figure]]]]:
    many = spans * _LARGER

    def memory() -> list[Figure]:
        with tempfile.TemporaryDirectory() as empty:
            return processes.memory(folder_of(Shape(many)), many, Path(empty), rounds)

    def mixed() -> list[Figure]:
        folder = folder_of(Shape(many, layout=Layout.MIXED))
        return processes.loading(folder, rounds, " of both layouts")

    def growth() -> list[Figure]:
        return processes.growth((folder_of(Shape(many)), many), (folder_of(Shape(spans)), spans), rounds)

    def files() -> list[Figure]:
        return processes.files(folder_of(Shape(many, files=_MANY_FILES)), folder_of(Shape(many)), many, rounds)

    def in_list() -> list[Figure]:
        return viewer.keys_in_list(folder_of(Shape(spans, 2)), folder_of(Shape(spans // 100, 2)), 8 * rounds)

    def in_trace() -> list[Figure]:
        long = folder_of(Shape(spans // 2, spans // 2))
        return viewer.keys_in_trace(long, folder_of(Shape(spans // 200, spans // 200)), 8 * rounds)

    def listed() -> Path:
        return folder_of(Shape(many, _SMALL, requests=many // _PER_REQUEST))

    def one_trace(form: Form) -> Path:
        return folder_of(Shape(spans // 2, spans // 2, form=form, requests=spans // _PER_REQUEST))

    def followed(files: int, writers: int, most_idle: float, most_ms: float | None = None) -> list[Figure]:
        spans = 60 * rounds // writers
        return following.latency(following.Load(files, writers, spans, 3.0 * rounds, most_idle, most_ms))

    return [
        ("P1", lambda: processes.loading(folder_of(Shape(many)), rounds)),
        ("P1", mixed),
        ("P2", lambda: processes.statistics(folder_of(Shape(many)), rounds)),
        ("P3", lambda: processes.duckdb(folder_of(Shape(many)), rounds)),
        ("P4", memory),
        ("P5", growth),
        ("P5", files),
        ("P6", in_list),
        ("P6", in_trace),
        ("P7", lambda: viewer.keys_while_loading(folder_of(Shape(many)), rounds)),
        ("keys", lambda: each_key.each_key(listed(), LISTED)),
        ("keys", lambda: each_key.each_key(listed(), LISTED, followed=True)),
        ("keys", lambda: each_key.each_key(one_trace(Form.USUAL), OPENED)),
        ("keys", lambda: each_key.each_key(one_trace(Form.WIDE), OPENED)),
        ("P8", lambda: viewer.first_rows(folder_of(Shape(spans)), folder_of(Shape(200)), rounds)),
        ("P9", lambda: processes.start(4 * rounds)),
        ("P10", lambda: followed(PROCESSES, 8, 1, 25)),
        ("P10", lambda: followed(_MANY_FILES, 8, 1, 25)),
        ("P10", lambda: followed(5 * _MANY_FILES, 1, 3)),
        ("P11", lambda: inside.export(folder_of(Shape(spans)), rounds)),
        (
            "P11",
            lambda: processes.exports(folder_of(Shape(spans)), rounds, folder_of(Shape(spans, layout=Layout.OTLP))),
        ),
        ("P12", lambda: inside.query(folder_of(Shape(spans)), rounds)),
        ("P12", lambda: inside.query(folder_of(Shape(spans, layout=Layout.OTLP)), rounds, " in lines of OTLP")),
        ("P13", lambda: viewer.second_opening(folder_of(Shape(many)), rounds)),
        ("P14", lambda: trace_keys.keys_of_trace(spans // 2, rounds)),
        ("P15", lambda: _huge(many, rounds)),
        ("P16", lambda: following.flood(12.0 * rounds)),
        ("P17", lambda: processes.formats(folder_of(Shape(spans)), rounds, folder_of(Shape(spans, _SMALL)))),
        ("P20", lambda: inside.objects(folder_of(Shape(_OBJECTS)), rounds)),
        ("P20", lambda: inside.objects(folder_of(Shape(_OBJECTS, layout=Layout.OTLP)), rounds, " in lines of OTLP")),
        ("P18", lambda: receiving.receive(rounds)),
        ("P18", lambda: pushing.push(spans // 2, rounds)),
        ("P19", lambda: writing.a_span(rounds)),
        ("P21", lambda: events.reading(folder_of(Shape(spans, layout=Layout.OTLP)), rounds)),
        ("P22", lambda: processes.page(_of_all_kinds(spans), rounds)),
        ("peers", lambda: peers.peers(folder_of(Shape(spans)), rounds)),
    ]


def _huge(many: int, rounds: int) -> list[Figure]:
    spans, of_many = _HUGE * many, folder_of(Shape(many))
    with repeated(of_many, _HUGE) as folder, tempfile.TemporaryDirectory() as empty:
        figures = processes.growth((folder, spans), (of_many, many), rounds)
        figures += processes.memory(folder, spans, Path(empty), 1, 150 + 80 * spans / 1e6)
        figures += viewer.second_opening(folder, 1)
    return [replace(figure, goal="P15") for figure in figures]


def _of_all_kinds(spans: int) -> Path:
    """Return a folder of small traces, 30,000 of 195,000 spans: calls, requests, and calls without an attempt."""
    return folder_of(Shape(spans * 4 // 5, _SMALL, requests=spans // 20, alone=spans // 40))


def _of(folder: Path, rounds: int) -> list[tuple[str, Callable[[], list[Figure]]]]:
    """Return what can be measured of any folder."""
    return [
        ("P1", lambda: processes.loading(folder, rounds)),
        ("P2", lambda: processes.statistics(folder, rounds)),
        ("P3", lambda: processes.duckdb(folder, rounds)),
        ("P7", lambda: viewer.keys_while_loading(folder, rounds)),
        ("P8", lambda: viewer.first_rows(folder, folder_of(Shape(200)), rounds)),
        ("P11", lambda: inside.export(folder, rounds)),
        ("P11", lambda: processes.exports(folder, rounds)),
        ("P13", lambda: viewer.second_opening(folder, rounds)),
        ("P17", lambda: processes.formats(folder, rounds)),
        ("P20", lambda: inside.objects(folder, rounds)),
        ("P22", lambda: _page(folder, rounds)),
    ]


def _page(folder: Path, rounds: int) -> list[Figure]:
    """Return what can be measured of a page, where it has room for all spans."""
    if len(load_store(folder).spans) > MAX_SPANS:
        sys.stderr.write(f"left out: a page has room for {MAX_SPANS:,} spans\n")
        return []
    return processes.page(folder, rounds)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
