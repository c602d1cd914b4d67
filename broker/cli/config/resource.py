"""What has options, as the arguments of ``odradek config`` name it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import argparse

    from odradek.client.configs import ConfigResource
    from odradek.terminal.parser import Parser

KINDS = {
    "topic": "TOPIC",
    "broker": "BROKER",
    "broker-logger": "BROKER_LOGGER",
    "group": "GROUP",
    "client-metrics": "CLIENT_METRICS",
}


def resource_arguments(parser: Parser) -> None:
    """Add the arguments that name it."""
    parser.add_argument("kind", choices=tuple(KINDS), help="what has the options")
    parser.add_argument(
        "name",
        nargs="?",
        default="",
        metavar="NAME",
        help="its name; the number of a broker, or nothing for all brokers",
    )


def resource_of(parser: Parser, options: argparse.Namespace) -> ConfigResource:
    """What the arguments name; ends the process when they cannot mean anything."""
    from odradek.client.configs import ConfigResource, ConfigResourceType

    if options.kind == "broker" and options.name and not options.name.isdecimal():
        hint = f"; options are changed by --set {options.name}" * ("=" in options.name)
        parser.error(f"{options.name!r} is not the number of a broker, like 1{hint}")
    if options.kind != "broker" and not options.name:
        parser.error(f"say which {options.kind}")
    return ConfigResource(ConfigResourceType[KINDS[options.kind]], options.name)
