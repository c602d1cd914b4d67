from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.metadata.topic import NewTopic
from odradek.broker.metadata.topic_creation import WantedTopic, check_wanted
from odradek.protocol.errors import (
    InvalidConfig,
    InvalidPartitions,
    InvalidReplicaAssignment,
    InvalidReplicationFactor,
    InvalidRequest,
    InvalidTopic,
    KafkaError,
)
from odradek.protocol.topic_partition import TopicPartition
from tests.fakes.counted_options import counted_options
from tests.fakes.replicas import replicas

CONFIG = BrokerConfig(num_partitions=4)


def wanted(**more: Any) -> WantedTopic:
    default = WantedTopic("t", 1, 1, [], {})
    return default._replace(**more)


def test_what_is_said_is_done() -> None:
    made = check_wanted(
        wanted(partition_count=3, options={"retention.ms": "1"}), CONFIG
    )
    assert made == NewTopic("t", 3, {"retention.ms": "1"})


async def test_what_was_checked_is_not_parsed_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parsed = counted_options(monkeypatch)
    async with replicas(tmp_path) as broker:
        made = check_wanted(wanted(options={"flush.ms": "1"}), CONFIG)
        await broker.topics.create_topics([made])
        partition = broker.manager.partition(TopicPartition("t", 0))
        assert partition.config.flush_ms == 1
        assert parsed == ["1"]


def test_minus_one_is_the_brokers_default() -> None:
    made = check_wanted(wanted(partition_count=-1, replication_factor=-1), CONFIG)
    assert made.partition_count == 4


def test_an_assignment_to_this_broker_counts_the_partitions() -> None:
    assigned = wanted(
        partition_count=-1, replication_factor=-1, assignments=[(1, [1]), (0, [1])]
    )
    assert check_wanted(assigned, CONFIG).partition_count == 2


def assigned(*assignments: tuple[int, list[int]], **more: Any) -> dict[str, Any]:
    given = {"partition_count": -1, "replication_factor": -1, **more}
    return {"assignments": list(assignments), **given}


@pytest.mark.parametrize(
    ("more", "error", "complaint"),
    [
        ({"name": "a/b"}, InvalidTopic, "Topic name is invalid"),
        ({"name": "x" * 250}, InvalidTopic, "longer than the max allowed length 249"),
        ({"replication_factor": 3}, InvalidReplicationFactor, "Use 1, or -1"),
        ({"replication_factor": 0}, InvalidReplicationFactor, "larger than 0, or -1"),
        ({"replication_factor": -2}, InvalidReplicationFactor, "larger than 0, or -1"),
        ({"partition_count": 0}, InvalidPartitions, "non-positive"),
        ({"partition_count": -2}, InvalidPartitions, "non-positive"),
        ({"options": {"no.such": "1"}}, InvalidConfig, r"name: no\.such"),
        (
            {"options": {"retention.ms": None}},
            InvalidConfig,
            r"Null value not supported for topic configs: retention\.ms",
        ),
        (assigned((0, [9])), InvalidReplicaAssignment, "includes broker 9"),
        (assigned((0, [1, 1])), InvalidReplicaAssignment, "more than once"),
        (assigned((0, [])), InvalidReplicaAssignment, "empty replica list"),
        (assigned((1, [1])), InvalidReplicaAssignment, "consecutive 0-based"),
        (assigned((0, [1]), (0, [1])), InvalidReplicaAssignment, "Found multiple"),
        (assigned((0, [1]), replication_factor=1), InvalidRequest, "not set to -1"),
        (assigned((0, [1]), partition_count=1), InvalidRequest, "not set to -1"),
    ],
)
def test_what_cannot_be_is_refused(
    more: dict[str, Any], error: type[KafkaError], complaint: str
) -> None:
    with pytest.raises(error, match=complaint):
        check_wanted(wanted(**more), CONFIG)


@pytest.mark.parametrize(
    ("options", "config"),
    [
        ({"cleanup.policy": "compact"}, CONFIG),
        ({"cleanup.policy": "delete,compact"}, CONFIG),
        ({}, BrokerConfig(log_cleanup_policy=("compact",))),
    ],
)
def test_what_share_groups_have_done_cannot_be_compacted(
    options: dict[str, str], config: BrokerConfig
) -> None:
    name = "__share_group_state"
    with pytest.raises(InvalidConfig, match="cannot be compacted"):
        check_wanted(wanted(name=name, options=options), config)
    check_wanted(wanted(name=name, options={"cleanup.policy": "delete"}), config)
    check_wanted(wanted(options=options), config)
