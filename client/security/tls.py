"""TLS around a connection: what the options say, and failures in plain words."""

from __future__ import annotations

import os
import re
import ssl
import tempfile
from contextlib import contextmanager
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from odradek.client.errors import TlsCause, TlsFailed

from . import names
from .names import SecurityOptionError

if TYPE_CHECKING:
    import socket
    from collections.abc import Iterator

    from .settings import Tls

UNKNOWN_ISSUER = (2, 18, 19, 20, 21, 27)
EXPIRED, NOT_YET_VALID = 10, 9
OTHER_NAME = (62, 64)
# Alerts, as OpenSSL names them, of a server that does not like our certificate.
_WANTS_CERTIFICATE = ("CERTIFICATE_REQUIRED", "HANDSHAKE_FAILURE")
_EXPIRED_ALERT = "CERTIFICATE_EXPIRED"
_BAD_CERTIFICATE = (
    "UNKNOWN_CA",
    "BAD_CERTIFICATE",
    "CERTIFICATE_UNKNOWN",
    "ACCESS_DENIED",
)
_NO_TLS = ("WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE")
_VERSIONS = ("UNSUPPORTED_PROTOCOL", "PROTOCOL_VERSION", "NO_PROTOCOLS_AVAILABLE")


class _Context(ssl.SSLContext):
    shows_certificate = False


class TlsSocket(ssl.SSLSocket):
    """A socket whose failures say what they mean; the rest is Python's."""

    def recv_into(self, buffer: Any, nbytes: int | None = None, flags: int = 0) -> int:
        """As Python's."""
        try:
            return super().recv_into(buffer, nbytes, flags)
        except ssl.SSLError as error:
            raise failure_of(error, self.context) from None

    def send(self, data: Any, flags: int = 0) -> int:
        """As Python's."""
        try:
            return super().send(data, flags)
        except ssl.SSLError as error:
            raise self._refusal() or failure_of(error, self.context) from None
        except ConnectionError:
            if (refusal := self._refusal()) is not None:
                raise refusal from None
            raise

    def _refusal(self) -> TlsFailed | None:
        """What the server has said before it closed, if anything.

        With TLS 1.3 it looks at our certificate when we take ourselves for connected:
        it refuses, and closes, and what we send then fails.
        """
        try:
            super().recv(1)
        except ssl.SSLError as error:
            found = failure_of(error, self.context)
            return None if found.may_pass else found
        except OSError:
            pass
        return None


def open_tls(plain: socket.socket, tls: Tls, host: str) -> TlsSocket:
    """The same connection, encrypted; ``plain`` is part of it from now on.

    Raises:
        TlsFailed: the two do not agree, or the server is not who it should be.
    """
    try:
        context = context_of(tls)
    except SecurityOptionError as error:  # of a file that was changed since
        raise TlsFailed(str(error)) from None
    try:
        wrapped = context.wrap_socket(plain, server_hostname=host)
    except ssl.SSLError as error:
        raise failure_of(error, context) from None
    except (ConnectionResetError, BrokenPipeError):
        text = f"hung up in the handshake of TLS; {_PLAIN}"
        raise TlsFailed(text, cause=TlsCause.HUNG_UP) from None
    assert isinstance(wrapped, TlsSocket)
    return wrapped


def context_of(tls: Tls) -> ssl.SSLContext:
    """The context that the options mean, with their files as they are now.

    Raises:
        SecurityOptionError: one of them is of no use.
    """
    return _context(tls, tls.trusted.read(), tls.certificate.read(), tls.key.read())


@lru_cache(maxsize=8)
def _context(tls: Tls, trusted: str, certificate: str, key: str) -> ssl.SSLContext:
    context = _Context(ssl.PROTOCOL_TLS_CLIENT)
    context.sslsocket_class = TlsSocket
    context.minimum_version = _version(tls.versions[0])
    context.maximum_version = _version(tls.versions[-1])
    if tls.ciphers:
        _choose(context, tls.ciphers)
    if not tls.checks_certificate:
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not tls.checks_host_name:
        context.check_hostname = False
    if trusted:
        _trust(context, trusted, tls.trusted.path)
    else:
        context.load_default_certs()
    if certificate:
        # Of several keys OpenSSL takes the first.
        whole = certificate if key == certificate else f"{key}\n{certificate}"
        _show(context, whole, tls)
        context.shows_certificate = True
    return context


def _version(name: str) -> ssl.TLSVersion:
    return ssl.TLSVersion[name.replace(".", "_")]


def _choose(context: ssl.SSLContext, ciphers: str) -> None:
    try:
        context.set_ciphers(ciphers)
    except ssl.SSLError:
        raise SecurityOptionError(
            names.CIPHERS, f"OpenSSL knows none of {ciphers}"
        ) from None


def _trust(context: ssl.SSLContext, text: str, path: str) -> None:
    try:
        context.load_verify_locations(cadata=text)
    except (ssl.SSLError, ValueError):
        where = path or "its text"
        raise SecurityOptionError(
            names.TRUSTED_FILES[0], f"{where}: a certificate in it is broken"
        ) from None


def _show(context: ssl.SSLContext, text: str, tls: Tls) -> None:
    """Have our certificate ready for who asks for one."""
    name = names.CERTIFICATE_FILES[1]
    try:
        with _as_file(text) as path:
            context.load_cert_chain(path, password=lambda: tls.key_password.value)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            reason = "the key is not the one of the certificate"
            raise SecurityOptionError(name, reason) from None
        if tls.key_password:
            reason = "does not open the key"
            raise SecurityOptionError(names.KEY_PASSWORD, reason) from None
        raise SecurityOptionError(name, "it, or its key, is broken") from None


@contextmanager
def _as_file(text: str) -> Iterator[str]:
    """A name for what is in memory: OpenSSL reads certificates of ours from files."""
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("odradek-key")
        with os.fdopen(descriptor, "w") as file:
            file.write(text)
            file.flush()
            yield f"/proc/self/fd/{descriptor}"
        return
    with tempfile.NamedTemporaryFile("w") as named:
        named.write(text)
        named.flush()
        yield named.name


_PLAIN = (
    "does its listener speak TLS? If not, security.protocol is PLAINTEXT or"
    " SASL_PLAINTEXT; or it may want a certificate (ssl.certificate.location)"
)


def failure_of(error: ssl.SSLError, context: ssl.SSLContext) -> TlsFailed:
    """What an error of OpenSSL means, and which option has to do with it."""
    if isinstance(error, ssl.SSLCertVerificationError):
        text, cause = _untrusted(error)
        return TlsFailed(text, error.verify_code, cause)
    if isinstance(error, (ssl.SSLEOFError, ssl.SSLZeroReturnError)):
        text = f"hung up in the handshake of TLS; {_PLAIN}"
        return TlsFailed(text, cause=TlsCause.HUNG_UP)
    reason = error.reason or str(error)
    if any(word in reason for word in _NO_TLS):
        return TlsFailed(f"does not speak TLS; {_PLAIN}", cause=TlsCause.NO_TLS)
    if any(word in reason for word in _VERSIONS):
        text = f"has no version of TLS in common with us ({names.VERSIONS})"
        return TlsFailed(text, cause=TlsCause.VERSION)
    if any(
        word in reason
        for word in (*_WANTS_CERTIFICATE, _EXPIRED_ALERT, *_BAD_CERTIFICATE)
    ):
        text, cause = _of_certificate(reason, context)
        return TlsFailed(text, cause=cause)
    return TlsFailed(f"TLS failed: {_words(reason)}")


def _of_certificate(reason: str, context: ssl.SSLContext) -> tuple[str, TlsCause]:
    """What a broker has against our certificate, or against us without one."""
    if not getattr(context, "shows_certificate", False):
        return (
            "wants a certificate of ours, or has no cipher in common with us: set"
            f" {names.CERTIFICATE_FILES[1]} and {names.KEY_FILES[0]}"
        ), TlsCause.NO_CERTIFICATE
    option = names.CERTIFICATE_FILES[1]
    if _EXPIRED_ALERT in reason:
        return (
            f"refuses our certificate, which has expired: {option} has to name a new"
            " one"
        ), TlsCause.CERTIFICATE_REFUSED
    if any(word in reason for word in _BAD_CERTIFICATE):
        return (
            f"refuses our certificate ({_words(reason)}): {option} has to name one that"
            " is valid today, and issued by whom the broker trusts"
        ), TlsCause.CERTIFICATE_REFUSED
    return (
        "refuses our certificate, or has no cipher in common with us"
        f" ({option}, {names.CIPHERS})"
    ), TlsCause.CIPHER


def _untrusted(error: ssl.SSLCertVerificationError) -> tuple[str, TlsCause]:
    code = error.verify_code
    if code in UNKNOWN_ISSUER:
        return (
            "its certificate was issued by nobody whom we trust: name its CA with"
            f" {names.TRUSTED_FILES[1]}"
        ), TlsCause.UNKNOWN_ISSUER
    if code == EXPIRED:
        return "its certificate has expired", TlsCause.EXPIRED
    if code == NOT_YET_VALID:
        text = "its certificate is not valid yet; is the clock right?"
        return text, TlsCause.NOT_YET_VALID
    if code in OTHER_NAME:
        found = re.search(r"certificate is not valid for '([^']*)'", str(error))
        name = found[1] if found else "this name"
        text = f"its certificate is for other names, not for {name}"
        return text, TlsCause.OTHER_NAME
    text = f"its certificate is not valid: {error.verify_message}"
    return text, TlsCause.INVALID


def _words(reason: str) -> str:
    return reason.lower().replace("_", " ")
