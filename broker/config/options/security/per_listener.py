"""The options of one listener: its own where it has them, else those of the broker.

    ssl.keystore.location                                   of every listener
    listener.name.inside.ssl.keystore.location              of the listener INSIDE
    listener.name.inside.scram-sha-256.sasl.jaas.config     of one of its mechanisms
    http.listener.ssl.keystore.location                     of metrics and health

The names of listeners and mechanisms are in lower case there. Which options can be
set so, they say themselves: ``is_per_listener``, ``is_per_mechanism``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from odradek.broker.config.options.listener import Listener

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.config.options.broker_config import BrokerConfig

PREFIX = "listener.name."
HTTP: Final = "http.listener"  # in the place of a name: those have no small letters


class SecurityOptions(NamedTuple):
    """What holds for one listener of a broker with the options ``config``."""

    config: BrokerConfig
    listener: Listener

    @classmethod
    def of(cls, config: BrokerConfig, listener_name: str) -> SecurityOptions:
        """Those of the listener for clients that has this name."""
        named = {listener.name: listener for listener in config.client_listeners}
        return cls(config, named[listener_name])

    @classmethod
    def of_http(cls, config: BrokerConfig) -> SecurityOptions | None:
        """Those of ``http.listener``. None: it is not open, or has no TLS."""
        address = config.http_listener
        if address is None or config.http_listener_security_protocol != "SSL":
            return None
        return cls(config, Listener(HTTP, address.host, address.port, "SSL"))

    @property
    def prefix(self) -> str:
        """What stands before the name of an option that is for this listener alone."""
        return prefix_of(self.listener.name)

    def get(self, name: str, mechanism: str = "") -> Any:
        """The value of an option; that of a mechanism, where it is named."""
        own = self.config.of_listeners
        for full in self._names(name, mechanism):
            if full in own:
                return own[full]
        return getattr(self.config, name.replace(".", "_"))

    def name_of(self, name: str, mechanism: str = "") -> str:
        """The name by which the value was set that `get` returns, for people."""
        own = self.config.of_listeners
        names = (full for full in self._names(name, mechanism) if full in own)
        return next(names, name)

    def is_own(self, name: str) -> bool:
        """Whether this listener has a value of its own."""
        return self.prefix + name in self.config.of_listeners

    @property
    def client_auth(self) -> str:
        """Whether clients show a certificate: none, requested, required.

        Where they log in, that of all listeners is not meant, as in Kafka: they would
        have to do both.
        """
        if self.listener.has_login and not self.is_own("ssl.client.auth"):
            return "none"
        return str(self.get("ssl.client.auth"))

    @property
    def asks_who_it_is(self) -> bool:
        """Whether nobody is let in who has not shown who it is."""
        if self.listener.has_login:
            return True
        return self.listener.has_tls and self.client_auth == "required"

    def _names(self, name: str, mechanism: str) -> Iterator[str]:
        """The names under which the listener may have a value, the strongest first."""
        if mechanism:
            yield f"{self.prefix}{mechanism.lower()}.{name}"
        yield self.prefix + name


def prefix_of(listener_name: str) -> str:
    """What stands before the names of options that are for one listener."""
    if listener_name == HTTP:
        return f"{HTTP}."
    return f"{PREFIX}{listener_name.lower()}."


def is_of_listener(name: str) -> bool:
    """Whether the option is for one listener alone."""
    return name.startswith((PREFIX, f"{HTTP}.ssl."))
