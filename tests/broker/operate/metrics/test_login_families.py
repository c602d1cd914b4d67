from pathlib import Path

from odradek.broker.operate.metrics.exposition import exposition
from odradek.broker.operate.metrics.login_families import login_families
from odradek.protocol.messages.metadata import MetadataRequest
from tests.broker.operate.metrics.served import read
from tests.fakes.login import SASL, LoginBroker, login_broker


def told(broker: LoginBroker) -> dict[str, dict[tuple[str, ...], float]]:
    """What is not 0."""
    families = login_families(broker.services.logins)
    found = read("".join(exposition(each) for each in families))
    return {
        name: {key: value for key, value in by_labels.items() if value}
        for name, by_labels in found.items()
    }


async def test_each_way_that_a_login_goes_is_counted(tmp_path: Path) -> None:
    made, ended = "odradek_logins_total", "odradek_logins_ended_total"
    async with login_broker(tmp_path, connections_max_reauth_ms=60_000) as broker:
        assert told(broker) == {made: {}, ended: {}}
        client = broker.connect()
        await client.log_in("alice", "secret")
        await client.log_in("alice", "secret")
        await broker.connect().log_in("alice", "wrong", "SCRAM-SHA-256")
        await broker.connect().handshake("GSSAPI")
        assert told(broker)[made] == {
            (SASL, "PLAIN", "accepted"): 1,
            (SASL, "PLAIN", "again"): 1,
            (SASL, "SCRAM-SHA-256", "refused"): 1,
            (SASL, "", "refused"): 1,
        }
        broker.clock.advance(60_000)
        assert await client.ask(MetadataRequest(topics=[]), 12) is None
        assert told(broker)[ended] == {(SASL,): 1}


async def test_without_listeners_with_logins_there_is_nothing() -> None:
    assert not any(family.lines for family in login_families([]))
