"""``odradek token renew``: a token holds for longer. Its id is enough."""

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

_COMMAND = "token renew"
_EXAMPLES = ("odradek token renew ID", "odradek token renew ID --period 2h")


def command(arguments: list[str]) -> int:
    """Let a token hold for longer."""
    parser = cluster_parser(
        _COMMAND,
        "Let a delegation token hold for longer: our own, or one that we may renew.",
        _EXAMPLES,
    )
    parser.add_argument("token", metavar="ID")
    parser.add_argument(
        "--period",
        type=seconds,
        metavar="TIME",
        help="from now on, like 2h (default: as the broker has it)",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _renew(cluster, options))


def _renew(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.delegation_tokens import AS_LONG_AS_POSSIBLE, renew_token
    from odradek.protocol.errors import KafkaError

    period_ms = int(options.period * 1000) if options.period else AS_LONG_AS_POSSIBLE
    try:
        token = find(cluster, options.token)
        expiry_ms = renew_token(cluster, token.hmac, period_ms)
    except (KafkaError, Refused) as error:
        return refused(_COMMAND, error, options.token)
    if options.json:
        print_json({"token": token.token_id, "expiry_ms": expiry_ms})
    else:
        print(f"{token.token_id}: holds until {moment_text(expiry_ms)}")
    return 0
