"""All requests of tests, by their names."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .addresses import address_requests
from .clock.requests import clock_requests
from .faults.requests import fault_requests
from .journal.requests import journal_requests
from .process.requests import process_requests
from .records import record_requests
from .reset import reset_requests
from .snapshots import snapshot_requests
from .state import state_requests
from .topics import topic_requests
from .users import user_requests
from .waits import Waits

if TYPE_CHECKING:
    from odradek.broker.operate.admin_socket import AdminRequest

    from .server import ControlledServer

# Those that end with who asks.
WATCHING = ("calls", "faults.fired", "wait")


def control_requests(server: ControlledServer) -> dict[str, AdminRequest]:
    """What answers each."""
    services, listeners = server.services, server.listeners
    waits = server.waits = Waits(services, listeners)
    server.on_reset.append(waits.assignments.forget_all)
    return {
        **address_requests(server),
        **clock_requests(server),
        **fault_requests(server.rules, services.metadata),
        **journal_requests(server.journal, server.dispatcher, services),
        **process_requests(server),
        **record_requests(services),
        **server.recorders.requests(),
        **reset_requests(server),
        **snapshot_requests(services, server.backups),
        **state_requests(services, listeners, waits.changes),
        **topic_requests(services),
        **user_requests(services),
        **waits.requests(),
    }
