import pytest

from odradek.broker.coordinator.group.consumer.fencing import fence, tell
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups


def test_members_go_together_and_others_get_what_they_had() -> None:
    groups = ConsumerGroups(t=3)
    for name in "abc":
        groups.join(name)
    groups.settle()
    epoch = groups.consumer_group.epoch
    groups.decide(lambda shard: fence(shard, groups.consumer_group, "a", "b"))
    assert list(groups.consumer_group.members) == ["c"]
    assert groups.consumer_group.epoch == epoch + 1
    assert len(groups.fake.timers) == 1, "only c is waited for"
    groups.settle()
    assert groups.has("c") == {"t": [0, 1, 2]}


def test_a_line_says_of_which_group_it_is(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    tell(GROUP, 7, "m joins")
    assert caplog.messages == ["group g, epoch 7: m joins"]
