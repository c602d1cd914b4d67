import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.member import copies_too_many, member_names
from odradek.broker.config.sources import load

SERVERS = "controller.quorum.bootstrap.servers"
COPIES = [
    "default.replication.factor",
    "min.insync.replicas",
    "offsets.topic.replication.factor",
    "transaction.state.log.replication.factor",
    "transaction.state.log.min.isr",
]


def test_who_is_one_of_a_cluster() -> None:
    assert not BrokerConfig().is_member
    assert not BrokerConfig(process_roles=("broker", "controller")).is_member
    assert BrokerConfig(process_roles=("broker",)).is_member


@pytest.mark.parametrize("name", COPIES)
def test_one_broker_has_one_copy_and_a_cluster_has_more(name: str) -> None:
    field = OPTIONS[name][0]
    alone = BrokerConfig(**{field: 2})
    assert copies_too_many(alone) == name
    with pytest.raises(OptionError, match=rf"{name}: one broker holds one copy"):
        alone.check()
    member = BrokerConfig(process_roles=("broker",), **{field: 2})
    assert copies_too_many(member) is None
    member.check()


def test_a_broker_alone_is_told_that_they_mean_nothing() -> None:
    pairs = ["process.roles=broker,controller", "broker.heartbeat.interval.ms=500"]
    assert load(pairs=pairs).notes == [
        "accepted, but they mean nothing here:"
        " broker.heartbeat.interval.ms, process.roles"
    ]
    reader = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert load(pairs=[f"replica.selector.class={reader}"]).notes == [
        "accepted, but they mean nothing here: replica.selector.class"
    ]
    assert "process.roles" in member_names()
    pairs = ["process.roles=broker", f"{SERVERS}=a:1", "node.id=2"]
    pairs.append("broker.heartbeat.interval.ms=500")
    assert load(pairs=pairs).notes == []
