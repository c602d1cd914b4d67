"""``odradek cert client``: a certificate by which a client is known."""

from __future__ import annotations

from datetime import UTC, datetime

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.cli.snippets.client import Client
from odradek.broker.cli.snippets.snippets import as_text, snippets
from odradek.broker.security.issuing.issuer import DAYS, IssuingError
from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument
from odradek.terminal.password import (
    NoPassword,
    made_password,
    password_arguments,
    password_of,
)

from .folder import folder_of, refused, renew_argument
from .shown_broker import USUAL, ShownBroker, shown_broker

_COMMAND = "cert client"
_EXAMPLES = (
    "odradek cert client alice",
    "odradek cert client alice --renew --bootstrap-server kafka.example.com:9093",
)


def command(arguments: list[str]) -> int:
    """Make a client's certificate."""
    parser = Parser(
        _COMMAND,
        "Make a client's certificate by the CA of the folder: key and certificates as"
        " PEM, and as PKCS12 with a password of its own, in a file beside it. For a"
        " broker with ssl.client.auth=required the client is User:CN=NAME.",
        _EXAMPLES,
    )
    parser.add_argument("name", metavar="NAME")
    renew_argument(parser)
    parser.add_argument(
        "--bootstrap-server",
        metavar="HOST:PORT",
        help="what is shown for clients has this broker (default: that of the folder,"
        f" or {USUAL})",
    )
    password_arguments(parser, asks=True)
    json_argument(parser, "one JSON object a line")
    options = parser.parse(arguments)
    folder = folder_of(options)
    try:
        broker = ShownBroker(options.bootstrap_server)
        if not options.bootstrap_server:
            broker = shown_broker(folder)
        password = made_password()
        if options.password_file or options.password_stdin or options.ask:
            password = password_of(options, f"{options.name}.p12").text
        now = datetime.now(UTC)
        files = folder.make_client(options.name, password, now, renews=options.renew)
    except NoPassword as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    except (IssuingError, OSError) as error:
        return fail(_COMMAND, FAILED, refused(error))
    principal = f"User:CN={options.name}"
    if options.json:
        made = {name: str(path) for name, path in files._asdict().items()}
        print_json({**made, "principal": principal, "days": DAYS})
        return 0
    print(f"made {files.pem}, good for {DAYS} days; for Java also {files.pkcs12},")
    print(f"whose password is in {files.password}")
    print(f"the broker knows this client as {principal}")
    print()
    if broker.missing:
        print(
            "# the broker of this folder lets nobody in by a certificate yet; what it"
        )
        print("# needs for that, for its file of options:")
        for name, value in broker.missing:
            print(f"{name}={value}")
        print()
    client = Client(broker.bootstrap, folder.ca, certificate=files.pem)
    print(as_text(snippets(client)))
    return 0
