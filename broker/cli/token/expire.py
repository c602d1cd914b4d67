"""``odradek token expire``: a token ends. Who is in stays until its login ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.moments import moment_text
from odradek.broker.cli.arguments.refusals import Refused
from odradek.terminal.parser import seconds

from .shown import find, refused

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "token expire"
_EXAMPLES = ("odradek token expire ID", "odradek token expire ID --in 10m")


def command(arguments: list[str]) -> int:
    """End a token."""
    parser = cluster_parser(
        _COMMAND,
        "End a delegation token: nobody logs in with it any more.",
        _EXAMPLES,
    )
    parser.add_argument("token", metavar="ID")
    parser.add_argument(
        "--in",
        dest="period",
        type=seconds,
        metavar="TIME",
        help="not now, but after this, like 10m",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _expire(cluster, options))


def _expire(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.delegation_tokens import AT_ONCE, expire_token
    from odradek.protocol.errors import KafkaError

    period_ms = AT_ONCE if options.period is None else int(options.period * 1000)
    try:
        token = find(cluster, options.token)
        expiry_ms = expire_token(cluster, token.hmac, period_ms)
    except (KafkaError, Refused) as error:
        return refused(_COMMAND, error, options.token)
    if options.json:
        print_json({"token": token.token_id, "expiry_ms": expiry_ms})
    elif period_ms < 0:
        print(f"{token.token_id}: ended")
    else:
        print(f"{token.token_id}: holds until {moment_text(expiry_ms)}")
    return 0
