import pytest

from odradek.broker.coordinator.group.state.subscription import (
    is_of_consumers,
    subscribed_topics,
)
from odradek.protocol.consumer_protocol import ConsumerProtocolSubscription
from tests.broker.coordinator.group.rig import Groups


def subscription(*topics: str, version: int = 3) -> bytes:
    said = ConsumerProtocolSubscription(topics=list(topics))
    return version.to_bytes(2, "big") + said.encode(min(version, 3))


def group_of(*metadata: bytes, protocol_type: str = "consumer") -> Groups:
    groups = Groups()
    for each in metadata:
        groups.join(protocols=(("range", each),), protocol_type=protocol_type)
    groups.clock.advance(0)
    return groups


def test_the_topics_of_all_members() -> None:
    groups = group_of(subscription("a", "b"), subscription("b", "c"))
    assert subscribed_topics(groups.group) == {"a", "b", "c"}
    assert is_of_consumers(groups.group)


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_every_version_names_its_topics(version: int) -> None:
    groups = group_of(subscription("a", version=version))
    assert subscribed_topics(groups.group) == {"a"}


def test_what_a_later_version_appends_is_passed_over() -> None:
    groups = group_of(subscription("a", version=9) + b"more")
    assert subscribed_topics(groups.group) == {"a"}


@pytest.mark.parametrize("metadata", [b"", b"\0", b"\0\0\0\0\0\1", b"\xff\xff\0"])
def test_what_cannot_be_read_is_not_known(metadata: bytes) -> None:
    groups = group_of(subscription("a"), metadata)
    assert subscribed_topics(groups.group) is None


def test_who_is_no_consumer_says_no_topics() -> None:
    groups = group_of(subscription("a"), protocol_type="connect")
    assert subscribed_topics(groups.group) is None
    assert not is_of_consumers(groups.group)


def test_a_group_without_members_reads_nothing() -> None:
    groups = group_of(subscription("a"))
    groups.leave(*groups.group.members)
    assert subscribed_topics(groups.group) == frozenset()
