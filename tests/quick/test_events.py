"""Lines of Ray's events of tasks that are scanned say what they say when they are decoded, and damaged ones, too.

a recorded line, other digits and ids in it     scanned
damaged anywhere                                scanned or decoded: the same either way
"""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import pytest

from seeds import seeds
from spanview.formats.ray_events import NodeUpdate, RayUpdates, updates_of
from spanview.index import ray_tasks
from spanview.index.ray_tasks import RayTasks
from spanview.quick import events, known_rows, pages, processes

from .test_same import contents, load

if TYPE_CHECKING:
    from collections.abc import Sequence

    from spanview.formats.ray_events import TaskLines, TaskUpdate
    from spanview.index.store import Store

_NEVER: Final = 1 << 60
_FIXTURES: Final = Path(__file__).parents[2] / "fixtures"
_VARIES: Final = re.compile(rb'"[0-9]{19}"|"[0-9a-f]{36}"|"[0-9A-Za-z+/]{32}"')
_POSITION: Final = re.compile(rb'(_(?:start|end)":)\d+')
_GAP: Final = re.compile(rb"\d{2,}|[0-9A-Za-z+/]{32,}")
_BASE64: Final = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"


def _recorded() -> list[bytes]:
    """Return lines as Ray has written them."""
    files = sorted(_FIXTURES.glob("ray-events-*/logs/export_events/event_EXPORT_*.log"))
    return [line for file in files for line in file.read_bytes().splitlines()]


def _told(store: Store) -> Any:
    """Return all that lines of events have said, in an order of its own."""
    tasks = store.ray
    if tasks is None:
        return None
    rows = list[tuple[Any, ...]]()
    for part in tasks._pending:
        columns = {name: values.tolist() for name, values in part.items()}
        for name, known in (("name", tasks.names), ("resources", tasks.resources), ("worker", tasks._workers)):
            columns[name] = [known.texts[number] for number in columns[name]]
        columns["error"] = [tasks.errors.texts[number] for number in columns["error"]]
        columns["folder"] = [tasks._folders.texts[number] for number in columns["folder"]]
        rows += zip(*columns.values(), strict=True)
    messages = sorted((*place[1:], text) for place, text in tasks._messages.items())
    return sorted(rows), messages, tasks.nodes, [*tasks.actors.values()], {*tasks._folders_of_nodes}, tasks.version


@pytest.fixture(name="counts")
def note_counts(monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """Return how many lines of tasks were decoded, and in all."""
    counts = {"decoded": 0, "all": 0}
    take_tasks, take_lines = RayTasks._take_tasks, RayTasks._take_lines

    def note_tasks(self: RayTasks, folder: int, updates: Sequence[TaskUpdate]) -> None:
        counts["decoded"] += len(updates)
        take_tasks(self, folder, updates)

    def note_lines(self: RayTasks, folder: int, lines: TaskLines) -> None:
        counts["all"] += len(lines.numbers)
        take_lines(self, folder, lines)

    monkeypatch.setattr(RayTasks, "_take_tasks", note_tasks)
    monkeypatch.setattr(RayTasks, "_take_lines", note_lines)
    return counts


def _varied(dice: random.Random, line: bytes) -> bytes:
    """Return a line of another task, at another time, perhaps of another length."""

    def other(match: re.Match[bytes]) -> bytes:
        size = len(match[0]) - 3
        alphabet = {18: b"0123456789", 35: b"0123456789abcdef"}.get(size, _BASE64)
        return match[0][:2] + bytes(dice.choices(alphabet, k=size)) + b'"'

    return _POSITION.sub(lambda match: b"%b%d" % (match[1], dice.randrange(1_000)), _VARIES.sub(other, line))


def _damaged(dice: random.Random, line: bytes, another: bytes) -> bytes:
    """Return what damage makes of a line."""
    cut, at = dice.randrange(len(line)), dice.randrange(len(line))
    if dice.random() < 0.7:
        # Where lines differ, a form says least of what there must be.
        at = dice.randrange(*dice.choice([match.span() for match in _GAP.finditer(line)]))
    byte = dice.choice([dice.randbytes(1), *(b'"', b"\\", b"\x01", b"0", b"=", b"-", b":", b"\xc3", b"{", b"\n")])
    return dice.choice(
        (
            line[:at] + byte + line[at + 1 :],
            line[:at] + byte + line[at:],
            line[:at] + line[at + 1 :],
            line[:cut],
            line[cut:],
            line[:cut] + another[cut:],
            line[:cut] + another,
            b"  " + line,
            line + b"\r",
            line.replace(b"AQAAAA==", b"AQ=AAA=="),
            re.sub(rb'"attempt_number":\d', b'"attempt_number":7', line),
            re.sub(rb':"(\d{19})"', rb":\1", line),
            re.sub(rb':"\d', b':"9', line),
            re.sub(rb'_id":"..', b'_id":"==', line),
            line.replace(b'"CPU":1', b'"GPU":2'),
            line.replace(b"EXPORT_TASK", b"EXPORT_CASK"),
            line.replace(b'"load"', '"löad"'.encode()),
        )
    )


@pytest.mark.parametrize("seed", seeds(60))
def test_scanned_as_decoded(seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, counts: dict[str, int]) -> None:
    """Whatever the pages, and wherever lines are damaged."""
    dice = random.Random(seed)
    monkeypatch.setattr(pages, "PAGE_BYTES", dice.choice((20_000, 60_000, pages.PAGE_BYTES)))
    least = dice.choice((1, 2, events._LEAST_LINES))
    monkeypatch.setattr(events, "_LEAST_LINES", least)
    # However many lines are damaged, the others are scanned.
    monkeypatch.setattr(pages, "_MISFIT_SHARE", 1)
    monkeypatch.setattr(events, "_MOST_FORMS", dice.choice((3, events._MOST_FORMS)))
    monkeypatch.setattr(events, "_MOST_SAID", dice.choice((3, events._MOST_SAID)))
    monkeypatch.setattr(known_rows, "_MAX_ROWS", dice.choice((2, known_rows._MAX_ROWS)))
    monkeypatch.setattr(processes, "BLOCK_ROWS", dice.choice((700, processes.BLOCK_ROWS)))
    recorded, broken = _recorded(), dice.choice((0, 0.02, 0.3))
    for name in ("a", "b"):
        lines = [_varied(dice, line) for line in dice.sample(recorded, 9) for _ in range(30)]
        dice.shuffle(lines)
        lines = [_damaged(dice, line, dice.choice(lines)) if dice.random() < broken else line for line in lines]
        (tmp_path / f"{name}.log").write_bytes(b"\n".join(lines) + dice.choice((b"", b"\n")))
    decoded = load(tmp_path, quick_from=_NEVER)
    assert counts["decoded"] == counts["all"]
    counts |= {"decoded": 0, "all": 0}
    scanned = load(tmp_path, quick_from=0)
    assert _told(scanned) == _told(decoded)
    assert contents(scanned) == contents(decoded)
    assert least > 1 or broken or counts["decoded"] < counts["all"]


def test_recorded_lines_are_not_decoded(tmp_path: Path, counts: dict[str, int]) -> None:
    """Whatever Ray writes of tasks that didn't fail, if it writes it often enough."""
    dice = random.Random(1)

    def shuffled(match: re.Match[bytes]) -> bytes:
        middle = match[0][2:-1]
        return match[0][:2] + bytes(dice.sample(middle, len(middle))) + b'"'

    lines = [line for line in _recorded() if b'"EXPORT_TASK"' in line and b"error_info" not in line]
    shapes = {re.sub(rb"\d+", b"", line): line for line in lines}
    varied = (_VARIES.sub(shuffled, line) for line in shapes.values() for _ in range(40))
    (tmp_path / "a.log").write_bytes(b"".join(line + b"\n" for line in varied))
    load(tmp_path, quick_from=0)
    assert counts == {"decoded": 0, "all": 40 * len(shapes)}


def test_few_lines_wait_to_be_merged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """However often a task is spoken of, what is held is one row of each attempt, and as many lines as may wait."""
    dice = random.Random(2)
    lines = [line for line in _recorded() if b'"EXPORT_TASK"' in line]
    data = b"".join(_POSITION.sub(b"\\g<1>%d" % dice.randrange(1_000), line) + b"\n" for line in lines * 40)
    (tmp_path / "a.log").write_bytes(data)
    monkeypatch.setattr(pages, "PAGE_BYTES", 60_000)
    monkeypatch.setattr(processes, "BLOCK_ROWS", 700)
    whole = load(tmp_path, quick_from=0).ray
    monkeypatch.setattr(ray_tasks, "_MOST_WAITING", 1_000)
    merged = load(tmp_path, quick_from=0).ray
    assert whole is not None
    assert merged is not None
    assert sum(len(part["key"]) for part in whole._pending) == len(lines) * 40
    assert sum(len(part["key"]) for part in merged._pending) <= 1_000
    for name in (*ray_tasks._NUMBERS, *ray_tasks._TIMES):
        assert whole[name].tolist() == merged[name].tolist(), name
    assert sum(merged[name].itemsize for name in ("key", *ray_tasks._NUMBERS, *ray_tasks._TIMES)) <= 68


def test_folders_that_turn_out_to_be_of_one_session() -> None:
    """What two folders say of an attempt is one row, also where a node that both know comes last."""
    tasks = ray_tasks.RayTasks()
    update = next(iter(updates_of([orjson.loads(line) for line in _recorded() if b'"node_id"' not in line]).tasks))
    for folder in ("a", "b"):
        tasks.take(f"{folder}/events.log", RayUpdates([update]))
    assert len(tasks) == 2
    for folder in ("a", "b"):
        tasks.take(f"{folder}/events.log", RayUpdates(nodes=[NodeUpdate(b"node", {})]))
    assert len(tasks) == 1
