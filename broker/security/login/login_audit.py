"""The audit log's lines about logins: who came in, who did not, and why.

Logger ``odradek.audit``, as of all changes. What a client says of itself is cut and
escaped: it can neither begin a line nor colour a terminal.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from odradek.broker.requests.context import ConnectionInfo

TOLD_MAX = 256

_logger = logging.getLogger("odradek.audit")


def told(text: str) -> str:
    """What a client sent, fit for a line of a log."""
    cut = text[:TOLD_MAX]
    if not cut.isprintable():
        cut = "".join(
            each if each.isprintable() else each.encode("unicode_escape").decode()
            for each in cut
        )[:TOLD_MAX]
    return cut if len(text) <= TOLD_MAX else f"{cut[: TOLD_MAX - 3]}..."


def note_login(
    connection: ConnectionInfo, mechanism: str, claimed: str, refused: str = ""
) -> None:
    """Somebody has logged in, or was ``refused``, which says why."""
    name = told(claimed)
    extra: dict[str, Any] = {
        "event": "login",
        "mechanism": mechanism,
        "listener": connection.listener_name,
        "address": connection.peer_host,
        "user": name,
        "principal": told(connection.principal),
    }
    if refused:
        extra["refused"] = told(refused)
        _logger.warning(
            "login of %s from %s to %s by %s refused: %s",
            name or "somebody",
            connection.peer_host,
            connection.listener_name,
            mechanism,
            extra["refused"],
            extra=extra,
        )
        return
    _logger.info(
        "login of %s from %s to %s by %s",
        extra["principal"],
        connection.peer_host,
        connection.listener_name,
        mechanism,
        extra=extra,
    )
