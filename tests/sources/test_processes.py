"""Processes that are alive, and those that are not, with real ones."""

from __future__ import annotations

import os
import subprocess
import sys
import time

from spanview.sources import processes
from spanview.sources.processes import Processes


def test_a_process_that_ends() -> None:
    """It lives while it runs; what another process with its id did long before is not its."""
    asked = Processes()
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        now = time.time_ns()
        assert asked.lives(child.pid, now)
        assert not asked.lives(child.pid, now - 3600 * 10**9)
        child.kill()
        # Until somebody asks how it ended, it is a zombie.
        deadline = time.monotonic() + 20
        while Processes().lives(child.pid, now) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not Processes().lives(child.pid, now)
    assert not Processes().lives(child.pid, now)


def test_this_one_and_none() -> None:
    """This process lives; ids that none can have don't."""
    asked = Processes()
    assert asked.lives(os.getpid(), time.time_ns())
    for pid in (10**17, 2**31 - 1, 2**63):
        assert not asked.lives(pid, time.time_ns())


def test_it_is_asked_once_a_second() -> None:
    """However often somebody wants to know."""
    asked, calls = Processes(), []

    def time_of_start(pid: int) -> float:
        calls.append(pid)
        return 0.0

    original, processes._time_of_start = processes._time_of_start, time_of_start
    try:
        for _ in range(100):
            assert asked.lives(5, 10**18)
    finally:
        processes._time_of_start = original
    assert calls == [5]
