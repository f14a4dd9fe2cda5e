"""What files show: torn ends, reused names, duplicate spans, logs, and nothing at all."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Final

import numpy as np

from spanview.analysis.diagnosis.finding import Certainty, Finding, Kind, Place, finding_of, having, number
from spanview.analysis.diagnosis.serve import SERVE_FILE
from spanview.index.forest import MISSING
from spanview.index.processes import RECEIVED_FILE
from spanview.model.codes import ERROR
from spanview.model.problems import ProblemKind, Severity
from spanview.model.times import NO_TIME

if TYPE_CHECKING:
    from collections.abc import Mapping

    from spanview.analysis.diagnosis.facts import Facts
    from spanview.index.tallies import FileTally
    from spanview.model.problems import Problem

_PROCESS_FILE: Final = re.compile(r"\d+\.(txt|json)")
"""As Ray's hooks name them."""
_BUNDLED_HOOKS: Final = re.compile(r"\d+\.txt(?:\.gz|\.zst)?")
_WORKER_FILE: Final = re.compile(r"worker-[0-9a-f]+-[0-9a-f]+-(\d+)\.out(?:\.\d+)?(?:\.(?:gz|zst))?")
"""As in `worker-16b210b3f4a7-ffffffff-3991.out`."""
_DRIVER: Final = re.compile(r"[0-9a-f]{8}f{48}")
_MIN_CALLS: Final = 3
"""With fewer, most likely none has run yet."""
_MAX_FILES: Final = 2_000
"""Files of which two records are read again."""
_PROCESS_KEYS: Final = ("service.instance.id", "ray.worker_id")
"""Attributes, of the resource or of the span, that differ between processes."""


def _name(path: str) -> str:
    return path.rpartition("/")[2]


def _folder(path: str) -> str:
    return path.rpartition("/")[0]


def _torn(facts: Facts, *, at_end: bool) -> list[Problem]:
    sizes = {path: file.content for path, file in facts.files}
    return [
        problem
        for problem in facts.problems
        if problem.kind is ProblemKind.TORN
        and (problem.offset + problem.length >= sizes.get(problem.file, 0)) is at_end
    ]


def _in_files(problems: list[Problem]) -> list[Place]:
    return [Place(problem.file, problem.offset) for problem in problems]


def torn_tail(facts: Facts) -> Finding:
    """Find files that end in the middle of a record."""
    torn = _torn(facts, at_end=True)
    lost = sum(problem.length for problem in torn)
    detail = (
        f"{number(len(torn), 'file ends', 'files end')} with an incomplete record ({number(lost, 'byte', 'bytes')})."
    )
    return finding_of(Kind.TORN_TAIL, len(torn), detail, _in_files(torn))


def torn_inside(facts: Facts) -> Finding:
    """Find records that break off though their files go on."""
    torn = _torn(facts, at_end=False)
    detail = f"{number(len(torn), 'record is', 'records are')} incomplete, and others follow in the same file."
    return finding_of(Kind.TORN_INSIDE, len(torn), detail, _in_files(torn))


def not_written(facts: Facts) -> Finding | None:
    """Find files whose writers say that there were spans which they could not write.

    A copy of a file, or of its beginning, first says so at the same time: of these the one that says most counts.
    """
    files = [(file.unwritten, path, first) for path, file in facts.files if (first := file.first_unwritten)]
    by_time = {first.time_ns or path: (count, path, first) for count, path, first in sorted(files, key=itemgetter(0))}
    if not by_time:
        return None
    reasons, places = Counter[str](), list[Place]()
    for count, path, first in by_time.values():
        reasons[first.reason or "for an unknown reason"] += count
        places.append(Place(path, first.offset))
    (reason, _), *others = reasons.most_common()
    more = f", and {number(len(others), 'other reason', 'other reasons')}" if others else ""
    say, spans = number(len(by_time), "file says", "files say"), reasons.total()
    detail = f"{number(spans, 'span', 'spans')} could not be written, as {say}: {reason}{more}."
    return finding_of(Kind.NOT_WRITTEN, spans, detail, places)


def truncated(facts: Facts) -> Finding:
    """Find files that were cut while they were read."""
    cut = [problem for problem in facts.problems if problem.kind is ProblemKind.TRUNCATED]
    files = len({problem.file for problem in cut})
    detail = (
        f"{number(files, 'file was', 'files were')} truncated or rewritten while followed; spans already read are kept."
    )
    return finding_of(Kind.TRUNCATED, len(cut), detail, _in_files(cut))


def pids_used_again(facts: Facts) -> Finding | None:
    """Find attempts whose calls were most likely in a driver's file that the bundled hook emptied for a later driver.

    A call ends, and is written, before its attempt starts. Where the call is in no file, its caller's file was
    elsewhere, or is gone. It was most likely emptied where the folder has drivers, and all of them came later.

    1.txt   f ray.remote_worker  ====                            its call is nowhere
    3.txt                                g ray.remote  ==        the only driver here
    """
    orphans = np.flatnonzero(facts.ran & (facts.parents == MISSING) & (facts.starts != NO_TIME))
    if not len(orphans):
        return None
    sources = enumerate(facts.store.sources)
    of_hook = {number: source.path for number, source in sources if _BUNDLED_HOOKS.fullmatch(_name(source.path))}
    later = _first_drivers(facts, of_hook)
    rows = [
        row
        for row in orphans.tolist()
        if (path := of_hook.get(int(facts.sources[row])))
        and (driver := later.get(_folder(path)))
        and facts.starts[row] < driver[0]
    ]
    if not rows:
        return None
    drivers = sorted({later[_folder(of_hook[int(facts.sources[row])])][1] for row in rows})
    others = f" and {len(drivers) - 1:,} more" if len(drivers) > 1 else ""
    tasks = number(len(rows), "task ran", "tasks ran")
    detail = (
        f"{tasks} before any driver in the same folder started ({drivers[0]}{others}), and no file has the call. "
        "Most likely a later driver with the same PID emptied the file that had it, unless the earlier driver ran "
        "on another host."
    )
    return facts.of_spans(Kind.PIDS_USED_AGAIN, rows, detail)


def _first_drivers(facts: Facts, of_hook: Mapping[int, str]) -> dict[str, tuple[int, str]]:
    """Return the start of each folder's first driver, and that driver's file; `of_hook` are paths by source."""
    calls = np.flatnonzero(facts.submitted & (facts.starts != NO_TIME))
    # Of several values for one place the last one stays.
    of_source = dict(zip(facts.sources[calls[::-1]].tolist(), calls[::-1].tolist(), strict=True))
    drivers = dict[str, tuple[int, str]]()
    for source, row in of_source.items():
        path = of_hook.get(source)
        if path is not None and _is_of_driver(facts, row):
            began = facts.starts[(facts.sources == source) & (facts.starts != NO_TIME)].min()
            first = (int(began), path)
            drivers[_folder(path)] = min(first, drivers.get(_folder(path), first))
    return drivers


def _is_of_driver(facts: Facts, row: int) -> bool:
    """Return whether a driver made a span: its worker id is its job's id, padded with f."""
    worker = str(facts.store.span(row).attributes.get("ray.worker_id") or "")
    return bool(_DRIVER.fullmatch(worker))


def shared_file(facts: Facts) -> Finding:
    """Find files with the name of one process that several have written, by their first and last spans."""
    names = [bool(_PROCESS_FILE.fullmatch(_name(source.path))) for source in facts.store.sources]
    first, last = np.full(len(names), -1), np.full(len(names), -1)
    rows = np.arange(facts.size)
    known = facts.sources < len(names)
    # Of several values for one place the last one stays.
    last[facts.sources[known]] = rows[known]
    first[facts.sources[known][::-1]] = rows[known][::-1]
    shared = []
    of_files = [source for source, is_process in enumerate(names) if is_process and first[source] != last[source]]
    for source in of_files[:_MAX_FILES]:
        one, other = _process(facts, int(first[source])), _process(facts, int(last[source]))
        if any(a and b and a != b for a, b in zip(one, other, strict=True)):
            shared.append(int(last[source]))
    detail = f"{number(len(shared), 'file has', 'files have')} spans of several processes with the same PID."
    return finding_of(Kind.SHARED_FILE, len(shared), detail, facts.file_places(shared))


def _process(facts: Facts, row: int) -> list[str]:
    span = facts.store.span(row)
    return [
        next(
            (str(attributes[key]) for attributes in (span.resource.attributes, span.attributes) if attributes.get(key)),
            "",
        )
        for key in _PROCESS_KEYS
    ]


def doubled(facts: Facts) -> Finding:
    """Find records that are duplicates of others."""
    tallies = facts.store.tallies
    folders, received = Counter[tuple[str, str]](), 0
    pairs = facts.store.intake.duplicates
    for (kept, dropped), count in pairs.items():
        folders[_folder(kept), _folder(dropped)] += count
        received += count * all(RECEIVED_FILE.fullmatch(_name(path)) for path in (kept, dropped))
    records = number(tallies.duplicates, "record is a duplicate", "records are duplicates")
    detail = f"{records} of others and ignored"
    if folders:
        (kept, dropped), largest = max(folders.items(), key=lambda item: (item[1], item[0]))
        where = f"within {kept or '.'}" if kept == dropped else f"in {kept or '.'} and again in {dropped or '.'}"
        detail += f"; {largest:,} of them {where}"
    if received:
        detail += f"; {received:,} of them {'was' if received == 1 else 'were'} received repeatedly"
    places = [Place(dropped) for _, dropped in pairs]
    return finding_of(Kind.DOUBLED, tallies.duplicates, f"{detail}.", [*dict.fromkeys(places)])


def both_hooks(facts: Facts) -> Finding:
    """Find spans that the hooks of Ray and Ray Serve both wrote, and folders into which both of Ray's own wrote."""
    pairs = facts.store.intake.duplicates
    both = [(pair, count) for pair, count in pairs.items() if {*map(_hook, pair)} == {"serve", "process"}]
    if both:
        spans = sum(count for _, count in both)
        detail = f"{number(spans, 'span was', 'spans were')} written by Ray's hook and by Ray Serve's exporter."
        return finding_of(Kind.BOTH_HOOKS, spans, detail, [Place(path) for path in both[0][0]])
    written = [path for path, file in facts.files if file.records and _PROCESS_FILE.fullmatch(_name(path))]
    layouts = {(_folder(path), path.rpartition(".")[2]) for path in written}
    mixed = [path for path in written if {(_folder(path), "txt"), (_folder(path), "json")} <= layouts]
    detail = f"One folder has files of both of Ray's hooks, PID.txt and PID.json: {len(mixed):,} files."
    return finding_of(Kind.BOTH_HOOKS, len(mixed), detail, [Place(path) for path in mixed])


def _hook(path: str) -> str:
    name = _name(path)
    return "serve" if SERVE_FILE.fullmatch(name) else "process" if _PROCESS_FILE.fullmatch(name) else ""


def deduplicated(facts: Facts) -> Finding | None:
    """Find logs with beginnings of spans from which Ray has left out repeated lines."""
    logs = [(path, file) for path, file in facts.files if file.fragments and file.repeated]
    if not logs:
        return None
    marks, parts = sum(file.repeated for _, file in logs), sum(file.fragments for _, file in logs)
    where = f"{number(marks, 'place', 'places')} of {number(len(logs), 'log', 'logs')}"
    held, unknown = _held_by_workers(facts, logs)
    lost = sum(max(0, file.fragments - held[path]) for path, file in logs)
    broken_text = number(parts, "incomplete span", "incomplete spans")
    if lost:
        # Two logs of the same processes may have lost the same spans.
        logs_of_pids = Counter(pid for _, file in logs for pid in file.pids)
        at_most = "at most " if max(logs_of_pids.values(), default=0) > 1 else ""
        rest = f" The workers' files have {parts - lost:,} of the {broken_text}." if lost < parts else ""
        lost_text = f"{at_most}{number(lost, 'span is', 'spans are')} lost, and others may lack attributes.{rest}"
        lost_text = lost_text[0].upper() + lost_text[1:]
        places = [Place(path) for path, file in logs if file.fragments > held[path]]
        finding = finding_of(Kind.DEDUPLICATED, marks, f"Ray dropped repeated lines in {where}. {lost_text}", places)
        # Only the PIDs say whose files these are.
        return replace(finding, certainty=Certainty.LIKELY) if rest else finding
    detail = f"Ray dropped repeated lines in {where}. "
    detail += (
        f"The workers' files have as many spans as are incomplete there, {parts:,}: none is lost."
        if not unknown
        else "The workers' files have as many spans as are incomplete there, but there are no files of "
        f"{number(unknown, 'process', 'processes')} that the logs name: some spans may be lost."
    )
    severity = Severity.WARNING if unknown else Severity.INFO
    finding = finding_of(Kind.DEDUPLICATED, marks, detail, [Place(path) for path, _ in logs], severity=severity)
    return replace(finding, certainty=Certainty.LIKELY)


def _held_by_workers(facts: Facts, logs: list[tuple[str, FileTally]]) -> tuple[dict[str, int], int]:
    """Return how many spans the files of a log's workers have that the log has not, and how many have no such file.

    Ray's workers write what the driver's console repeats into files of their own, which are named after their PIDs.
    """
    of_pids: dict[int, list[tuple[str, FileTally]]] = {}
    for path, file in facts.files:
        if (match := _WORKER_FILE.fullmatch(_name(path))) and file.records and not file.fragments:
            of_pids.setdefault(int(match[1]), []).append((path, file))
    duplicates = facts.store.intake.duplicates
    held = {
        path: sum(
            other.records - duplicates.get((path, name), 0) - duplicates.get((name, path), 0)
            for pid in file.pids
            for name, other in of_pids.get(pid, [])
        )
        for path, file in logs
    }
    return held, len({pid for _, file in logs for pid in file.pids} - of_pids.keys())


def prefixed(facts: Facts) -> Finding:
    """Find logs with beginnings of spans that aren't whole, or are in text that isn't recognized."""
    logs = [(path, file) for path, file in facts.files if file.fragments and not file.repeated]
    parts = sum(file.fragments for _, file in logs)
    spans, where = number(parts, "span begins", "spans begin"), number(len(logs), "log", "logs")
    detail = f"{spans} in {where}, but can't be read there."
    return finding_of(Kind.PREFIXED, parts, detail, [Place(path) for path, _ in logs])


def javascript(facts: Facts) -> Finding:
    """Find files with what the console exporter of OpenTelemetry for JavaScript prints."""
    printed = [(path, file) for path, file in facts.files if file.inspected]
    spans = sum(file.inspected for _, file in printed)
    where = number(len(printed), "file", "files")
    detail = f"{number(spans, 'span', 'spans')} in {where} printed by JavaScript, which isn't JSON."
    return finding_of(Kind.JAVASCRIPT, spans, detail, [Place(path) for path, _ in printed])


def all_empty(facts: Facts) -> Finding | None:
    """Find that all files are empty."""
    if not facts.files or any(file.bytes for _, file in facts.files):
        return None
    detail = f"{number(len(facts.files), 'file is', 'files are')} empty."
    return finding_of(Kind.ALL_EMPTY, len(facts.files), detail, [Place(path) for path, _ in facts.files])


def batched(facts: Facts) -> Finding | None:
    """Find empty files of processes beside files with calls, where no attempt of a call is in any file."""
    calls = facts.submitted & (facts.statuses != ERROR)
    if facts.ran.any() or int(calls.sum()) < _MIN_CALLS:
        return None
    callers = {_folder(facts.store.sources[source].path) for source in np.unique(facts.sources[calls]).tolist()}
    empty = [path for path, file in facts.files if not file.bytes and _folder(path) in callers]
    files = number(len(empty), "file next to it is", "files next to it are")
    detail = (
        f"{number(int(calls.sum()), 'call was', 'calls were')} submitted, no attempt was written, and {files} empty."
    )
    return finding_of(Kind.BATCHED, len(empty), detail, [Place(path) for path in empty])


def foreign(facts: Facts) -> Finding:
    """Find files that aren't empty, but have no span, nor the beginning of one."""
    others = [(path, file) for path, file in facts.files if file.skipped or file.has_text]
    files = [path for path, file in others if not (file.records or file.fragments or file.gaps or file.inspected)]
    detail = f"{having(len(files), len(facts.files), 'file', 'files')} contents but no span."
    return finding_of(Kind.FOREIGN, len(files), detail, [Place(path, 0) for path in files])
