"""`spanview --completion SHELL`: the script by which a shell completes commands, options, their values and PATHs.

Each script asks `spanview --complete WORD...`; the last WORD is the one before the cursor, which may be empty. The
answer says in its first line whether PATHs complete it, too, `files` or `words`, and then a word a line, a tab, and
what that does.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Mapping, Sequence

    from spanview.commands.options import Options

FILES: Final = ("FILE", "DIR")
"""The names of an option's value where that is a file or a folder."""

TRACE: Final = "--trace"
"""The option whose value is a trace's id."""
_MAX_BYTES: Final = 64 * 1024 * 1024
"""Of files that are read for ids of traces: somebody waits for the answer while typing."""
_MAX_TRACES, _MAX_NAME = 100, 80


class Option(NamedTuple):
    """One option of a command."""

    flags: tuple[str, ...]
    text: str
    takes: str
    """The name of its value, as in the help; empty where it has none."""
    words: tuple[str, ...]
    """What the value may be, as far as that is known."""


def options_of(parser: argparse.ArgumentParser, words: Mapping[str, Sequence[str]]) -> list[Option]:
    """Return a parser's options."""
    # There is no public way to ask a parser what it takes.
    return [
        Option(
            tuple(action.option_strings),
            action.help or "",
            takes := str(action.metavar or action.dest.upper()) if action.nargs is None else "",
            tuple(action.choices or words.get(takes, ())),
        )
        for action in parser._actions  # noqa: SLF001
        if action.option_strings
    ]


def taken_by(word: str, options: Iterable[Option]) -> Option | None:
    """Return the option whose value follows a word, such as `--query`, `-q` or `-fq`; None where none does."""
    flag = f"-{word[-1]}" if word[:1] == "-" and word[1:2] not in {"", "-"} else word
    return next((option for option in options if option.takes and flag in option.flags), None)


def answer(words: Mapping[str, str], *, has_files: bool = False) -> str:
    """Return what a script is answered: words with what they do, and whether PATHs complete what is typed, too."""
    return "\n".join(["files" if has_files else "words", *(f"{word}\t{text}" for word, text in words.items()), ""])


def trace_ids(options: Options, beginning: str) -> dict[str, str]:
    """Return the ids of traces that begin with some digits, newest first, with what each is; none of many bytes.

    Args:
        options: With the PATHs whose traces are meant; standard input stays unread.
    """
    from spanview.commands.reading import places, read_all
    from spanview.display.sanitise import sanitise
    from spanview.display.units import moment
    from spanview.index.table import NO_ROW
    from spanview.model.ids import format_trace_id
    from spanview.model.problems import SpanviewError
    from spanview.sources.discover import STANDARD_INPUT, discover

    try:
        paths = [*places(options)]
        if options.ray or STANDARD_INPUT in paths or sum(file.size for file in discover(paths).files) > _MAX_BYTES:
            return {}
        store = read_all(options)
    except SpanviewError:
        return {}
    table, names, words = store.trace_table, store.names.texts, dict[str, str]()
    for trace in reversed(store.traces_in_order()):
        trace_id, root = format_trace_id(table.trace_id(trace)), table.root_row[trace]
        if table.trace_id(trace) and trace_id.startswith(beginning.lower()):
            name = "" if root == NO_ROW else sanitise(names[store.spans.name[root]], _MAX_NAME)
            words[trace_id] = f"{moment(table.start_ns[trace], digits=0)} {name}".strip()
            if len(words) == _MAX_TRACES:
                break
    return words


SCRIPTS: Final = {
    "bash": """\
# Completion of spanview for bash, made by: spanview --completion bash
_spanview() {
    local IFS=$'\\n' cur=${COMP_WORDS[COMP_CWORD]} lines words file
    # The = of --option=value is a word of its own here.
    [[ $cur == "=" ]] && cur=
    lines=($("${COMP_WORDS[0]}" --complete "${COMP_WORDS[@]:1:COMP_CWORD-1}" "$cur" 2>/dev/null))
    words=("${lines[@]:1}")
    COMPREPLY=($(compgen -W "${words[*]%%$'\\t'*}" -- "$cur"))
    [[ ${lines[0]} == files ]] && while read -r file; do
        COMPREPLY+=("$file")
    done < <(compgen -f -- "$cur")
}
complete -o filenames -F _spanview spanview
""",
    "zsh": """\
#compdef spanview
# Completion of spanview for zsh, made by: spanview --completion zsh
_spanview() {
    local -a lines shown
    lines=("${(@f)$("$words[1]" --complete "${(@Q)words[2,CURRENT-1]}" "${(Q)PREFIX}" 2>/dev/null)}")
    shown=("${(@)lines[2,-1]//:/\\\\:}")
    shown=("${(@)shown/$'\\t'/:}")
    compset -P '--*='
    (( $#lines > 1 )) && _describe word shown
    [[ $lines[1] == files ]] && _files
}
if [[ $funcstack[1] == _spanview ]]; then
    _spanview "$@"
else
    compdef _spanview spanview
fi
""",
    "fish": """\
# Completion of spanview for fish, made by: spanview --completion fish
function __spanview_answer
    set -l words (commandline -opc)
    set -l word (commandline -ct)
    set -l lines ($words[1] --complete $words[2..] "$word" 2>/dev/null)
    set -l option (string match -r -- '^--[^=]*=' "$word")
    if test "$lines[1]" = files
        set -a lines (__fish_complete_path (string replace -- "$option" '' "$word"))
    end
    for line in $lines[2..]
        echo "$option$line"
    end
end
complete -c spanview -f -a '(__spanview_answer)'
""",
}
