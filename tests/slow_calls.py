"""Ray calls counted from the records of an independent reader: slow, obvious, and without a line of spanview in it."""

from __future__ import annotations

from functools import cached_property
from math import ceil
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping

    from independent_reader import Record

_CALLED, _RAN = " ray.remote", " ray.remote_worker"
_TASKS_OF_RAY_DATA: Final = {"_map_task", "_shuffle_reduce_task", "_disk_shuffle_reduce_task"}
_NOT_LONGER_NS, _SOON_NS, _ROUNDED_NS = 5_000_000, 10_000_000, 2_000


def functions_of(
    records: Iterable[Record], file_of: Mapping[int, str] | None = None, *, traces: Container[str | None] | None = None
) -> list[dict[str, Any]]:
    """Return what `stats --by ray` says of records without doubles, in the order of path and offset.

    Args:
        records: The records.
        file_of: The file of each record, by its `id`; without, all are of one.
        traces: Ids of the traces whose calls count; without, all.
    """
    records = [*records]
    files = file_of or {}
    first: dict[tuple[str, str], Record] = {}
    for record in records:
        if record["span_id"]:
            first.setdefault((record["trace_id"], record["span_id"]), record)
    calls: dict[int, tuple[Record, list[Record]]] = {
        id(record): (record, []) for record in records if _is(record, "PRODUCER", " ray.remote")
    }
    for record in records:
        parent = first.get((record["trace_id"], record["parent_id"]))
        if parent is not None and id(parent) in calls and _is(record, "CONSUMER", " ray.remote_worker"):
            calls[id(parent)][1].append(record)
    functions: dict[str, list[tuple[Record, list[Record]]]] = {}
    for producer, attempts in calls.values():
        if traces is not None and producer["trace_id"] not in traces:
            continue
        functions.setdefault(producer["name"].removesuffix(" ray.remote"), []).append((producer, attempts))
    whole = _Whole(records, files, [*calls.values()])
    answer = [_function(name, pairs, whole) for name, pairs in functions.items()]
    return sorted(answer, key=lambda function: (-function["calls"], function["function"]))


def comparable(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return of the rows of `stats --by ray` what `functions_of` says too, in its order."""
    names = ("function", "calls", "attempts", "failed", "errors", "submit_errors", "retried", "no_attempt")
    ends = ("running", "lost", "existing", "untraced", "serves_own")
    more = ("total_wait_ns", "cold_starts", "cold_wait_ns", "generator")
    found = [
        {name: row[name] for name in (*names, *ends, *more, "max_concurrency")}
        | {
            name: {figure: row[name][figure] for figure in ("p50", "p95", "max", "total")}
            for name in ("wait_ns", "run_ns")
        }
        | {"total_wait_ns": row["total_wait_ns"] or 0}
        for row in rows
    ]
    return sorted(found, key=lambda function: (-function["calls"], function["function"]))


def _is(record: Record, kind: str, ending: str) -> bool:
    return bool(record["kind"] == f"SpanKind.{kind}" and record["name"].endswith(ending))


def _is_exit(attempt: Record) -> bool:
    """Tell whether an attempt ended with `exit_actor`, which is no error."""
    return "AsyncioActorExit" in (attempt["description"] or "")


class _Whole:
    """What has to be known of all records."""

    def __init__(
        self, records: list[Record], files: Mapping[int, str], calls: list[tuple[Record, list[Record]]]
    ) -> None:
        self.records = records
        self.calls = calls
        self.files = files
        self.ran = [record for record in records if _is(record, "CONSUMER", _RAN)]
        self.timed = [record for record in self.ran if record["start_ns"] is not None]

    def file(self, record: Record) -> str:
        return self.files.get(id(record), "")

    def is_first_of_its_process(self, record: Record) -> bool:
        same = [other["start_ns"] for other in self.timed if self.file(other) == self.file(record)]
        return bool(record["start_ns"] == min(same))

    def is_existing(self, producer: Record, attempts: list[Record]) -> bool:
        """Tell whether a constructor constructed nothing."""
        if attempts or not producer["name"].endswith(f"__init__{_CALLED}"):
            return False
        alike = [
            other for other in self.records if other["name"] == producer["name"] and other["kind"] == producer["kind"]
        ]
        if producer["status"] == "ERROR":
            return any(
                (other["trace_id"], other["span_id"]) == (producer["trace_id"], producer["parent_id"])
                and other["status"] != "ERROR"
                for other in alike
            )
        actor = _actor(producer)
        of_actor = [
            pair
            for pair in self.calls
            if pair[0]["name"].endswith(f"__init__{_CALLED}")
            and pair[0]["status"] != "ERROR"
            and _actor(pair[0]) == actor
        ]
        if not actor:
            return False
        if any(tried for _, tried in of_actor):
            return True
        inner = [pair[0] for pair in of_actor if not any(other["parent_id"] == pair[0]["span_id"] for other in alike)]
        maker = min(inner or [pair[0] for pair in of_actor], key=lambda record: record["start_ns"])
        ran = [record["start_ns"] for record in self.timed if _actor(record) == actor]
        return producer is not maker or bool(ran and min(ran) < producer["start_ns"])

    def is_untraced(self, producer: Record, attempts: list[Record]) -> bool:
        """Tell whether a call likely ran without leaving an attempt."""
        actor, name = _actor(producer), producer["name"].removesuffix(_CALLED)
        if attempts or producer["status"] == "ERROR" or not actor or self.is_existing(producer, attempts):
            return False
        life = [record for record in self.timed if _actor(record) == actor]
        if name.endswith("__init__"):
            return bool(life)
        if name.startswith("MapWorker(") and name.endswith(".submit"):
            return True
        if self._is_traced(name):
            return False
        return bool(life) and not self.has_no_actor(producer, attempts) and self._was_passed(producer)

    def has_no_actor(self, producer: Record, attempts: list[Record]) -> bool:
        """Tell whether a call never ran because its actor's constructor failed."""
        actor = _actor(producer)
        life = [record for record in self.timed if actor and _actor(record) == actor]
        is_call = not attempts and producer["status"] != "ERROR" and not producer["name"].endswith(f"__init__{_CALLED}")
        have_failed = [record["status"] == "ERROR" and record["name"].endswith(f"__init__{_RAN}") for record in life]
        return is_call and bool(life) and all(have_failed)

    def _was_passed(self, producer: Record) -> bool:
        """Tell whether a call that the same process submitted later ran in the same life of a sequential actor."""
        actor = _actor(producer)
        life = [record for record in self.timed if actor and _actor(record) == actor]
        constructors = [record for record in life if record["name"].endswith(f"__init__{_RAN}")]
        methods = [record for record in life if record not in constructors]
        overlap = any(
            one is not other and one["start_ns"] <= other["start_ns"] < one["end_ns"] - _ROUNDED_NS
            for one in methods
            for other in methods
        )
        was_restarted = len(constructors) > 1 and (
            max(record["start_ns"] for record in constructors) > producer["start_ns"]
        )
        return (
            not overlap
            and not was_restarted
            and any(
                self.file(other) == self.file(producer) and other["start_ns"] >= producer["end_ns"]
                for other, tried in self.calls
                if any(attempt in methods for attempt in tried)
            )
        )

    def _is_traced(self, name: str) -> bool:
        named = {record["name"].removesuffix(_RAN) for record in self.ran}
        return name in named or any(name.endswith(f".{other}") for other in named if "." in other)

    @cached_property
    def followed(self) -> tuple[list[tuple[Record, Record]], set[str]]:
        """Return roots with the attempt before them in their file, and the files in which one starts in an attempt."""
        roots = [record for record in self.records if not record["parent_id"] and record["start_ns"] is not None]
        ended = [record for record in self.timed if record["end_ns"] is not None]
        pairs = []
        for root in roots:
            before = [
                record
                for record in ended
                if self.file(record) == self.file(root)
                and record["start_ns"] <= root["start_ns"]
                and all(root is not other for other in ended)
            ]
            if before:
                pairs.append((max(before, key=lambda record: record["start_ns"]), root))
        threaded = {self.file(root) for record, root in pairs if root["start_ns"] < record["end_ns"]}
        return pairs, threaded

    def generator(self, name: str) -> bool | str:
        """Tell whether a function is a generator."""
        if name.startswith("ray.data.") and name.rpartition(".")[2] in _TASKS_OF_RAY_DATA:
            return any(record["name"] == name + _RAN for record in self.ran)
        mine = [record for record in self.timed if record["name"] == name + _RAN and record["end_ns"] is not None]
        short = [record for record in mine if record["end_ns"] - record["start_ns"] <= _NOT_LONGER_NS]
        if not mine or 2 * len(short) < len(mine):
            return False
        pairs, threaded = self.followed
        calls, others = [], []
        for record, root in pairs:
            gap = root["start_ns"] - record["end_ns"]
            if record["name"] != name + _RAN or gap < 0:
                continue
            if root["kind"] == "SpanKind.PRODUCER":
                calls.append((record, root))
            if gap <= _SOON_NS and self.file(root) not in threaded:
                others.append((record, root))
        if 2 * len({id(record) for record, _ in others}) < len(mine):
            others = []
        return "likely" if any(_is_body(*pair) for pair in [*calls, *others]) else False


def _is_body(record: Record, root: Record) -> bool:
    """Tell whether a root is what the task of an attempt did."""
    ours, other = record["attributes"], root["attributes"]
    of_task = other.get("ray.submitter_task_id", other.get("ray.task_id", 0))
    if root["kind"] == "SpanKind.PRODUCER" and of_task != ours.get("ray.task_id"):
        return False
    return bool(ours.get("ray.remote") == "function" and record["resource"] == root["resource"])


def _actor(record: Record) -> str:
    return str(record["attributes"].get("ray.actor_id") or "")


def _function(name: str, pairs: list[tuple[Record, list[Record]]], whole: _Whole) -> dict[str, Any]:
    none = [pair for pair in pairs if whole.is_existing(*pair)]
    none_ids = {(producer["trace_id"], producer["span_id"]) for producer, _ in none}
    pairs = [pair for pair in pairs if pair not in none]
    # What has the creating call below it created the actor.
    above = {
        (producer["trace_id"], producer["parent_id"]) for producer, _ in pairs if producer["name"] == name + _CALLED
    }
    existing = none_ids - above
    untraced = sum(whole.is_untraced(*pair) for pair in pairs)
    is_serves = name.startswith(("ServeController.", "ProxyActor.", "ServeReplica:"))
    serves_own = sum(is_serves and not each and producer["status"] != "ERROR" for producer, each in pairs) - untraced
    serves_own = max(0, serves_own)
    generator = whole.generator(name)
    cold = []
    for producer, each in pairs:
        started = [one for one in each if one["start_ns"] is not None]
        first = min(started, key=lambda one: (one["start_ns"], one["span_id"] or ""), default=None)
        if first is not None and whole.is_first_of_its_process(first):
            cold.append(0 if producer["end_ns"] is None else max(0, first["start_ns"] - producer["end_ns"]))
    attempts = [attempt for _, each in pairs for attempt in each]
    waits = []
    for producer, each in pairs:
        starts = [attempt["start_ns"] for attempt in each if attempt["start_ns"] is not None]
        if starts and producer["end_ns"] is not None:
            waits.append(max(0, min(starts) - producer["end_ns"]))
    begun = [each for each in attempts if each["start_ns"] is not None]
    timed = [each for each in begun if each["end_ns"] is not None]
    alone = [producer["status"] for producer, each in pairs if not each]
    return {
        "function": name,
        "calls": len(pairs),
        "attempts": len(attempts),
        "failed": alone.count("ERROR")
        + sum(_has_failed_at_last(each) for _, each in pairs if each)
        + sum(whole.has_no_actor(*pair) for pair in pairs),
        "errors": sum(attempt["status"] == "ERROR" and not _is_exit(attempt) for attempt in attempts),
        "submit_errors": alone.count("ERROR"),
        "retried": sum(len(each) > 1 and not are_executed(each) for _, each in pairs),
        "no_attempt": len(alone) - alone.count("ERROR") - untraced - serves_own,
        "running": 0,
        "lost": 0,
        "existing": len(existing),
        "untraced": untraced,
        "serves_own": serves_own,
        "cold_starts": len(cold),
        "cold_wait_ns": sum(cold),
        "total_wait_ns": sum(waits),
        "generator": generator,
        "max_concurrency": None
        if generator
        else max(
            (sum(_runs_at(other, each["start_ns"]) for other in begun) for each in begun),
            default=0,
        ),
        "wait_ns": _percentiles(sorted(waits)),
        "run_ns": _percentiles([] if generator else sorted(each["end_ns"] - each["start_ns"] for each in timed)),
    }


def are_executed(runs: Iterable[Record]) -> bool:
    """Return whether all runs of a call name one task and one attempt, as those of a compiled graph do."""
    named = {(run["attributes"].get("ray.task_id"), run["attributes"].get("ray.attempt")) for run in runs}
    return len(named) == 1 and None not in named.pop()


def _has_failed_at_last(attempts: list[Record]) -> bool:
    last = max(attempts, key=lambda one: (one["start_ns"] is None, one["start_ns"] or 0, one["span_id"] or ""))
    return last["status"] == "ERROR" and not _is_exit(last)


def _runs_at(record: Record, time: int) -> bool:
    start, end = record["start_ns"], record["end_ns"]
    # Of what has no end nobody knows how much longer it ran.
    return bool(start == time or (end is not None and start < time < end))


def _percentiles(values: list[int]) -> dict[str, int | None]:
    if not values:
        return {"p50": None, "p95": None, "max": None, "total": None}
    return {
        "p50": values[ceil(len(values) * 0.50) - 1],
        "p95": values[ceil(len(values) * 95 / 100) - 1],
        "max": values[-1],
        "total": sum(values),
    }
