"""kafka-consumer-groups.sh, kafka-groups.sh and the console tools on both brokers."""

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

GROUPS = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
ALL_GROUPS = "org.apache.kafka.tools.GroupsCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
CONSUMER = "org.apache.kafka.tools.consumer.ConsoleConsumer"
THERE = ("--bootstrap-server", SERVER)


def test_what_the_console_writes_it_reads_and_the_group_is_told(
    both: BothBrokers,
) -> None:
    topic, group = ("--topic", "console"), ("--group", "console-group")
    both.same(TOPICS, *THERE, "--create", *topic)
    both.same(PRODUCER, *THERE, *topic, text="a\nb\nc")
    keyed = ("--reader-property", "parse.key=true")
    keyed += ("--reader-property", "key.separator=:")
    codec = ("--compression-codec", "zstd")
    both.same(PRODUCER, *THERE, *topic, *keyed, *codec, text="k:v\nk2:v2")
    some = (*topic, *group, "--from-beginning", "--max-messages", "5")
    printed = both.same(
        CONSUMER, *THERE, *some, "--formatter-property", "print.key=true"
    )
    assert printed[:2] == ["null\ta", "null\tb"]
    assert printed[3:5] == ["k\tv", "k2\tv2"]
    assert both.list_group("console-group", GROUPS, *THERE)
    described = both.same(GROUPS, *THERE, "--describe", *group)
    assert described[-1].split()[:6] == ["console-group", "console", "0", "5", "5", "0"]
    both.same(GROUPS, *THERE, "--describe", *group, "--state")
    both.same(GROUPS, *THERE, "--describe", *group, "--members")
    reset = ("--reset-offsets", "--to-earliest", "--execute")
    both.same(GROUPS, *THERE, *group, *topic, *reset)
    described = both.same(GROUPS, *THERE, "--describe", *group)
    assert described[-1].split()[3] == "0"
    both.same(GROUPS, *THERE, *group, *topic, "--delete-offsets")
    classic = ("--group-type", "classic")
    assert both.list_group("console-group", ALL_GROUPS, *THERE, *classic)
    both.same(GROUPS, *THERE, *group, "--delete")
    both.run(GROUPS, *THERE, *group, "--describe")
