from pathlib import Path

from odradek.broker.requests.quotas.mutations import mutation_count
from odradek.protocol.messages.metadata import MetadataRequest
from odradek.protocol.messages.topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
    CreateTopicsRequest,
    DeleteTopicsRequest,
    DeleteTopicState,
)
from tests.fakes.replicas import replicas


async def test_partitions_that_are_made_and_deleted_are_counted(tmp_path: Path) -> None:
    async with replicas(tmp_path, num_partitions=3) as broker:
        services = broker.services
        await broker.create_topic("t")
        topic = services.metadata.known("t")
        has = len(topic.partitions)
        assigned = [CreatableReplicaAssignment(partition_index=n) for n in range(5)]
        made = CreateTopicsRequest(
            topics=[
                CreatableTopic(name="a", num_partitions=7),
                CreatableTopic(name="b", num_partitions=-1),
                CreatableTopic(name="c", num_partitions=-1, assignments=assigned),
            ]
        )
        assert mutation_count(made, services) == 7 + 3 + 5
        made.validate_only = True
        assert mutation_count(made, services) == 0
        more = CreatePartitionsRequest(
            topics=[
                CreatePartitionsTopic(name="t", count=has + 4),
                CreatePartitionsTopic(name="unknown", count=9),
            ]
        )
        assert mutation_count(more, services) == 4
        gone = DeleteTopicsRequest(
            topics=[
                DeleteTopicState(name="t"),
                DeleteTopicState(topic_id=topic.topic_id),
            ],
            topic_names=["t", "unknown"],
        )
        assert mutation_count(gone, services) == 3 * has
        assert mutation_count(MetadataRequest(), services) == 0
