"""Whole processes: loading with statistics, memory, and a start that does next to nothing."""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from importlib.util import find_spec
from statistics import median
from typing import TYPE_CHECKING, Final

from .figures import Figure, cpu_seconds_of, in_turns, seconds_of

if TYPE_CHECKING:
    from pathlib import Path

_DECODE_ALL: Final = """
import glob, re, sys
import orjson
end = re.compile(rb"\\n\\}\\n")
for path in sorted(glob.glob(sys.argv[1] + "/*")):
    with open(path, "rb") as file:
        data = file.read()
    view, at = memoryview(data), 0
    for match in end.finditer(data):
        orjson.loads(view[at : match.end()])
        at = match.end()
"""
_LOAD: Final = "import sys, spanview; spanview.load(sys.argv[1])"
_ASK_DUCKDB: Final = """
import sys
import duckdb
duckdb.execute("set threads = 2")
print(duckdb.sql(f\"\"\"
with spans as materialized (
  select name, context.trace_id as trace, context.span_id as span, parent_id as parent, status.status_code as status,
    epoch_us(start_time) as begin, epoch_us(end_time) as done
  from read_json('{sys.argv[1]}/*', format='unstructured', columns={{
    name: 'VARCHAR', context: 'STRUCT(trace_id VARCHAR, span_id VARCHAR)', parent_id: 'VARCHAR',
    status: 'STRUCT(status_code VARCHAR)', start_time: 'TIMESTAMP', end_time: 'TIMESTAMP'}})),
reach as (
  select c.trace, c.parent, greatest(c.begin, p.begin) as begin, least(c.done, p.done) as done,
    max(least(c.done, p.done)) over (partition by c.trace, c.parent order by c.begin
      rows between unbounded preceding and 1 preceding) as reached
  from spans c join spans p on c.trace = p.trace and c.parent = p.span),
covered as (
  select trace, parent, sum(greatest(0, done - greatest(begin, coalesce(reached, begin)))) as us
  from reach group by trace, parent)
select name, count(*), count(*) filter (status = 'ERROR'), sum(done - begin), sum(done - begin - coalesce(us, 0)),
  min(done - begin), quantile_disc(done - begin, [0.5, 0.95, 0.99]), max(done - begin)
from spans left join covered on spans.trace = covered.trace and spans.span = covered.parent
group by name order by 4 desc\"\"\").fetchall())
"""
"""What `spanview stats` says: counts, errors, totals, self times, percentiles."""
_MEMORY: Final = """
import gc, os, resource, subprocess, sys
import spanview
store = spanview.load(sys.argv[1])
gc.collect()
held = subprocess.run(["ps", "-o", "rss=", "-p", str(os.getpid())], capture_output=True, check=True).stdout
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(int(held) * 1024, peak * (1 if sys.platform == "darwin" else 1024))
"""

_EXPORT: Final = """
import gc, sys, time
import orjson
import spanview
from spanview.analysis.selftime import self_times
from spanview.exports.jsonvalue import span_value
from spanview.exports.trace_tree import trace_tree_chunks
store = spanview.load(sys.argv[1])
flat = []
for _, tree in store.trees():
    rows = enumerate(zip(tree.rows, self_times(tree, store.spans)))
    flat += [span_value(store.span(row), own, tree.warnings(node)) for node, (row, own) in rows]
gc.freeze()
for _ in range(int(sys.argv[2])):
    began = time.process_time()
    traces, summary, problems = store.traces_in_order(), store.summary(), store.problems()
    for _ in trace_tree_chunks(store, traces, summary=summary, problems=problems):
        pass
    between = time.process_time()
    orjson.dumps(flat)
    print(between - began, time.process_time() - between)
"""


def loading(folder: Path, rounds: int) -> list[Figure]:
    """P1: `spanview.load` in a fresh process against decoding the same objects and throwing them away."""
    ours, base = in_turns(
        [lambda: seconds_of("-c", _LOAD, str(folder)), lambda: seconds_of("-c", _DECODE_ALL, str(folder))], rounds
    )
    return [Figure("P1", "spanview.load, whole process, against orjson.loads of all objects", ours, "s", base, 0.4)]


def statistics(folder: Path, rounds: int) -> list[Figure]:
    """P2: `spanview stats --json` against decoding the same objects and throwing them away."""
    ours = _stats_of(folder)
    base = ("-c", _DECODE_ALL, str(folder))
    measures = [lambda: seconds_of(*ours), lambda: seconds_of(*base)]
    measures += [lambda: cpu_seconds_of(*ours), lambda: cpu_seconds_of(*base)]
    whole, whole_base, cpu, cpu_base = in_turns(measures, rounds)
    return [
        Figure("P2", "stats --json, whole process, against orjson.loads of all objects", whole, "s", whole_base, 0.6),
        Figure("P2", "the same in processor time", cpu, "s", cpu_base),
    ]


def duckdb(folder: Path, rounds: int) -> list[Figure]:
    """P3: `spanview stats --json` against DuckDB that answers the same from the same files."""
    if find_spec("duckdb") is None:
        sys.stderr.write("left out: P3 needs duckdb, as in: pip install duckdb\n")
        return []
    ours, base = in_turns(
        [lambda: seconds_of(*_stats_of(folder)), lambda: seconds_of("-c", _ASK_DUCKDB, str(folder))], rounds
    )
    return [Figure("P3", "stats --json against DuckDB answering the same", ours, "s", base, 0.9)]


def growth(large: tuple[Path, int], small: tuple[Path, int], rounds: int) -> list[Figure]:
    """P5: time a span in a large folder against that in a small one."""
    many, few = in_turns([partial(seconds_of, "-c", _LOAD, str(folder)) for folder, _ in (large, small)], rounds)
    value, base = 1e6 * many / large[1], 1e6 * few / small[1]
    return [Figure("P5", f"load, a span of {large[1]:,}, against one of {small[1]:,}", value, "µs", base, 1.2)]


def _stats_of(folder: Path) -> tuple[str, ...]:
    return "-m", "spanview", "stats", "--json", "--no-cache", str(folder)


def memory(folder: Path, spans: int, empty: Path, rounds: int) -> list[Figure]:
    """P4: what a loaded store holds, and the most that the process had, above the same program without spans."""
    held, peak, empty_held = in_turns(
        [lambda: _memory(folder)[0], lambda: _memory(folder)[1], lambda: _memory(empty)[0]], rounds
    )
    return [
        Figure("P4", f"held by {spans:,} spans, a span", (held - empty_held) / spans, "B", None, 80),
        Figure("P4", "the same, the process at its peak", peak / 1_000_000, "MB", None, 200),
    ]


def _memory(folder: Path) -> tuple[int, int]:
    words = [sys.executable, "-c", _MEMORY, str(folder)]
    held, peak = subprocess.run(words, capture_output=True, check=True).stdout.split()
    return int(held), int(peak)


def export(folder: Path, rounds: int) -> list[Figure]:
    """P11: the trace tree of a loaded store against encoding the same spans, decoded and flat in memory."""
    words = [sys.executable, "-c", _EXPORT, str(folder), str(rounds)]
    lines = subprocess.run(words, capture_output=True, check=True).stdout.splitlines()
    ours, base = (median(map(float, values)) for values in zip(*[line.split() for line in lines], strict=True))
    return [Figure("P11", "trace tree, processor time, against orjson.dumps of the same spans", ours, "s", base, 1.5)]


def start(rounds: int) -> list[Figure]:
    """P9: `spanview --help` against a Python that does nothing."""
    ours, base = in_turns([lambda: seconds_of("-m", "spanview", "--help"), lambda: seconds_of("-c", "pass")], rounds)
    return [Figure("P9", "spanview --help against bare Python", ours * 1000, "ms", base * 1000, 5)]
