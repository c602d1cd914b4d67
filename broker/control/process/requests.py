"""What can befall a broker: it dies, stands still, loses its clients.

- ``process.crash``: SIGKILL, by its own hand; there is no answer.
- ``process.freeze``, ``process.thaw``: it reads nothing, and no timer runs, while time
  goes on; clients can connect, and hear nothing. As with a long pause of a collector of
  garbage, all that was to be done is done at once when it thaws. Its doors for tests
  stay open.
- ``process.disconnect`` (``client_id``: a pattern with ``*`` and ``?``): connections
  are closed, all or those of these clients. Item: how many were ``disconnected``.
- ``process.refuse``, ``process.accept``: new connections are closed at once, until
  accepted again; those that are open stay.
"""

from __future__ import annotations

import os
import signal
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from odradek.broker.control.fields import Fields

if TYPE_CHECKING:
    from odradek.broker.control.server import ControlledServer
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request


def process_requests(server: ControlledServer) -> dict[str, AdminRequest]:
    """What answers each."""

    async def crash(request: Request) -> Items:
        Fields(request).end()
        os.kill(os.getpid(), signal.SIGKILL)
        yield {}  # not reached

    async def freeze(request: Request) -> Items:
        Fields(request).end()
        server.freeze()
        yield {"is_frozen": True}

    async def thaw(request: Request) -> Items:
        Fields(request).end()
        server.thaw()
        yield {"is_frozen": False}

    async def disconnect(request: Request) -> Items:
        fields = Fields(request)
        pattern = fields.text("client_id", "*")
        fields.end()
        client_id = server.known_clients.client_id
        chosen = [
            connection
            for listener in server.listeners
            for connection in listener.connections
            if fnmatchcase(client_id(connection.info), pattern)
        ]
        for connection in chosen:
            connection.abort()
        yield {"disconnected": len(chosen)}

    async def refuse(request: Request) -> Items:
        Fields(request).end()
        server.admission.is_shut = True
        yield {"is_accepting": False}

    async def accept(request: Request) -> Items:
        Fields(request).end()
        server.admission.is_shut = False
        yield {"is_accepting": True}

    return {
        "process.crash": crash,
        "process.freeze": freeze,
        "process.thaw": thaw,
        "process.disconnect": disconnect,
        "process.refuse": refuse,
        "process.accept": accept,
    }
