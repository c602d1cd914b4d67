"""A broker with listeners of all security protocols, and the options of its users."""

import contextlib
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import aiokafka.abc
import aiokafka.helpers
import confluent_kafka
import confluent_kafka.admin
import kafka.net.sasl.oauth

from tests.broker_process import BrokerProcess
from tests.certificates import alice, authority, server
from tests.patience import PATIENCE_S
from tests.tokens import Issuer

USER, PASSWORD = "alice", "a long secret"
MECHANISMS = ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512", "OAUTHBEARER")
LISTENERS = {
    "SSL": "SSL",
    "MTLS": "SSL",
    "SASL_PLAINTEXT": "SASL_PLAINTEXT",
    "SASL_SSL": "SASL_SSL",
}


class Way(NamedTuple):
    """Through which listener, and what the client shows there."""

    listener: str
    mechanism: str = ""

    def __str__(self) -> str:
        return "-".join(filter(None, self))

    @property
    def principal(self) -> str:
        return "User:ANONYMOUS" if self.listener == "SSL" else f"User:{USER}"


WAYS = [Way("SSL"), Way("MTLS")] + [
    Way(listener, mechanism)
    for listener in ("SASL_PLAINTEXT", "SASL_SSL")
    for mechanism in MECHANISMS
]


class Listening:
    """The broker, the ports of its listeners by name, and who signs its tokens."""

    def __init__(self, broker: BrokerProcess, ready_line: str, issuer: Issuer) -> None:
        self.broker = broker
        self.ready_line = ready_line
        self.ports = dict(zip(LISTENERS, ports_of(ready_line), strict=True))
        self.issuer = issuer

    def confluent(self, way: Way) -> dict[str, Any]:
        options: dict[str, Any] = {
            "bootstrap.servers": f"127.0.0.1:{self.ports[way.listener]}",
            "security.protocol": LISTENERS[way.listener],
            "ssl.ca.location": str(authority().certificate),
        }
        if way.listener == "MTLS":
            options["ssl.certificate.location"] = str(alice().certificate)
            options["ssl.key.location"] = str(alice().key)
        if way.mechanism == "OAUTHBEARER":
            options["oauth_cb"] = lambda _: (self._token(), time.time() + 600)
        elif way.mechanism:
            options |= {"sasl.username": USER, "sasl.password": PASSWORD}
        return options | ({"sasl.mechanism": way.mechanism} if way.mechanism else {})

    def kafka_python(self, way: Way) -> dict[str, Any]:
        options = self._python(way)
        if LISTENERS[way.listener].endswith("SSL"):
            options["ssl_cafile"] = str(authority().certificate)
        if way.listener == "MTLS":
            options["ssl_certfile"] = str(alice().certificate)
            options["ssl_keyfile"] = str(alice().key)
        if way.mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = _Provider(self)
        return options

    def aiokafka(self, way: Way) -> dict[str, Any]:
        options = self._python(way)
        if LISTENERS[way.listener].endswith("SSL"):
            shown = alice() if way.listener == "MTLS" else None
            options["ssl_context"] = aiokafka.helpers.create_ssl_context(
                cafile=str(authority().certificate),
                certfile=None if shown is None else str(shown.certificate),
                keyfile=None if shown is None else str(shown.key),
            )
        if way.mechanism == "OAUTHBEARER":
            options["sasl_oauth_token_provider"] = _AsyncProvider(self)
        return options

    def _python(self, way: Way) -> dict[str, Any]:
        options: dict[str, Any] = {
            "bootstrap_servers": f"127.0.0.1:{self.ports[way.listener]}",
            "security_protocol": LISTENERS[way.listener],
        }
        if way.mechanism:
            options["sasl_mechanism"] = way.mechanism
        if way.mechanism not in ("", "OAUTHBEARER"):
            options |= {"sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
        return options

    def _token(self) -> str:
        return self.issuer.token(USER)


class _Provider(kafka.net.sasl.oauth.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, listening: Listening) -> None:
        super().__init__()
        self._listening = listening

    def token(self) -> str:
        return self._listening._token()


class _AsyncProvider(aiokafka.abc.AbstractTokenProvider):  # type: ignore[misc]
    def __init__(self, listening: Listening) -> None:
        self._listening = listening

    async def token(self) -> str:
        return self._listening._token()


@contextlib.contextmanager
def listening_broker(
    folder: Path, more: Mapping[str, str] | None = None
) -> Iterator[Listening]:
    """With a user who can show all there is to show; what is set has prefixes."""
    issuer, holder = Issuer(folder), server()
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    options = {
        "listeners": ",".join(f"{name}://127.0.0.1:0" for name in LISTENERS),
        "listener.security.protocol.map": ",".join(
            f"{name}:{protocol}" for name, protocol in LISTENERS.items()
        ),
        "ssl.certificate.file": str(holder.certificate),
        "ssl.key.file": str(holder.key),
        "listener.name.mtls.ssl.client.auth": "required",
        "listener.name.mtls.ssl.ca.file": str(authority().certificate),
        "listener.name.mtls.ssl.principal.mapping.rules": r"RULE:^CN=(.*?),.*$/$1/",
        "sasl.enabled.mechanisms": ",".join(MECHANISMS),
        "sasl.oauthbearer.jwks.endpoint.url": issuer.keys.as_uri(),
        "sasl.oauthbearer.expected.audience": issuer.audience,
        "group.initial.rebalance.delay.ms": "0",
        **(more or {}),
    }
    for name in ("sasl_plaintext", "sasl_ssl"):
        options[f"listener.name.{name}.plain.sasl.jaas.config"] = (
            f'{module} required user_{USER}="{PASSWORD}";'
        )
    path = folder / "server.properties"
    path.write_text("".join(f"{name}={value}\n" for name, value in options.items()))
    path.chmod(0o600)
    broker = BrokerProcess(folder / "data", ["--config", str(path)])
    try:
        listening = Listening(broker, broker.start(), issuer)
        _set_passwords(listening)
        yield listening
        assert "Traceback" not in broker.log()
        assert PASSWORD not in broker.log()
        assert "eyJ" not in broker.log(), "no token is logged"
    finally:
        broker.kill()


def ports_of(ready_line: str) -> list[int]:
    """Of all listeners, in the order of their option."""
    addresses = ready_line.partition(" on ")[2].partition(", data in ")[0]
    return [int(each.rpartition(":")[2]) for each in addresses.split(", ")]


def _set_passwords(listening: Listening) -> None:
    """Who is in by PLAIN gives the others what they log in with."""
    options = listening.confluent(Way("SASL_PLAINTEXT", "PLAIN"))
    admin = confluent_kafka.admin.AdminClient(options)
    for mechanism in confluent_kafka.admin.ScramMechanism:
        if mechanism.name == "UNKNOWN":
            continue
        info = confluent_kafka.admin.ScramCredentialInfo(mechanism, 4096)
        change = confluent_kafka.admin.UserScramCredentialUpsertion(
            USER, info, PASSWORD.encode(), os.urandom(16)
        )
        for done in admin.alter_user_scram_credentials([change]).values():
            done.result(PATIENCE_S)
