"""``odradek cert init``: a CA, and a broker's certificate by it."""

from __future__ import annotations

from datetime import UTC, datetime

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.cli.snippets.client import Client
from odradek.broker.cli.snippets.listening import bootstrap, listener_options
from odradek.broker.cli.snippets.snippets import as_text, snippets
from odradek.broker.security.issuing.issuer import DAYS, IssuingError
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.parser import Parser, json_argument

from .folder import folder_of, refused, renew_argument

_COMMAND = "cert init"
_PORT = 9093
_EXAMPLES = (
    "odradek cert init kafka.example.com 192.0.2.1",
    "odradek cert init kafka.example.com --renew",
)


def command(arguments: list[str]) -> int:
    """Make a CA and a broker's certificate."""
    parser = Parser(
        _COMMAND,
        "Make a CA, if there is none in the folder, and a broker's certificate for"
        " these names and for this machine's own. Then show what to paste into the"
        " broker's options and into clients. Nothing is overwritten without --renew,"
        " and a CA never is.",
        _EXAMPLES,
    )
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOST",
        help="names and addresses by which clients reach the broker",
    )
    renew_argument(parser)
    json_argument(parser, "one JSON object a line")
    options = parser.parse(arguments)
    folder = folder_of(options)
    now = datetime.now(UTC)
    try:
        is_new = folder.make_ca(now)
        hosts = options.hosts or ["localhost"]
        names = folder.make_server(hosts, now, renews=options.renew)
    except (IssuingError, OSError) as error:
        return fail(_COMMAND, FAILED, refused(error))
    client = Client(bootstrap(options.hosts, _PORT), folder.ca)
    if options.json:
        made = {"ca": str(folder.ca), "server": str(folder.server), "names": names}
        print_json({**made, "new_ca": is_new, "days": DAYS})
        return 0
    print(f"{'made' if is_new else 'used'} the CA {folder.ca}, which clients are given")
    print(f"made {folder.server} for {', '.join(names)}, good for {DAYS} days")
    print()
    print("# the broker: a file for odradek serve --config")
    for name, value in listener_options("SSL", options.hosts, _PORT):
        print(f"{name}={value}")
    print(f"ssl.certificate.file={folder.server}")
    print("# clients have to show a certificate (odradek cert client NAME makes one):")
    print("ssl.client.auth=required")
    print(f"ssl.ca.file={folder.ca}")
    print()
    print(as_text(snippets(client._replace(certificate=folder.path / "NAME.pem"))))
    return 0
