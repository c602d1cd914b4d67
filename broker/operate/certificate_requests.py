"""What can be asked of certificates on the admin socket.

``reload-certificates``: every listener with TLS reads its keys and certificates again;
an item for each says what came of it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .admin_socket import AdminError

if TYPE_CHECKING:
    from odradek.broker.requests.services import Certificates
    from odradek.broker.security.certificates.renewal import Renewed

    from .admin_socket import Items, Request


async def reload_certificates(
    certificates: Certificates | None, request: Request
) -> Items:
    """What answers the request."""
    if request:
        raise AdminError("malformed", f"unknown: {', '.join(request)}")
    if certificates is None:
        raise AdminError("no-tls", "no listener of this broker has TLS")
    for each in await certificates.renew():
        yield _told(each)


def _told(renewed: Renewed) -> dict[str, Any]:
    identity = renewed.identity
    certificate = identity.current.certificate
    outcome = "new" if renewed.is_new else "unchanged"
    return {
        "listener": identity.name,
        "outcome": "failed" if renewed.failure else outcome,
        "reason": renewed.failure,
        "subject": certificate.subject,
        "names": sorted(certificate.names),
        "where": identity.current.where,
        "daysLeft": int(identity.days_left),
    }
