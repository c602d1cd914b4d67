from typing import Any

from odradek.protocol.messages.streams_groups import StreamsEndpoint
from tests.broker.coordinator.group.streams.rig import StreamsGroups, counting, mapping


def endpoint(port: int) -> StreamsEndpoint:
    return StreamsEndpoint(host="h", port=port)


def places(answer: Any) -> dict[int, tuple[list[Any], list[Any]]] | None:
    found = answer.response.partitions_by_user_endpoint
    if found is None:
        return None
    return {
        each.user_endpoint.port: (
            [(topic.topic, topic.partitions) for topic in each.active_partitions],
            [(topic.topic, topic.partitions) for topic in each.standby_partitions],
        )
        for each in found
    }


def test_members_are_told_where_the_state_of_others_is() -> None:
    groups = StreamsGroups(t=2, again=2, store=2)
    first = groups.join("a", topology=counting(), user_endpoint=endpoint(1))
    assert first.response.endpoint_information_epoch == 1
    assert places(first) == {1: ([("t", [0, 1]), ("again", [0, 1])], [])}
    known = groups.beat_as("a", endpoint_information_epoch=0)
    assert known.response.endpoint_information_epoch == 0, "it was another group then"
    second = groups.join("b", topology=counting(), user_endpoint=endpoint(2))
    assert places(second) == {1: ([("t", [0, 1]), ("again", [0, 1])], []), 2: ([], [])}
    answer = groups.beat_as("a", endpoint_information_epoch=1)
    assert places(answer) == {2: ([], []), 1: ([("t", [0]), ("again", [0])], [])}
    epoch = answer.response.endpoint_information_epoch
    assert places(groups.beat_as("a", endpoint_information_epoch=epoch)) is None


def test_who_has_no_address_is_not_listed() -> None:
    groups = StreamsGroups(t=2)
    answer = groups.join("a", endpoint_information_epoch=-1)
    assert places(answer) == {}


def test_of_each_topic_the_partitions_that_there_are() -> None:
    groups = StreamsGroups(t=3, u=1)
    answer = groups.join("a", topology=mapping("t", "u"), user_endpoint=endpoint(1))
    assert places(answer) == {1: ([("t", [0, 1, 2]), ("u", [0])], [])}


def test_without_its_topics_a_member_has_nothing() -> None:
    """Apache Kafka answers with an error that nobody knows."""
    groups = StreamsGroups()
    answer = groups.join("a", user_endpoint=endpoint(1))
    assert places(answer) == {1: ([], [])}
