"""The certificates that a listener shows, whoever issued them: not to be trusted."""

from __future__ import annotations

import socket
import ssl
from typing import TYPE_CHECKING, Any

from .security.tls import failure_of

if TYPE_CHECKING:
    from .address import Address


def shown_chain(address: Address, timeout_s: float) -> list[bytes]:
    """The listener's certificate and what it shows above it, each as DER.

    Raises:
        TlsFailed: it does not speak TLS, or not with us.
        OSError: it cannot be reached.
    """
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    with socket.create_connection(address, timeout_s) as plain:
        try:
            with context.wrap_socket(plain, server_hostname=address.host) as wrapped:
                return _chain(wrapped)
        except ssl.SSLError as error:
            raise failure_of(error, context) from None


def _chain(wrapped: ssl.SSLSocket) -> list[bytes]:
    if hasattr(wrapped, "get_unverified_chain"):  # since Python 3.13
        found: list[bytes] = wrapped.get_unverified_chain()
        return found
    inner: Any = getattr(wrapped, "_sslobj", None)
    if hasattr(inner, "get_unverified_chain"):
        return [
            ssl.PEM_cert_to_DER_cert(each.public_bytes())
            for each in inner.get_unverified_chain()
        ]
    own = wrapped.getpeercert(binary_form=True)
    return [own] if own else []
