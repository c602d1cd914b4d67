"""``odradek health``: whether a broker answers; for containers and scripts."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.error import OptionError
from odradek.terminal.failure import USAGE_ERROR, fail
from odradek.terminal.parser import Parser, port, seconds

if TYPE_CHECKING:
    import argparse
    from collections.abc import Callable

NOT_READY = 1
_PAUSE_S = 0.05
_ONE_TRY_S = 2.0
_SAYS_WHERE_DATA_IS = frozenset({"log.dirs", "metadata.log.dir"})


class Target(NamedTuple):
    """A broker that is to be ready; without ``data_directory`` it is asked less."""

    host: str
    port: int
    data_directory: Path | None = None


_EXAMPLES = (
    "odradek health",
    "odradek health --port 9192 --wait 30s",
    "odradek health --config server.properties --json",
)


def command(arguments: list[str]) -> int:
    """Ask whether a broker is ready: exit code 0 if it is, 1 if not."""
    options = _parser().parse(arguments)
    try:
        target = _target(options)
    except OptionError as error:
        return fail("health", USAGE_ERROR, error)
    reason = wait_until_ready(lambda timeout_s: probe(target, timeout_s), options.wait)
    address = f"{target.host}:{target.port}"
    if options.json:
        import json

        found = {"address": address, "ready": reason is None, "reason": reason}
        print(json.dumps(found))
    if reason is not None:
        return fail("health", NOT_READY, f"{address} is not ready: {reason}")
    if not options.json:
        print(f"{address} is ready")
    return 0


def _parser() -> Parser:
    parser = Parser(
        "health",
        "Ask whether a broker is ready. With --config, --data-dir or KAFKA_* in the"
        " environment, as it was started with, ready means that it takes records;"
        " else that it answers. Exit code: 0 ready, 1 not, 2 usage.",
        _EXAMPLES,
    )
    parser.add_argument("--host", help="default: 127.0.0.1")
    parser.add_argument("--port", type=port, help="default: 9092")
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
    parser.add_argument("--json", action="store_true", help="one JSON object")
    return parser


def _target(options: argparse.Namespace) -> Target:
    """Where to ask: what the arguments say, or else the options of the broker.

    Raises:
        OptionError: they are wrong.
    """
    found = Target("127.0.0.1", 9092, options.data_dir)
    if options.config is not None or any(map(_may_be_option, os.environ)):
        from odradek.broker.config.sources import load  # 20 ms that others do not need

        config = load(options.config, os.environ).config
        listener = config.client_listeners[0]
        directory = options.data_dir
        if directory is None and config.explicit & _SAYS_WHERE_DATA_IS:
            directory = config.catalog_directory
        found = Target(listener.reached_at, listener.port, directory)
    if options.host is not None:
        found = found._replace(host=options.host)
    if options.port is not None:
        found = found._replace(port=options.port)
    return found


def _may_be_option(variable: str) -> bool:
    return variable.startswith("KAFKA_")


def probe(target: Target, timeout_s: float) -> str | None:
    """What is wrong with a broker; None when it is ready."""
    reason = ask(target.host, target.port, timeout_s)
    if reason is None and target.data_directory is not None:
        reason = _ask_inside(target.data_directory, timeout_s)
    return reason


def _ask_inside(data_directory: Path, timeout_s: float) -> str | None:
    from .admin_client import AdminRefusal
    from .admin_client import ask as ask_admin

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
        return f"it is no Kafka broker, or a broken one: {error}"
    return None
