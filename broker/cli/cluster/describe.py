"""``odradek cluster describe``: brokers, controllers, features, troubled partitions."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.brokers import addresses
from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import refuse
from odradek.terminal.failure import FAILED

from .failures import said

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

    from .view import ClusterView

_COMMAND = "cluster describe"
_EXAMPLES = (
    "odradek cluster describe --bootstrap-server kafka-1:9092",
    "odradek cluster describe --bootstrap-controller controller-1:9093 --json",
    "odradek cluster describe --directory /var/lib/kafka/data",
    "odradek cluster describe --check",
)


def command(arguments: list[str]) -> int:
    """Show brokers, controllers, features, and partitions in trouble."""
    parser = cluster_parser(
        _COMMAND,
        "Show the brokers of a cluster, the quorum of its controllers and how far each"
        " has its log, the levels of features, and the partitions that have no leader"
        " or not all replicas in sync. Any Apache Kafka can be asked: by a broker, by"
        " a controller, whose metadata log is read, or, when nothing runs, by that log"
        " on its disk.",
        _EXAMPLES,
    )
    parser.named.add_argument(
        "--bootstrap-controller",
        type=addresses,
        metavar="HOST:PORT",
        help="ask a controller, or several with commas, in place of a broker",
    )
    parser.named.add_argument(
        "--directory",
        type=Path,
        metavar="DIR",
        help="read the metadata log in this log directory of Apache Kafka",
    )
    parser.add_argument(
        "--check",
        action="store_true",
        help="exit code 1 also if a broker is not ready, or a partition has no leader"
        " or not all replicas in sync",
    )
    options = parser.parse(arguments)
    if options.directory or options.bootstrap_controller:
        return said(_COMMAND, lambda: _read(options))
    return run(_COMMAND, options, lambda cluster: _ask(cluster, options))


def _ask(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.protocol.errors import MismatchedEndpointType

    from .asked import ask_brokers

    try:
        view = ask_brokers(cluster)
    except MismatchedEndpointType as error:
        hint = "Controllers are asked with --bootstrap-controller."
        return refuse(_COMMAND, error, hint=hint)
    return _show(view, options)


def _read(options: argparse.Namespace) -> int:
    from .stored import ask_controllers, read_directory

    if options.directory:
        view = read_directory(options.directory)
    else:
        view = ask_controllers(
            options.bootstrap_controller, options.security, options.timeout
        )
    return _show(view, options)


def _show(view: ClusterView, options: argparse.Namespace) -> int:
    if options.json:
        print_json(view.as_json())
    else:
        print("\n".join(view.text()))
    return FAILED if options.check and view.has_trouble else 0
