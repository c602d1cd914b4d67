"""``odradek health``: whether a broker answers; for containers and scripts."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from .parser import Parser, fail, port, seconds

if TYPE_CHECKING:
    from collections.abc import Callable

NOT_READY = 1
_PAUSE_S = 0.05
_ONE_TRY_S = 2.0


def command(arguments: list[str]) -> int:
    """Ask whether a broker is ready: exit code 0 if it is, 1 if not."""
    parser = Parser(
        "health", "Ask whether a broker is ready. Exit code: 0 ready, 1 not, 2 usage."
    )
    parser.add_argument("--host", default="127.0.0.1", help="default: 127.0.0.1")
    parser.add_argument("--port", type=port, default=9092, help="default: 9092")
    parser.add_argument(
        "--wait",
        type=seconds,
        default=0.0,
        metavar="TIME",
        help="how long to wait for it to be ready, like 30s",
    )
    options = parser.parse(arguments)
    reason = wait_until_ready(
        lambda timeout_s: ask(options.host, options.port, timeout_s), options.wait
    )
    address = f"{options.host}:{options.port}"
    if reason is not None:
        return fail("health", NOT_READY, f"{address} is not ready: {reason}")
    print(f"{address} is ready")
    return 0


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
    from client.connection import Connection
    from protocol.errors import KafkaError, MalformedRequest

    try:
        Connection(host, port, timeout_s=timeout_s).close()
    except OSError as error:
        return error.strerror or str(error)
    except (KafkaError, MalformedRequest) as error:
        return f"it is no Kafka broker, or a broken one: {error}"
    return None
