"""The port of an HTTP server, for tests."""

from ssl import SSLContext

from odradek.broker.config.options.listener import HostPort
from odradek.broker.operate.http_strangers import HttpPort
from odradek.broker.runtime.memory.limits import LimitedLog
from tests.fakes.clock import FakeClock


def http_port(
    log: list[str], number: int = 0, tls: SSLContext | None = None
) -> HttpPort:
    """One of this machine, whose log is a list."""
    clock = FakeClock()
    address = HostPort("127.0.0.1", number)
    return HttpPort(address, LimitedLog(clock, log.append), clock, tls)
