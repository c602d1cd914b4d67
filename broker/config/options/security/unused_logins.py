"""Options of logins by a mechanism that is on nowhere.

Who names users of PLAIN, where nobody logs in by PLAIN, believes that they get in: that
is refused. What Apache Kafka has and starts with, too, is told.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from odradek.broker.config.options.error import OptionError

from .per_listener import SecurityOptions, prefix_of
from .sasl import OAUTHBEARER, PLAIN

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.config.options.listener import Listener

_ENABLED = "sasl.enabled.mechanisms"
_USERS = "plain.users.file"
_KEYS = "sasl.oauthbearer.jwks.endpoint.url"
_LISTENER = f"open one like listeners=SASL_SSL://127.0.0.1:9093 with {_ENABLED}={{}}"


def check_used(config: BrokerConfig) -> None:
    """See that whoever is named as a user can log in.

    Raises:
        OptionError: no listener has the mechanism.
    """
    for reason in _unused(config, _USERS, PLAIN):
        raise OptionError(reason)


def unused_warnings(config: BrokerConfig) -> Iterator[str]:
    """What somebody should know who names keys for tokens that nobody may bring."""
    return _unused(config, _KEYS, OAUTHBEARER)


def _unused(config: BrokerConfig, option: str, mechanism: str) -> Iterator[str]:
    """A sentence for each place where the option is set and does nothing."""
    logins = [each for each in config.client_listeners if each.has_login]
    having = [x for x in logins if mechanism in _enabled(config, x)]
    if getattr(config, option.replace(".", "_")) and not having:
        way_out = _to_be_added(config, logins[0]) if logins else _LISTENER
        yield (
            f"{option} is set, and no listener lets clients log in by {mechanism}:"
            f" {way_out.format(mechanism)}, or leave it out"
        )
    for name, value in config.of_listeners.items():
        owner = _owner(config, name)
        is_set = value and name.endswith(f".{option}")
        if not is_set or owner is None or owner in having:
            continue
        way_out = f"{_to_be_added(config, owner)}, or " if owner in logins else ""
        yield (
            f"{name} is set, and listener {owner} does not let clients log in by"
            f" {mechanism}: {way_out.format(mechanism)}leave it out"
        )


def _enabled(config: BrokerConfig, listener: Listener) -> tuple[str, ...]:
    mechanisms: tuple[str, ...] = SecurityOptions(config, listener).get(_ENABLED)
    return mechanisms


def _to_be_added(config: BrokerConfig, listener: Listener) -> str:
    return f"add {{}} to {SecurityOptions(config, listener).name_of(_ENABLED)}"


def _owner(config: BrokerConfig, name: str) -> Listener | None:
    """The listener that an option is for. None: it is for none of clients."""
    fitting = [x for x in config.client_listeners if name.startswith(prefix_of(x.name))]
    return max(fitting, key=lambda each: len(each.name), default=None)
