"""A vocabulary as a script for a shell. What is in it is fixed: to press a key starts no Python.

bash and zsh share the function that says what may stand where; each offers it in its own way, for what zsh has of
bash's (`bashcompinit`) puts a blank behind `NAME=`, and no slash behind a directory. All names are of plain
characters (`vocabulary`), so none needs a quote; descriptions, which fish shows, have theirs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from textwrap import fill
from typing import Final

from sitecrawl import __version__
from sitecrawl.completion.vocabulary import Command, Kind, Option, Vocabulary

_KIND_HEAD: Final = """\
_sitecrawl_kind() {  # sets kind and list, for: the word to complete, the one before it, and all from the first on
    local cur="$1" prev="$2" command="" word
    shift 2
    for word in "$@"; do
        case "$word" in
            -*) ;;
            *) command="$word"; break ;;
        esac
    done
    kind=any list=""
    case "$command" in
"""
_KIND_TAIL: Final = """\
    esac
}
"""
_BASH: Final = """\
_sitecrawl_scrapy() {
    local cur prev kind list
    cur="${COMP_WORDS[COMP_CWORD]}" prev="${COMP_WORDS[COMP_CWORD-1]}"
    COMPREPLY=()
    case "$cur$prev" in
        =*|*=) return ;;  # the value of NAME=VALUE
    esac
    _sitecrawl_kind "$cur" "$prev" "${COMP_WORDS[@]:1:COMP_CWORD-1}"
    case "$kind" in
        words) COMPREPLY=($(compgen -W "$list" -- "$cur")) ;;
        names)
            COMPREPLY=($(compgen -S = -W "$list" -- "$cur"))
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
complete -F _sitecrawl_scrapy scrapy
"""
_ZSH_BEGIN: Final = """\
(( $+functions[compdef] )) || { autoload -Uz compinit && compinit }
"""
_ZSH: Final = """\
_sitecrawl_scrapy() {
    local kind list
    _sitecrawl_kind "$PREFIX" "${words[CURRENT-1]}" "${(@)words[2,CURRENT-1]}"
    case "$kind" in
        words) compadd -- ${=list} ;;
        names) compadd -S "" -- ${^${=list}}= ;;
        crawl)
            local -a crawls
            [[ -n "$PREFIX" ]] || crawls=(crawls/*(N/))
            (( $#crawls )) && compadd -f -- $crawls || _files -/ ;;
        file) _files ;;
    esac
}
compdef _sitecrawl_scrapy scrapy
"""
_LISTS: Final = {Kind.SPIDER: "spiders", Kind.ARGUMENT: "arguments", Kind.SETTING: "settings"}
"""Of which list in a script a word of that kind is."""


def bash(known: Vocabulary) -> str:
    return _title("bash") + "".join(_lists(known)) + _function(known) + _BASH


def zsh(known: Vocabulary) -> str:
    return _title("zsh") + _ZSH_BEGIN + "".join(_lists(known)) + _function(known) + _ZSH


def _title(shell: str) -> str:
    return f"# What can be typed after scrapy, by sitecrawl {__version__}; to renew it: scrapy completion {shell}\n"


def _lists(known: Vocabulary) -> Iterator[str]:
    for name in _LISTS.values():
        words = " ".join(getattr(known, name))
        yield f'_sitecrawl_{name}="{fill(words, 110, break_long_words=False, break_on_hyphens=False)}"\n'


def _function(known: Vocabulary) -> str:
    names = " ".join(command.name for command in known.commands)
    cases = [f'        "") kind=words list="{names}" ;;\n', *(_case(command) for command in known.commands)]
    return f"{_KIND_HEAD}{''.join(cases)}{_KIND_TAIL}"


def _case(command: Command) -> str:
    """What may come after what in one command."""
    lines = [f"{'|'.join(option.names)}) {_kind(option.kind, option.words)} ;;" for option in _with_word(command)]
    names = " ".join(name for option in command.options for name in option.names)
    own = _kind(command.takes, command.words)
    lines.append(f'*) case "$cur" in -*) kind=words list="{names}" ;; *) {own} ;; esac ;;')
    inner = "\n".join(f"                {line}" for line in lines)
    return f'        {command.name})\n            case "$prev" in\n{inner}\n            esac ;;\n'


def _with_word(command: Command) -> Iterator[Option]:
    return (option for option in command.options if option.kind is not Kind.NOTHING)


def _kind(kind: Kind, words: tuple[str, ...]) -> str:
    """What a branch of the function sets."""
    if kind in {Kind.ARGUMENT, Kind.SETTING}:
        return f'kind=names list="$_sitecrawl_{_LISTS[kind]}"'
    if kind is Kind.SPIDER:
        return f'kind=words list="$_sitecrawl_{_LISTS[kind]}"'
    if kind is Kind.WORDS:
        return f'kind=words list="{" ".join(words)}"'
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
