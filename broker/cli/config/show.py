"""``odradek config show``: what a broker would start with, and who says so.

It asks no broker: it reads the same file, environment and arguments as ``serve``.
"""

from __future__ import annotations

import os
from contextlib import suppress
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.cli.node.serve import broker_arguments, flags_of
from odradek.broker.config.options.broker_config import ALIASES, OPTIONS
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.option import format_value
from odradek.broker.config.secrets import shown as shown_value
from odradek.broker.config.settings import Flags, gather
from odradek.broker.config.sources import load
from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument
from odradek.terminal.pipe import quiet_pipe
from odradek.terminal.spelling import did_you_mean
from odradek.terminal.table import table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator

    from odradek.broker.config.settings import Setting
    from odradek.broker.config.sources import Loaded

_COMMAND = "config show"
_DEFAULT = "default"
_HEAD = ("OPTION", "VALUE", "FROM")
_EXAMPLES = (
    "odradek config show --config server.properties",
    "odradek config show --all --json",
    "odradek config show num.partitions log.retention.ms",
)


class Shown(NamedTuple):
    """An option, its value as text, and who says so."""

    name: str
    value: str | None
    source: str


def command(arguments: list[str]) -> int:
    """Show what a broker would start with, and who says so."""
    parser = Parser(
        _COMMAND,
        "Show the options that a broker would start with that is given the same"
        " arguments and environment, and who sets each. Exit code: 0 shown, 2 usage or"
        " options that serve would refuse; they are shown as they are written.",
        _EXAMPLES,
    )
    parser.add_argument(
        "option", nargs="*", metavar="OPTION", help="only these, set or not"
    )
    parser.add_argument(
        "--all", action="store_true", help="also those that nobody has set"
    )
    json_argument(parser, "one JSON object a line")
    broker_arguments(parser)
    options = parser.parse(arguments)
    wanted = []
    for name in options.option:
        known = ALIASES.get(name, name)
        if known not in OPTIONS:
            meant = did_you_mean(name, [*OPTIONS, *ALIASES])
            hint = f"; did you mean {meant}?" if meant else ""
            parser.error(f"there is no option {name}{hint}")
        wanted.append(known)
    refusal = None
    try:
        shown = _shown(options)
    except OptionError as error:
        shown, refusal = list(_as_written(options)), error
    with quiet_pipe():
        if shown or refusal is None:
            _show(_chosen(shown, wanted, options.all), options.json)
    if refusal is not None:
        return fail(_COMMAND, USAGE_ERROR, f"serve would refuse this: {refusal}")
    return 0


def _as_written(options: argparse.Namespace) -> Iterator[Shown]:
    """What somebody has set, as text: nothing can be made of all of it."""
    with suppress(OptionError):  # a file that cannot be read
        latest = {
            ALIASES.get(setting.name, setting.name): setting
            for setting in _gathered(options)
        }
        for name, setting in sorted(latest.items()):
            text = setting.text.strip()
            yield Shown(name, shown_value(name, text), setting.where)


def _gathered(options: argparse.Namespace) -> list[Setting]:
    flags = flags_of(options)
    return gather(options.config, os.environ, options.pairs, flags, [])


def _shown(options: argparse.Namespace) -> list[Shown]:
    flags = flags_of(options)
    loaded = load(options.config, os.environ, options.pairs, flags)
    where = {
        ALIASES.get(setting.name, setting.name): setting.where
        for setting in _gathered(options)
    }
    flag = _listener_flag(flags)
    if flag is not None:
        where["listeners"] = " ".join(filter(None, (where.get("listeners"), flag)))
    return list(_rows(loaded, where))


def _listener_flag(flags: Flags) -> str | None:
    given = {"--host": flags.host, "--port": flags.port}
    return " ".join(name for name, value in given.items() if value is not None) or None


def _rows(loaded: Loaded, where: dict[str, str]) -> Iterator[Shown]:
    for name, (field, _) in sorted(OPTIONS.items()):
        value = format_value(getattr(loaded.config, field))
        yield Shown(name, shown_value(name, value), where.get(name, _DEFAULT))
    for name, each in sorted(loaded.config.of_listeners.items()):
        value = shown_value(name, format_value(each))
        yield Shown(name, value, where.get(name, _DEFAULT))


def _chosen(shown: Iterable[Shown], wanted: list[str], is_all: bool) -> list[Shown]:
    if wanted:
        return [each for each in shown if each.name in wanted]
    return [each for each in shown if is_all or each.source != _DEFAULT]


def _show(shown: list[Shown], is_json: bool) -> None:
    if is_json:
        for each in shown:
            print_json(
                {
                    "name": each.name,
                    "value": each.value,
                    "source": each.source,
                    "isDefault": each.source == _DEFAULT,
                }
            )
    elif shown:
        print("\n".join(table(_HEAD, shown)))
    else:
        print("no option is set; --all shows all")
