"""The tools of `spanview mcp`: what each is called, takes, and answers, which is what a command prints."""

from __future__ import annotations

import re
import sys
from collections import Counter
from dataclasses import dataclass, field, replace
from itertools import islice
from traceback import print_exc
from typing import TYPE_CHECKING, Any, Final

from spanview.analysis.answer import Doing, answer_of, stretches_of
from spanview.analysis.diff_groups import DiffBy
from spanview.analysis.query.terms import meant_text, near_key
from spanview.analysis.ray.known_calls import KnownCalls
from spanview.analysis.ray.names import short_names
from spanview.analysis.ray.unended import known_until
from spanview.analysis.ray.waited_for import reason_text
from spanview.analysis.serve.requests import RequestKey
from spanview.commands.agents.answers import FENCED, MAX_LINE, AnswerPage, error
from spanview.commands.agents.folding import FEWEST_FOLDED, FoldedTree
from spanview.commands.agents.questions import LIMIT, Question, call_of_command, call_text
from spanview.commands.check import diagnosis, problem_line
from spanview.commands.diff import SideType, query_of, side_of
from spanview.commands.standard_error import nothing_in, why_nothing
from spanview.display.answer_text import stretch_text, whole_answer_text
from spanview.display.diff_text import per_trace_text, side_lines
from spanview.display.finding_text import finding_lines, looked_at_text
from spanview.display.miss_text import caret_lines
from spanview.display.sanitise import sanitise
from spanview.display.trace_words import name_without_root
from spanview.display.tree_text import trace_title, tree_lines
from spanview.display.units import count, duration
from spanview.exports.jsonl import jsonl_chunks
from spanview.formats.jsontext import dumps_strict, loads_exact
from spanview.index.part import part_of
from spanview.index.table import NO_ROW
from spanview.model.ids import format_span_id
from spanview.model.problems import QueryError, Severity, SpanviewError
from spanview.model.times import NO_TIME
from spanview.reports.by import CALLS_BY, EACH_CALL, EACH_REQUEST, REQUESTS, statistics_by
from spanview.reports.comparison import compared, comparison_report, sums_in
from spanview.reports.explanation import explanation
from spanview.reports.explanation_text import explanation_lines
from spanview.reports.lines import in_whole, table_lines
from spanview.sources.places import latest_session

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from spanview.analysis.ray.unended import Unended
    from spanview.commands.agents.answers import ToolAnswer
    from spanview.commands.agents.folding import ShownNode
    from spanview.commands.agents.questions import Recordings
    from spanview.index.store import Store
    from spanview.index.tree import TraceTree
    from spanview.reports.table import Table, TableColumn

_WIDTH: Final = 120
"""Cells of a line that is broken."""
_ANY_WIDTH: Final = 100_000
"""Cells of a table's line: what would be empty is left out, and nothing else."""
_MAX_NAME: Final = 120
_MOST_ROWS: Final = 1_000
_VALUE: Final = 300
"""Characters of a text in a span, unless another number is asked for."""
_LEAST_VALUE, _MAX_VALUE = 20, 6_000
_MAX_KEYS, _MAX_ITEMS, _MAX_LEVELS = 60, 20, 8
"""Of an object, of a list, and of what is within them, in a span."""
_CALLS_BY: Final = {group: by for by, group in CALLS_BY.items()} | {"call": EACH_CALL}
_REQUESTS_BY: Final = {"route": REQUESTS, "request": EACH_REQUEST}
_IDS: Final = frozenset(("trace_id", "span_id", *RequestKey._fields))
"""What only JSON has of calls and requests, by its name there, and is asked for by."""
_COMMAND: Final = re.compile(r"`spanview ([^`]+)`|\bspanview (check|(?:stats --by|-q) [\w.=-]*\w)")
"""`spanview tree -q finding=unset_attempts`, spanview stats --by serve."""


@dataclass(frozen=True, slots=True)
class Tool:
    """A question that an agent can ask."""

    name: str
    text: str
    """What it answers."""
    properties: Mapping[str, Mapping[str, Any]]
    """Its arguments: the JSON Schema of each, with a description."""
    page: Callable[[Question], AnswerPage] = field(repr=False)
    required: Sequence[str] = ()
    of_each: bool = True
    """Whether it speaks of the spans that `query`, `since` and `trace` select."""

    @property
    def description(self) -> str:
        """What agents are told of it."""
        return f"{self.text} {FENCED}"

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON Schema of its arguments."""
        properties = {name: dict(schema) for name, schema in self.properties.items()}
        closed: dict[str, Any] = {"type": "object", "properties": properties, "additionalProperties": False}
        return closed | ({"required": [*self.required]} if self.required else {})


def answer(recordings: Recordings, name: str, arguments: Mapping[str, Any]) -> ToolAnswer:
    """Return what a tool answers; a mistake in the call is an answer, too."""
    tool = TOOLS.get(name)
    if tool is None:
        return error(f"no tool is named {name}; there are {', '.join(TOOLS)}{meant_text(near_key(name, TOOLS))}")
    if wrong := _mistake(tool, arguments):
        return error(wrong)
    question = Question(recordings, name, arguments)
    try:
        return _page(tool, question).answer(lambda first: question.again(offset=first))
    except QueryError as mistake:
        carets = [] if mistake.position is None else caret_lines(mistake.text, mistake.position)
        return error("\n".join([_with_calls(str(mistake)), *carets]))
    except SpanviewError as mistake:
        return error(_with_calls(str(mistake)))
    except Exception as crash:  # noqa: BLE001 - the top of a call; the agent is told, and can go on
        print_exc(file=sys.stderr)
        return error(f"{type(crash).__name__}: this is an error of spanview's own; its standard error says more")


def _mistake(tool: Tool, arguments: Mapping[str, Any]) -> str:
    """Return what is wrong with the arguments of a call; empty for nothing."""
    from jsonschema import Draft202012Validator

    wrong = next(iter(Draft202012Validator(tool.schema).iter_errors(arguments)), None)
    if wrong is None:
        return ""
    # The message begins with the value, however long that is.
    said = wrong.message if len(wrong.message) <= _MAX_NAME else f"…{wrong.message[-_MAX_NAME:]}"
    unknown = next((name for name in arguments if name not in tool.properties), None)
    hint = "" if unknown is None else meant_text(near_key(unknown, tool.properties))
    return ": ".join([*map(str, wrong.path), f"{said}{hint}"])


def _page(tool: Tool, question: Question) -> AnswerPage:
    if tool.of_each:
        # A mistake is said before anything is read.
        _ = question.selection
    store = question.store
    if not len(store.spans):
        said = nothing_in(store.tallies, question.recordings.options.paths)
        return AnswerPage("no spans", [[_with_calls(said)]])
    if tool.of_each and question.traces == []:
        return AnswerPage("nothing matches", [[line] for line in why_nothing(store, question.selection.query)])
    page = tool.page(question)
    bad = sum(problem.severity is not Severity.INFO for problem in store.problems())
    if not bad or question.tool == "check":
        return page
    return replace(page, notes=[*page.notes, f"{count(bad, 'problem')} in the files, listed by check()"])


def _with_calls(text: str) -> str:
    """Return a text that names commands with the calls that answer the same, where there are any."""

    def call(command: re.Match[str]) -> str:
        try:
            said = call_of_command(command[1] or command[2])
        except ValueError:
            # Quotes that aren't closed, in a text that repeats a name.
            return command[0]
        return said if said.partition("(")[0] in TOOLS else command[0]

    return _COMMAND.sub(call, text)


# -- traces ------------------------------------------------------------------------------------------------------------


def _list_traces(question: Question) -> AnswerPage:
    store, table = question.store, question.store.trace_table
    traces = store.traces_in_order() if question.traces is None else question.traces
    order: Mapping[str, Callable[[int], int]] = {
        "newest": lambda trace: -table.start_ns[trace],
        "slowest": lambda trace: -(table.duration_ns(trace) or 0),
        "errors": lambda trace: -table.error_count[trace],
    }
    sort = question.get("sort", "newest")
    traces = sorted(traces, key=order[sort])

    def line(trace: int) -> str:
        tree, root = store.tree(trace), table.root_row[trace]
        name = name_without_root(store, tree) if root == NO_ROW else store.names.texts[store.spans.name[root]]
        return f"{trace_title(store, trace, tree, unended=_unended_in(question, tree))} · {sanitise(name, _MAX_NAME)}"

    shown = traces[question.first : question.end]
    return AnswerPage(f"{sort} first", [[line(trace)] for trace in shown], question.first, len(traces), row="trace")


def _explain(question: Question) -> AnswerPage:
    store, most = question.store, int(question.get("limit", 40))
    report = explanation(
        store,
        question.traces,
        question.get("by", ""),
        unended=question.unended,
        session=latest_session(question.recordings.options.environment),
        rows=() if question.traces is None or len(question.traces) > 1 else question.selection.rows(store),
        asked=question.options,
    )
    if not report.rows:
        return AnswerPage(report.nothing)
    report = replace(report, rows=[replace(said, text=_with_calls(said.text)) for said in report.rows])
    left_out = list[str]()

    def asking_for(lines: int) -> str:
        again = question.again(limit=min(lines, _MOST_ROWS), offset=None)
        left_out.append(f"sentences are left out: {again} has {count(min(lines, _MOST_ROWS), 'line')}")
        return "explain with a higher limit"

    lines = explanation_lines(store, report, _WIDTH, most, asking=call_of_command, asking_for=asking_for)
    return AnswerPage(
        "each sentence stands above the span that it rests on, and the call that shows more",
        [[line] for line in lines[question.first :]],
        question.first,
        len(lines),
        notes=left_out,
        row="line",
    )


def _only_trace(question: Question) -> tuple[int, TraceTree]:
    trace = (question.traces or [])[0]
    return trace, question.store.tree(trace)


def _head_of(question: Question, trace: int, tree: TraceTree) -> str:
    store, unended = question.store, _unended_in(question, tree)
    reasons, open_calls = KnownCalls(store).reasons_and_open(tree)
    return trace_title(store, trace, tree, unended=unended, reasons=reasons, open_calls=open_calls)


def _unended_in(question: Question, tree: TraceTree) -> Mapping[int, Unended]:
    return {row: question.unended[row] for row in tree.rows if row in question.unended}


def _get_trace(question: Question) -> AnswerPage:
    store, (trace, tree) = question.store, _only_trace(question)
    top = _node_of(tree, question.get("span"))
    shown = [*FoldedTree(store, tree, top).shown(question.get("depth"), folds=question.get("fold", True))]
    own = [(one.node, one.depth) for one in shown if not one.folded]
    drawn = tree_lines(store, trace, tree, unended=_unended_in(question, tree), nodes=own)
    lines = [_folded_line(store, tree, one, drawn) for one in shown]
    notes = []
    if any(one.below for one in shown):
        again = question.again(span="ID", depth=None, offset=None)
        notes.append(f"below a span with more below it, or whose children are folded: {again}")
    if any(one.folded for one in shown):
        notes.append(f"without folding: {question.again(fold=False, offset=None)}")
    return AnswerPage(
        "span id, start after the trace's, duration, and the span in its place",
        [[line] for line in lines[question.first : question.end]],
        question.first,
        len(lines),
        [_head_of(question, trace, tree)],
        notes,
        "line",
    )


def _node_of(tree: TraceTree, span: str | None) -> int | None:
    """Return the node of a span, whose id may be given by its first digits.

    Raises:
        QueryError: There is none, or there are several.
    """
    if span is None:
        return None
    begins = span.strip().lower().removeprefix("0x")
    nodes = [node for node, _ in tree.walk() if format_span_id(tree.span_id(node)).startswith(begins)]
    if len(nodes) == 1:
        return nodes[0]
    raise QueryError(f"{count(len(nodes), 'span') if nodes else 'no span'} of the trace has an id that begins so")


def _folded_line(store: Store, tree: TraceTree, one: ShownNode, drawn: Iterator[str]) -> str:
    if not one.folded:
        more = f"  (+{count(one.below, 'span')} below)" if one.below else ""
        return f"{format_span_id(tree.span_id(one.node))} {next(drawn)}{more}"
    name = sanitise(store.names.texts[store.spans.name[tree.rows[one.node]]], _MAX_NAME)
    parent = tree.parents[one.node]
    where = f" below {format_span_id(tree.span_id(parent))}" if one.depth else ""
    return f"{'':16} … {one.folded:,} more {name}{where}, {count(one.below, 'span')} in all"


def _critical_path(question: Question) -> AnswerPage:
    store, (trace, tree) = question.store, _only_trace(question)
    known, until = KnownCalls(store), known_until(_unended_in(question, tree))
    found, begin = answer_of(store, trace, tree, until, known), store.trace_table.start_ns[trace]
    stretches, short = stretches_of(store, tree, until), short_names(store.names.texts)
    lines = []
    for stretch in stretches[question.first : question.end]:
        reason = known.wait_reason_of(stretch.row) if stretch.doing is Doing.WAITING else None
        cause = "" if reason is None else f", {reason_text(store, reason)}"
        span = "" if stretch.row == NO_ROW else format_span_id(store.spans.span_id[stretch.row])
        figures = f"+{duration(stretch.start_ns - begin)}".rjust(10) + duration(stretch.ns).rjust(10)
        likely = "likely " if stretch.doubt else ""
        lines.append([f"{span:16} {figures}  {likely}{stretch_text(stretch, short)}{cause}"])
    whole = whole_answer_text(found, short_names(found.names))
    heads = [*filter(None, [_head_of(question, trace, tree), whole])]
    about = "span id, start after the trace's, duration, and what the time was spent on"
    return AnswerPage(about, lines, question.first, len(stretches), heads, row="step")


# -- spans -------------------------------------------------------------------------------------------------------------


def _query_spans(question: Question) -> AnswerPage:
    store, longest = question.store, int(question.get("characters", _VALUE))
    rows = question.selection.rows(store)
    if question.get("sort") == "slowest":
        starts, ends = store.spans.start_ns, store.spans.end_ns
        rows.sort(key=lambda row: NO_TIME in (starts[row], ends[row]) or starts[row] - ends[row])
    shown = rows[question.first : question.end]
    lines = b"".join(jsonl_chunks(store, shown, forks=False)).splitlines() if shown else []
    cut = Counter[str]()
    blocks = [[_shortened(line, longest, cut)] for line in lines]
    notes = []
    if cut.total():
        more = "; the file has it all, at `source`"
        if longest < _MAX_VALUE:
            more = (
                f": {question.again(characters=_MAX_VALUE, limit=1)} has up to {_MAX_VALUE:,} characters of each{more}"
            )
        notes.append(f"{count(cut.total(), 'value')} cut{more}")
    return AnswerPage("spans as JSON", blocks, question.first, len(rows), notes=notes, row="span")


def _shortened(line: bytes, longest: int, cut: Counter[str]) -> str:
    """Return a span's JSON with its long values cut, the shorter the more there are; what was cut is counted."""
    try:
        span = loads_exact(line)
        while True:
            counted = Counter[str]()
            text = dumps_strict(_shorter(span, longest, counted)).decode()
            if len(sanitise(text, len(text)).encode()) <= MAX_LINE or longest < _LEAST_VALUE:
                cut.update(counted)
                return text
            longest //= 2
    except RecursionError:
        cut["nested"] += 1
        return line[:longest].decode("utf-8", "replace")


def _shorter(value: Any, longest: int, cut: Counter[str], level: int = 0) -> Any:
    if isinstance(value, str):
        if len(value) <= longest:
            return value
        cut["text"] += 1
        return f"{value[:longest]}… ({len(value) - longest:,} characters more)"
    if not isinstance(value, dict | list) or not value:
        return value
    if level == _MAX_LEVELS:
        cut["nested"] += 1
        return "…"
    more = len(value) - (_MAX_KEYS if isinstance(value, dict) else _MAX_ITEMS)
    cut["items"] += more > 0
    if isinstance(value, list):
        items = [_shorter(item, longest, cut, level + 1) for item in value[:_MAX_ITEMS]]
        return [*items, *[f"… ({more:,} more)"] * (more > 0)]
    pairs = islice(value.items(), _MAX_KEYS)
    kept = {_shorter(key, longest, cut): _shorter(item, longest, cut, level + 1) for key, item in pairs}
    return kept | ({"…": f"{more:,} more"} if more > 0 else {})


# -- tables ------------------------------------------------------------------------------------------------------------


def _table_page(question: Question, by: str) -> AnswerPage:
    report = statistics_by(by, question.get("value"), question.store, question.traces, lambda: question.unended)
    if not report.rows:
        return AnswerPage(report.nothing or "no rows")
    rows = report.rows[question.first : question.end]
    heads, *lines = table_lines(in_whole(_with_ids(report.table)), rows, width=_ANY_WIDTH)
    return AnswerPage(report.kind, [[line] for line in lines], question.first, len(report.rows), [heads])


def _with_ids(table: Table[Any]) -> Table[Any]:
    """Return a table that also shows what only JSON has otherwise, where each row is of one trace: what to ask next."""

    def shown(column: TableColumn[Any]) -> TableColumn[Any]:
        if column.is_shown or column.name not in _IDS:
            return column
        head, value = column.name.upper().replace("_", " "), column.json_value
        return replace(column, head=head, aligns_left=True, is_shown=True, text=lambda row: sanitise(value(row) or "–"))

    is_each = any(column.name == "trace_id" for column in table.columns)
    return table._replace(columns=[*map(shown, table.columns)]) if is_each else table


def _diff(question: Question) -> AnswerPage:
    by, options, store = DiffBy(question.get("by", "path")), question.recordings.options, question.store
    queries = {letter: query_of(letter.upper(), question.get(letter)) for letter in "ab"}
    sides = [side_of(options, store, letter.upper(), query) for letter, query in queries.items()]
    (a, b), groups = sides, [side.groups(by) for side in sides]
    merged, paths = compared(a, b, by, groups, are_traces=a.type is b.type is SideType.TRACE)
    report = comparison_report(merged, paths, by, {})
    heads, *lines = table_lines(report.table, paths[question.first : question.end], width=_ANY_WIDTH)
    labels = [f"{side.type} {sanitise(side.value)}" for side in sides]
    unit = [per_trace_text(sums_in(heads))] * merged.is_per_trace
    above = [*side_lines(merged, labels), *unit, heads]
    return AnswerPage("b compared with a", [[line] for line in lines], question.first, len(paths), above)


def _check(question: Question) -> AnswerPage:
    store, traces = question.store, question.traces
    part, options = store if traces is None else part_of(store, traces), question.recordings.options
    found = diagnosis(part, options, question.recordings.unended(part), is_whole=traces is None)
    advice = ((finding, _with_calls(finding.known_advice or finding.kind.rule.advice)) for finding in found.findings)
    blocks = [finding_lines(replace(finding, known_advice=said), _WIDTH) for finding, said in advice]
    blocks += [[problem_line(problem)] for problem in found.problems]
    about = looked_at_text(found.summary)
    if not blocks:
        return AnswerPage(f"{about}: nothing found")
    return AnswerPage(about, blocks[question.first : question.end], question.first, len(blocks), row="finding")


# -- what they take ----------------------------------------------------------------------------------------------------


def _text(text: str, longest: int = 200) -> dict[str, Any]:
    return {"type": "string", "maxLength": longest, "description": text}


def _number(least: int, most: int, text: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": least, "maximum": most, "description": text}


def _one_of(words: Sequence[str], text: str) -> dict[str, Any]:
    return {"type": "string", "enum": [*words], "description": text}


_QUERY: Final = _text(
    "keep what matches: name~leaf duration>10ms -status=ERROR, attributes by their names (http.status_code>=500), "
    "wait>1s, outcome=failed, trace.errors>0, A >> B for B below A; terms are joined by AND, unless by OR",
    1_000,
)
_SINCE: Final = _text("keep traces that ended after a time: 10m, 2h, an ISO time, or last for the newest run")
_TRACE: Final = _text("a trace's id, or its first digits")
_OFFSET: Final = _number(0, 10**9, "rows to skip (default 0)")
_SELECTING: Final = {"query": _QUERY, "since": _SINCE, "trace": _TRACE}


def _paged(limit: int = LIMIT) -> dict[str, dict[str, Any]]:
    return {"limit": _number(1, _MOST_ROWS, f"maximum of rows (default {limit})"), "offset": _OFFSET}


TOOLS: Final = {
    tool.name: tool
    for tool in (
        Tool(
            "list_traces",
            "List traces: id, start, duration, spans, errors, whether it is complete, and the root's name.",
            {
                "query": _QUERY,
                "since": _SINCE,
                "sort": _one_of(("newest", "slowest", "errors"), "which come first (default newest)"),
                **_paged(),
            },
            _list_traces,
        ),
        Tool(
            "explain",
            "Say in a few sentences what took the time, what failed, what was retried and what is missing, of one "
            "trace, of those that match, or of all. Each sentence names its span. Ask this first.",
            {
                **_SELECTING,
                "by": _one_of(("ray", "serve"), "explain Ray's calls or Serve's requests alone"),
                "limit": _number(2, _MOST_ROWS, "maximum of lines (default 40); the most important ones stay"),
                "offset": _OFFSET,
            },
            _explain,
        ),
        Tool(
            "get_trace",
            "Show the tree of one trace: a line for each span, with its id, start, duration, wait and error. "
            f"{FEWEST_FOLDED} or more siblings of one name are folded into one line but for the longest and the "
            "failed ones.",
            {
                "trace": _TRACE,
                "span": _text("show what is below this span: its id, or its first digits"),
                "depth": _number(0, 10_000, "levels below the first one (default all)"),
                "fold": {"type": "boolean", "description": "whether siblings of one name are folded (default true)"},
                **_paged(100),
            },
            _get_trace,
            ("trace",),
        ),
        Tool(
            "critical_path",
            "Show where the time of one trace went: the spans that its end waited for, by time, and what calls waited "
            "for.",
            {"trace": _TRACE, **_paged()},
            _critical_path,
            ("trace",),
        ),
        Tool(
            "query_spans",
            "Return spans as JSON with attributes, events (exceptions are among these), links, and file and offset. "
            "Long values are cut.",
            {
                **_SELECTING,
                "sort": _one_of(("file", "slowest"), "which come first (default file: by file and offset)"),
                "characters": _number(_LEAST_VALUE, _MAX_VALUE, f"maximum of characters of a value (default {_VALUE})"),
                **_paged(),
            },
            _query_spans,
        ),
        Tool(
            "stats",
            "Count spans, errors, percentiles of durations and self time by a key.",
            {
                **_SELECTING,
                "by": _text(
                    "name (the default), service, kind, status, service+name, trace.root, process, critical-path, "
                    "call-path, or any attribute"
                ),
                "value": _text("add up this numeric attribute instead of durations"),
                **_paged(),
            },
            lambda question: _table_page(question, question.get("by", "name")),
        ),
        Tool(
            "calls",
            "List Ray calls: how long they waited and ran, what they waited for, failures, retries, and calls that "
            "left no attempt.",
            {
                **_SELECTING,
                "by": _one_of([*_CALLS_BY], "group by this, or list each call (default function)"),
                **_paged(),
            },
            lambda question: _table_page(question, _CALLS_BY[question.get("by", "function")]),
        ),
        Tool(
            "requests",
            "List requests to Ray Serve, with queue and handling time, status and failures.",
            {**_SELECTING, "by": _one_of([*_REQUESTS_BY], "group by this, or list each (default route)"), **_paged()},
            lambda question: _table_page(question, _REQUESTS_BY[question.get("by", "route")]),
        ),
        Tool(
            "check",
            "Find missing, damaged or misconfigured spans, with advice.",
            {**_SELECTING, **_paged()},
            _check,
        ),
        Tool(
            "diff",
            "Compare two traces, or the traces in which spans match two queries: b with a. What changed most comes "
            "first.",
            {
                "a": _text("a trace's id, or its first digits; or a query", 1_000),
                "b": _text("the same, of the other side", 1_000),
                "by": _one_of([*DiffBy], "compare call paths, names, or Ray functions (default path)"),
                **_paged(),
            },
            _diff,
            ("a", "b"),
            of_each=False,
        ),
    )
}
"""By name."""
INSTRUCTIONS: Final = (
    "Traces of OpenTelemetry and Ray programs, read from files on this machine. Begin with "
    f"{call_text('explain', {})}; then {call_text('explain', {'trace': 'ID'})} and "
    f"{call_text('get_trace', {'trace': 'ID'})}. {FENCED}"
)
