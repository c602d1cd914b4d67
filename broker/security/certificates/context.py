"""What a listener with TLS needs for a handshake, made of its options and proved.

No tickets and no compression, no renegotiation: a resumed handshake saves a client
nothing here and skips the look at its certificate.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import ssl
from typing import TYPE_CHECKING, NamedTuple

from .certificate import Certificate, parse_certificate
from .cipher_suites import choose_suites
from .der import DerError
from .principal_mapping import PrincipalMapping
from .stores import KeyPair, StoreError, certificates_in, read_key_pair, read_trusted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.config.options.security.per_listener import SecurityOptions

    from .stores import Trusted

_VERSIONS = {
    "TLSv1.2": ssl.TLSVersion.TLSv1_2,
    "TLSv1.3": ssl.TLSVersion.TLSv1_3,
}
_VERIFY = {
    "none": ssl.CERT_NONE,
    "requested": ssl.CERT_OPTIONAL,
    "required": ssl.CERT_REQUIRED,
}


class ServerTls(NamedTuple):
    """What handshakes of one listener are made with."""

    context: ssl.SSLContext
    certificate: Certificate
    mapping: PrincipalMapping
    where: str  # the certificate is
    made_of: bytes  # a hash of key, certificates and CAs: the same, made of the same


def make_server_tls(options: SecurityOptions, now_s: float) -> ServerTls:
    """What the options of a listener ask for; a handshake in memory has proved it.

    Raises:
        StoreError: the key, a certificate, a suite or a rule cannot be used.
    """
    pair, trusted = read_key_pair(options), read_trusted(options)
    certificate = _own_certificate(pair, now_s)
    proved = context = _context(options, pair, trusted, options.client_auth)
    if options.client_auth != "none":  # the client of the proof shows nothing
        proved = _context(options, pair, trusted, "none")
    _prove(proved, pair.where)
    rules = options.get("ssl.principal.mapping.rules")
    try:
        mapping = PrincipalMapping.parse(rules)
    except ValueError as error:
        name = options.name_of("ssl.principal.mapping.rules")
        raise StoreError(f"{name}: {error}") from None
    return ServerTls(context, certificate, mapping, pair.where, _hash(pair, trusted))


def _hash(pair: KeyPair, trusted: Trusted | None) -> bytes:
    parts = pair.chain, pair.key, "" if trusted is None else trusted.certificates
    return hashlib.sha256("\0".join(parts).encode()).digest()


def _own_certificate(pair: KeyPair, now_s: float) -> Certificate:
    first = certificates_in(pair.chain)[0]
    try:
        certificate = parse_certificate(ssl.PEM_cert_to_DER_cert(first))
    except (DerError, ValueError) as error:
        raise StoreError(f"{pair.where}: no certificate: {error}") from None
    if now_s >= certificate.not_after:
        raise StoreError(
            f"{pair.where}: the certificate of {certificate.subject} has expired "
            f"{(now_s - certificate.not_after) / 86400:.0f} days ago: no client that "
            "checks it would connect"
        )
    return certificate


def _context(
    options: SecurityOptions, pair: KeyPair, trusted: Trusted | None, client_auth: str
) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    enabled = [_VERSIONS[name] for name in options.get("ssl.enabled.protocols")]
    context.minimum_version, context.maximum_version = min(enabled), max(enabled)
    context.options |= ssl.OP_NO_COMPRESSION | ssl.OP_NO_RENEGOTIATION
    context.options |= ssl.OP_CIPHER_SERVER_PREFERENCE | ssl.OP_NO_TICKET
    context.num_tickets = 0
    try:
        choose_suites(context, options.get("ssl.cipher.suites"))
    except ValueError as error:
        raise StoreError(f"{options.name_of('ssl.cipher.suites')}: {error}") from None
    _load_key(context, pair)
    if trusted is not None and client_auth != "none":
        try:
            context.load_verify_locations(cadata=trusted.certificates)
        except ssl.SSLError as error:
            raise StoreError(f"{trusted.where}: {error.reason or error}") from None
        # As in Java: whoever is in the truststore is trusted, a root or not.
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.verify_mode = _VERIFY[client_auth]
    return context


def _load_key(context: ssl.SSLContext, pair: KeyPair) -> None:
    if "ENCRYPTED" in pair.key and not pair.password:
        raise StoreError(f"{pair.where}: the key is encrypted: set ssl.key.password")
    with _as_file(pair.chain + pair.key) as path:
        try:
            context.load_cert_chain(path, password=pair.password or "")
        except ssl.SSLError as error:
            is_hidden = "ENCRYPTED" in pair.key
            raise StoreError(f"{pair.where}: {_why_unfit(error, is_hidden)}") from None


def _why_unfit(error: ssl.SSLError, is_hidden: bool) -> str:
    if error.reason == "KEY_VALUES_MISMATCH":
        return "the key is not that of the (first) certificate"
    if is_hidden and error.reason not in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK"):
        return "the password of the key (ssl.key.password) is wrong"
    if error.reason in ("EE_KEY_TOO_SMALL", "CA_MD_TOO_WEAK", "CA_KEY_TOO_SMALL"):
        return f"too weak to be used ({error.reason})"
    return f"key and certificate cannot be used: {error.reason or error}"


@contextlib.contextmanager
def _as_file(text: str) -> Iterator[str]:
    """A file with a key for who reads files only; in memory where that can be."""
    if hasattr(os, "memfd_create"):
        fd, path = os.memfd_create("tls"), ""
        shown = f"/proc/self/fd/{fd}"
    else:
        import tempfile

        fd, path = tempfile.mkstemp()  # for this user alone
        shown = path
    try:
        with os.fdopen(fd, "w") as file:
            file.write(text)
            file.flush()
            yield shown
    finally:
        if path:
            os.unlink(path)


def _prove(server_context: ssl.SSLContext, where: str) -> None:
    """Make a handshake in memory, whose client believes everything."""
    client_context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client_context.check_hostname = False
    client_context.verify_mode = ssl.CERT_NONE
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = server_context.wrap_bio(to_server, to_client, server_side=True)
    client = client_context.wrap_bio(to_client, to_server)
    waiting = [client, server]
    for _ in range(10):
        for side in tuple(waiting):
            try:
                side.do_handshake()
            except ssl.SSLWantReadError:
                continue
            except ssl.SSLError as error:
                raise StoreError(
                    f"{where}: no handshake can be made with it: {error.reason}"
                ) from None
            waiting.remove(side)
    if waiting:
        raise StoreError(f"{where}: no handshake can be made with it")
