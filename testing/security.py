"""A broker for tests with TLS, users and access control; what clients are told of it.

The certificate is issued by a CA that is made for this process, and gone with it. It is
made by ``odradek cert init``, which needs ``odradek[security]``.
"""

from __future__ import annotations

import atexit
import os
import secrets
import shutil
import threading
from typing import TYPE_CHECKING, Any, Final

from .commands import run_command
from .room import new_directory, room

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path

PROTOCOLS: Final = ("ssl", "sasl_ssl", "sasl_plaintext")
MECHANISMS: Final = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512")
# Who may do everything, where there are access control lists.
ADMIN: Final = "admin"
_JAVA_MODULES: Final = {
    "PLAIN": "org.apache.kafka.common.security.plain.PlainLoginModule",
    "SCRAM": "org.apache.kafka.common.security.scram.ScramLoginModule",
}


class Security:
    """What a broker asks of its clients: the protocol, and who its users are."""

    def __init__(
        self, protocol: str, users: Mapping[str, str] | None = None, acl: bool = False
    ) -> None:
        """``users``: passwords by names. ``acl``: lists decide, and `ADMIN` is there.

        Raises:
            ValueError: that makes no sense.
        """
        self.protocol = protocol.lower()
        self.users = dict(users or {})
        self.acl = acl
        if self.protocol not in PROTOCOLS:
            known = ", ".join(PROTOCOLS)
            raise ValueError(f"security is {protocol!r}; it is one of {known}")
        if self.has_login and not self.users:
            example = f'security="{self.protocol}", users={{"alice": "secret"}}'
            raise ValueError(f"nobody could log in; name somebody: {example}")
        if not self.has_login and (self.users or acl):
            what = "users" if self.users else "acl"
            raise ValueError(
                f'{what} need logins, and security="{protocol}" has none; '
                'take "sasl_ssl", or "sasl_plaintext"'
            )
        if acl:
            self.users.setdefault(ADMIN, secrets.token_urlsafe())

    @property
    def has_login(self) -> bool:
        """Whether clients log in."""
        return self.protocol.startswith("sasl")

    @property
    def has_tls(self) -> bool:
        """Whether what they send is encrypted."""
        return self.protocol.endswith("ssl")

    def broker_options(self) -> dict[str, str]:
        """What the broker is started with, besides its listener.

        Raises:
            BrokerError: no certificate can be made.
        """
        options: dict[str, str] = {}
        if self.has_login:
            options["sasl.enabled.mechanisms"] = ",".join(MECHANISMS)
        if self.has_tls:
            options["ssl.certificate.file"] = str(certificates() / "server.pem")
        if self.acl:
            options["authorizer.class.name"] = "acl"
            options["super.users"] = f"User:{ADMIN}"
        return options

    def client_options(
        self, client: str, user: str | None, mechanism: str
    ) -> dict[str, Any]:
        """What a client has to be configured with, besides the address.

        Raises:
            ValueError: there is no such user, or mechanism.
        """
        if mechanism not in MECHANISMS:
            known = ", ".join(MECHANISMS)
            raise ValueError(f"mechanism is {mechanism!r}; it is one of {known}")
        options: dict[str, Any] = {"security.protocol": self.protocol.upper()}
        if self.has_login:
            name = next(iter(self.users)) if user is None else user
            if name not in self.users:
                known = ", ".join(self.users)
                raise ValueError(f"there is no user {name!r}; there are {known}")
            options["sasl.mechanism"] = mechanism
            options["sasl.username"] = name
            options["sasl.password"] = self.users[name]
        elif user is not None:
            raise ValueError(f"nobody logs in, and so not {user!r}")
        if self.has_tls:
            options["ssl.ca.location"] = str(certificates() / "ca.pem")
        return _FORMS[client](options)


def _python(options: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "security.protocol": "security_protocol",
        "sasl.mechanism": "sasl_mechanism",
        "sasl.username": "sasl_plain_username",
        "sasl.password": "sasl_plain_password",
        "ssl.ca.location": "ssl_cafile",
    }
    return {names[name]: value for name, value in options.items()}


def _aiokafka(options: Mapping[str, Any]) -> dict[str, Any]:
    found = _python(options)
    trusted = found.pop("ssl_cafile", None)
    if trusted is not None:
        import ssl

        found["ssl_context"] = ssl.create_default_context(cafile=trusted)
    return found


def _java(options: Mapping[str, Any]) -> dict[str, Any]:
    found = {
        name: options[name]
        for name in ("security.protocol", "sasl.mechanism")
        if name in options
    }
    if "sasl.mechanism" in options:
        module = _JAVA_MODULES[options["sasl.mechanism"].partition("-")[0]]
        name, password = (
            _quoted(options[each]) for each in ("sasl.username", "sasl.password")
        )
        login = f"{module} required username={name} password={password};"
        found["sasl.jaas.config"] = login
    if "ssl.ca.location" in options:
        found["ssl.truststore.type"] = "PEM"
        found["ssl.truststore.location"] = options["ssl.ca.location"]
    return found


def _spark(options: Mapping[str, Any]) -> dict[str, Any]:
    return {f"kafka.{name}": value for name, value in _java(options).items()}


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'


_FORMS: Final[Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]]] = {
    "aiokafka": _aiokafka,
    "confluent": dict,
    "java": _java,
    "kafka-python": _python,
    "spark": _spark,
}


class _Folder:
    """Where this process has its certificates, when it has made some."""

    path: Path | None = None
    owner = 0
    turn = threading.Lock()


def certificates() -> Path:
    """The folder with ``ca.pem`` and ``server.pem``, made once for this process.

    Raises:
        BrokerError: it cannot be made; the message says what is missing.
    """
    with _Folder.turn:  # brokers of one process are started by several threads, too
        if _Folder.path is None or _Folder.owner != os.getpid():
            folder = new_directory(room(), "odradek-certificates-")
            made = folder / "made"
            try:
                run_command(["cert", "init", "localhost", "--dir", str(made)])
            except BaseException:
                shutil.rmtree(folder, ignore_errors=True)
                raise
            _Folder.path, _Folder.owner = made, os.getpid()
            atexit.register(_remove, folder, os.getpid())
        return _Folder.path


def _remove(folder: Path, owner: int) -> None:
    if os.getpid() == owner:  # and not a child that was forked
        shutil.rmtree(folder, ignore_errors=True)
