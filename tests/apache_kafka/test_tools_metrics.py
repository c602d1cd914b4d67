"""kafka-client-metrics.sh, and the tools that measure, on both brokers."""

from pathlib import Path

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

SUBSCRIPTIONS = "org.apache.kafka.tools.ClientMetricsCommand"
PRODUCER = "org.apache.kafka.tools.ProducerPerformance"
CONSUMER = "org.apache.kafka.tools.ConsumerPerformance"
TOPICS = "org.apache.kafka.tools.TopicCommand"
THERE = ("--bootstrap-server", SERVER)


def test_subscriptions_to_the_metrics_of_clients(both: BothBrokers) -> None:
    name = ("--name", "subscribed")
    wanted = ("--metrics", "a,b", "--interval", "5000", "--match", "client_id=x")
    both.same(SUBSCRIPTIONS, *THERE, "--alter", *name, *wanted)
    described = both.same(SUBSCRIPTIONS, *THERE, "--describe", *name)
    assert [line.strip() for line in described[1:]] == [
        "interval.ms=5000",
        "match=client_id=x",
        "metrics=a,b",
    ]
    assert "subscribed" in both.same(SUBSCRIPTIONS, *THERE, "--list")
    both.same(SUBSCRIPTIONS, *THERE, "--delete", *name)
    assert "subscribed" not in both.same(SUBSCRIPTIONS, *THERE, "--list")


def test_records_are_counted_that_were_sent_and_read(both: BothBrokers) -> None:
    topic = ("--topic", "measured-records")
    both.same(TOPICS, *THERE, "--create", *topic)
    records = ("--num-records", "2000", "--record-size", "100", "--throughput", "-1")
    sent = ("--producer-props", f"bootstrap.servers={SERVER}", "acks=all")
    for printed in both.run(PRODUCER, *topic, *records, *sent):
        assert printed.lines[-1].startswith("2000 records sent")
    for printed in both.run(CONSUMER, *THERE, *topic, "--num-records", "2000"):
        assert not printed.failed
        assert printed.lines[-1].split(", ")[4] == "2000"


def test_a_java_client_pushes_what_it_is_asked_for(
    both: BothBrokers, tmp_path: Path
) -> None:
    wanted = ("--metrics", "org.apache.kafka.producer.", "--interval", "100")
    match = ("--match", "client_id=pushing")
    both.java.tool(
        SUBSCRIPTIONS,
        *("--bootstrap-server", both.ours.address),
        *("--alter", "--name", "pushed", *wanted, *match),
    )
    loggers = ("--entity-type", "broker-loggers", "--entity-name", "1")
    there = ("--bootstrap-server", both.ours.address)
    debug = (
        "--alter",
        "--add-config",
        "odradek.broker.metadata.client_telemetry=DEBUG",
    )
    both.java.tool("kafka.admin.ConfigCommand", *there, *loggers, *debug)
    records = ("--num-records", "200", "--record-size", "10", "--throughput", "400")
    props = (f"bootstrap.servers={both.ours.address}", "client.id=pushing")
    both.java.tool(PRODUCER, "--topic", "pushed", *records, "--producer-props", *props)
    pushes = [line for line in both.ours.log().splitlines() if "(pushing)" in line]
    assert pushes
    assert not any("pushed 0 metrics" in line for line in pushes[1:])
    both.java.tool(SUBSCRIPTIONS, *there, "--delete", "--name", "pushed")
