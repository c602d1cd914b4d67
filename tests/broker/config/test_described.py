import json
from pathlib import Path
from typing import Any

from broker.config.broker_config import OPTIONS, BrokerConfig
from broker.config.described import (
    ConfigSource,
    Described,
    Synonym,
    describe_broker,
    describe_topic,
)
from broker.config.option import Kind

GOLDEN = Path(__file__).parents[2] / "golden" / "wire" / "describe_configs.json"


def recorded(resource: str) -> dict[str, dict[str, Any]]:
    configs = json.loads(GOLDEN.read_text())[resource]["configs"]
    return {each["name"]: each for each in configs}


def by_name(described: list[Described]) -> dict[str, Described]:
    return {option.name: option for option in described}


def test_a_new_topic_looks_as_it_does_at_apache_kafka() -> None:
    ours = by_name(describe_topic({}, BrokerConfig()))
    theirs = recorded("topic")
    assert list(ours) == sorted(theirs)
    for name, option in ours.items():
        if name == "min.insync.replicas":
            continue  # theirs is set dynamically by a feature (KIP-966)
        expected = theirs[name]
        assert option.value == expected["value"], name
        assert option.kind.name == expected["type"], name
        assert option.source.name == expected["source"], name
        assert option.is_read_only == expected["read_only"], name
        assert [
            {"name": s.name, "value": s.value, "source": s.source.name}
            for s in option.synonyms
        ] == expected["synonyms"], name


def test_a_topics_own_value_comes_before_its_synonyms() -> None:
    broker = BrokerConfig(
        log_segment_bytes=2 << 20, explicit=frozenset({"log.segment.bytes"})
    )
    described = by_name(describe_topic({"segment.bytes": "1048576"}, broker))
    assert described["segment.bytes"] == Described(
        "segment.bytes",
        "1048576",
        ConfigSource.DYNAMIC_TOPIC_CONFIG,
        False,
        Kind.INT,
        [
            Synonym("segment.bytes", "1048576", ConfigSource.DYNAMIC_TOPIC_CONFIG),
            Synonym("log.segment.bytes", "2097152", ConfigSource.STATIC_BROKER_CONFIG),
            Synonym("log.segment.bytes", "1073741824", ConfigSource.DEFAULT_CONFIG),
        ],
        "Size at which a segment rolls.",
    )


def test_an_option_in_hours_shows_where_a_topics_milliseconds_come_from() -> None:
    broker = BrokerConfig(
        log_retention_hours=1, explicit=frozenset({"log.retention.hours"})
    )
    retention = by_name(describe_topic({}, broker))["retention.ms"]
    assert retention.value == "3600000"
    assert retention.source == ConfigSource.STATIC_BROKER_CONFIG
    assert retention.synonyms == [
        Synonym("log.retention.hours", "1", ConfigSource.STATIC_BROKER_CONFIG)
    ]


def test_small_segments_are_not_shown() -> None:
    described = describe_topic({"internal.segment.bytes": "1000"}, BrokerConfig())
    assert "internal.segment.bytes" not in by_name(described)


def test_the_broker_shows_every_option_and_where_it_comes_from() -> None:
    broker = BrokerConfig(num_partitions=3, explicit=frozenset({"num.partitions"}))
    described = describe_broker(broker)
    assert [option.name for option in described] == sorted(OPTIONS)
    named = by_name(described)
    assert named["num.partitions"].synonyms == [
        Synonym("num.partitions", "3", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("num.partitions", "1", ConfigSource.DEFAULT_CONFIG),
    ]
    assert named["log.retention.ms"].synonyms == []
    assert named["log.retention.ms"].value is None
    assert all(option.is_read_only for option in described)
