"""Where executors find the driver, apart from Spark's own ports.

A port that is free is enough on one machine. On a cluster there may be a firewall that
lets one port through, or a network before this machine that has its address.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from .executors import context_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_HERE = "127.0.0.1"
_PORT_MAX = 65535
_OPTION = "--driver-address"


class DriverAddress(NamedTuple):
    """What executors connect to; and what to bind to here, if that is another one."""

    host: str
    port: int
    bind: str = ""

    @property
    def listening(self) -> tuple[str, int]:
        """The address to listen on."""
        return self.bind or self.host, self.port

    def refused(self, error: OSError) -> str:
        """What to say where it cannot be listened on."""
        host, port = self.listening
        return (
            f"The driver cannot listen on {host}:{port}: {error.strerror or error}."
            " Spark's tasks ask there before they send: give it a free port of an"
            f" address of this machine, like {_OPTION} :7777; where tasks know it by"
            " another address, say that one, and --conf"
            " spark.driver.bindAddress=0.0.0.0"
        )


def parse_driver_address(text: str) -> tuple[str, int]:
    """Host and port of ``HOST:PORT``, ``HOST`` or ``:PORT``; else empty, and 0.

    Raises:
        ValueError: it is none of them.
    """
    host, _, port = text.rpartition(":") if ":" in text else (text, "", "0")
    host = host.removeprefix("[").removesuffix("]")
    if not (port.isascii() and port.isdigit() and int(port) <= _PORT_MAX):
        raise ValueError(f"{_OPTION} {text}: write it like driver-host:7777 or :7777")
    return host, int(port)


def driver_address(spark: SparkSession, text: str = "") -> DriverAddress:
    """Where executors of a session find this process, if nothing else is said.

    Raises:
        ValueError: what is said is no address.
    """
    host, port = parse_driver_address(text)
    context = context_of(spark)
    if context is None:
        return DriverAddress(host or _towards(spark), port)
    conf = context.getConf()
    usual = conf.get("spark.driver.host") or _HERE
    return DriverAddress(
        host or usual, port, conf.get("spark.driver.bindAddress") or ""
    )


def _towards(spark: SparkSession) -> str:
    """The address from which this machine speaks to a server of Spark Connect."""
    client = getattr(spark, "client", None)
    host = urlsplit(f"//{client.host}").hostname if client is not None else None
    try:
        found = socket.getaddrinfo(host or _HERE, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(found[0], socket.SOCK_DGRAM) as asked:
            asked.connect(found[4])  # sends nothing
            return str(asked.getsockname()[0])
    except OSError:
        return _HERE
