"""The command line: words to options, options to a command. The only reader of the environment and of options."""

from __future__ import annotations

import io
import os
import re
import sys
from itertools import chain
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Sequence

    from spanview.commands.options import Options

COMMANDS: Final = {
    "view": "open the viewer (the default command)",
    "explain": "say what took the time, what failed and what is missing",
    "tree": "print traces as trees of text",
    "spans": "print spans as JSON, one per line",
    "export": "convert traces to JSON, OTLP, Parquet and other formats",
    "stats": "print counts, errors, percentiles and self time",
    "check": "find missing, damaged or misconfigured spans",
    "diff": "compare two traces, queries or folders by call path",
    "push": "send spans to Jaeger, Tempo, a collector, or any OTLP backend",
    "collect": "copy the span files of every node of a Ray cluster into one folder",
    "receive": "receive spans over OTLP and write span files",
    "mcp": "answer agents, over the Model Context Protocol",
    "help": "show a page of the manual, such as: spanview help query",
}
_RESERVED: Final = frozenset(("html",))
"""Words that aren't commands yet."""
FORMATS: Final = ("trace-tree", "jsonl", "otlp", "jaeger", "zipkin", "chrome", "html", "parquet")
TABLE_FORMATS: Final = ("text", "json", "csv", "markdown")
GATE_FORMATS: Final = (*TABLE_FORMATS, "github", "junit")
_SEVERITIES: Final = ("info", "warning", "error", "none")
_BY: Final = (
    "name",
    "service",
    "kind",
    "service+name",
    "status",
    "trace.root",
    "process",
    "pid",
    "scope",
    "critical-path",
    "call-path",
    "ray",
    "ray-actor",
    "ray-node",
    "ray-job",
    "ray-call",
    "ray-worker",
    "trace",
    "trace-group",
    "running",
    "serve",
    "serve-request",
)
_COLOR: Final = ("auto", "always", "never")
_TAKES_QUERY: Final = {
    "-q": ("--query",),
    "-fq": ("--follow", "--query"),
    "--query": ("--query",),
    "--fail-on": ("--fail-on",),
    "--sort": ("--sort",),
}
EXAMPLES: Final = {
    "view": {
        "spanview --follow": "a Ray program, while it runs",
        "spanview /tmp/spans --since last": "the newest run",
        "spanview /tmp/spans -q status=ERROR": "failed traces",
    },
    "explain": {
        "spanview explain /tmp/spans": "all traces, in a few lines",
        "spanview explain 18726b /tmp/spans": "one trace",
    },
    "tree": {
        "spanview tree /tmp/spans -q status=ERROR": "failed traces",
        "spanview tree /tmp/spans --trace 18726b --bars": "for a chat",
        "spanview tree /tmp/spans --trace 18726b --svg a.svg": "a picture",
    },
    "spans": {
        "spanview spans /tmp/spans -q 'duration>10ms'": "slow spans",
        "spanview spans -f /tmp/spans | jq .name": "live, for a script",
    },
    "export": {
        "spanview export /tmp/spans -o traces.json": "trees as JSON",
        "spanview export /tmp/spans --format html -o page.html": "one page",
    },
    "stats": {
        "spanview stats /tmp/spans --sort p95 --limit 10": "the slowest names",
        "spanview stats /tmp/spans --by ray": "Ray calls: waits and runs",
        "spanview stats /tmp/spans --save base.jsonl.gz": "a baseline for diff",
    },
    "check": {
        "spanview check /tmp/spans": "what is missing, and advice",
        "spanview check /tmp/spans --fail-on status=ERROR": "a gate for CI",
        "spanview check /tmp/spans --fail-on 'p95(name~leaf)>1s'": "of a figure",
    },
    "diff": {
        "spanview diff /tmp/before /tmp/after": "by call path",
        "spanview diff 18726b 587cb0 /tmp/spans": "two traces",
        "spanview diff /tmp/before /tmp/after --fail-on p95:+10%": "a gate for CI",
    },
    "push": {
        "spanview push /tmp/spans --endpoint http://localhost:4318": "to a collector",
        "spanview push /tmp/spans --endpoint http://localhost:4318 -f": "live",
    },
    "collect": {
        "spanview collect -o cluster": "from the cluster of this machine",
        "spanview collect -o cluster --address head:6379 -f": "from another, live",
    },
    "receive": {
        "spanview receive --dir spans --view": "and look at them",
    },
    "mcp": {
        "spanview mcp /tmp/spans": "started by an agent",
    },
    "help": {
        "spanview help query": "a page, or the page of a command",
        "spanview help --man query": "the same for man",
    },
}
"""Calls of each command with what they show, which begin its help."""
_GROUPS: Final = {
    "which spans": ("--follow", "--query", "--since", "--trace"),
    "where from": ("--ray", "--address", "--dashboard", "--path", "--demo", "--max-span-size", "--no-cache"),
    "table": ("--by", "--value", "--sort", "--limit", "--lines"),
    "gates": ("--fail-on", "--ignore-noise", "--allow-empty", "--severity", "--ignore"),
    "network": (
        *("--endpoint", "--protocol", "--header", "--compression", "--timeout", "--batch", "--rate", "--http"),
        *("--grpc", "--host", "--max-body", "--cors", "--web", "--port"),
    ),
    "output": (
        *("--format", "--json", "--output", "--dir", "--save", "--svg", "--bars", "--width", "--color", "--view"),
        *("--keep", "--max-file", "--max-bytes", "--fsync", "--force", "--shift-to-now", "--state", "--man", "--skill"),
    ),
}
"""Options by what they are about, in the order of the help."""
_WITHOUT_PATHS: Final = frozenset(("collect", "receive"))
_KEEP: Final = ("logs", "metrics", "all")
_MIN_FOLDER_BYTES: Final = 4096
_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@]+", re.IGNORECASE)
"""What browsers send of a page: no path, no slash at the end."""
_NUMBER: Final = re.compile(r"\d{1,9}(?:\.\d{1,9})?", re.ASCII)
_SIZE: Final = re.compile(r"(\d+)\s*([kmg]?)(?:i?b)?", re.IGNORECASE)
"""`16MiB`, `16 mb`, `16m`, `500000`; each of them by powers of 1024."""
_TRACE_ID: Final = re.compile("(?:0x)?[0-9a-f]{4,32}", re.IGNORECASE)
"""The first digits of a trace's id, where it stands for itself."""
_SHELLS: Final = ("bash", "zsh", "fish")
USAGE_ERROR: Final = 2
_MIN_SIMILARITY: Final = 0.65
"""Similarity from which a word is taken for a command: `tre` and `veiw`, not `data`."""
_MIN_OPTION_SIMILARITY: Final = 0.75
"""Similarity from which a word is taken for an option: `--folow`, but not `--filter` for `--follow`."""
_INTERRUPTED: Final = 130

_OVERVIEW: Final = """\
usage: spanview [COMMAND] [PATH]... [OPTION]...

The less of distributed traces: shows the span files that Ray and OpenTelemetry programs leave on disk.

PATH is a file, a folder, a glob, or - for standard input. The default is standard input if it is a pipe or a file,
otherwise /tmp/spans and the folders logs/spans and logs/serve/spans of Ray's latest session. If a PATH has a command's
name, write ./tree.

commands:
{commands}

options:
  -f, --follow           keep watching for new spans, files and folders
  -q, --query QUERY      keep matching spans, as in: -q 'name~leaf duration>10ms -status=ERROR'; repeat to require all
      --since WHEN       keep traces that ended after a time: 10m, 2h, an ISO time, or last for the newest run
      --trace ID         show one trace; a unique prefix is enough; repeat for several
      --demo             show a recording that ships with spanview, instead of a PATH
      --ray ADDRESS      read all nodes of a Ray cluster, instead of a PATH: auto, or HOST:PORT
      --web [--port N]   show the viewer in a browser on this machine; prints the address
      --color MODE       use colours: auto, always or never
      --max-span-size N  maximum size of a record in bytes (default 16MiB)
      --no-cache         neither read nor write the cached index
      --completion SHELL print the completion script for bash, zsh or fish
      --version          print the version; with --verbose also those of Python and libraries
  -h, --help             show this help, or a command's options: spanview COMMAND --help

spanview help lists the pages of the manual.
"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run spanview and return its exit status.

    0 all well, 1 `check` found something, 2 it can't be carried out, 70 an error of spanview's own.
    """
    _fill_standard_descriptors()
    if sys.stdout is None:
        return _complain("standard output is closed; to discard it, redirect it to /dev/null")
    # A terminal that can't show a character gets a stand-in, never a traceback.
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")
    try:
        status = _answer(list(sys.argv[1:] if arguments is None else arguments))
        sys.stdout.flush()
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        # The reader has had enough.
        _drop_output()
        return 0
    except OSError as error:
        # The floors below answer for their own files; what is left is standard output.
        _drop_output()
        return _complain(f"standard output can't be written: {error.strerror or error}")
    except Exception:  # noqa: BLE001 - the top of the program; the interpreter would end with 1, which is an answer
        return _crash()
    return status


def _fill_standard_descriptors() -> None:
    """Let no file that is opened later take the number of standard input, output or error where that is closed."""
    for descriptor in range(3):
        try:
            os.fstat(descriptor)
        except OSError:
            # The lowest free number is taken.
            os.open(os.devnull, os.O_RDWR)


def _answer(words: list[str]) -> int:
    if words[:1] == ["--complete"]:
        return _complete(words[1:])
    word, rest = _split(words)
    command = word if word in COMMANDS else None
    if command is None and rest[:1] in (["-h"], ["--help"]):
        commands = "\n".join(f"  {name:<7} {text}" for name, text in COMMANDS.items())
        return _print(_OVERVIEW.format(commands=commands))
    if "--version" in rest[:1]:
        from spanview.version import __version__

        return _print(f"spanview {__version__}\n" + (_versions_text() if "--verbose" in rest[1:2] else ""))
    if rest and rest[0].partition("=")[0] == "--completion":
        return _print_completion("".join([rest[0].partition("=")[2], *rest[1:2]]))
    if command is None and (mistake := _mistaken_command(word)) is not None:
        return _complain(mistake)
    try:
        if command == "help":
            return _help(**vars(_parser(command).parse_args(rest)))
        options = _options(command or "view", rest)
        if command and not (options.paths or options.sides) and os.path.lexists(command):
            options = options._replace(namesake=command)
    except SystemExit as end:
        # argparse has printed its help, or has complained.
        return end.code if isinstance(end.code, int) else 0
    return _run(options)


def _help(page: str | None, *, man: bool = False, skill: bool = False) -> int:
    from spanview.commands.help import show, show_skill
    from spanview.model.problems import SpanviewError

    if skill and page is not None:
        return _complain(f"--skill shows no page: leave out {page}")
    try:
        if skill:
            show_skill()
        else:
            show(page, is_man=man)
    except SpanviewError as error:
        return _complain(str(error))
    return 0


def _run(options: Options) -> int:
    # numpy's library of linear algebra starts a thread for each core, and nothing here needs it.
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
    # gRPC's library logs to standard error what it returns as well.
    os.environ.setdefault("GRPC_VERBOSITY", "NONE")
    from spanview.commands import run
    from spanview.model.problems import QueryError, SpanviewError

    try:
        return run(options)
    except QueryError as error:
        from spanview.display.miss_text import caret_lines

        return _complain(str(error), *([] if error.position is None else caret_lines(error.text, error.position)))
    except SpanviewError as error:
        return _complain(*str(error).split("\n"))


def _print_completion(shell: str) -> int:
    if shell not in _SHELLS:
        return _complain(f"--completion {shell}: expected one of {', '.join(_SHELLS)}")
    from spanview.commands.completion import SCRIPTS

    return _print(SCRIPTS[shell])


def _complete(words: list[str]) -> int:
    """Print what the last of some words may become, for the scripts of shells."""
    from spanview.commands.completion import FILES, TRACE, Option, answer, options_of, taken_by
    from spanview.docs import PAGES

    # bash has the = of --option=value as a word of its own, the others have it all as one word.
    *before, word = [word for word in words if word != "="] or [""]
    if word.startswith("--") and "=" in word:
        before.append(word.partition("=")[0])
    first, is_path = _split(before)[0], "--" in before
    command = first if first in COMMANDS else "view"
    options = options_of(_parser(command), _WORDS)
    if not first:
        options.append(Option(("--completion",), "print a shell's completion script", "SHELL", _SHELLS))
        options.append(Option(("--version",), "print the version", "", ()))
    others = (option for other in COMMANDS for option in options_of(_parser(other), _WORDS))
    taker = None if is_path or not before else taken_by(before[-1], chain(options, others))
    if taker is not None and TRACE in taker.flags:
        return _print(answer(_traces_beginning(command, _split(before[:-1])[1], word.rpartition("=")[2])))
    if taker is not None:
        return _print(answer(dict.fromkeys(taker.words, ""), has_files=taker.takes in FILES))
    if word.startswith("-") and not is_path:
        flags = [(flag, option.text) for option in options for flag in option.flags]
        return _print(answer({flag: text for flag, text in flags if flag.startswith(word)}))
    if command == "help":
        return _print(answer(dict.fromkeys(PAGES, "")))
    return _print(answer({} if first or is_path else COMMANDS, has_files=True))


def _traces_beginning(command: str, words: list[str], beginning: str) -> dict[str, str]:
    """Return the traces that may be meant in what the words before ask to be read, and what each is."""
    from spanview.commands.completion import trace_ids

    try:
        return trace_ids(_options(command, words)._replace(follow=False), beginning)
    except SystemExit:
        # A mistake in these words has been complained of.
        return {}


def _versions_text() -> str:
    """Return the versions of what it runs on, and what is done in Textual's own way since this version lacks a part."""
    from importlib.metadata import version
    from platform import python_version

    from spanview.tui.shims import inactive_text

    versions = [("Python", python_version()), *((name, version(name)) for name in ("textual", "rich", "numpy"))]
    return "".join(f"{name} {number}\n" for name, number in versions) + inactive_text()


def _print(text: str) -> int:
    sys.stdout.write(text)
    return 0


def _complain(*lines: str) -> int:
    from spanview.display.sanitise import sanitise

    if sys.stderr is not None:
        sys.stderr.write("\n".join(map(sanitise, (f"spanview: {lines[0]}", *lines[1:]))) + "\n")
    return USAGE_ERROR


def _crash() -> int:
    """Print what was raised, and return the status of an error of spanview's own."""
    from spanview.commands.options import INTERNAL_ERROR

    if sys.stderr is not None:
        import traceback

        traceback.print_exc()
    _complain("this is an error of spanview's own: please report it, with what is printed above")
    return INTERNAL_ERROR


def _drop_output() -> None:
    """Discard what is still in the buffer: the interpreter's own flush at the end must not fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _split(words: list[str]) -> tuple[str, list[str]]:
    """Return the first word that is no option nor an option's value, and the others, or all where it is no command."""
    index = 0
    while index < len(words) and words[index] != "--":
        if words[index] in _TAKES_VALUE:
            index += 1
        elif words[index] == "-" or not words[index].startswith("-"):
            return words[index], words[:index] + words[index + 1 :] if words[index] in COMMANDS else words
        index += 1
    return "", words


def _mistaken_command(word: str) -> str | None:
    """Return what to say where the first word is meant to be a command, and there is none of that name."""
    # Most PATHs have a slash or a dot in them: nothing is looked for on a disk for these.
    if not (word.isascii() and word.replace("-", "").isalpha()) or os.path.lexists(word):
        return None
    if word in _RESERVED:
        return f"no command, file or folder is named {word}; spanview --help lists the commands"
    from difflib import get_close_matches

    near = get_close_matches(word.lower(), COMMANDS, n=1, cutoff=_MIN_SIMILARITY)
    if not near:
        return None
    return (
        f"no command, file or folder is named {word}: did you mean `{near[0]}`? "
        f"If it is a PATH that doesn't exist yet, write ./{word}"
    )


def _joined(words: list[str]) -> list[str]:
    """Join queries to their options: `-q -status=OK` is no option `-s`, though argparse would take it for one."""
    joined: list[str] = []
    for index, word in enumerate(words):
        option = words[index - 1] if index else ""
        if joined and joined[-1] == option and option in _TAKES_QUERY:
            *others, last = _TAKES_QUERY[option]
            joined[-1:] = [*others, f"{last}={word}"]
        else:
            joined.append(word)
    return joined


def _options(command: str, words: list[str]) -> Options:
    from spanview.commands.options import SERVED, Options

    parser = _parser(command)
    # What follows -- is no option, which argparse forgets where PATHs and options are mixed.
    end = words.index("--") if "--" in words else len(words)
    given = vars(parser.parse_intermixed_args(_joined(words[:end])))
    paths = (*given.pop("paths", ()), *words[end + 1 :])
    if command == "explain" and paths and _TRACE_ID.fullmatch(paths[0]) and not os.path.lexists(paths[0]):
        given["traces"], paths = [*given.get("traces", ()), paths[0]], paths[1:]
    compared = 2 if command == "diff" else 0
    if len(paths) < compared:
        parser.error("diff needs two traces, queries, or PATHs to compare")
    if command in _WITHOUT_PATHS and paths:
        parser.error(f"unrecognized arguments: {' '.join(paths)}")
    if given.pop("demo", False):
        from spanview.sources.places import DEMO

        if len(paths) > compared:
            parser.error(f"--demo replaces PATH: leave out {paths[compared]}")
        paths = (*paths, DEMO)
    fields: dict[str, Any] = {name: tuple(value) if isinstance(value, list) else value for name, value in given.items()}
    fields["queries"] = tuple(query for query in given.get("queries", ()) if query.strip())
    options = Options(
        command=command,
        paths=paths[compared:],
        sides=paths[:compared],
        served=os.environ.get(SERVED),
        words=(command, *words) if command in _WITHOUT_PATHS else (),
        environment=dict(os.environ),
        **fields,
    )
    for mistake, is_made in _mistakes(options).items():
        if is_made:
            parser.error(mistake)
    return options


def _mistakes(given: Options) -> dict[str, object]:
    """Return for each way in which options need another one, or can't be combined with it, whether it is so here."""
    command, paths, dashboard = given.command, given.paths, given.dashboard is not None
    on_cluster = given.ray is not None and command in {"stats", "export"}
    return {
        "--ray needs PATHs that every node of the cluster can read, not standard input": (
            on_cluster and (not paths or "-" in paths)
        ),
        f"--ray replaces PATH: leave out {(*paths, '')[0]}": given.ray is not None and not on_cluster and paths,
        "--limit can't be combined with --follow": given.follow and given.limit is not None,
        "--save can't be combined with --ray: the spans stay on the cluster": on_cluster and given.save is not None,
        "--port needs --web": given.port is not None and not given.web,
        "--width needs --bars": given.width is not None and not given.bars,
        "--shift-to-now can't be combined with --follow": given.follow and given.shift_to_now,
        "-o DIR is missing": command == "collect" and given.output is None,
        "--dashboard replaces --address: leave out one of them": dashboard and given.address is not None,
        "--dashboard can't be combined with --follow, because it sends whole files: collect again instead": (
            dashboard and given.follow
        ),
        "--dashboard can only read Ray's logs: leave out --path": dashboard and given.node_paths,
        "--dir DIR is missing": command == "receive" and given.output is None,
        "--http off --grpc off leaves no port to receive on: leave out one of them": given.http is given.grpc is None,
        f"--format {given.format} needs --fail-on": (
            command == "diff" and given.format in GATE_FORMATS[len(TABLE_FORMATS) :] and not given.fail_on
        ),
        f"--max-bytes {given.max_bytes}: expected {_MIN_FOLDER_BYTES:,} bytes or more": (
            0 < given.max_bytes < _MIN_FOLDER_BYTES
        ),
    }


def _parser(command: str) -> argparse.ArgumentParser:
    parser = _empty_parser(command)
    add = parser.add_argument
    takes = {"diff": "A B [PATH]... ", "explain": "[TRACE] [PATH]... ", **dict.fromkeys(_WITHOUT_PATHS, "")}
    parser.usage = f"spanview {command} {takes.get(command, '[PATH]... ')}[OPTION]..."
    if command == "help":
        parser.usage = "spanview help [PAGE] [OPTION]..."
        add("page", metavar="PAGE", nargs="?", default=None, help="name of a page; without it, all pages are listed")
    elif command == "diff":
        add("paths", metavar="A B", nargs="*", help="what to compare: prefixes of trace ids, queries, or PATHs")
        parser.epilog = _EPILOG_OF_DIFF
    elif command not in _WITHOUT_PATHS:
        add("paths", metavar="PATH", nargs="*", help="a file, a folder, a glob, or - for standard input")
    for title, in_group in _GROUPS.items():
        group = parser.add_argument_group(title)
        for commands, flags, how in _OPTIONS:
            if command in commands and flags[-1] in in_group:
                group.add_argument(*flags, **{"action": _action_of(flags, how), **how})
    parser.add_argument_group("help").add_argument("-h", "--help", action="help", help="show this help")
    return parser


def _empty_parser(command: str) -> argparse.ArgumentParser:
    import argparse

    class Parser(argparse.ArgumentParser):
        def error(self, message: str) -> None:  # type: ignore[override]
            near = _near_option(message, self._option_string_actions)
            sys.exit(_complain(f"{message}{near}; {self.prog} --help lists its options"))

        def _check_value(self, action: argparse.Action, value: Any) -> None:
            if action.choices is not None and value not in action.choices:
                raise argparse.ArgumentError(action, f"{value}: expected {_any_of([*action.choices])}")

    class Once(argparse.Action):
        """Takes a value, and refuses another one, of which only the last would count."""

        is_given = False

        def __call__(
            self, parser: argparse.ArgumentParser, given: argparse.Namespace, value: Any, _: Any = None
        ) -> None:
            if self.is_given:
                parser.error(f"{self.option_strings[0]} takes one value: leave out {value}, or the one before it")
            self.is_given = True
            setattr(given, self.dest, value)

    class Formatter(argparse.HelpFormatter):
        """Leaves examples, which are indented, as they are."""

        def _fill_text(self, text: str, width: int, indent: str) -> str:
            fill = super()._fill_text
            return "\n".join(line if line[:1] == " " else fill(line, width, indent) for line in text.splitlines())

    room = max(map(len, EXAMPLES[command]))
    examples = "\n".join(f"  {example:<{room}}  # {text}" for example, text in EXAMPLES[command].items())
    parser = Parser(
        prog=f"spanview {command}",
        description=f"spanview {command}: {COMMANDS[command]}\n\nexamples:\n{examples}",
        formatter_class=Formatter,
        add_help=False,
        allow_abbrev=False,
        # What isn't given is as `Options` has it.
        argument_default=argparse.SUPPRESS,
    )
    parser.register("action", "once", Once)
    return parser


def _action_of(flags: Sequence[str], how: dict[str, Any]) -> str:
    """Return what argparse does with an option, by what `Options` has without it."""
    from spanview.commands.options import Options

    if Options._field_defaults.get(how.get("dest", flags[-1].strip("-").replace("-", "_"))) == ():
        return "append"
    return "store" if how.keys() & {"metavar", "choices"} else "store_true"


def _near_option(message: str, options: Iterable[str]) -> str:
    """Return what to add to the message about an option that there isn't: who takes it, or which one is near."""
    from difflib import get_close_matches

    if not message.startswith("unrecognized arguments:"):
        return ""
    # `unrecognized arguments: --sinec=2h --jsn`
    unknown = [word.partition("=")[0] for word in message.split() if word.startswith("--")]
    for word in unknown:
        if takers := [command for commands, flags, _ in _OPTIONS if word in flags for command in commands]:
            return f": {word} is an option of {', '.join(takers)}"
        if near := get_close_matches(word, options, n=1, cutoff=_MIN_OPTION_SIMILARITY):
            return f": did you mean {near[0]}?"
    return ""


def _whole_number(least: int, most: int, expected: str) -> Callable[[str], int]:
    """Return what reads a number from `least` to `most`."""

    def number(text: str) -> int:
        if not (text.isascii() and text.isdigit() and least <= int(text[:9]) <= most):
            raise _unexpected(text, expected)
        return int(text)

    return number


_at_least_one: Final = _whole_number(1, 999_999_999, "a number above 0")
_port: Final = _whole_number(0, 65_535, "a port up to 65535, or 0 for any free port")


def _port_or_off(text: str) -> int | None:
    return None if text == "off" else _port(text)


def _size(text: str) -> int:
    """Return `16MiB`, `16m` or `16777216` as bytes."""
    match = _SIZE.fullmatch(text.strip())
    bytes_ = int(match[1]) * 1024 ** " kmg".index(match[2].lower() or " ") if match else 0
    if not bytes_:
        raise _unexpected(text, "a size such as 16MiB or 500000")
    return bytes_


def _positive(text: str) -> float:
    number = float(text) if _NUMBER.fullmatch(text) else 0.0
    if not number:
        raise _unexpected(text, "a number above 0")
    return number


def _origin(text: str) -> str:
    if text not in {"*", "null"} and not _ORIGIN.fullmatch(text):
        raise _unexpected(text, "an origin, such as http://localhost:3000, or *")
    return text


def _unexpected(text: str, expected: str) -> Exception:
    import argparse

    return argparse.ArgumentTypeError(f"{text}: expected {expected}")


def _option(commands: str, usage: str, text: str, **how: Any) -> tuple[list[str], list[str], dict[str, Any]]:
    """Return which commands take an option, its names, and how argparse is to read it.

    Args:
        usage: Its names; then that of its value in the help, if it has one.
    """
    words = usage.split()
    flags = [word for word in words if word.startswith("-")]
    value = {} if words == flags else {"metavar": words[-1]}
    return commands.split(), flags, how | value | {"help": text}


def _any_of(words: Sequence[str]) -> str:
    return f"{', '.join(words[:-1])} or {words[-1]}"


_ASKING: Final = "view explain tree spans export stats check push"
_READING: Final = f"{_ASKING} diff mcp"
_OPTIONS: Final = (
    _option("view tree spans collect push", "-f --follow", "keep watching for new spans, files and folders"),
    _option(_ASKING, "-q --query QUERY", "keep matching spans; repeat to require all", dest="queries"),
    _option(
        _ASKING, "--since WHEN", "keep traces that ended after a time: 10m, 2h, an ISO time, or last for the newest run"
    ),
    _option(
        _ASKING,
        "--trace ID",
        "select one trace; a unique prefix is enough; repeat for several. For a Serve request: -q request_id=ID",
        dest="traces",
    ),
    _option("export", "--format FORMAT", f"{_any_of(FORMATS)} (default {FORMATS[0]})", choices=FORMATS),
    _option(
        "export",
        "-o --output FILE",
        "write to a file, completely or not at all; with --ray, DIR/ writes parts into a folder",
    ),
    _option(
        "collect",
        "--address ADDRESS",
        "address of the cluster, from one of its machines: HOST:PORT of the head node, or auto (default auto)",
    ),
    _option("collect", "-o --output DIR", "folder to copy into; an earlier collection there is continued"),
    _option(
        "collect",
        "--path GLOB",
        "file, folder or glob to read on each node, where $VARIABLES are resolved, instead of the default places; "
        "repeatable",
        dest="node_paths",
    ),
    _option(
        "collect",
        "--dashboard URL",
        "read through the dashboard, from outside the cluster: only files in the log folders of Ray",
    ),
    _option("receive", "--dir DIR", "folder to write span files into", dest="output"),
    _option(
        "receive",
        "--http PORT",
        "port for OTLP over HTTP (default 4318): 0 for any free port, off for none",
        type=_port_or_off,
    ),
    _option(
        "receive",
        "--grpc PORT",
        "port for OTLP over gRPC (default 4317): 0 for any free port, off for none",
        type=_port_or_off,
    ),
    _option("receive", "--host HOST", "address to listen on (default localhost); 0.0.0.0 lets other machines send"),
    _option("receive", "--view", "open the viewer on the received spans"),
    _option(
        "receive",
        "--keep WHAT",
        "also keep logs, metrics or all, in the hidden folders .logs and .metrics of DIR",
        choices=_KEEP,
    ),
    _option(
        "receive",
        "--max-body SIZE",
        "size limit of a request, both compressed and decompressed (default 64MiB)",
        type=_size,
    ),
    _option("receive", "--max-file SIZE", "start a new file at this size (default 256MiB)", type=_size),
    _option(
        "receive", "--max-bytes SIZE", "remove the oldest files when the received spans take more than this", type=_size
    ),
    _option("receive", "--fsync", "acknowledge spans only when they are on disk"),
    _option(
        "receive",
        "--cors ORIGIN",
        "let web pages of this origin send, such as http://localhost:3000; * for any; repeatable",
        type=_origin,
    ),
    _option(
        "push",
        "--endpoint URL",
        "where to send spans, such as http://localhost:4318 (default $OTEL_EXPORTER_OTLP_ENDPOINT)",
    ),
    _option(
        "push",
        "--protocol NAME",
        "http/json, http/protobuf or grpc (default http/json)",
        choices=("http/json", "http/protobuf", "grpc"),
    ),
    _option("push", "--header K=V", "header to send with each request, such as an API key; repeatable", dest="headers"),
    _option("push", "--compression NAME", "gzip or none (default none)", choices=("gzip", "none")),
    _option("push", "--timeout S", "seconds to wait for a response (default 10)", type=_positive),
    _option(
        "push",
        "--batch N",
        "maximum spans per request (default 512)",
        type=_whole_number(1, 10_000, "1 to 10000 spans"),
    ),
    _option("push", "--rate N", "maximum spans per second", type=_positive),
    _option("push", "--shift-to-now", "shift all times by the same amount, so that the newest span ends now"),
    _option("push", "--state FILE", "record in FILE what has been sent; the same command continues from there"),
    _option("view tree", "--ray ADDRESS", "read all nodes of a Ray cluster, instead of a PATH: auto, or HOST:PORT"),
    _option("stats", "--ray ADDRESS", "count on a Ray cluster whose nodes can all read the PATHs: auto, or HOST:PORT"),
    _option(
        "export",
        "--ray ADDRESS",
        "export jsonl, otlp or parquet on a Ray cluster whose nodes can all read the PATHs: auto, or HOST:PORT",
    ),
    _option("help", "--skill", "print a skill file, which tells agents when to use which command"),
    _option("view", "--web", "show the viewer in a browser on this machine; prints the address"),
    _option("view", "--port N", "port for --web (default: any free port)", type=_port),
    _option("tree", "--svg FILE", "write the waterfall as an SVG picture, completely or not at all"),
    _option("export tree stats", "--force", "overwrite an existing file"),
    _option("tree", "--bars", "draw the waterfall as text, for a chat or a ticket"),
    _option(
        "tree",
        "--width N",
        "width of --bars in columns (default 100)",
        type=_whole_number(40, 1000, "40 to 1000 columns"),
    ),
    _option(
        "view explain tree stats check diff",
        "--color MODE",
        f"use colours: {_any_of(_COLOR)} (default {_COLOR[0]}: on a terminal, unless NO_COLOR is set)",
        choices=_COLOR,
    ),
    _option("stats", "--by KEY", f"group by {', '.join(_BY)} or any attribute", action="once"),
    _option("stats", "--value KEY", "sums and percentiles of a numeric attribute instead of durations", action="once"),
    _option(
        "diff",
        "--by",
        "compare call paths, span names or Ray functions (default path)",
        action="once",
        default="path",
        choices=("path", "name", "ray"),
    ),
    _option("explain", "--by", "explain the calls of ray or the requests of serve alone", choices=("ray", "serve")),
    _option(
        "explain",
        "--lines N",
        "maximum of lines, or of rows of JSON; of each topic, the most important comes first (default 40)",
        type=_whole_number(10, 100_000, "10 to 100000 lines"),
    ),
    _option(
        "explain stats",
        "--format FORMAT",
        f"print the table as {_any_of(TABLE_FORMATS)} (default {TABLE_FORMATS[0]})",
        default="text",
        choices=TABLE_FORMATS,
    ),
    _option(
        "check diff",
        "--format FORMAT",
        f"print tables as {_any_of(TABLE_FORMATS)} (default {TABLE_FORMATS[0]}); or what passed and what failed as "
        "github (annotations) or junit (XML)",
        default="text",
        choices=GATE_FORMATS,
    ),
    _option(
        "stats diff",
        "--sort COLUMN",
        "sort the table by a column, by its name in JSON or the end of it: p95, self_time; -p95 reverses the order",
    ),
    _option("tree", "--limit N", "print at most so many traces, the first ones", type=_at_least_one),
    _option("stats diff", "--limit N", "print at most so many rows, the first ones", type=_at_least_one),
    _option(
        "stats",
        "--save FILE",
        "also save what the statistics rest on, without attributes, for spanview diff FILE PATH; .gz is compressed",
    ),
    _option(
        "explain stats check diff",
        "--json",
        "short for --format json",
        dest="format",
        action="store_const",
        const="json",
    ),
    _option(
        "check",
        "--fail-on GATE",
        "exit with status 1 if a span matches a query, or a figure is over a limit, as in 'p95(name=\"GET /\")>200ms'; "
        "repeat to fail on any",
    ),
    _option(
        "diff",
        "--fail-on CHANGE",
        "exit with status 1 if a figure has changed by more, and by more than noise: p95:+20ms of any row, or "
        "'p95(name=\"GET /\"):+20ms'; repeat to fail on any",
    ),
    _option(
        "diff",
        "--ignore-noise",
        "let --fail-on also fail on changes that the spread of both sides explains, or that too few spans show",
    ),
    _option(
        "check diff",
        "--allow-empty",
        "let --fail-on pass where no span could match: no spans, or none that its terms with = select",
    ),
    _option(
        "check",
        "--severity LEVEL",
        f"least severity of what was found for status 1: {_any_of(_SEVERITIES)} (default warning)",
        choices=_SEVERITIES,
    ),
    _option("check", "--ignore KIND", "leave out findings and problems of a kind, such as clock_skew; repeatable"),
    _option("help", "--man", "print the page as a man page; without PAGE, that of spanview"),
    _option(_READING, "--max-span-size N", "maximum size of a record in bytes (default 16MiB)", dest="cap", type=_size),
    _option(_READING, "--demo", "show a recording that ships with spanview, instead of a PATH"),
    _option(_READING, "--no-cache", "neither read nor write the cached index", dest="use_cache", action="store_false"),
)
"""Which commands take which options. A value is a field of `Options` by its name, or its `dest`."""
_TAKES_VALUE: Final = {"-fq", *(flag for _, flags, how in _OPTIONS if "metavar" in how for flag in flags)}
_WORDS: Final = {
    "KEY": _BY,
    "WHEN": ("last", "10m", "1h", "1d"),
}
"""What a shell may propose for a value that may be another one, too, by its name in the help."""
_EPILOG_OF_DIFF: Final = (
    "If A and B are existing files or folders and no PATH is given, these are compared. Otherwise A and B select "
    "traces in PATH or in the default places: hex digits that are the unique prefix of a trace id select that trace, "
    "anything else is a query. For a query that looks like a file or a trace id, write name~cafe; for a trace id that "
    "looks like a file, write trace=cafe. Put queries that begin with - after --, as in: spanview diff -- -beta beta"
)


if __name__ == "__main__":
    sys.exit(main())
