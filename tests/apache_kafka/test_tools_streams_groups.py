"""G042: kafka-streams-groups.sh on both brokers."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

from odradek.client.group_offsets import commit_offsets
from odradek.protocol.topic_partition import TopicPartition
from tests.apache_kafka.both_brokers import SERVER, BothBrokers
from tests.client.live import connected, produce
from tests.streams_member import StreamsMember, beat_until

STREAMS_GROUPS = "org.apache.kafka.tools.streams.StreamsGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
CONSUMER_GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
THERE = ("--bootstrap-server", SERVER)
AT_ONCE = "streams.initial.rebalance.delay.ms=0,streams.assignment.interval.ms=0"


@contextmanager
def members(both: BothBrokers, group: str, source: str) -> Iterator[None]:
    """On each broker a member "m" that has all tasks."""
    with ExitStack() as stack:
        joined = []
        for broker in (both.kafka, both.ours):
            cluster = stack.enter_context(connected(broker.port))
            member = StreamsMember(cluster, group, "m")
            member.join(source)
            joined.append(member)
        for each in joined:
            beat_until(lambda each=each: bool(each.active), each)  # type: ignore[misc]
        yield
        for each in joined:
            each.leave()


def test_what_a_streams_group_does_is_told_moved_and_forgotten(
    both: BothBrokers,
) -> None:
    source, group = ("--topic", "tool-lines"), ("--group", "tool-words")
    both.same(TOPICS, *THERE, "--create", *source, "--partitions", "2")
    for broker in (both.kafka, both.ours):
        with connected(broker.port) as cluster:
            produce(cluster, "tool-lines", 1, range(3))
    own = ("--entity-type", "groups", "--entity-name", "tool-words")
    both.same(CONFIGS, *THERE, *own, "--alter", "--add-config", AT_ONCE)
    inputs = ("--input-topic", "tool-lines")
    with members(both, "tool-words", "tool-lines"):
        for tool, *more in (
            (STREAMS_GROUPS,),
            (STREAMS_GROUPS, "--state"),
            (STREAMS_GROUPS, "--state", "stable,notready"),
            (ALL_GROUPS, "--group-type", "streams"),
        ):
            assert both.list_group("tool-words", tool, *THERE, *more)
        for view in ("--state", "--members", "--offsets"):
            for more in ((), ("--verbose",)):
                both.same(STREAMS_GROUPS, *THERE, "--describe", *group, view, *more)
        both.same(STREAMS_GROUPS, *THERE, "--describe", *group)
        both.same(STREAMS_GROUPS, *THERE, "--describe", "--all-groups", "--members")
        both.same(STREAMS_GROUPS, *THERE, *group, "--delete-offsets", *inputs)
        reset = ("--reset-offsets", "--to-earliest", "--execute")
        both.same(STREAMS_GROUPS, *THERE, *group, *reset, "--all-input-topics")
        both.run(STREAMS_GROUPS, *THERE, *group, "--delete")
    for broker in (both.kafka, both.ours):
        with connected(broker.port) as cluster:
            commit_offsets(cluster, "tool-words", {TopicPartition("tool-lines", 1): 2})
    for more in (("--state",), ("--members",), ("--state", "--verbose")):
        both.same(STREAMS_GROUPS, *THERE, "--describe", *group, *more)
    reset = (*group, "--reset-offsets", "--input-topic", "tool-lines:1")
    for where in (
        ("--to-earliest", "--execute"),
        ("--to-latest", "--dry-run"),
        ("--shift-by", "-1", "--execute", "--export"),
        ("--to-datetime", "1970-01-01T00:00:00.001", "--execute"),
    ):
        printed = both.same(STREAMS_GROUPS, *THERE, *reset, *where)
        assert "Error" not in printed[0]
    both.same(STREAMS_GROUPS, *THERE, *group, "--delete-offsets", *inputs)
    both.same(STREAMS_GROUPS, *THERE, *group, "--delete-offsets", "--all-input-topics")
    both.same(STREAMS_GROUPS, *THERE, *group, "--delete")
    assert not both.list_group("tool-words", STREAMS_GROUPS, *THERE)
    both.run(STREAMS_GROUPS, *THERE, *group, "--describe")


def test_other_tools_do_not_take_it_for_theirs(both: BothBrokers) -> None:
    both.same(TOPICS, *THERE, "--create", "--topic", "other-lines")
    own = ("--entity-type", "groups", "--entity-name", "other-words")
    both.same(CONFIGS, *THERE, *own, "--alter", "--add-config", AT_ONCE)
    both.same(CONFIGS, *THERE, *own, "--describe")
    with members(both, "other-words", "other-lines"):
        assert not both.list_group("other-words", CONSUMER_GROUPS, *THERE)
        group = ("--group", "other-words")
        kafka, ours = both.run(CONSUMER_GROUPS, *THERE, "--describe", *group)
        assert ours == kafka
        kafka, ours = both.run(CONSUMER_GROUPS, *THERE, "--delete", *group)
        assert ours == kafka


def test_what_a_streams_group_cannot_have_of_its_own(both: BothBrokers) -> None:
    own = ("--entity-type", "groups", "--entity-name", "streams-options")
    for wrong in (
        "streams.num.standby.replicas=3",
        "streams.session.timeout.ms=1",
        "streams.heartbeat.interval.ms=nonsense",
    ):
        both.both_fail(CONFIGS, *THERE, *own, "--alter", "--add-config", wrong)
