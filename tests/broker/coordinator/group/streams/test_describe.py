from typing import Any

from odradek.broker.coordinator.group.streams.describe import (
    decide_describe_streams_group,
)
from odradek.protocol.messages.streams_groups import StreamsEndpoint, StreamsKeyValue
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups, counting


def describe(groups: StreamsGroups) -> Any:
    return groups.decide(lambda shard: decide_describe_streams_group(shard, GROUP))


def counts(described: Any) -> dict[str, int]:
    return {
        topic.name: topic.partitions
        for part in described.topology.subtopologies
        for topic in (*part.repartition_source_topics, *part.state_changelog_topics)
    }


def test_a_group_that_is_not_ready_shows_what_its_members_said() -> None:
    groups = StreamsGroups(t=2)
    groups.join("a", topology=counting())
    described = describe(groups)
    assert (described.group_state, described.group_epoch) == ("NotReady", 2)
    assert described.assignment_epoch == 2
    assert counts(described) == {"again": 0, "store": 0}


def test_one_that_is_ready_shows_what_was_found() -> None:
    groups = StreamsGroups(t=2, again=2, store=2)
    groups.join("a", topology=counting())
    described = describe(groups)
    assert described.group_state == "Stable"
    assert counts(described) == {"again": 2, "store": 2}
    assert described.topology.subtopologies[0].repartition_sink_topics == ["again"]


def test_a_member_with_its_tasks() -> None:
    groups = StreamsGroups(t=2, again=2, store=2)
    groups.join(
        "a",
        topology=counting(),
        rack_id="r",
        user_endpoint=StreamsEndpoint(host="h", port=9),
        client_tags=[StreamsKeyValue(key="zone", value="1")],
    )
    groups.join("b", topology=counting())
    groups.beat_as("a")
    first, second = describe(groups).members
    assert (first.member_id, first.process_id, first.rack_id) == ("a", "p-a", "r")
    assert (first.client_id, first.client_host) == ("client", "/127.0.0.1")
    assert (first.user_endpoint.host, first.user_endpoint.port) == ("h", 9)
    assert [(each.key, each.value) for each in first.client_tags] == [("zone", "1")]
    assert second.user_endpoint is None
    tasks = second.target_assignment.active_tasks
    assert [(each.subtopology_id, each.partitions) for each in tasks] == [
        ("0", [1]),
        ("1", [1]),
    ]
    assert second.assignment.active_tasks == []


def test_what_is_not_there_is_not_described() -> None:
    groups = StreamsGroups()
    assert str(describe(groups)) == "Group g not found."
    groups.commit(3)
    assert str(describe(groups)) == "Group g is not a streams group."
