"""A vocabulary as a script for a shell. What is in it is fixed: to press a key starts no Python.

bash and zsh share one function, for zsh has bash's way to complete beside its own (`bashcompinit`). All names are of
plain characters (`vocabulary`), so none needs a quote; descriptions, which fish shows, have theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Final

from sitecrawl import __version__
from sitecrawl.completion.vocabulary import Command, Kind, Option, Vocabulary

_BASH_HEAD: Final = """\
_sitecrawl_scrapy() {
    local cur prev command word n kind words
    cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}" command="" n=1 kind=any words=""
    COMPREPLY=()
    while [ "$n" -lt "$COMP_CWORD" ]; do
        word="${COMP_WORDS[n]}" n=$((n + 1))
        case "$word" in
            -*) ;;
            *) command="$word"; break ;;
        esac
    done
    case "$command" in
"""
_BASH_TAIL: Final = """\
    esac
    case "$cur$prev" in
        =*|*=) return ;;  # the value of NAME=VALUE
    esac
    case "$kind" in
        words) COMPREPLY=($(compgen -W "$words" -- "$cur")) ;;
        names)
            COMPREPLY=($(compgen -S = -W "$words" -- "$cur"))
            type compopt >/dev/null 2>&1 && compopt -o nospace ;;
        crawl)
            local IFS=$'\\n'
            COMPREPLY=($(compgen -d -- "${cur:-crawls/}"))
            type compopt >/dev/null 2>&1 && compopt -o filenames ;;
        file)
            local IFS=$'\\n'
            COMPREPLY=($(compgen -f -- "$cur"))
            type compopt >/dev/null 2>&1 && compopt -o filenames ;;
    esac
}
"""
_COMPLETE: Final = "complete -F _sitecrawl_scrapy scrapy\n"
_ZSH_BEGIN: Final = """\
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
autoload -Uz bashcompinit && bashcompinit
"""
_LISTS: Final = {Kind.SPIDER: "spiders", Kind.ARGUMENT: "arguments", Kind.SETTING: "settings"}
"""Of which list in a script a word of that kind is."""


def bash(known: Vocabulary) -> str:
    return _title("bash") + "".join(_lists(known)) + _function(known) + _COMPLETE


def zsh(known: Vocabulary) -> str:
    return _title("zsh") + _ZSH_BEGIN + "".join(_lists(known)) + _function(known) + _COMPLETE


def _title(shell: str) -> str:
    return f"# What can be typed after scrapy, by sitecrawl {__version__}; to renew it: scrapy completion {shell}\n"


def _lists(known: Vocabulary) -> Iterator[str]:
    for name in _LISTS.values():
        words = " ".join(getattr(known, name))
        yield f'_sitecrawl_{name}="{fill(words, 110, break_long_words=False, break_on_hyphens=False)}"\n'


def _function(known: Vocabulary) -> str:
    names = " ".join(command.name for command in known.commands)
    cases = [f'        "") kind=words words="{names}" ;;\n', *(_case(command) for command in known.commands)]
    return f"{_BASH_HEAD}{''.join(cases)}{_BASH_TAIL}"


def _case(command: Command) -> str:
    """What may come after what in one command."""
    lines = [f"{'|'.join(option.names)}) {_kind(option.kind, option.words)} ;;" for option in _with_word(command)]
    names = " ".join(name for option in command.options for name in option.names)
    own = _kind(command.takes, command.words)
    lines.append(f'*) case "$cur" in -*) kind=words words="{names}" ;; *) {own} ;; esac ;;')
    inner = "\n".join(f"                {line}" for line in lines)
    return f'        {command.name})\n            case "$prev" in\n{inner}\n            esac ;;\n'


def _with_word(command: Command) -> Iterator[Option]:
    return (option for option in command.options if option.kind is not Kind.NOTHING)


def _kind(kind: Kind, words: tuple[str, ...]) -> str:
    """What a branch of the function sets."""
    if kind in {Kind.ARGUMENT, Kind.SETTING}:
        return f'kind=names words="$_sitecrawl_{_LISTS[kind]}"'
    if kind is Kind.SPIDER:
        return f'kind=words words="$_sitecrawl_{_LISTS[kind]}"'
    if kind is Kind.WORDS:
        return f'kind=words words="{" ".join(words)}"'
    return f"kind={kind}"


def fish(known: Vocabulary) -> str:
    return _title("fish") + "".join(f"complete -c scrapy {line}\n" for line in _fish_lines(known))


def _fish_lines(known: Vocabulary) -> Iterator[str]:
    yield "-f"
    for command in known.commands:
        yield f"-n __fish_use_subcommand -a {command.name} -d {_quoted(command.about)}"
    for command in known.commands:
        within = f"-n '__fish_seen_subcommand_from {command.name}'"
        if own := _fish_words(command.takes, command.words, known):
            yield f"{within} -a {own}"
        for option in command.options:
            names = " ".join(_fish_name(name) for name in option.names)
            yield f"{within} {names} {_fish_value(option, known)}-d {_quoted(option.about)}"


def _fish_name(name: str) -> str:
    return f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" if len(name) == 2 else f"-o {name[1:]}"


def _fish_value(option: Option, known: Vocabulary) -> str:
    if option.kind is Kind.NOTHING:
        return ""
    if option.kind is Kind.FILE:
        return "-r -F "
    words = _fish_words(option.kind, option.words, known)
    return f"-x -a {words} " if words else "-x "


def _fish_words(kind: Kind, words: tuple[str, ...], known: Vocabulary) -> str:
    if kind is Kind.CRAWL:
        return "'(__fish_complete_directories) crawls/*'"
    if kind is Kind.WORDS:
        return _quoted(" ".join(words))
    if kind in _LISTS:
        names: tuple[str, ...] = getattr(known, _LISTS[kind])
        return _quoted(" ".join(names if kind is Kind.SPIDER else (f"{name}=" for name in names)))
    return ""


def _quoted(text: str) -> str:
    """As fish quotes: a backslash before a quote or another."""
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


SHELLS: Final[dict[str, Callable[[Vocabulary], str]]] = {"bash": bash, "fish": fish, "zsh": zsh}
"""How each is written."""
