"""Records of a small cluster, and what they lead to."""

from odradek.protocol.membership_records import (
    RegisterBrokerRecord,
    RegisteredEndpoint,
)
from odradek.protocol.metadata_records import PartitionRecord, TopicRecord


def topic_id(name: str) -> bytes:
    return name.encode().ljust(16, b"-")


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=topic_id(name))


def partition(name: str, number: int, leader: int, *replicas: int) -> PartitionRecord:
    everyone = list(replicas or (leader,))
    return PartitionRecord(
        partition_id=number,
        topic_id=topic_id(name),
        replicas=everyone,
        isr=everyone,
        leader=leader,
        leader_epoch=3,
        partition_epoch=5,
    )


def broker(broker_id: int, *, fenced: bool = False) -> RegisterBrokerRecord:
    return RegisterBrokerRecord(
        broker_id=broker_id,
        incarnation_id=bytes([broker_id]) * 16,
        broker_epoch=broker_id,
        fenced=fenced,
        rack=f"rack-{broker_id}",
        end_points=[
            RegisteredEndpoint(name="PLAINTEXT", host=f"broker-{broker_id}", port=9092)
        ],
    )
