"""``odradek mirror add``: the running broker begins to copy topics of a cluster."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.admin.asking import add_asking_arguments, run, shown
from odradek.terminal.parser import Parser
from odradek.terminal.table import printable

if TYPE_CHECKING:
    import argparse

_COMMAND = "mirror add"
_EXAMPLES = (
    "odradek mirror add old --from kafka-1:9092,kafka-2:9092",
    "odradek mirror add old --from kafka-1:9092 --topics 'orders|payments\\..*'",
    "odradek mirror add old --from kafka-1:9093 --command-config client.properties",
)


def command(arguments: list[str]) -> int:
    """Begin to copy topics of another cluster."""
    options = _parser().parse(arguments)
    return run(_COMMAND, lambda: _add(options))


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Let the running broker copy topics of another cluster, as they are: the same "
        "ids, offsets, leader epochs, timestamps and transactions. It goes on, also "
        "after a restart, with topics that are made later and with what groups commit, "
        "until they are promoted; till then they are read-only here. Exit code: 0 it "
        "has begun, 1 not possible, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME", help="what to call the mirror")
    parser.add_argument(
        "--from",
        dest="source",
        required=True,
        metavar="HOST:PORT,...",
        help="brokers of the cluster to copy, Apache Kafka 3.1 or newer",
    )
    parser.add_argument(
        "--topics",
        default=".*",
        metavar="PATTERN",
        help="a regular expression for their whole names (default: all)",
    )
    parser.add_argument(
        "--command-config",
        metavar="FILE",
        help="client options for TLS and SASL; the broker reads the file whenever it "
        "connects, so it stays where it is",
    )
    add_asking_arguments(parser)
    return parser


def _add(options: argparse.Namespace) -> int:
    request: dict[str, Any] = {
        "request": "mirror-add",
        "name": options.name,
        "bootstrap": options.source,
        "topics": options.topics,
    }
    if options.command_config:
        path = Path(options.command_config).expanduser().absolute()
        request["commandConfig"] = str(path)
    for _ in shown(options, request, _text):
        pass
    return 0


def _text(added: dict[str, Any]) -> str:
    """What has begun, in one line."""
    return (
        f"mirror {added['mirror']}: topics {printable(added['topics'])} of cluster "
        f"{printable(added['clusterId'])} are copied from now on; odradek mirror "
        "status shows how far it is"
    )
