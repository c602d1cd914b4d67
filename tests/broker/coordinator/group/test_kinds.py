"""Which decision answers is told by the type of the group."""

from odradek.broker.runtime.parked import Parked
from odradek.protocol.errors import ErrorCode
from tests.broker.coordinator.group.consumer.mixed_rig import GROUP, MixedGroups


def test_of_a_classic_group() -> None:
    groups = MixedGroups(t=2)
    joining = groups.classic_join()
    assert isinstance(joining, Parked), "until others have come"
    groups.clock.advance(0)
    joined = joining.result()
    assert (joined.generation_id, joined.leader) == (1, joined.member_id)
    assert groups.classic_beat(joined.member_id, 1) == 0
    synced = groups.classic_sync(joined.member_id, 1)
    assert isinstance(synced, Parked), "until it is durable"
    assert groups.classic_leave(joined.member_id) == [0]
    assert groups.state.groups[GROUP].is_empty


def test_of_a_consumer_group() -> None:
    groups = MixedGroups(t=2)
    groups.join("a")
    joined = groups.classic_join()
    assert (joined.generation_id, joined.leader) == (3, "")
    assert groups.classic_beat(joined.member_id, 3) == 0
    assert groups.read_of(groups.classic_sync(joined.member_id, 3)) == {}
    assert groups.classic_leave(joined.member_id, "a", "x") == [
        0,
        0,
        ErrorCode.UNKNOWN_MEMBER_ID,
    ]
    assert groups.consumer_group.is_empty
