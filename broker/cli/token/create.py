"""``odradek token create``: a token, and what logs in with it, which is told once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    print_json,
    run,
)
from odradek.broker.cli.arguments.moments import moment_text
from odradek.terminal.parser import seconds

from .shown import principal, refused, row_of

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster

_COMMAND = "token create"
_EXAMPLES = (
    "odradek token create",
    "odradek token create --renewer User:bob --max-lifetime 12h",
    "odradek token create --owner User:carol --json > token.json",
)


def command(arguments: list[str]) -> int:
    """Make a token."""
    parser = cluster_parser(
        _COMMAND,
        "Lend our login: make a delegation token, and print what a client logs in with"
        " by SCRAM. It is shown this once.",
        _EXAMPLES,
    )
    parser.add_argument(
        "--owner",
        type=principal,
        metavar="USER",
        help="who it stands for, if not for us: needs CREATE_TOKENS on that user",
    )
    parser.add_argument(
        "--renewer",
        action="append",
        type=principal,
        default=[],
        metavar="USER",
        help="who may let it hold for longer, besides its owner; may be repeated",
    )
    parser.add_argument(
        "--max-lifetime",
        type=seconds,
        metavar="TIME",
        help="how long it can hold, like 12h (default: as the broker has it)",
    )
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _create(cluster, options))


def _create(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.delegation_tokens import AS_LONG_AS_POSSIBLE, create_token
    from odradek.protocol.errors import KafkaError

    longest_ms = AS_LONG_AS_POSSIBLE
    if options.max_lifetime:
        longest_ms = int(options.max_lifetime * 1000)
    try:
        token = create_token(cluster, options.owner, options.renewer, longest_ms)
    except KafkaError as error:
        return refused(_COMMAND, error)
    if options.json:
        print_json({**row_of(token), "hmac": token.hmac.value})
        return 0
    print(
        f"# {token.token_id} logs in {token.owner} until"
        f" {moment_text(token.expiry_ms)}, renewed until {moment_text(token.max_ms)}"
    )
    print("# Java's clients, odradek: with sasl.mechanism=SCRAM-SHA-256 or -512")
    print(
        "sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule"
        f' required username="{token.token_id}" password="{token.hmac.value}"'
        ' tokenauth="true";'
    )
    return 0
