from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.cluster.copied_bytes import CopiedBytes
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.cluster.cluster_state import broker, partition, topic
from tests.broker.quorum.image.states import state


@pytest.mark.parametrize(
    ("broker_id", "of_moves"),
    [(2, 0), (3, 70)],
)
def test_a138_what_goes_to_a_replica_that_is_added_is_a_move(
    broker_id: int, of_moves: int
) -> None:
    moving: Any = partition("t", 0, 2)
    moving.adding_replicas = [3]
    image = state(broker(2), broker(3), topic("t"), moving)
    copied = CopiedBytes(SimpleNamespace(image=image))
    copied.record(TopicPartition("t", 0), broker_id, 70)
    copied.record(TopicPartition("gone", 0), broker_id, 5)
    assert (copied.count, copied.of_moves) == (75, of_moves)


def test_who_knows_of_no_move_counts_all_the_same() -> None:
    copied = CopiedBytes(None)
    copied.record(TopicPartition("t", 0), 3, 70)
    assert (copied.count, copied.of_moves) == (70, 0)
