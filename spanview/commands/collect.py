"""`spanview collect`: the span files of every node of a Ray cluster, into one folder."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from spanview.cluster.collection import Collection, NodeState
from spanview.commands.following import until_interrupted
from spanview.commands.standard_error import quiet_libraries, say
from spanview.display.units import count, size

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spanview.cluster.collection import NodeProgress
    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Collect; end with 1 where a node is lost, unless nodes may come and go."""
    with ExitStack() as stack:
        stack.enter_context(quiet_libraries())
        if options.dashboard is None:
            from spanview.cluster.tasks import AUTO, collect, connected

            if stack.enter_context(connected(options.address or AUTO)):
                say("this version of Ray also traces collecting: spans named spanview.cluster.node_files.new_bytes")
            # Ray has set handlers of its own.
            stop = stack.enter_context(until_interrupted())
            collection = stack.enter_context(Collection(str(options.output)))
            rounds = collect(collection, [*options.node_paths], follow=options.follow, stop=stop)
        else:
            from spanview.cluster.dashboard import Dashboard, collect_logs

            dashboard = Dashboard(options.dashboard, options.environment)
            stop = stack.enter_context(until_interrupted())
            collection = stack.enter_context(Collection(str(options.output)))
            rounds = collect_logs(collection, dashboard, stop)
        nodes = _report(rounds)
    say(_summary(collection, nodes))
    return int(not options.follow and any(node.state is not NodeState.DONE for node in nodes))


def _report(rounds: Iterator[list[NodeProgress]]) -> list[NodeProgress]:
    """Show how far collecting is until it ends, and say what can't be collected, each once; return the nodes."""
    nodes: list[NodeProgress] = []
    said: dict[str, int] = {}
    with _lines_on_terminal() as show:
        for nodes in rounds:
            for progress in nodes:
                name = progress.node.folder
                for problem in progress.problems[said.get(name, 0) :]:
                    say(f"{name}: {problem}")
                said[name] = len(progress.problems)
            show(nodes)
    return nodes


@contextmanager
def _lines_on_terminal() -> Iterator[Callable[[list[NodeProgress]], None]]:
    """Give what shows a line for each node on a terminal's standard error, and nothing elsewhere."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield lambda _: None
        return
    from rich.console import Console
    from rich.live import Live
    from rich.text import Text

    with Live(console=Console(stderr=True), transient=True, auto_refresh=False) as live:
        yield lambda nodes: live.update(Text("\n".join(_lines(nodes)), no_wrap=True), refresh=True)


def _lines(nodes: list[NodeProgress]) -> list[str]:
    width = max((len(progress.node.folder) for progress in nodes), default=0)
    lines = []
    for progress in nodes:
        left = f", {size(progress.left)} left" if progress.left else ""
        lines.append(f"{progress.node.folder:<{width}}  {size(progress.bytes):>8}  {progress.state}{left}")
    return lines


def _summary(collection: Collection, nodes: list[NodeProgress]) -> str:
    """Return what there is after all, as `spans: 1.4 MiB new in 12 files of 3 nodes, sent as 98.1 KiB; 1 node lost`."""
    files, all_nodes = count(collection.files, "file"), count(len(nodes), "node")
    lost = sum(progress.state is NodeState.LOST for progress in nodes)
    end = f"; {count(lost, 'node')} lost" if lost else ""
    sent = size(sum(progress.sent for progress in nodes))
    return f"{collection.folder}: {size(collection.bytes)} new in {files} of {all_nodes}, sent as {sent}{end}"
