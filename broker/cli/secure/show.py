"""``odradek secure show``: what to paste into clients."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.cli.snippets.snippets import CLIENTS, as_text, snippets
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument

from .secure_folder import SecureFolder

if TYPE_CHECKING:
    import argparse

    from odradek.broker.cli.snippets.client import Client

_COMMAND = "secure show"
_EXAMPLES = (
    "odradek secure show",
    "odradek secure show --client aiokafka --bootstrap-server kafka.example.com:9092",
    "odradek secure show --dir data/security",
)


def command(arguments: list[str]) -> int:
    """Show what to paste into clients."""
    parser = Parser(
        _COMMAND,
        "Show what to paste into each kind of client, so that it connects as the first"
        " user. No password is shown: what is shown names the file that has it.",
        _EXAMPLES,
    )
    folder_argument(parser)
    parser.add_argument(
        "--client", choices=CLIENTS, help="only for this kind of client (default: all)"
    )
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="where clients connect to (default: as the broker was made)",
    )
    json_argument(parser, "one JSON object a line")
    options = parser.parse(arguments)
    try:
        client = SecureFolder(options.dir.absolute()).read_client()
    except IssuingError as error:
        return fail(_COMMAND, FAILED, error)
    if options.bootstrap_server:
        client = client._replace(bootstrap=options.bootstrap_server)
    if not client.bootstrap:
        return fail(
            _COMMAND, FAILED, "which broker? Its port was 0: say --bootstrap-server"
        )
    show(client, options)
    return 0


def folder_argument(parser: Parser) -> None:
    """Add ``--dir``."""
    parser.add_argument(
        "--dir",
        type=Path,
        default=Path("secure"),
        metavar="DIR",
        help="the folder with certificates and passwords (default: ./secure)",
    )


def show(client: Client, options: argparse.Namespace) -> None:
    """Print the snippets that the arguments ask for."""
    wanted = getattr(options, "client", None)
    found = [each for each in snippets(client) if wanted in (None, each.client)]
    if options.json:
        for each in found:
            print_json(each._asdict())
    elif wanted is not None:
        print(found[0].text)
    else:
        print(as_text(found))
