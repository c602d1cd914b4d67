"""Ports for processes that have to be told theirs, and on which nobody listens yet.

They are below those that the kernel gives to clients: of these one may be that of some
connection by the time the process has started. Workers of one run share none.
"""

import itertools
import os
import random
import re
import socket
from collections.abc import Iterator

PORTS = range(20_000, 32_000)
OF_A_WORKER = 1_000


def free_ports(count: int) -> list[int]:
    """So many, none of which was given out shortly before."""
    return list(itertools.islice(_FREE, count))


def ports_of(worker: str) -> range:
    """Those of a worker of pytest-xdist, such as ``gw3``."""
    number = int(re.sub(r"\D", "", worker) or 0)
    first = PORTS.start + number * OF_A_WORKER % len(PORTS)
    return range(first, first + OF_A_WORKER)


def _free() -> Iterator[int]:
    ports = ports_of(os.environ.get("PYTEST_XDIST_WORKER", ""))
    for place in itertools.count(random.randrange(len(ports))):
        port = ports[place % len(ports)]
        with socket.socket() as tried:
            try:
                tried.bind(("127.0.0.1", port))
            except OSError:
                continue
        yield port


_FREE = _free()
