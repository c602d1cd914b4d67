import contextlib
import ssl

from odradek.broker.operate.metrics.exposition import exposition
from odradek.broker.operate.metrics.tls_families import tls_families
from tests.broker.network.tls.words import TlsBroker, connected, tls_broker
from tests.broker.operate.metrics.served import read
from tests.fakes.broker import until, word_broker


def told(broker: TlsBroker) -> dict[str, float]:
    text = "".join(exposition(each) for each in tls_families([broker.listener]))
    found = read(text)
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
        assert not any(family.lines for family in tls_families([broker.listener]))
