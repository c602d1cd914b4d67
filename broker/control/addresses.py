"""Where the broker listens: with port 0 nobody knows it before.

``addresses``: an item for each, its ``name``, ``protocol`` ("kafka", "http"), ``host``
and ``port``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .fields import Fields

if TYPE_CHECKING:
    from odradek.broker.node.server import Server
    from odradek.broker.operate.admin_socket import AdminRequest, Items, Request


def address_requests(server: Server) -> dict[str, AdminRequest]:
    """What answers it."""

    async def addresses(request: Request) -> Items:
        Fields(request).end()
        for each in server.listeners:
            yield _address(each.name, "kafka", each.host, each.port)
        if server.http_port is not None:
            assert server.config.http_listener is not None
            host = server.config.http_listener.host
            yield _address("http.listener", "http", host, server.http_port)

    return {"addresses": addresses}


def _address(name: str, protocol: str, host: str, port: int) -> dict[str, Any]:
    return {"name": name, "protocol": protocol, "host": host, "port": port}
