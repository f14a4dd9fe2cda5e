"""Whole processes: loading with statistics, memory, and a start that does next to nothing."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

from .figures import Figure, cpu_seconds_of, in_turns, seconds_of

if TYPE_CHECKING:
    from collections.abc import Callable

_DECODE_ALL: Final = str(Path(__file__).with_name("decoding.py"))
_DECODE_WHOLE: Final = "import sys, orjson; orjson.loads(open(sys.argv[1], 'rb').read())"
_FORMATS: Final = {"jsonl": 1.0, "otlp": 1.5, "jaeger": 1.5, "zipkin": 1.5, "trace-tree": 1.5}
"""Formats other than the SDK's, and the ratio that shall not be exceeded."""
LOAD: Final = "import sys, spanview; spanview.load(sys.argv[1])"
_ASK_DUCKDB: Final = """
import sys
import duckdb
duckdb.execute("set threads = 2")
print(duckdb.sql(f\"\"\"
with recursive spans as materialized (
  select name, context.trace_id as trace, context.span_id as span, parent_id as parent, status.status_code as status,
    epoch_us(start_time) as begin, epoch_us(end_time) as done
  from read_json('{sys.argv[1]}/*', format='unstructured', columns={{
    name: 'VARCHAR', context: 'STRUCT(trace_id VARCHAR, span_id VARCHAR)', parent_id: 'VARCHAR',
    status: 'STRUCT(status_code VARCHAR)', start_time: 'TIMESTAMP', end_time: 'TIMESTAMP'}})),
-- Each span's time at its parent, and what lies outside of it at the next span above.
handed as (
  select trace, parent as span, begin, done from spans where parent is not null
  union all
  select * from (
    select h.trace, p.parent, unnest([h.begin, greatest(h.begin, p.done)]) as begin,
      unnest([least(h.done, p.begin), h.done]) as done
    from handed h join spans p on h.trace = p.trace and h.span = p.span where p.parent is not null)
  where begin < done),
reach as (
  select h.trace, h.span, greatest(h.begin, s.begin) as begin, least(h.done, s.done) as done,
    max(least(h.done, s.done)) over (partition by h.trace, h.span order by h.begin
      rows between unbounded preceding and 1 preceding) as reached
  from handed h join spans s on h.trace = s.trace and h.span = s.span
  where h.begin < s.done and h.done > s.begin),
covered as (
  select trace, span, sum(greatest(0, done - greatest(begin, coalesce(reached, begin)))) as us
  from reach group by trace, span)
select name, count(*), count(*) filter (status = 'ERROR'), sum(done - begin), sum(done - begin - coalesce(us, 0)),
  min(done - begin), quantile_disc(done - begin, [0.5, 0.95, 0.99]), max(done - begin)
from spans left join covered on spans.trace = covered.trace and spans.span = covered.span
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


def loading(folder: Path, rounds: int, of_what: str = "") -> list[Figure]:
    """P1: `spanview.load` in a fresh process against decoding the same objects and throwing them away.

    Args:
        folder: What is loaded.
        rounds: How often.
        of_what: What to say of the folder.
    """
    ours, base = in_turns(
        [lambda: seconds_of("-c", LOAD, str(folder)), lambda: seconds_of(_DECODE_ALL, str(folder))], rounds
    )
    what = f"spanview.load{of_what}, whole process, against orjson.loads of all objects"
    return [Figure("P1", what, ours, "s", base, 0.3)]


def statistics(folder: Path, rounds: int) -> list[Figure]:
    """P2: `spanview stats --json` against decoding the same objects and throwing them away."""
    ours = stats_of(folder)
    base = (_DECODE_ALL, str(folder))
    measures = [lambda: seconds_of(*ours), lambda: seconds_of(*base)]
    measures += [lambda: cpu_seconds_of(*ours), lambda: cpu_seconds_of(*base)]
    whole, whole_base, cpu, cpu_base = in_turns(measures, rounds)
    return [
        Figure("P2", "stats --json, whole process, against orjson.loads of all objects", whole, "s", whole_base, 0.4),
        Figure("P2", "the same in processor time", cpu, "s", cpu_base),
    ]


def formats(folder: Path, rounds: int, flat: Path | None = None) -> list[Figure]:
    """P17: `spanview stats --json` of a folder's spans in other formats against orjson on the same bytes.

    Args:
        folder: Whose spans are written in each format.
        rounds: How often.
        flat: Whose spans are written as a tree, if orjson can't decode one as deep as that of the other.
    """
    figures = []
    with tempfile.TemporaryDirectory() as temporary:
        for name, limit in _FORMATS.items():
            path = Path(temporary) / name / ("spans.jsonl" if name in {"jsonl", "otlp"} else "spans.json")
            path.parent.mkdir()
            words = ("-m", "spanview", "export", "--no-cache", "--format", name, "-o", str(path))
            source = flat if flat and name == "trace-tree" else folder
            subprocess.run([sys.executable, *words, str(source)], check=True)
            base = (_DECODE_ALL, str(path.parent)) if path.suffix == ".jsonl" else ("-c", _DECODE_WHOLE, str(path))
            measures = [partial(cpu_seconds_of, *stats_of(path.parent)), partial(cpu_seconds_of, *base)]
            ours, decoding = in_turns(measures, rounds)
            what = f"stats --json of {name}, processor time, against orjson.loads of the same bytes"
            figures.append(Figure("P17", what, ours, "s", decoding, limit))
    return figures


def duckdb(folder: Path, rounds: int) -> list[Figure]:
    """P3: `spanview stats --json` against DuckDB that answers the same from the same files."""
    if find_spec("duckdb") is None:
        sys.stderr.write("left out: P3 needs duckdb, as in: pip install -e .[bench]\n")
        return []
    ours, base = in_turns(
        [lambda: seconds_of(*stats_of(folder)), lambda: seconds_of("-c", _ASK_DUCKDB, str(folder))], rounds
    )
    return [Figure("P3", "stats --json against DuckDB answering the same", ours, "s", base, 0.65)]


def files(many: Path, few: Path, spans: int, rounds: int) -> list[Figure]:
    """P5: time a span in many files against that of as many spans in few."""
    value, base = in_turns([partial(seconds_of, "-c", LOAD, str(folder)) for folder in (many, few)], rounds)
    counts = [sum(1 for _ in folder.iterdir()) for folder in (many, few)]
    what = f"load, a span of {spans:,} in {counts[0]:,} files, against one in {counts[1]:,}"
    return [Figure("P5", what, 1e6 * value / spans, "µs", 1e6 * base / spans)]


def growth(large: tuple[Path, int], small: tuple[Path, int], rounds: int) -> list[Figure]:
    """P5: time a span in a large folder against that in a small one."""
    many, few = in_turns([partial(seconds_of, "-c", LOAD, str(folder)) for folder, _ in (large, small)], rounds)
    value, base = 1e6 * many / large[1], 1e6 * few / small[1]
    return [Figure("P5", f"load, a span of {large[1]:,}, against one of {small[1]:,}", value, "µs", base, 1.2)]


def stats_of(folder: Path) -> tuple[str, ...]:
    """Return the words behind Python that print a folder's statistics."""
    return "-m", "spanview", "stats", "--json", "--no-cache", str(folder)


def exports(folder: Path, rounds: int, lines: Path | None = None) -> list[Figure]:
    """P11: `spanview export` to other formats against `--format jsonl`, in processor time.

    Args:
        folder: What is exported.
        rounds: How often each is run, in turns.
        lines: The same spans in lines of OTLP, which are exported, too.
    """

    def export(form: str, place: Path) -> Callable[[], float]:
        words = ("-m", "spanview", "export", "--no-cache", "--format", form, str(place))
        return partial(cpu_seconds_of, *words)

    forms = [(form, folder, "") for form in ("jsonl", "otlp", "zipkin", "jaeger", "chrome", "trace-tree")]
    if lines is not None:
        forms += [(form, lines, " from lines of OTLP") for form in ("jsonl", "otlp", "zipkin", "trace-tree")]
    with tempfile.TemporaryDirectory() as temporary:
        for name, of_format in (("otlp", "lines of OTLP with several spans"), ("jsonl", "spanview's own lines")):
            path = Path(temporary) / name / "spans.jsonl"
            path.parent.mkdir()
            words = ("-m", "spanview", "export", "--no-cache", "--format", name, "-o", str(path))
            subprocess.run([sys.executable, *words, str(folder)], check=True)
            forms += [(form, path.parent, f" from {of_format}") for form in ("jsonl", "otlp", "zipkin")]
        base, *seconds = in_turns([export(form, place) for form, place, _ in forms], rounds)
    return [
        Figure(
            "P11",
            f"export --format {form}{of_format}, whole process, against jsonl",
            each,
            "s",
            base,
            None if of_format or form == "trace-tree" else 2.0,
        )
        for (form, _, of_format), each in zip(forms[1:], seconds, strict=True)
    ]


def page(folder: Path, rounds: int) -> list[Figure]:
    """P22: `spanview export --format html` of many traces against `--format jsonl`."""
    words = [("-m", "spanview", "export", "--no-cache", "--format", form, str(folder)) for form in ("html", "jsonl")]
    measures = [partial(measure, *of_form) for measure in (seconds_of, cpu_seconds_of) for of_form in words]
    whole, whole_base, cpu, cpu_base = in_turns(measures, rounds)
    return [
        Figure(
            "P22",
            "export --format html of many traces, whole process, against --format jsonl",
            whole,
            "s",
            whole_base,
            3.0,
        ),
        Figure("P22", "the same in processor time", cpu, "s", cpu_base, 3.0),
    ]


def memory(folder: Path, spans: int, empty: Path, rounds: int, most_mb: float = 150) -> list[Figure]:
    """P4: what a loaded store holds, and the most that the process had, above the same program without spans."""
    held, peak, empty_held = in_turns(
        [lambda: _memory(folder)[0], lambda: _memory(folder)[1], lambda: _memory(empty)[0]], rounds
    )
    return [
        Figure("P4", f"held by {spans:,} spans, a span", (held - empty_held) / spans, "B", None, 80),
        Figure("P4", "the same, the process at its peak", peak / 1_000_000, "MB", None, most_mb),
    ]


def _memory(folder: Path) -> tuple[int, int]:
    words = [sys.executable, "-c", _MEMORY, str(folder)]
    held, peak = subprocess.run(words, capture_output=True, check=True).stdout.split()
    return int(held), int(peak)


def start(rounds: int) -> list[Figure]:
    """P9: `spanview --help` against a Python that does nothing."""
    ours, base = in_turns([lambda: seconds_of("-m", "spanview", "--help"), lambda: seconds_of("-c", "pass")], rounds)
    return [Figure("P9", "spanview --help against bare Python", ours * 1000, "ms", base * 1000, 3)]
