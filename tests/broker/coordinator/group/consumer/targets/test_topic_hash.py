from typing import Any, cast

from odradek.broker.coordinator.group.consumer.targets.topic_hash import topic_hash
from tests.broker.coordinator.group.rig import FakeTopics


def test_another_one_for_other_topics() -> None:
    fake = FakeTopics()
    topics = cast(Any, fake)
    assert topic_hash(topics, []) == topic_hash(topics, ["t"]) == 0
    fake.put("t", 1)
    one = topic_hash(topics, ["t"])
    assert one == topic_hash(topics, ["none", "t"]) != 0
    assert -(1 << 63) <= one < 1 << 63
    fake.put("u", 1)
    both = topic_hash(topics, {"t", "u"})
    assert both == topic_hash(topics, ["u", "t"])
    fake.put("t", 2)
    assert len({0, one, both, topic_hash(topics, ["t"])}) == 4
