"""What ``--secure`` (``ODRADEK_SECURE=true``) stands for: weaker than any option.

    listeners               SASL_SSL, on loopback unless somebody says otherwise
    sasl.enabled.mechanisms SCRAM
    ssl.certificate.file    in the folder ``security`` of the data directory
    authorizer.class.name   acl, with the first user as super user

Options that somebody has set stay. What would leave the broker open is refused.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from .options.error import OptionError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from .options.broker_config import BrokerConfig

VARIABLE = "ODRADEK_SECURE"
USER_VARIABLE = "ODRADEK_ADMIN_USER"
PASSWORD_VARIABLE = "ODRADEK_ADMIN_PASSWORD_FILE"
ADMIN = "admin"
FOLDER = "security"
CERTIFICATE = "server.pem"
_WORDS = {"true": True, "1": True, "yes": True, "false": False, "0": False, "": False}
_OWN_KEYS = ("ssl.keystore.location", "ssl.keystore.key", "ssl.certificate.file")


class FirstUser(NamedTuple):
    """Who is made at the first start; the password is in a file, or made too."""

    name: str
    password_file: str | None


def wants_security(text: str) -> bool:
    """Whether the environment asks for it with this value.

    Raises:
        OptionError: nobody knows what it asks for.
    """
    if text.strip().lower() not in _WORDS:
        raise OptionError(f"environment {VARIABLE}: {text!r} is neither true nor false")
    return _WORDS[text.strip().lower()]


def first_user(environment: Mapping[str, str], *, secure: bool) -> FirstUser | None:
    """Who is to be there after the first start; None: nobody asks for that.

    Raises:
        OptionError: a user without a password, or the other way round.
    """
    name = environment.get(USER_VARIABLE, "")
    file = environment.get(PASSWORD_VARIABLE) or None
    if name and not (file or secure):
        raise OptionError(
            f"environment {USER_VARIABLE}: {PASSWORD_VARIABLE} has to name a file whose"
            " first line is the password"
        )
    if file and not (name or secure):
        raise OptionError(
            f"environment {PASSWORD_VARIABLE}: {USER_VARIABLE} has to name the user"
        )
    if not (name or secure):
        return None
    name = name or ADMIN
    if ";" in name or not name.isprintable() or name != name.strip() or len(name) > 255:
        raise OptionError(f"environment {USER_VARIABLE}: {name!r} is no name of a user")
    return FirstUser(name, file)


def secure_settings(
    given: Mapping[str, str], environment: Mapping[str, str]
) -> list[tuple[str, str]]:
    """The options beneath those that somebody has set.

    Raises:
        OptionError: what somebody has set contradicts.
    """
    own = [name for name in _OWN_KEYS if given.get(name)]
    if own:
        raise OptionError(
            f"--secure makes a certificate, and {own[0]} names one: leave one of them"
        )
    user = first_user(environment, secure=True)
    assert user is not None
    return [
        ("listeners", "SASL_SSL://127.0.0.1:9092"),
        ("sasl.enabled.mechanisms", "SCRAM-SHA-256,SCRAM-SHA-512"),
        ("ssl.certificate.file", str(_folder(given) / CERTIFICATE)),
        ("authorizer.class.name", "acl"),
        ("super.users", f"User:{user.name}"),
    ]


def _folder(given: Mapping[str, str]) -> Path:
    """Where certificates and passwords are made: beside the catalogue."""
    directories = given.get("log.dirs") or given.get("log.dir") or "data"
    named = given.get("metadata.log.dir") or directories.split(",")[0]
    return Path(named.strip()).absolute() / FOLDER


def check_secure(config: BrokerConfig) -> None:
    """See that the broker is as secure as it was asked to be.

    Raises:
        OptionError: somebody has set what leaves it open.
    """
    if config.allow_unauthenticated:
        raise OptionError(
            "--secure and --allow-unauthenticated (allow.unauthenticated=true)"
            " contradict each other: leave one of them"
        )
    if not config.authorizer_class_name:
        raise OptionError(
            "--secure, and authorizer.class.name is empty, so whoever is in may do"
            " everything: leave it out"
        )
    listeners = config.client_listeners
    if not any(each.has_login and each.has_tls for each in listeners):
        names = ", ".join(map(str, listeners))
        raise OptionError(
            f"--secure, and none of the listeners ({names}) has TLS and logins: one has"
            " to be SASL_SSL, as in listeners=SASL_SSL://127.0.0.1:9092"
        )
