from pathlib import Path

import pytest

from odradek.client.address import Address
from odradek.client.list_offsets import EARLIEST, LATEST
from odradek.pipeline.errors import BadOption, SourceError
from odradek.pipeline.records.damage import OnCorrupt
from odradek.pipeline.source.options import (
    MAX_BYTES,
    read_options,
    read_stream_options,
    wanted_mode,
)
from odradek.pipeline.source.positions import EachOffset, Everywhere, SinceTime
from odradek.protocol.topic_partition import TopicPartition

LEAST = {"kafka.bootstrap.servers": "localhost:9092", "subscribe": "t"}


def test_what_nobody_says() -> None:
    options = read_options(LEAST)
    assert options.bootstrap == (Address("localhost", 9092),)
    assert options.subscription.topics == ("t",)
    assert (options.starting, options.ending) == (
        Everywhere(EARLIEST),
        Everywhere(LATEST),
    )
    assert options.fails_on_data_loss
    assert not options.committed
    assert read_stream_options(LEAST).starting == Everywhere(LATEST)


def test_all_that_can_be_said_in_any_case() -> None:
    options = read_stream_options(
        {
            "KAFKA.BOOTSTRAP.SERVERS": "a:1,b:2",
            "subscribepattern": "t.*",
            "STARTINGOFFSETS": "Earliest",
            "failOnDataLoss": "FALSE",
            "minPartitions": "4",
            "maxOffsetsPerTrigger": "1000",
            "minOffsetsPerTrigger": "10",
            "maxTriggerDelay": "2m",
            "includeHeaders": "true",
            "kafka.isolation.level": "read_committed",
            "kafka.group.id": "g",
            "kafka.max.partition.fetch.bytes": "1000",
            "kafka.max.poll.records": "5",
            "onCorrupt": "skip",
        }
    )
    assert options.bootstrap == (Address("a", 1), Address("b", 2))
    assert options.subscription.matches("table")
    assert not options.subscription.matches("at")
    assert options.starting == Everywhere(EARLIEST)
    assert (options.min_partitions, options.max_offsets_per_trigger) == (4, 1000)
    assert (options.min_offsets_per_trigger, options.max_trigger_delay_ms) == (
        10,
        120_000,
    )
    assert options.include_headers
    assert options.committed
    assert not options.fails_on_data_loss
    assert (options.group_id, options.max_bytes) == ("g", 1000)
    assert options.on_corrupt is OnCorrupt.SKIP


def test_a_time_goes_before_times_and_these_before_offsets() -> None:
    given = {
        "startingOffsets": "latest",
        "startingTimestamp": "7",
        "endingOffsets": '{"t":{"0":3}}',
    }
    options = read_options({**LEAST, **given})
    assert options.starting == SinceTime(7)
    assert options.ending == EachOffset({TopicPartition("t", 0): 3})


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"startingOffset": "latest"}, "Did you mean startingOffsets?"),
        ({"kafka.isolation.levl": "x"}, "Did you mean kafka.isolation.level?"),
        ({"kafka.auto.offset.reset": "latest"}, "startingOffsets says where"),
        ({"kafka.sasl.username": "me"}, "kafka.sasl.username: is of no use with"),
        ({"kafka.security.protocol": "TLS"}, "kafka.security.protocol: is one of"),
        ({"kafka.ssl.ca.location": "/nowhere"}, "kafka.ssl.ca.location: is of no use"),
        ({"kafka.sasl.pasword": "secret"}, "Did you mean|did you mean sasl.password"),
        ({"kafka.ssl.engine.factory.class": "x"}, "a class of Java"),
        ({"commandConfig": "/nowhere"}, "commandConfig: /nowhere: No such file"),
        ({"kafka.bootstrap.servers": "host:port"}, "port is not a port|not an address"),
        ({"kafka.isolation.level": "committed"}, "Did you mean read_committed?"),
        ({"failOnDataLoss": "yes"}, "is true or false, and not 'yes'"),
        ({"minPartitions": "0"}, "at least 1"),
        ({"maxOffsetsPerTrigger": "many"}, "at least 1"),
        ({"maxTriggerDelay": "soon"}, "a time like 30s"),
        ({"mode": "batch"}, "Did you mean batches?"),
        ({"startingOffsets": "latest"}, "cannot be latest"),
        ({"endingOffsets": '{"t":{"0":-2}}'}, "cannot be earliest"),
        ({"endingOffsets": "soon"}, "earliest, latest or JSON"),
        ({"subscribe": ""}, "names no topic"),
    ],
)
def test_what_is_refused_and_what_helps(given: dict[str, str], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        read_options({**LEAST, **given})


def test_exactly_one_of_the_three_says_what_to_read() -> None:
    servers = {"kafka.bootstrap.servers": "localhost:9092"}
    with pytest.raises(SourceError, match="none of them is set"):
        read_options(servers)
    with pytest.raises(SourceError, match="assign and subscribe are set"):
        read_options({**LEAST, "assign": '{"t":[0]}'})
    with pytest.raises(BadOption, match=r"subscribePattern.*unterminated"):
        read_options({**servers, "subscribePattern": "t("})
    with pytest.raises(BadOption, match="subscribePattern: is empty"):
        read_options({**servers, "subscribePattern": " "})


def test_brokers_or_a_path() -> None:
    with pytest.raises(BadOption, match="says where the brokers are"):
        read_options({"subscribe": "t"})
    options = read_options({"path": "/data"})
    assert (options.path, options.bootstrap) == ("/data", ())
    assert options.subscription.matches("anything")


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ({"endingOffsets": "latest"}, "a stream has no end"),
        ({"pushdown": "true"}, "pushdown: is for batches"),
        (
            {"minOffsetsPerTrigger": "5", "maxOffsetsPerTrigger": "4"},
            "5, more than maxOffsetsPerTrigger 4",
        ),
    ],
)
def test_what_is_not_for_streams(given: dict[str, str], reason: str) -> None:
    with pytest.raises(BadOption, match=reason):
        read_stream_options({**LEAST, **given})


def test_a_stream_of_segments_needs_a_broker() -> None:
    assert read_stream_options({**LEAST, "path": "/data"}).path == "/data"
    with pytest.raises(BadOption, match="a stream needs the broker too"):
        read_stream_options({"path": "/data", "subscribe": "t"})


def test_the_smaller_of_two_sizes_counts() -> None:
    sizes = {"kafka.max.partition.fetch.bytes": "9", "kafka.fetch.max.bytes": "7"}
    assert read_options({**LEAST, **sizes}).max_bytes == 7
    assert read_options(LEAST).max_bytes == MAX_BYTES


def test_the_schema_depends_on_two_of_them() -> None:
    assert wanted_mode(LEAST) == ("records", False)
    assert wanted_mode({**LEAST, "mode": "batches"}) == ("batches", False)
    assert wanted_mode({**LEAST, "includeHeaders": "true"}) == ("records", True)


def test_tls_and_sasl_by_options_or_by_a_file(tmp_path: Path) -> None:
    login = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "PLAIN",
        "sasl.jaas.config": 'x.PlainLoginModule required username="a" password="b";',
    }
    path = tmp_path / "client.properties"
    lines = [f"{name}={text}\n" for name, text in login.items()]
    path.write_text("".join([*lines, "bootstrap.servers=kafka-1:9093\n"]))
    given = LEAST | {f"kafka.{name}": text for name, text in login.items()}
    by_options = read_options(given)
    by_file = read_stream_options({"subscribe": "t", "commandConfig": str(path)})
    assert by_file.bootstrap == (Address("kafka-1", 9093),)
    for options in by_options, by_file:
        security = options.access.security()
        assert security is not None
        assert (security.protocol, security.sasl and security.sasl.user) == (
            "SASL_PLAINTEXT",
            "a",
        )
        assert 'password="b"' not in repr(options)
    assert read_options(LEAST).access.security() is None
