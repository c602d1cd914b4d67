import pytest

from odradek.broker.coordinator.group.consumer.finding import (
    find_group as find_consumers,
)
from odradek.protocol.errors import GroupIdNotFound
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups


@pytest.mark.parametrize("is_joining", [True, False])
def test_a_consumer_does_not_join_a_streams_group(is_joining: bool) -> None:
    groups = StreamsGroups(t=2)
    groups.join("a")
    with pytest.raises(GroupIdNotFound, match="Group g is not a consumer group"):
        find_consumers(groups.state, GROUP, is_joining)


def test_who_joins_makes_the_group() -> None:
    groups = StreamsGroups(t=2)
    assert str(groups.beat_as("a", 3)) == "Streams group g not found."
    assert str(groups.beat_as("a", -1)) == "Group g not found."
    groups.join("a")
    assert repr(groups.streams_group) == (
        "StreamsGroup('g', Stable, epoch 2, 1 members)"
    )
