from odradek.broker.coordinator.group.state.streams.configured import (
    ConfiguredSubtopology,
    Status,
)
from odradek.broker.coordinator.group.state.streams.topology import InternalTopic


def test_what_has_a_changelog_has_a_state() -> None:
    store = InternalTopic("store", 2)
    assert ConfiguredSubtopology(2, changelogs=(store,)).is_stateful
    assert not ConfiguredSubtopology(2, ("t",)).is_stateful


def test_statuses_are_numbered_as_in_the_protocol() -> None:
    assert [status.value for status in Status] == [0, 1, 2, 3, 4, 5]
