"""`spanview stats`: counts, errors, percentiles and self time; or those of Ray's own spans."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from spanview.analysis.ray.unended import fates_text
from spanview.commands.reading import places, read_all
from spanview.commands.standard_error import notice, say, say_if_nothing_matches
from spanview.commands.tables import JSON, arranged, print_report
from spanview.model.problems import QueryError
from spanview.reports.by import RUNNING, statistics_by
from spanview.sources.places import latest_session
from spanview.sources.unended import unended_in

if TYPE_CHECKING:
    from spanview.commands.options import Options


def run(options: Options) -> int:
    """Print the statistics of all spans, or of those in the traces that match."""
    if options.ray is not None:
        return _run_on_cluster(options, options.ray)
    selection = options.selection()
    store = read_all(options)
    notice(store.tallies, places(options))
    traces = None if selection.is_everything else selection.traces(store)
    if traces is not None:
        say_if_nothing_matches(store, traces, selection.query)
    session = latest_session(options.environment)
    unended = partial(unended_in, store, session=session)
    counts = options.by != RUNNING and options.format != JSON
    if counts and (fates := fates_text(unended().values())):
        say(f"spans without an end are counted, but excluded from durations: {fates}")
    report = arranged(statistics_by(options.by, options.value, store, traces, unended), options)
    if options.save is not None:
        from spanview.exports.baseline import baseline_chunks
        from spanview.exports.files import write_atomically

        write_atomically(options.save, baseline_chunks(store, traces, options.save), force=options.force)
    print_report(report, options)
    return 0


def _run_on_cluster(options: Options, address: str) -> int:
    """Have a Ray cluster count, and print the statistics."""
    from spanview.cluster.statistics import BY, statistics_on_cluster
    from spanview.commands.from_cluster import working
    from spanview.reports.statistics import report_of

    if options.by not in BY:
        raise QueryError(f"can't group by {options.by!r} on a cluster; there are {', '.join(BY)}")
    if options.value is not None:
        raise QueryError("--value isn't counted on a cluster: leave out --ray")
    with working(options, address) as work:
        groups, tallies = statistics_on_cluster(work.tasks, work.job, options.by)
    work.notice(tallies, len(groups))
    print_report(arranged(report_of(groups, options.by), options), options)
    return 0
