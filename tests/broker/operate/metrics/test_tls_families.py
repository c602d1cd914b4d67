import contextlib
import ssl
from typing import Any, NamedTuple

from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.security.per_listener import SecurityOptions
from odradek.broker.operate.metrics.exposition import exposition
from odradek.broker.operate.metrics.tls_families import tls_families
from odradek.broker.runtime.clock import SystemClock
from odradek.broker.security.certificates.identity import Identity
from tests.broker.network.tls.words import TlsBroker, connected, tls_broker
from tests.broker.operate.metrics.served import read
from tests.broker.security.certificates.options import tls_options
from tests.certificates import authority
from tests.fakes.broker import until, word_broker


class Certificates(NamedTuple):
    identities: list[Identity]


def told(broker: TlsBroker) -> dict[str, float]:
    """Of the listener; metrics and health have a certificate of 400 days."""
    pages = SecurityOptions(
        tls_options(authority().issue("/CN=pages", days=400)).config,
        Listener("http.listener", "127.0.0.1", 1, "SSL"),
    )
    known: Any = Certificates([broker.tls.identity, Identity(pages, SystemClock())])
    families = tls_families([broker.listener], known)
    found = read("".join(exposition(each) for each in families))
    assert 399 < found["odradek_certificate_days_left"]["http.listener",] <= 400
    assert ("http.listener",) not in found["odradek_tls_handshakes_failed_total"]
    one = {name: value for name, by in found.items() for value in [by.get(("SSL",))]}
    renewals = found["odradek_certificate_renewals_total"]
    one["failed"] = renewals["SSL", "failed"]
    return {name: value for name, value in one.items() if value is not None}


async def test_certificates_and_who_did_not_get_in_are_told() -> None:
    async with tls_broker(ssl_client_auth="required") as broker:
        with contextlib.suppress(ssl.SSLError, ConnectionError):
            async with connected(broker) as client:
                await client.reader.read()
        await until(lambda: broker.log)
        identity = broker.tls.identity
        identity.refuse("for this test", identity.seen)
        found = told(broker)
        assert 799 < found.pop("odradek_certificate_days_left") <= 800
        assert found == {
            "odradek_certificate_stale": 1,
            "odradek_tls_handshakes_failed_total": 1,
            "failed": 1,
        }


async def test_a_listener_without_tls_has_none() -> None:
    async with word_broker() as broker:
        assert not any(family.lines for family in tls_families([broker.listener], None))
