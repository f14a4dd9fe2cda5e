"""Ray's own events beside the spans of a folder, as it writes them, and what reading them costs.

process                        four lines of each attempt's task
-------                        ----------------------------------------------------------
driver                         made, ready and sent, with all of the task; later, finished
worker that ran it             runs; later, what it spent its time on
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .figures import Figure, cpu_seconds_of, in_turns
from .folders import kept

if TYPE_CHECKING:
    from pathlib import Path

_ATTEMPT: Final = re.compile(
    r'"name":"[^"]*?(\w+) ray\.remote_worker".*"startTimeUnixNano":"(\d+)","endTimeUnixNano":"(\d+)"'
    r'.*"ray\.node_id","value":\{"stringValue":"(\w+)".*"ray\.task_id","value":\{"stringValue":"(\w+)"'
)
_ENVIRONMENT: Final = {
    "runtime_env_config": {"eager_install": True, "log_files": [], "setup_timeout_seconds": 600},
    "serialized_runtime_env": "{}",
    "uris": {"py_modules_uris": [], "working_dir_uri": ""},
}
_JOB: Final = "AQAAAA=="
_DRIVER_TASK: Final = "//////////////////////////8BAAAA"


def reading(folder: Path, rounds: int) -> list[Figure]:
    """P21: `spanview stats` of spans with Ray's events beside them, against the spans alone, in processor time."""
    words = ("-m", "spanview", "stats", "--json", "--no-cache", str(folder))
    events = str(kept(f"{folder.name}-events", lambda events: _write(events, folder)))
    alone, together, calls_alone, calls_together = in_turns(
        [partial(cpu_seconds_of, *words, *more) for more in ([], [events], ["--by", "ray"], [events, "--by", "ray"])],
        rounds,
    )
    return [
        Figure("P21", "stats of tasks with Ray's events, processor time, against without", together, "s", alone, 2.0),
        Figure("P21", "the same --by ray", calls_together, "s", calls_alone, 2.0),
    ]


def _write(folder: Path, spans: Path) -> None:
    with (folder / "event_EXPORT_TASK_1.log").open("w") as of_driver:
        for path in sorted(spans.iterdir()):
            with (folder / f"event_EXPORT_TASK_{path.stem}.log").open("w") as of_worker, path.open() as file:
                for match in filter(None, map(_ATTEMPT.search, file)):
                    submitted, ran = _lines_of(match, path.stem)
                    of_driver.writelines(submitted)
                    of_worker.writelines(ran)


def _lines_of(attempt: re.Match[str], pid: str) -> tuple[list[str], list[str]]:
    """Return what the driver writes of an attempt, and what its worker does."""
    name, (start, end) = attempt[1], map(int, attempt.group(2, 3))
    task, node = (b64encode(bytes.fromhex(attempt[group])).decode() for group in (5, 4))
    worker = b64encode(pid.encode().rjust(28)).decode()
    info = {
        "func_or_class_name": name,
        "label_selector": {},
        "labels": {},
        "language": "PYTHON",
        "parent_task_id": _DRIVER_TASK,
        "required_resources": {"CPU": 1},
        "runtime_env_info": _ENVIRONMENT,
        "task_id": task,
        "type": "NORMAL_TASK",
    }
    times = {"1": f"{start - 4_000_000}", "2": f"{start - 3_900_000}", "5": f"{start - 3_000_000}"}
    log = f"/tmp/ray/session_2026-11-24_01-16-50_315050_21006/logs/worker-{pid.rjust(56, '0')}-ffffffff-{pid}"  # noqa: S108
    places: dict[str, Any] = {"stderr_end": 0, "stderr_file": f"{log}.err", "stderr_start": 33}
    places |= {"stdout_end": 0, "stdout_file": f"{log}.out", "stdout_start": 33}
    parts = [
        {"end_time": f"{end}", "event_name": name, "extra_data": "{}", "start_time": f"{start}"}
        for name in ("task:deserialize_arguments", "task:execute", "task:store_outputs")
    ]
    profile = {"component_id": worker, "component_type": "worker", "events": parts, "node_ip_address": "192.0.2.2"}
    made = {"node_id": node, "state_ts_ns": times, "worker_id": worker}
    runs = {"state_ts_ns": {"8": f"{start - 100_000}"}, "task_log_info": places, "worker_pid": int(pid)}
    done: dict[str, Any] = {"state_ts_ns": {}}
    submitted = [
        _line(task, state_updates=made, info=info),
        _line(task, state_updates={"state_ts_ns": {"11": f"{end}"}}),
    ]
    return submitted, [_line(task, state_updates=runs), _line(task, profile_events=profile, state_updates=done)]


def _line(task: str, *, info: dict[str, Any] | None = None, **parts: dict[str, Any]) -> str:
    of_task = {} if info is None else {"task_info": info}
    event = {
        "event_data": {"attempt_number": 0, "job_id": _JOB, **parts, "task_id": task, **of_task},
        "event_id": task.encode().hex()[:36],
        "source_type": "EXPORT_TASK",
        "timestamp": 1_780_000_000,
    }
    return json.dumps(event, separators=(",", ":")) + "\n"
