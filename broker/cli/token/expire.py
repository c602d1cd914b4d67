"""``odradek token expire``: a token ends. Who is in stays until its login ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import run

from .expiry import change_expiry, expiry_parser, holds_until

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "token expire"
_EXAMPLES = ("odradek token expire ID", "odradek token expire ID --in 10m")


def command(arguments: list[str]) -> int:
    """End a token."""
    parser = expiry_parser(
        _COMMAND,
        "End a delegation token: nobody logs in with it any more.",
        _EXAMPLES,
        "--in",
        "not now, but after this, like 10m",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _expire(cluster, options))


def _expire(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.delegation_tokens import AT_ONCE, expire_token

    def text(expiry_ms: int) -> str:
        return "ended" if options.period is None else holds_until(expiry_ms)

    return change_expiry(_COMMAND, cluster, options, expire_token, AT_ONCE, text)
