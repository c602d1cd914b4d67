"""What is told of certificates, metrics' own too, and of who did not get in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exposition import Family, counter, gauge, labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.services import Certificates


def tls_families(
    listeners: Iterable[Listener], certificates: Certificates | None
) -> Iterator[Family]:
    """All ``certificates``, if there are any, and who did not get in at the listeners.

    Metrics and health are pages of a certificate too, and no listener of clients.
    """
    left = gauge("odradek_certificate_days_left", "Days until the certificate expires.")
    stale = gauge(
        "odradek_certificate_stale",
        "Whether the last attempt to renew it has failed; the one before serves on.",
    )
    renewals = counter(
        "odradek_certificate_renewals_total",
        "How often keys, certificates or CAs were renewed, or could not be.",
    )
    refused = counter(
        "odradek_tls_handshakes_failed_total", "Clients that made no handshake."
    )
    for identity in () if certificates is None else certificates.identities:
        of_it = labels(listener=identity.name)
        left.add(round(identity.days_left, 2), of_it)
        stale.add(int(identity.failure is not None), of_it)
        for outcome, count in (
            ("renewed", identity.renewed_count),
            ("failed", identity.failed_count),
        ):
            renewals.add(count, labels(listener=identity.name, outcome=outcome))
    for listener in listeners:
        if listener.tls is not None:
            of_it = labels(listener=listener.name)
            refused.add(listener.failed_handshake_count, of_it)
    yield from (left, stale, renewals, refused)
