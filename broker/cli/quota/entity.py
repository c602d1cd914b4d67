"""Whom quotas are for, as arguments name them; and how they are shown."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.terminal.table import printable, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from odradek.client.quotas import Entity, Quotas
    from odradek.terminal.parser import Parser

_TYPES = {"user": "a user", "client-id": "a client id", "ip": "an address"}
_HEAD = ("ENTITY", "QUOTA", "VALUE")
DEFAULT = "<default>"


def entity_arguments(parser: Parser) -> None:
    """Add the arguments that name it."""
    for kind, what in _TYPES.items():
        one_of = parser.add_mutually_exclusive_group()
        one_of.add_argument(f"--{kind}", metavar="NAME", help=f"the name of {what}")
        one_of.add_argument(
            f"--{kind}-default",
            action="store_true",
            help=f"the default of every {kind} that has none of its own",
        )


def entity_of(parser: Parser, options: argparse.Namespace) -> Entity:
    """What the arguments name; ends the process when they cannot mean anything."""
    entity: dict[str, str | None] = {}
    for kind in _TYPES:
        field = kind.replace("-", "_")
        name = getattr(options, field)
        if name == "":
            parser.error(f"--{kind} needs a name; the default is --{kind}-default")
        if name is not None or getattr(options, f"{field}_default"):
            entity[kind] = name
    if "ip" in entity and len(entity) > 1:
        parser.error("the quotas of an address are for all its users and clients")
    return entity


def required_entity(parser: Parser, options: argparse.Namespace) -> Entity:
    """As `entity_of`, and it is an error to name none."""
    entity = entity_of(parser, options)
    if not entity:
        parser.error(f"say whose: {', '.join(f'--{kind}' for kind in _TYPES)}")
    return entity


def entity_text(entity: Entity) -> str:
    """Like ``user alice, client-id <default>``."""
    return ", ".join(
        f"{kind} {DEFAULT if name is None else printable(name)}"
        for kind, name in entity.items()
    )


def number_text(value: float) -> str:
    """Without a fraction where there is none."""
    return str(int(value)) if value.is_integer() else str(value)


def show(found: Sequence[Quotas], is_json: bool) -> None:
    """Print quotas; nothing where there are none."""
    if is_json:
        for each in found:
            values = {
                key: int(value) if value.is_integer() else value
                for key, value in sorted(each.values.items())
            }
            print_json({"entity": dict(each.entity), "quotas": values})
    elif found:
        rows = [
            (entity_text(each.entity), key, number_text(value))
            for each in found
            for key, value in sorted(each.values.items())
        ]
        print("\n".join(table(_HEAD, rows)))
