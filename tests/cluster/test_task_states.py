"""What the head of a real Ray knows of tasks, as lines beside the spans, while the program that has them runs.

task      it                                          in the lines
----      --                                          ------------
fails     fails                                       with its error, once
waits     runs until it is told to end                running; finished, once it was told
never     asks for what no node has                   waiting, once
done      ends at once                                nothing, since its attempt says it all
"""

from __future__ import annotations

import base64
import json
import time
from typing import TYPE_CHECKING, Any, Final

import pytest

from clusters import connected
from ray_sessions import RaySession, need
from spanview.cluster.task_states import FILE

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from clusters import Cluster

pytestmark = [pytest.mark.ray, pytest.mark.xdist_group("cluster")]

DEADLINE_S: Final = 60.0
TASKS: Final = """
import os
import sys
import time

import ray

ray.init()


@ray.remote(max_retries=0)
def fails():
    raise ValueError("meant to fail")


@ray.remote
def waits():
    while not os.path.exists("go on"):
        time.sleep(0.05)


@ray.remote(num_gpus=1)
def never():
    pass


@ray.remote
def done():
    pass


ray.get(done.remote())
calls = [fails.remote(), waits.remote(), never.remote()]
context = ray.get_runtime_context()
print(context.gcs_address, context.get_node_id(), flush=True)
sys.stdin.read()
"""
"""Has a task of each kind, and prints the address of its Ray, and its node."""


class Asked:
    """What was collected from a Ray into a folder."""

    def __init__(self, cluster: Cluster, folder: Path) -> None:
        self._cluster, self.folder = cluster, folder

    def collect(self) -> None:
        """Collect once more."""
        words = "collect", "--address", self._cluster.address, "-o", str(self.folder)
        status, _, notices = self._cluster.run(*words)
        assert status == 0, notices

    def until(self, condition: Callable[[dict[str, list[Any]]], bool]) -> dict[str, list[Any]]:
        """Collect until something is so of what lines say of each task; the head hears of tasks each second."""
        end = time.monotonic() + DEADLINE_S
        while True:
            self.collect()
            if condition(found := self.tasks()):
                return found
            assert time.monotonic() < end, found

    def lines(self, source: str) -> list[Any]:
        """Return what the lines of a kind say, in their order."""
        events = [json.loads(line) for line in (self.folder / FILE).read_text().splitlines() if line]
        return [event["event_data"] for event in events if event["source_type"] == source]

    def tasks(self) -> dict[str, list[Any]]:
        """Return what each line says of a task's state, by the task's function."""
        found: dict[str, list[Any]] = {}
        for data in self.lines("EXPORT_TASK"):
            assert data["task_info"]["type"] == "NORMAL_TASK"
            found.setdefault(data["task_info"]["func_or_class_name"], []).append(data["state_updates"])
        return found


def test_what_the_head_knows_of_tasks(tmp_path: Path) -> None:
    """Tasks that wait, run or have failed are told once in each state; where Ray writes events, nobody asks."""
    need("ray", "grpc")
    with RaySession(tmp_path) as session:
        session.write("tasks.py", TASKS)
        with session.start("tasks.py") as process:
            assert process.stdout is not None
            address, node = process.stdout.readline().split()
            with connected(address, session.environment()) as cluster:
                asked = Asked(cluster, tmp_path / "collected")
                found = asked.until(
                    lambda tasks: (
                        {"fails", "waits", "never"} <= tasks.keys() and "8" in tasks["waits"][-1]["state_ts_ns"]
                    )
                )
                assert found.keys() == {"fails", "waits", "never"}
                assert found["fails"][-1]["error_info"]["error_type"] == "TASK_EXECUTION_EXCEPTION"
                assert "11" not in found["waits"][-1]["state_ts_ns"]
                assert found["never"][-1]["state_ts_ns"].keys() == {"1", "2"}
                assert {base64.b64decode(line["node_id"]).hex() for line in asked.lines("EXPORT_NODE")} == {node}
                (tmp_path / "go on").touch()
                found = asked.until(lambda tasks: "11" in tasks["waits"][-1]["state_ts_ns"])
                asked.collect()
                assert asked.tasks() == found
                assert all(told.count(states) == 1 for told in found.values() for states in told)
                events = session.folder_of("export_events") / "event_EXPORT_TASK_1.log"
                events.write_text("{}\n")
                other = Asked(cluster, tmp_path / "other")
                other.collect()
                assert not (other.folder / FILE).exists()
            process.kill()
