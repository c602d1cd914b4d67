"""``odradek token renew``: a token holds for longer. Its id is enough."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import run

from .expiry import change_expiry, expiry_parser

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "token renew"
_EXAMPLES = ("odradek token renew ID", "odradek token renew ID --period 2h")


def command(arguments: list[str]) -> int:
    """Let a token hold for longer."""
    parser = expiry_parser(
        _COMMAND,
        "Let a delegation token hold for longer: our own, or one that we may renew.",
        _EXAMPLES,
        "--period",
        "from now on, like 2h (default: as the broker has it)",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _renew(cluster, options))


def _renew(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.delegation_tokens import AS_LONG_AS_POSSIBLE, renew_token

    as_long = AS_LONG_AS_POSSIBLE
    return change_expiry(_COMMAND, cluster, options, renew_token, as_long)
