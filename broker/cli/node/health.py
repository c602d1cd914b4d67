"""``odradek health``: whether a broker answers; for containers and scripts."""

from __future__ import annotations

import argparse
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.cli.arguments.brokers import addresses
from odradek.broker.config.options.error import OptionError
from odradek.client.defaults import BOOTSTRAP_VARIABLE, default_bootstrap
from odradek.client.profiles import ProfileError
from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import Parser, host, json_argument, port, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_READY = 1
_PORT = 9092
_PAUSE_S = 0.05
_ONE_TRY_S = 2.0
_SAYS_WHERE_DATA_IS = frozenset({"log.dirs", "metadata.log.dir"})


class Target(NamedTuple):
    """A broker that is to be ready; without ``data_directory`` it is asked less.

    With port 0 it is the broker of the data directory that says where it listens. One
    that speaks TLS is asked in its directory alone: who may connect is not us perhaps.
    """

    host: str
    port: int
    data_directory: Path | None = None
    has_tls: bool = False

    def __str__(self) -> str:
        if self.port or self.data_directory is None:
            return f"{self.host}:{self.port}"
        return f"the broker of {self.data_directory}"


_EXAMPLES = (
    "odradek health",
    "odradek health --port 9192 --wait 30s",
    "odradek health --data-dir ./data        # whatever its port is",
    "odradek health --config server.properties --json",
)


def command(arguments: list[str]) -> int:
    """Ask whether a broker is ready: exit code 0 if it is, 1 if not."""
    parser = _parser()
    options = parser.parse(arguments)
    if options.bootstrap_server and (options.host or options.port is not None):
        parser.error("name the broker by --bootstrap-server, or by --host and --port")
    try:
        target = _target(options)
    except OptionError as error:
        return fail("health", USAGE_ERROR, error)
    probing = Probing(target)
    reason = wait_until_ready(probing.probe, options.wait)
    target = probing.target
    address = f"{target.host}:{target.port}" if target.port else None
    found = {"address": address, "ready": reason is None, "reason": reason}
    if reason is not None:
        text = f"{target} is not ready: {reason}"
        return fail("health", NOT_READY, text, name="NOT_READY", row=found)
    if options.json:
        import json

        print(json.dumps(found))
    else:
        print(f"{target} is ready")
    return 0


class Probing:
    """Probes a broker that may have to be found first."""

    def __init__(self, target: Target) -> None:
        self.target = target

    def probe(self, timeout_s: float) -> str | None:
        """What is wrong with it; None when it is ready."""
        target = self.target
        if not target.port and target.data_directory is not None:
            from odradek.broker.cli.admin.admin_client import (
                AdminRefusal,
                broker_addresses,
            )

            try:
                first, *_ = broker_addresses(target.data_directory, timeout_s)
            except (AdminRefusal, OSError) as error:
                return str(error)
            self.target = target._replace(host=first.host, port=first.port)
        return probe(self.target, timeout_s)


def _parser() -> Parser:
    parser = Parser(
        "health",
        "Ask whether a broker is ready. With --config, --data-dir or KAFKA_* in the"
        " environment, as it was started with, ready means that it takes records;"
        " without, that it answers. With --data-dir alone the broker there says which"
        " port it has. Exit code: 0 ready, 1 not, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("--host", type=host, help="default: 127.0.0.1")
    parser.add_argument("--port", type=port, help="default: 9092")
    parser.add_argument(
        "--bootstrap-server",
        type=addresses,
        metavar="HOST:PORT",
        help=f"instead of --host and --port (default: ${BOOTSTRAP_VARIABLE})",
    )
    parser.add_argument(
        "--config", type=Path, metavar="FILE", help="the broker's properties file"
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="where the broker's data lives"
    )
    parser.add_argument(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="TIME",
        help="how long to wait for it to be ready, like 30s",
    )
    json_argument(parser, "one JSON object")
    return parser


def _target(options: argparse.Namespace) -> Target:
    """Where to ask: what the arguments say, or else the options of the broker.

    Raises:
        OptionError: they are wrong.
    """
    found = _default(options)
    is_named = options.bootstrap_server is not None
    has_options = options.config is not None or any(map(_may_be_option, os.environ))
    if has_options and not is_named:
        from odradek.broker.config.sources import load  # 20 ms that others do not need

        config = load(options.config, os.environ).config
        listener = config.client_listeners[0]
        directory = options.data_dir
        says_where = listener.has_tls or config.explicit & _SAYS_WHERE_DATA_IS
        if directory is None and says_where:
            directory = config.catalog_directory
        found = Target(listener.reached_at, listener.port, directory, listener.has_tls)
    if options.host is not None:
        found = found._replace(host=options.host)
    if options.port is not None:
        found = found._replace(port=options.port)
    return found


def _default(options: argparse.Namespace) -> Target:
    """Where a broker is when nothing says with which options it was started."""
    if options.data_dir is not None and options.bootstrap_server is None:
        # Who names a host means another port than one the broker would tell.
        port = 0 if options.host is None else _PORT
        return Target("127.0.0.1", port, options.data_dir)
    who = ""
    try:
        text, who = default_bootstrap()
        first, *_ = options.bootstrap_server or addresses(text)
    except (argparse.ArgumentTypeError, ProfileError) as error:
        raise OptionError(f"{who}: {error}" if who else str(error)) from None
    return Target(first.host, first.port, options.data_dir)


def _may_be_option(variable: str) -> bool:
    return variable.startswith("KAFKA_")


def probe(target: Target, timeout_s: float) -> str | None:
    """What is wrong with a broker; None when it is ready."""
    reason = None
    if not target.has_tls:
        reason = ask(target.host, target.port, timeout_s)
    if reason is None and target.data_directory is not None:
        reason = _ask_inside(target.data_directory, timeout_s)
    return reason


def _ask_inside(data_directory: Path, timeout_s: float) -> str | None:
    from odradek.broker.cli.admin.admin_client import AdminRefusal
    from odradek.broker.cli.admin.admin_client import ask as ask_admin

    try:
        items = list(ask_admin(data_directory, {"request": "health"}, timeout_s))
    except (AdminRefusal, OSError) as error:
        return str(error)
    return "; ".join(item["reason"] for item in items) or None


def wait_until_ready(
    probe: Callable[[float], str | None],
    wait_s: float,
    monotonic: Callable[[], float] = time.monotonic,
    sleep: Callable[[float], None] = time.sleep,
) -> str | None:
    """Probe until it finds nothing wrong or ``wait_s`` are over; what is wrong."""
    deadline = monotonic() + wait_s
    while True:
        remaining = deadline - monotonic()
        reason = probe(max(min(remaining, _ONE_TRY_S), _PAUSE_S) if wait_s else 2.0)
        if reason is None or deadline - monotonic() <= 0:
            return reason
        sleep(_PAUSE_S)


def ask(host: str, port: int, timeout_s: float) -> str | None:
    """What is wrong with the broker at that address; None when it answers."""
    from odradek.client.connection import Connection
    from odradek.protocol.errors import KafkaError, MalformedRequest

    try:
        Connection(host, port, timeout_s=timeout_s).close()
    except OSError as error:
        return error.strerror or str(error)
    except (KafkaError, MalformedRequest) as error:
        return f"it is not a Kafka broker, or a broken one: {error}"
    return None
