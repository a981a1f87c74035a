"""All that can be typed after `scrapy`, read off its commands: for the shells that complete it."""

from __future__ import annotations

import argparse
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import Any, Final

from scrapy.commands import ScrapyCommand
from scrapy.settings import Settings, default_settings
from scrapy.spiderloader import get_spider_loader
from scrapy.utils.project import inside_project

from sitecrawl.addon import SETTINGS
from sitecrawl.crawl.privates import commands
from sitecrawl.spiders.arguments import NAMES


class Kind(StrEnum):
    """What stands behind an option, or as a word of its own."""

    NOTHING = "nothing"
    """No word: the option is one by itself."""
    ANY = "any"
    """Something that nobody can guess."""
    WORDS = "words"
    """One of a few."""
    FILE = "file"
    CRAWL = "crawl"
    """A crawl's directory."""
    SPIDER = "spider"
    ARGUMENT = "argument"
    """NAME=VALUE, of a spider's arguments."""
    SETTING = "setting"
    """NAME=VALUE, of the settings."""


@dataclass(frozen=True, slots=True)
class Option:
    """One option, by all of its names."""

    names: tuple[str, ...]
    kind: Kind
    words: tuple[str, ...] = ()
    """With `Kind.WORDS`, which."""
    about: str = ""


@dataclass(frozen=True, slots=True)
class Command:
    """What may follow one command."""

    name: str
    about: str
    options: tuple[Option, ...]
    takes: Kind
    """What its own words are."""
    words: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """Names are of characters that no shell takes for anything: others are left out."""

    commands: tuple[Command, ...]
    spiders: tuple[str, ...]
    arguments: tuple[str, ...]
    settings: tuple[str, ...]


_PLAIN: Final = re.compile(r"[\w.:+/-]+", re.ASCII).fullmatch
_OF_SPIDERS: Final = frozenset({"check", "crawl", "edit"})
_OF_CRAWLS: Final = frozenset({"check-crawl", "report"})
_KINDS: Final = {"-a": Kind.ARGUMENT, "-s": Kind.SETTING, "-d": Kind.CRAWL, "--spider": Kind.SPIDER}
"""Of options that mean the same in all commands that have them."""
_FILES: Final = re.compile(r"FILE|DIR|PATH").search


def vocabulary(settings: Settings) -> Vocabulary:
    """That of the project with these settings; outside of one it has no spiders."""
    spiders, arguments = _of_spiders(settings)
    names = {name for name in vars(default_settings) if name.isupper()} | SETTINGS.keys()
    found = sorted(commands(settings, in_project=inside_project()).items())
    known = tuple(_command(name, command, settings) for name, command in found)
    return Vocabulary(known, _plain(spiders), _plain(arguments), _plain(names))


def _of_spiders(settings: Settings) -> tuple[list[str], set[str]]:
    loader = get_spider_loader(settings)
    names = loader.list()
    arguments = set(NAMES)
    for name in names:
        arguments |= set(getattr(loader.load(name), "own_arguments", ()))
    return names, arguments


def _command(name: str, command: ScrapyCommand, settings: Settings) -> Command:
    command.syntax()  # which makes one of ours what it is
    command.settings = settings
    parser = argparse.ArgumentParser(conflict_handler="resolve")
    command.add_options(parser)
    options = tuple(_options(parser))
    takes = Kind.SPIDER if name in _OF_SPIDERS else Kind.CRAWL if name in _OF_CRAWLS else Kind.ANY
    words = _plain(getattr(command, "words", ()))
    return Command(name, _line(command.short_desc()), options, Kind.WORDS if words else takes, words)


def _options(parser: argparse.ArgumentParser) -> Iterator[Option]:
    for action in parser._actions:  # noqa: SLF001 - argparse has no other list of them
        if action.option_strings and action.help != argparse.SUPPRESS:
            kind, words = _kind(action)
            yield Option(_plain(action.option_strings), kind, words, _line(action.help or ""))


def _kind(action: argparse.Action) -> tuple[Kind, tuple[str, ...]]:
    if action.nargs == 0:
        return Kind.NOTHING, ()
    for name in action.option_strings:
        if name in _KINDS:
            return _KINDS[name], ()
    choices: Iterable[Any] | None = action.choices
    if choices is not None and (words := _plain(str(choice) for choice in choices)):
        return Kind.WORDS, words
    return (Kind.FILE if _FILES(str(action.metavar or "")) else Kind.ANY), ()


def _plain(names: Iterable[str]) -> tuple[str, ...]:
    return tuple(sorted({name for name in names if _PLAIN(name)}))


def _line(text: str) -> str:
    return " ".join(text.replace("%%", "%").split())
