"""kafka-get-offsets.sh and kafka-delete-records.sh on both brokers."""

from pathlib import Path

from tests.apache_kafka.both_brokers import SERVER, BothBrokers

OFFSETS = "org.apache.kafka.tools.GetOffsetShell"
DELETION = "org.apache.kafka.tools.DeleteRecordsCommand"
TOPICS = "org.apache.kafka.tools.TopicCommand"
PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
THERE = ("--bootstrap-server", SERVER)
TIMES = {
    "latest": ["counted:0:4", "counted:1:0"],
    "earliest": ["counted:0:1", "counted:1:0"],
    "earliest-local": ["counted:0:1", "counted:1:0"],
    "latest-tiered": [],
    "-1": ["counted:0:4", "counted:1:0"],
    "0": ["counted:0:1"],
}


def test_offsets_are_shown_and_records_deleted(
    both: BothBrokers, tmp_path: Path
) -> None:
    topic = ("--topic", "counted")
    both.same(TOPICS, *THERE, "--create", *topic, "--partitions", "1")
    both.same(PRODUCER, *THERE, *topic, text="a\nb\nc\nd")
    both.same(TOPICS, *THERE, "--alter", *topic, "--partitions", "2")
    offsets = tmp_path / "offsets.json"
    offsets.write_text(
        '{"partitions":[{"topic":"counted","partition":0,"offset":1}],"version":1}'
    )
    deleted = both.same(DELETION, *THERE, "--offset-json-file", str(offsets))
    assert deleted[-1].split() == ["partition:", "counted-0", "low_watermark:", "1"]
    for time, expected in TIMES.items():
        kafka, ours = both.run(OFFSETS, *THERE, *topic, "--time", time)
        assert ours == kafka
        assert [line for line in ours.lines if line[-1] != ":"] == expected, time
    # Which of the four is the first of the latest millisecond is each run's own.
    for printed in both.run(OFFSETS, *THERE, *topic, "--time", "max-timestamp"):
        assert not printed.failed
        (found,) = [line for line in printed.lines if line[-1] != ":"]
        assert found in [f"counted:0:{offset}" for offset in range(4)]
    both.same(OFFSETS, *THERE, "--topic-partitions", "counted:0-1")
