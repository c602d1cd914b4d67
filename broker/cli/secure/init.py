"""``odradek secure init``: everything that a secure broker needs, made once.

The order is such that a run that was interrupted leaves nothing that looks finished:
the broker's file of options comes last.
"""

from __future__ import annotations

import argparse
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import print_json
from odradek.broker.cli.snippets.listening import bootstrap, listener_options
from odradek.broker.cli.snippets.option_files import as_properties
from odradek.broker.security.issuing.issuer import IssuingError
from odradek.broker.security.issuing.private_files import write_new
from odradek.protocol.errors import KafkaError
from odradek.terminal.failure import FAILED, USAGE_ERROR, fail
from odradek.terminal.parser import Parser, json_argument, port
from odradek.terminal.password import (
    NoPassword,
    Password,
    made_password,
    password_arguments,
    password_of,
)

from .secure_folder import (
    ADMIN,
    SecureFolder,
    broker_options,
    check_user,
    credentials,
)
from .show import folder_argument, show

if TYPE_CHECKING:
    from collections.abc import Sequence

_COMMAND = "secure init"
_PORT = 9092
_EXAMPLES = (
    "odradek secure init                        # reached from this machine",
    "odradek secure init kafka.example.com      # reached from everywhere",
    "odradek secure init --user root --password-file root.password",
)


def command(arguments: list[str]) -> int:
    """Make certificates, the first user, and a file to serve with."""
    options = _parser().parse(arguments)
    try:
        password = _password(options)
    except NoPassword as error:
        return fail(_COMMAND, USAGE_ERROR, error)
    from odradek.broker.cli.node.serve import explain

    folder = SecureFolder(options.dir.absolute())
    try:
        _make(folder, options, password)
    except (IssuingError, NoPassword, KafkaError) as error:
        return fail(_COMMAND, FAILED, error)
    except Exception as error:
        reason = explain(error)
        if reason is None:  # a bug
            raise
        if str(folder.path) in reason:
            reason = reason.replace("--data-dir", "--dir")
        return fail(_COMMAND, FAILED, reason)
    _tell(folder, options)
    return 0


def _parser() -> Parser:
    parser = Parser(
        _COMMAND,
        "Make a CA, the broker's certificate, a first user who may do everything, and"
        " a file of options to serve with: TLS, logins by SCRAM, access control lists."
        " Then show what to paste into clients. Nothing that is there is overwritten.",
        _EXAMPLES,
    )
    parser.add_argument(
        "hosts",
        nargs="*",
        metavar="HOST",
        help="names and addresses by which clients reach the broker, that which they"
        " are told first (default: this machine alone reaches it)",
    )
    folder_argument(parser)
    parser.add_argument(
        "--data-dir",
        type=Path,
        default=Path("data"),
        metavar="DIR",
        help="where the data will live (default: ./data)",
    )
    parser.add_argument(
        "--port",
        type=port,
        default=_PORT,
        help=f"port to listen on (default: {_PORT})",
    )
    parser.add_argument(
        "--user",
        type=_user,
        default=ADMIN,
        help=f"the first user, who may do everything (default: {ADMIN})",
    )
    password_arguments(parser, asks=True)
    json_argument(parser, "one JSON object a line")
    return parser


def _user(text: str) -> str:
    try:
        return check_user(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from None


def _password(options: argparse.Namespace) -> Password:
    """One is made, unless the arguments ask for another."""
    if options.password_file or options.password_stdin or options.ask:
        return password_of(options, options.user)
    return Password(made_password(), is_made=True)


def _make(
    folder: SecureFolder, options: argparse.Namespace, password: Password
) -> None:
    from odradek.broker.cli.node.stopped_directory import alter_all, with_users

    if folder.server_file.exists():
        raise IssuingError(
            f"{folder.server_file} is there, and stays as it is: start with it, or take"
            " another folder with --dir"
        )
    now = datetime.now(UTC)
    folder.keys.make_ca(now)
    if not folder.keys.server.exists():
        folder.keys.make_server(_named(options.hosts), now)
    text = folder.keep_password(password.text)
    if text != password.text and not password.is_made:
        raise IssuingError(
            f"{folder.password_file} is there, with another password than this one:"
            " remove it, or take another folder with --dir"
        )
    # Made before the others: a directory that is in use leaves no file of options.
    changes = credentials(options.user, text)
    with_users(options.data_dir, lambda users: alter_all(users, changes))
    folder.write_clients(_bootstrap(options), options.user, text)
    head = f"# odradek serve --config {folder.server_file}\n"
    write_new(folder.server_file, head + as_properties(_options(folder, options)))


def _named(hosts: Sequence[str]) -> list[str]:
    return list(hosts) or ["localhost"]


def _bootstrap(options: argparse.Namespace) -> str:
    """Where clients connect to; empty where no port is known yet."""
    if not options.port:
        return ""
    return bootstrap(options.hosts, options.port)


def _options(
    folder: SecureFolder, options: argparse.Namespace
) -> list[tuple[str, str]]:
    return [
        *listener_options("SASL_SSL", options.hosts, options.port),
        ("log.dirs", str(options.data_dir.absolute())),
        *broker_options(folder, options.user),
    ]


def _tell(folder: SecureFolder, options: argparse.Namespace) -> None:
    client = folder.client(_bootstrap(options), options.user)
    if options.json:
        print_json(
            {
                "dir": str(folder.path),
                "ca": str(folder.keys.ca),
                "config": str(folder.server_file),
                "user": options.user,
                "password_file": str(folder.password_file),
                "bootstrap": client.bootstrap or None,
            }
        )
        return
    print(f"certificates: {folder.keys.ca} (for clients), {folder.keys.server}")
    print(f"user: {options.user}, password in {folder.password_file}")
    print(f"start: odradek serve --config {folder.server_file}")
    print()
    if client.bootstrap:
        show(client, options)
    else:
        told = f"--dir {folder.path} --bootstrap-server HOST:PORT"
        print(f"when its port is known: odradek secure show {told}")
