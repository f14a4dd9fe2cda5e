"""`--ray`: what a cluster's nodes have is collected and shown, or nodes count and export what all of them can read.

What is shown is in a folder of its own, into which another process collects meanwhile, and which goes at the end. Ray
is in that process alone. It writes to a terminal when it likes, and ends its process where the cluster is gone; the
viewer would not survive either.
"""

from __future__ import annotations

import os
from contextlib import contextmanager
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final, NamedTuple, TextIO

from spanview.commands.beside import Beside
from spanview.commands.standard_error import notice, quiet_libraries, say
from spanview.model.problems import CollectError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from spanview.cluster.shuffle import Job, Tasks
    from spanview.commands.options import Options
    from spanview.index.tallies import Tallies
    from spanview.model.problems import Problem

_SHOWN: Final = "ray-cluster"


@contextmanager
def collected(options: Options, *, whole: bool) -> Iterator[Options]:
    """Yield options with a folder for `--ray`, once the cluster has answered.

    Raises:
        CollectError: Nothing can be collected; the text says why.
    """
    with TemporaryDirectory(prefix="spanview-") as top:
        # The viewer shows the end of the path.
        folder = os.path.join(top, _SHOWN)
        os.mkdir(folder)
        words = ["collect", "--address", str(options.ray), "-o", folder, *(["-f"] if options.follow else [])]
        with Beside(words, options.environment) as collecting:
            say(f"collecting from the Ray cluster at {options.ray}")
            if collecting.wait(lambda: not whole and bool(os.listdir(folder))) not in {None, 0, 1}:
                lines = collecting.lines()
                raise CollectError((lines or [f"{options.ray}: Ray has ended the collecting process"])[-1])
            try:
                yield options._replace(ray=None, paths=(folder,), use_cache=False)
            finally:
                collecting.end()
            for line in collecting.lines():
                # The summary names a folder that is going.
                if folder not in line:
                    say(line)


class ClusterWork(NamedTuple):
    """What a cluster is to do."""

    tasks: Tasks
    job: Job
    problems: Sequence[Problem]
    """What was refused when the PATHs were searched."""
    paths: Sequence[str]
    standard_output: TextIO
    """What Ray prints doesn't get there."""

    def notice(self, tallies: Tallies, taken: int | None) -> None:
        """Say on standard error what could not be read, and whether nothing was taken of what was; None is all."""
        for problem in self.problems:
            tallies.add_problem(problem)
        notice(tallies, self.paths)
        if tallies.records and taken == 0:
            say("nothing matches")


@contextmanager
def working(options: Options, address: str) -> Iterator[ClusterWork]:
    """Be a driver of a cluster that reads the PATHs.

    Raises:
        SpanviewError: There is no such cluster, a PATH can't be read, or a query can't be answered by its nodes.
    """
    from spanview.cluster.shared_files import search
    from spanview.cluster.shuffle import Tasks, decidable, job_of
    from spanview.cluster.tasks import connected, watched

    selection = decidable(options.selection())
    files, problems = search(options.paths)
    with quiet_libraries() as standard_output, connected(address), watched():
        job = job_of(files, options.cap, selection)
        yield ClusterWork(Tasks(), job, problems, options.paths, standard_output)
