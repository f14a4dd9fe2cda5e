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

FILES: Final = ("FILE", "DIR")
"""The names of an option's value where that is a file or a folder."""


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
