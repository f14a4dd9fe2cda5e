"""`spanview --completion SHELL`: the script that completes commands, options, their values and PATHs in a shell.

It is made from the parsers of the command line. Each shell needs the same:

    which word is the command      the first that is neither an option nor an option's value
    what follows an option         some words, a file, or anything
    what else there is             the command's options; the commands, as long as there is none; files, or pages
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Iterable, Mapping, Sequence

FILES: Final = ("FILE", "DIR")
"""The names of an option's value where that is a file or a folder."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option of a command."""

    flags: tuple[str, ...]
    text: str
    takes: str
    """The name of its value, as in the help; empty where it has none."""
    words: tuple[str, ...]
    """What the value may be, as far as that is known."""


@dataclass(frozen=True, slots=True)
class Commands:
    """What can be called."""

    texts: Mapping[str, str]
    """Commands, and what they do."""
    options: Mapping[str, Sequence[Option]]
    """Of each command; those of a call without a command under the first."""
    words: Mapping[str, Sequence[str]]
    """What follows a command that takes no PATH."""

    @property
    def all_options(self) -> list[Option]:
        """Every option once; commands may mean different things by the same flags."""
        return [*dict.fromkeys(option for options in self.options.values() for option in options)]

    @property
    def takers(self) -> list[tuple[list[str], Option]]:
        """Options that have a value, and their flags, also after one that has none: `-fq`."""
        takers = []
        for option in filter(lambda option: option.takes, self.all_options):
            beside = [options for options in self.options.values() if option in options]
            alone = dict.fromkeys(
                flag[1] for options in beside for other in options for flag in _letters(other) if not other.takes
            )
            takers.append(
                ([*option.flags, *(f"-{one}{flag[1]}" for one in alone for flag in _letters(option))], option)
            )
        return takers


def options_of(parser: argparse.ArgumentParser, words: Mapping[str, Sequence[str]]) -> list[Option]:
    """Return a parser's options.

    Args:
        words: What values may be, by their names in the help.
    """
    # There is no public way to ask a parser what it takes.
    return [
        Option(
            tuple(action.option_strings),
            action.help or "",
            takes := str(action.metavar or action.dest.upper()) if action.nargs is None else "",
            tuple(words.get(takes, ())),
        )
        for action in parser._actions  # noqa: SLF001
        if action.option_strings
    ]


def script(shell: str, commands: Commands) -> str:
    """Return the script for a shell, one of `SHELLS`."""
    text, separator, parts_of = SHELLS[shell]
    return text.format(
        default=next(iter(commands.options)),
        takers=separator.join(flag for flags, _ in commands.takers for flag in flags),
        commands=separator.join(commands.texts),
        **parts_of(commands),
    )


def _in_quotes(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _letters(option: Option) -> list[str]:
    """Return those flags that are one letter."""
    return [flag for flag in option.flags if not flag.startswith("--")]


def _flags(options: Iterable[Option]) -> list[str]:
    return [flag for option in options for flag in option.flags]


# -- bash --------------------------------------------------------------------------------------------------------------

_BASH: Final = """\
# Completion of spanview for bash, made by: spanview --completion bash
_spanview() {{
    local IFS=$' \\t\\n' cur=${{COMP_WORDS[COMP_CWORD]}} option=${{COMP_WORDS[COMP_CWORD-1]}} command= words= file i
    # The = of --option=value is a word of its own here.
    if [[ $option == "=" ]]; then
        option=${{COMP_WORDS[COMP_CWORD-2]}}
    elif [[ $cur == "=" ]]; then
        cur=
    fi
    COMPREPLY=()
    for ((i = 1; i < COMP_CWORD; i++)); do
        case ${{COMP_WORDS[i]}} in
            --) command=-- option= ; break ;;
            {takers})
                [[ ${{COMP_WORDS[i+1]}} == "=" ]] && ((i++))
                ((i++)) ;;
            -?*) ;;
            {commands}) [[ $command ]] || command=${{COMP_WORDS[i]}} ;;
            *) [[ $command ]] || command={default} ;;
        esac
    done
    case $option in
{values}
        *)
            if [[ $cur == -* && $command != -- ]]; then
                case $command in
{options}
                esac
                COMPREPLY=($(compgen -W "$words" -- "$cur"))
                return
            fi
            case $command in
                "") COMPREPLY=($(compgen -W "{command_words}" -- "$cur")) ;;
{words}
            esac ;;
    esac
    while IFS= read -r file; do
        COMPREPLY+=("$file")
    done < <(compgen -f -- "$cur")
}}
complete -o filenames -F _spanview spanview
"""


def _bash(commands: Commands) -> dict[str, str]:
    values = []
    for flags, option in commands.takers:
        does = "return"
        if option.words:
            does = f'COMPREPLY=($(compgen -W "{" ".join(option.words)}" -- "$cur")); return'
        elif option.takes in FILES:
            does = ""
        values.append(f"        {'|'.join(flags)}) {does} ;;")
    # A call without a command has the first one's options.
    options = [
        f'                    {name if number else "*"}) words="{" ".join(_flags(options))}" ;;'
        for number, (name, options) in enumerate(commands.options.items())
    ]
    words = [
        f'                {name}) COMPREPLY=($(compgen -W "{" ".join(words)}" -- "$cur")); return ;;'
        for name, words in commands.words.items()
    ]
    return {
        "command_words": " ".join(commands.texts),
        "values": "\n".join(values),
        "options": "\n".join([*options[1:], options[0]]),
        "words": "\n".join(words),
    }


# -- zsh ---------------------------------------------------------------------------------------------------------------

_ZSH: Final = """\
#compdef spanview
# Completion of spanview for zsh, made by: spanview --completion zsh
_spanview_commands() {{
    local -a commands=(
{texts}
    )
    _describe -t commands command commands
}}
_spanview_first() {{
    _alternative 'commands:command:_spanview_commands' 'files:PATH:_files'
}}
_spanview() {{
    local command= first='1: :_spanview_first' i
    for ((i = 2; i < CURRENT; i++)); do
        case $words[i] in
            --) break ;;
            {takers}) ((i++)) ;;
            -?*) ;;
            {commands})
                command=$words[i] first=
                words[i]=()
                ((CURRENT--))
                break ;;
            *) break ;;
        esac
    done
    local -a takes
    local others='*:PATH:_files'
    case $command in
{options}
    esac
    _arguments -s -S $takes $first $others
}}
if [[ $funcstack[1] == _spanview ]]; then
    _spanview "$@"
else
    compdef _spanview spanview
fi
"""


def _zsh(commands: Commands) -> dict[str, str]:
    cases = []
    for number, (name, options) in enumerate(commands.options.items()):
        specs = "\n".join(f"            {_zsh_option(option)}" for option in options)
        others = f" others='1:{name}:({' '.join(commands.words[name])})'" if name in commands.words else ""
        cases.append(f"        {name if number else '*'}) takes=(\n{specs}\n        ){others} ;;")
    texts = "\n".join(f"        {_in_quotes(f'{name}:{text}')}" for name, text in commands.texts.items())
    return {"texts": texts, "options": "\n".join([*cases[1:], cases[0]])}


def _zsh_option(option: Option) -> str:
    """Return an option as `_arguments` wants it; one that has several names is given once at the most."""
    text = option.text.replace("\\", "\\\\").replace("[", "\\[").replace("]", "\\]")
    values = ""
    if option.takes:
        action = "_files" if option.takes in FILES else f"({' '.join(option.words)})" if option.words else " "
        values = f":{option.takes}:{action}"
    others = f"({' '.join(option.flags)})"
    return " ".join(
        _in_quotes(f"{others}{flag}{'=' if values and flag.startswith('--') else ''}[{text}]{values}")
        for flag in option.flags
    )


# -- fish --------------------------------------------------------------------------------------------------------------

_FISH: Final = """\
# Completion of spanview for fish, made by: spanview --completion fish
function __spanview_command
    set -l skip 0
    for word in (commandline -opc)[2..]
        if test $skip = 1
            set skip 0
            continue
        end
        switch $word
            case --
                echo paths
                return
            case {takers}
                set skip 1
            case '-?*'
            case {commands}
                echo $word
                return
            case '*'
                echo {default}
                return
        end
    end
    echo none
end
function __spanview_takes
    set -l command (__spanview_command)
    test $command = none; and set command {default}
    contains -- $command $argv
end
function __spanview_is_first
    test (__spanview_command) = none
end
{lines}
"""


def _fish(commands: Commands) -> dict[str, str]:
    lines = [
        f"complete -c spanview -n __spanview_is_first -a {name} -d {_in_fish_quotes(text)}"
        for name, text in commands.texts.items()
    ]
    for option in commands.all_options:
        having = " ".join(name for name, options in commands.options.items() if option in options)
        flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in option.flags)
        takes = (" -r -F" if option.takes in FILES else " -x") if option.takes else ""
        words = f" -a {_in_fish_quotes(' '.join(option.words))}" if option.words else ""
        text = _in_fish_quotes(option.text)
        lines.append(f"complete -c spanview -n '__spanview_takes {having}' {flags}{takes}{words} -d {text}")
    lines += [
        f"complete -c spanview -n '__spanview_takes {name}' -f -a {_in_fish_quotes(' '.join(words))}"
        for name, words in commands.words.items()
    ]
    return {"lines": "\n".join(lines)}


def _in_fish_quotes(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Final[Mapping[str, tuple[str, str, Callable[[Commands], dict[str, str]]]]] = {
    "bash": (_BASH, "|", _bash),
    "zsh": (_ZSH, "|", _zsh),
    "fish": (_FISH, " ", _fish),
}
"""For each the script, what comes between its words, and what makes the parts of it that only this shell has."""
