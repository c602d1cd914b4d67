from odradek.broker.coordinator.group.gone import group_gone
from odradek.broker.coordinator.group.state.records import GroupRecord
from tests.broker.coordinator.group.consumer.rig import ConsumerGroups
from tests.broker.coordinator.group.rig import GROUP, Groups
from tests.broker.coordinator.group.streams.rig import StreamsGroups


def test_of_each_type_all_that_is_written() -> None:
    classic = Groups()
    classic.commit(7)
    assert group_gone(classic.state, GROUP) == [GroupRecord(GROUP, None)]
    consumers = ConsumerGroups(t=1)
    consumers.join("a", names=["t"])
    consumers.beat_as("a", -1)
    assert [each.encode()[1] for each in group_gone(consumers.state, GROUP)] == [
        None,
        None,
    ]
    streams = StreamsGroups(t=1)
    streams.join("a")
    streams.beat_as("a", -1)
    keys = [each.encode()[0][1] for each in group_gone(streams.state, GROUP)]
    assert keys == [20, 17, 23]
