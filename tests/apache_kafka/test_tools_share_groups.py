"""kafka-share-groups.sh and the console share consumer on both brokers."""

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

SHARE_GROUPS = "org.apache.kafka.tools.consumer.group.ShareGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
CONFIGS = "kafka.admin.ConfigCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleShareConsumer"
THERE = ("--bootstrap-server", SERVER)


def test_what_a_share_group_reads_is_told_moved_and_forgotten(
    both: BothBrokers,
) -> None:
    topic, group = ("--topic", "shared"), ("--group", "share-tools")
    both.same(TOPICS, *THERE, "--create", *topic)
    both.same(PRODUCER, *THERE, *topic, text="a\nb\nc\nd\ne")
    own = ("--entity-type", "groups", "--entity-name", "share-tools")
    both.same(
        CONFIGS,
        *THERE,
        *own,
        "--alter",
        "--add-config",
        "share.auto.offset.reset=earliest",
    )
    printed = both.same(CONSUMER, *THERE, *topic, *group, "--max-messages", "5")
    assert sorted(printed)[-5:] == ["a", "b", "c", "d", "e"]
    assert both.list_group("share-tools", SHARE_GROUPS, *THERE)
    (listed,) = both.list_group("share-tools", SHARE_GROUPS, *THERE, "--state")
    assert listed.split() == ["share-tools", "Empty"]
    share = ("--group-type", "share")
    assert both.list_group("share-tools", ALL_GROUPS, *THERE, *share)
    both.same(SHARE_GROUPS, *THERE, "--describe", *group, "--state")
    both.same(SHARE_GROUPS, *THERE, "--describe", *group, "--members")
    # Apache Kafka tells the start from before the last acknowledgement.
    _, ours = both.run(SHARE_GROUPS, *THERE, "--describe", *group)
    assert ours.lines[-1].split() == ["share-tools", "shared", "0", "5", "0"]
    reset = ("--reset-offsets", "--to-earliest", "--execute")
    both.same(SHARE_GROUPS, *THERE, *group, *topic, *reset)
    described = both.same(SHARE_GROUPS, *THERE, "--describe", *group, "--offsets")
    assert described[-1].split() == ["share-tools", "shared", "0", "0", "5"]
    both.same(SHARE_GROUPS, *THERE, *group, *topic, "--delete-offsets")
    both.same(SHARE_GROUPS, *THERE, *group, "--delete")
    both.run(SHARE_GROUPS, *THERE, *group, "--describe")
    assert not both.list_group("share-tools", SHARE_GROUPS, *THERE)


def test_what_a_share_group_cannot_have_of_its_own(both: BothBrokers) -> None:
    own = ("--entity-type", "groups", "--entity-name", "share-options")
    for wrong in (
        "share.auto.offset.reset=nonsense",
        "share.record.lock.duration.ms=1",
        "share.delivery.count.limit=11",
    ):
        kafka, ours = both.run(CONFIGS, *THERE, *own, "--alter", "--add-config", wrong)
        assert kafka.failed
        assert ours.failed
    right = "share.record.lock.duration.ms=20000"
    both.same(CONFIGS, *THERE, *own, "--alter", "--add-config", right)
    both.same(CONFIGS, *THERE, *own, "--describe")
