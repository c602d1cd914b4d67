"""``odradek serve``: read the options, start the broker, say when it is ready.

Everything that can go wrong at the start is one line on standard error: exit code 2
for an option, 1 for what the options name (a port, a directory).
"""

from __future__ import annotations

import errno
import gc
import logging
import os
from pathlib import Path
from typing import TYPE_CHECKING

from odradek.broker.config.options.error import OptionError
from odradek.broker.config.settings import Flags
from odradek.broker.config.sources import is_to_be_secure, load
from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import PAIR, Parser, host, port

from .extensions import what_is_missing

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.sources import Loaded

    Prepare = Callable[[BrokerConfig], None]

_logger = logging.getLogger(__name__)
CANNOT_START = 1
_OF_FIRST_USER = {"ODRADEK_ADMIN_USER", "ODRADEK_ADMIN_PASSWORD_FILE"}
_EXAMPLES = (
    "odradek serve",
    "odradek serve --port 9192 --data-dir /var/lib/odradek",
    "odradek serve --config server.properties -o num.partitions=6",
    "odradek serve --secure",
)


def command(arguments: list[str]) -> int:
    """Run a broker until it is told to stop (SIGTERM, SIGINT)."""
    options = _parser().parse(arguments)
    try:
        loaded = _load(options)
        first_start = _first_start(options)
    except OptionError as error:
        return fail("serve", USAGE_ERROR, error)
    return _run(loaded, first_start)


def _parser() -> Parser:
    parser = Parser("serve", "Run a broker until it is told to stop.", _EXAMPLES)
    broker_arguments(parser)
    return parser


def broker_arguments(parser: Parser) -> None:
    """Add what says how a broker is configured."""
    parser.add_argument(
        "--port", type=port, help="port to listen on (default 9092; 0: any free one)"
    )
    parser.add_argument(
        "--host", type=host, help="address to listen on (default 127.0.0.1)"
    )
    parser.add_argument(
        "--data-dir", metavar="DIR", help="where the data lives (default ./data)"
    )
    parser.add_argument(
        "--durability",
        choices=("commit", "interval", "none"),
        help="when a record counts as stored: once synced (default), synced every "
        "second, or once written",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="properties file with options"
    )
    parser.add_argument(
        "--allow-unauthenticated",
        action="store_true",
        help="let everybody in who can reach a listener that is not on loopback",
    )
    parser.add_argument(
        "--secure",
        action="store_true",
        help="TLS, logins and access control, with certificates and a first user made"
        " at the first start (also by ODRADEK_SECURE=true)",
    )
    parser.add_argument(
        "-o",
        dest="pairs",
        action="append",
        default=[],
        metavar=PAIR,
        help="set any option; again for more",
    )


def _load(options: argparse.Namespace) -> Loaded:
    return load(options.config, os.environ, options.pairs, flags_of(options))


def _first_start(options: argparse.Namespace) -> Prepare | None:
    """What is to be done before the first start; None: nobody asks for anything.

    Raises:
        OptionError: it makes no sense.
    """
    is_secure = is_to_be_secure(os.environ, flags_of(options))
    if not is_secure and not _OF_FIRST_USER & os.environ.keys():
        return None
    from odradek.broker.config.secure_defaults import first_user

    from .first_start import prepare

    user = first_user(os.environ, secure=is_secure)
    if user is None:
        return None
    return lambda config: prepare(config, user, secure=is_secure)


def flags_of(options: argparse.Namespace) -> Flags:
    """What the arguments of `broker_arguments` say that have flags of their own."""
    return Flags(
        host=options.host,
        port=options.port,
        data_dir=options.data_dir,
        durability=options.durability,
        allow_unauthenticated=options.allow_unauthenticated,
        secure=options.secure,
    )


def _run(loaded: Loaded, first_start: Prepare | None) -> int:
    from odradek.broker.runtime.logs import configure_logs

    configure_logs(loaded.config.logging_level, form=loaded.config.logging_format)
    for note in loaded.notes:
        _logger.warning("options: %s", note)
    missing = what_is_missing()
    if missing:
        _logger.warning("%s", missing)
    gc.disable()  # nothing of what is loaded is garbage; `run` enables it
    try:
        if first_start is not None:
            first_start(loaded.config)
        if loaded.config.test_control:
            from odradek.broker.control.server import run
        else:
            from odradek.broker.node.server import run
        return run(loaded.config)
    except Exception as error:
        reason = explain(error)
        if reason is None:  # a bug, which deserves its traceback
            raise
        return fail("serve", CANNOT_START, reason)
    finally:
        gc.enable()


def explain(error: Exception) -> str | None:
    """What an error of the start tells the operator; None for a bug of ours."""
    from odradek.broker.metadata.catalog.store import CatalogError
    from odradek.broker.runtime.start_error import StartError
    from odradek.protocol.errors import KafkaStorageError
    from odradek.storage.directory.log_directory import BadLogDirectory, DirectoryInUse

    named = (StartError, CatalogError, BadLogDirectory, KafkaStorageError)
    if isinstance(error, DirectoryInUse):
        return f"{error}; stop that, or choose another one with --data-dir"
    if isinstance(error, named):
        return str(error)
    if not isinstance(error, OSError):
        return None
    reason = error.strerror or str(error)
    if error.errno in (errno.EADDRINUSE, errno.EADDRNOTAVAIL, errno.EACCES) and (
        error.filename is None
    ):
        return f"{reason}: choose another address with --host and --port"
    if error.filename is None:
        return reason
    if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM):
        return f"cannot write {error.filename}: {reason}; choose another --data-dir"
    if error.errno in (errno.EEXIST, errno.ENOTDIR):
        return f"{error.filename} is not a directory; choose another --data-dir"
    return f"{error.filename}: {reason}"
