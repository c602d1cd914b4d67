"""From the options of a listener to its logins."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from odradek.broker.config.options.security.sasl import OAUTHBEARER, PLAIN, SCRAM
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.scram import Mechanism as ScramMechanism

from .login_delay import LoginDelay
from .logins import Logins
from .plain import FixedPasswords, Passwords, Plain, ScramPasswords
from .scram import Scram
from .users_file import read_users

if TYPE_CHECKING:
    from odradek.broker.config.options.security.per_listener import SecurityOptions
    from odradek.broker.metadata.scram_credentials import ScramCredentials
    from odradek.broker.runtime.clock import Clock
    from odradek.protocol.jaas import LoginModule

    from .decoy import Decoy
    from .hashing import PasswordHashing
    from .mechanism import Mechanism
    from .scram import TokenLogins

_USER = "user_"  # begins the name of an option with a user of PLAIN
_MODULES = {
    PLAIN: "PlainLoginModule",
    **dict.fromkeys(SCRAM, "ScramLoginModule"),
    OAUTHBEARER: "OAuthBearerLoginModule",
}


class LoginParts(NamedTuple):
    """What the logins of all listeners share."""

    clock: Clock
    credentials: ScramCredentials
    hashing: PasswordHashing
    decoy: Decoy
    tokens: TokenLogins | None = None


def logins_of(options: SecurityOptions, parts: LoginParts) -> Logins:
    """The logins of one listener.

    Raises:
        StartError: users are told in a way that cannot be read.
    """
    names = options.get("sasl.enabled.mechanisms")
    delay_ms = options.get("connection.failed.authentication.delay.ms")
    return Logins(
        listener=options.listener,
        mechanisms={name: _mechanism(name, options, parts) for name in names},
        max_reauth_ms={
            name: options.get("connections.max.reauth.ms", name) for name in names
        },
        clock=parts.clock,
        delay=LoginDelay(parts.clock, delay_ms),
    )


def _mechanism(name: str, options: SecurityOptions, parts: LoginParts) -> Mechanism:
    module = _module(name, options)
    if name == PLAIN:
        return Plain(_passwords(module, options, parts))
    if name == OAUTHBEARER:
        from odradek.broker.security.oauth.setup import bearer_of

        return bearer_of(options, module.options if module else {}, parts.clock)
    scram = next(each for each in ScramMechanism if each.title == name)
    return Scram(scram, parts.credentials, parts.decoy, parts.tokens)


def _passwords(
    module: LoginModule | None, options: SecurityOptions, parts: LoginParts
) -> Passwords:
    """Those that the options name, else those of the users of SCRAM."""
    users = {} if module is None else dict(_users(module))
    file = options.get("plain.users.file")
    if file:
        users.update(read_users(Path(file)))
    if users or file:
        return FixedPasswords(users)
    return ScramPasswords(parts.credentials, parts.hashing, parts.decoy)


def _users(module: LoginModule) -> list[tuple[str, str]]:
    return [
        (name.removeprefix(_USER), password)
        for name, password in module.options.items()
        if name.startswith(_USER) and len(name) > len(_USER)
    ]


def _module(mechanism: str, options: SecurityOptions) -> LoginModule | None:
    """The login module that the options have for a mechanism, if they have one."""
    text = options.get("sasl.jaas.config", mechanism)
    if not text:
        return None
    from odradek.protocol.jaas import JaasError, parse_jaas

    name = options.name_of("sasl.jaas.config", mechanism)
    try:
        modules = parse_jaas(text)
    except JaasError as error:
        raise StartError(f"{name}: {error}") from None
    fitting = [x for x in modules if x.simple_name == _MODULES[mechanism]]
    if len(fitting) == 1 and len(modules) == 1:
        return fitting[0]
    if mechanism.lower() in name:
        raise StartError(
            f"{name} is for {mechanism}: it names one {_MODULES[mechanism]}"
        )
    return None  # the listener's, for another one of its mechanisms
