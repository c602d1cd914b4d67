"""What renew and expire share: a token, named by its id, holds for another time."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import cluster_parser, print_json
from odradek.broker.cli.arguments.moments import moment_text
from odradek.broker.cli.arguments.refusals import Refused
from odradek.terminal.parser import seconds

from .shown import find, refused

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable, Sequence

    from odradek.broker.cli.arguments.brokers import ClusterParser
    from odradek.client.cluster import Cluster
    from odradek.client.security.settings import Secret

    # Gives the token with this hmac so many milliseconds; until when it holds.
    Change = Callable[[Cluster, Secret, int], int]


def expiry_parser(
    command: str, description: str, examples: Sequence[str], flag: str, meaning: str
) -> ClusterParser:
    """A parser with a token and, behind ``flag``, a period."""
    parser = cluster_parser(command, description, examples)
    parser.add_argument("token", metavar="ID")
    parser.add_argument(flag, dest="period", type=seconds, metavar="TIME", help=meaning)
    return parser


def holds_until(expiry_ms: int) -> str:
    """A moment, as the end of a token."""
    return f"holds until {moment_text(expiry_ms)}"


def change_expiry(
    command: str,
    cluster: Cluster,
    options: argparse.Namespace,
    change: Change,
    default_ms: int,
    text_of: Callable[[int], str] = holds_until,
) -> int:
    """Change a token, and say until when it holds; the exit code.

    ``default_ms`` is what the broker is told where no period is given.
    """
    from odradek.protocol.errors import KafkaError

    period_ms = default_ms if options.period is None else int(options.period * 1000)
    try:
        token = find(cluster, options.token)
        expiry_ms = change(cluster, token.hmac, period_ms)
    except (KafkaError, Refused) as error:
        return refused(command, error, options.token)
    if options.json:
        print_json({"token": token.token_id, "expiry_ms": expiry_ms})
    else:
        print(f"{token.token_id}: {text_of(expiry_ms)}")
    return 0
