from odradek.broker.coordinator.group.consumer.timer_keys import (
    forget,
    join_key,
    revocation_key,
    session_key,
    sync_key,
)
from tests.broker.coordinator.group.consumer.rig import GROUP, ConsumerGroups

KEYS = (session_key, revocation_key, join_key, sync_key)


def test_all_are_forgotten_of_one_member() -> None:
    groups = ConsumerGroups()
    timers = groups.state.timers
    for member_id in "ab":
        for key in KEYS:
            timers.start(key(GROUP, member_id), 5, lambda: None)
    assert len(timers) == 8
    forget(groups.state, GROUP, "a")
    assert len(timers) == 4
    assert all(key(GROUP, "b") in timers for key in KEYS)
