"""The arguments that every action of ``odradek user`` has."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.cli.arguments.brokers import ClusterParser

_WITHOUT_LISTENER = (
    " With --data-dir no listener is asked, but the broker that runs on that"
    " directory; if none does, the directory is changed itself."
)


def user_parser(
    command: str, description: str, examples: Sequence[str]
) -> ClusterParser:
    """A parser for an action, which finds users by address or by directory."""
    parser = cluster_parser(command, description + _WITHOUT_LISTENER, examples)
    parser.opens_directory = True
    return parser
