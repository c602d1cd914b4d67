"""kafka-topics.sh on both brokers."""

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

TOOL = "org.apache.kafka.tools.TopicCommand"
THERE = ("--bootstrap-server", SERVER)


def test_topics_are_made_listed_described_and_deleted(both: BothBrokers) -> None:
    topic = (*THERE, "--topic", "made")
    create = ("--create", "--partitions", "3", "--config", "retention.ms=5000")
    assert both.same(TOOL, *topic, *create) == ["Created topic made."]
    assert "made" in both.same(TOOL, *THERE, "--list", "--topic", "made|not-made")
    kafka, ours = both.run(TOOL, *topic, "--describe")
    # Ids differ.
    assert ours.lines[0].split("\t")[2:] == kafka.lines[0].split("\t")[2:]
    assert ours.lines[1:] == kafka.lines[1:]
    assert both.same(TOOL, *topic, "--alter", "--partitions", "4") == []
    both.same(TOOL, *topic, "--create", "--if-not-exists")
    assert "Topic 'made' already exists." in both.both_fail(TOOL, *topic, "--create")
    both.both_fail(TOOL, *topic, "--alter", "--partitions", "2")
    assert both.same(TOOL, *THERE, "--describe", "--under-replicated-partitions") == []
    assert both.same(TOOL, *topic, "--delete") == []
    assert "does not exist" in both.both_fail(TOOL, *topic, "--describe")
