"""TLS: why it fails with a listener, and how long its certificate is good."""

from __future__ import annotations

import ssl
import time
from typing import TYPE_CHECKING, Any

from odradek.client.errors import TlsCause, TlsFailed
from odradek.client.security.settings import SASL_PLAINTEXT, SASL_SSL
from odradek.client.shown_chain import shown_chain

from .finding import Finding

if TYPE_CHECKING:
    from odradek.client.address import Address
    from odradek.client.security.settings import Security

DAYS_LEFT_WARNED = 21
_DAY_S = 86_400
_SEEN = "'odradek cert show {}' shows what it has."
# What to change, of the client's file if no other is named.
_ADVICE = {
    TlsCause.UNKNOWN_ISSUER: (
        "In the client: ssl.ca.location=FILE (Java: ssl.truststore.type=PEM,"
        " ssl.truststore.location=FILE), with the CA's certificate; of a broker that"
        " 'odradek secure init' made that is secure/ca.pem. If the CA is in it, the"
        " broker leaves out a certificate between: its ssl.certificate.file has to hold"
        " all up to the CA. "
    ),
    TlsCause.EXPIRED: (
        "A new one for the broker: 'odradek cert init HOST --renew', or of your CA;"
        " 'odradek cert reload' on the broker then. "
    ),
    TlsCause.NOT_YET_VALID: "Set the clock of this machine, or of the broker's CA. ",
    TlsCause.INVALID: "The broker needs another one: 'odradek cert init HOST'. ",
    TlsCause.VERSION: (
        "Set ssl.enabled.protocols=TLSv1.2,TLSv1.3 in the client, or in the broker."
    ),
    TlsCause.CIPHER: (
        "Leave ssl.cipher.suites out in the client and in the broker, or name one that"
        " both have; or the broker does not take our certificate."
    ),
    TlsCause.NO_CERTIFICATE: (
        "The broker has ssl.client.auth=required, or no cipher suite of ours. In the"
        " client: ssl.certificate.location=FILE and ssl.key.location=FILE (Java:"
        " ssl.keystore.type=PEM, ssl.keystore.location=FILE); 'odradek cert client"
        " NAME' makes one by the broker's CA."
    ),
    TlsCause.CERTIFICATE_REFUSED: (
        "Ours has expired, or its CA is not in the broker's ssl.ca.file"
        " (ssl.truststore.location): 'odradek cert client NAME' makes one by the"
        " broker's CA. 'odradek cert show FILE' shows ours."
    ),
}


def tls_failure(
    address: Address, timeout_s: float, error: TlsFailed, security: Security
) -> Finding:
    """What is wrong, and the line to change."""
    seen = _SEEN.format(address)
    cause, detail = error.cause, str(error)
    if cause is TlsCause.HUNG_UP and _shows_certificate(address, timeout_s):
        # With TLS 1.3 a client is refused when it takes itself for connected.
        has_own = security.tls is not None and bool(security.tls.certificate)
        cause = TlsCause.CERTIFICATE_REFUSED if has_own else TlsCause.NO_CERTIFICATE
        what = "it refuses our certificate" if has_own else "it wants a certificate"
        detail = f"hung up after the handshake of TLS: {what}"
    if cause is TlsCause.OTHER_NAME:
        advice = (
            f"The broker needs a certificate for {address.host}: 'odradek cert init"
            f" {address.host} --renew', or of your CA; or connect to a name that is in"
            f" it. {seen}"
        )
    elif cause in (TlsCause.NO_TLS, TlsCause.HUNG_UP):
        plain = "PLAINTEXT" if security.sasl is None else SASL_PLAINTEXT
        advice = (
            f"This listener has no TLS, so set security.protocol={plain} in the client;"
            " or use the port of a listener with TLS (listeners=SASL_SSL://... in the"
            " broker)."
        )
    else:
        advice = _ADVICE.get(cause, "The broker's log says why. ")
        advice += seen if advice.endswith(" ") else ""
    return Finding("TLS", str(address), False, detail, advice)


def _shows_certificate(address: Address, timeout_s: float) -> bool:
    """Whether who listens there speaks TLS, whatever it wants then."""
    try:
        return bool(shown_chain(address, timeout_s))
    except OSError:
        return False


def wants_tls(address: Address, security: Security | None) -> Finding:
    """The listener has TLS, and the client has not."""
    has_login = security is not None and security.sasl is not None
    wanted = f"{SASL_SSL}" if has_login else f"SSL (or {SASL_SSL})"
    return Finding(
        "protocol",
        str(address),
        False,
        "it expects TLS",
        f"Set security.protocol={wanted} in the client, and ssl.ca.location=FILE with"
        " the CA of the broker; or use the port of a PLAINTEXT listener.",
    )


def certificate(
    address: Address, timeout_s: float, now_s: float | None = None
) -> Finding | None:
    """For whom the listener's certificate is, and for how long; None: cannot be said.

    It was accepted already: nothing is proved here.
    """
    try:
        known = _decoded(address, timeout_s)
    except OSError:
        return None
    if "notAfter" not in known:
        return None
    until_s = ssl.cert_time_to_seconds(known["notAfter"])
    days = int((until_s - (time.time() if now_s is None else now_s)) // _DAY_S)
    names = ", ".join(value for _, value in known.get("subjectAltName", ()))
    detail = f"certificate for {names or 'no name'}, good for {days} days"
    is_good = days >= DAYS_LEFT_WARNED
    advice = "" if is_good else f"It ends soon. {_ADVICE[TlsCause.EXPIRED].strip()}"
    return Finding("TLS", str(address), is_good, detail, advice)


def _decoded(address: Address, timeout_s: float) -> dict[str, Any]:
    """What Python says of the certificate: it does so of those it trusts alone."""
    import socket

    first, *_ = shown_chain(address, timeout_s)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.load_verify_locations(cadata=first)
    with (
        socket.create_connection(address, timeout_s) as plain,
        context.wrap_socket(plain, server_hostname=address.host) as wrapped,
    ):
        return dict(wrapped.getpeercert() or {})
