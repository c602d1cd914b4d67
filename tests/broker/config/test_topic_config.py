from dataclasses import fields

import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.topic_config import (
    TOPIC_OPTIONS,
    log_config,
    validate_topic_options,
)
from odradek.protocol.errors import InvalidConfig
from odradek.storage.values.log_config import LogConfig

BROKER = BrokerConfig()


def test_every_field_of_a_log_is_an_option() -> None:
    known = {entry.field for entry in TOPIC_OPTIONS.values() if entry.field}
    of_the_broker_alone = {"decompressed_max_bytes", "decompressed_ratio_max"}
    assert known | of_the_broker_alone == {each.name for each in fields(LogConfig)}


def test_a_topic_without_options_is_run_by_the_defaults() -> None:
    assert log_config({}, BROKER) == LogConfig()


def test_a_topic_is_run_by_the_brokers_options_where_it_has_none() -> None:
    broker = BrokerConfig(log_segment_bytes=1 << 20, log_retention_hours=1)
    config = log_config({}, broker)
    assert config.segment_bytes == 1 << 20
    assert config.retention_ms == 3_600_000


def test_a_topics_own_options_win() -> None:
    broker = BrokerConfig(log_retention_hours=1)
    options = {
        "retention.ms": "5",
        "cleanup.policy": "compact,delete",
        "min.cleanable.dirty.ratio": "0.1",
        "message.timestamp.type": "LogAppendTime",
        "preallocate": "true",
    }
    config = log_config(options, broker)
    assert config.retention_ms == 5
    assert config.cleanup_policy == {"compact", "delete"}
    assert config.min_cleanable_dirty_ratio == 0.1
    assert config.is_log_append_time
    assert config.preallocate


def test_small_segments_are_for_tests_only() -> None:
    with pytest.raises(InvalidConfig, match="Value must be at least 1048576"):
        validate_topic_options({"segment.bytes": "1048575"}, BROKER)
    options = {"internal.segment.bytes": "1000", "segment.bytes": "1048576"}
    validate_topic_options(options, BROKER)
    assert log_config(options, BROKER).segment_bytes == 1000


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"no.such": "1"}, "Unknown topic config name: no.such"),
        (
            {"retention.sm": "1"},
            r"Unknown topic config name: retention\.sm; did you mean retention\.ms\?",
        ),
        ({"num.partitions": "1"}, "Unknown topic config name"),
        (
            {"retention.ms": "abc"},
            r"Invalid value abc for configuration retention\.ms: Not a number of type "
            "LONG",
        ),
        ({"retention.ms": "-2"}, "Value must be at least -1"),
        ({"max.message.bytes": "-1"}, "Value must be at least 0"),
        ({"cleanup.policy": "shred"}, "String must be one of: compact, delete"),
        ({"compression.type": "brotli"}, "String must be one of: uncompressed"),
        ({"message.timestamp.type": "Now"}, "one of: CreateTime, LogAppendTime"),
        ({"min.cleanable.dirty.ratio": "1.5"}, "no more than 1"),
        ({"min.insync.replicas": "0"}, "at least 1"),
        (
            {"min.compaction.lag.ms": "10", "max.compaction.lag.ms": "5"},
            r"min\.compaction\.lag\.ms \(10\) > max\.compaction\.lag\.ms \(5\)",
        ),
        ({"remote.storage.enable": "true"}, "no remote storage; only 'false'"),
    ],
)
def test_what_a_topic_cannot_have_is_refused_by_name(
    options: dict[str, str], complaint: str
) -> None:
    with pytest.raises(InvalidConfig, match=complaint):
        validate_topic_options(options, BROKER)


def test_the_hidden_option_is_never_suggested() -> None:
    with pytest.raises(InvalidConfig) as refused:
        validate_topic_options({"internal.segment.byte": "1"}, BROKER)
    assert "internal.segment.bytes" not in str(refused.value)


def test_compaction_lags_are_compared_with_the_brokers() -> None:
    broker = BrokerConfig(log_cleaner_max_compaction_lag_ms=5)
    with pytest.raises(InvalidConfig, match="conflict"):
        validate_topic_options({"min.compaction.lag.ms": "10"}, broker)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unclean.leader.election.enable", "true"),
        ("follower.replication.throttled.replicas", "*"),
        ("local.retention.ms", "20"),
        ("remote.storage.enable", "false"),
        ("cleanup.policy", ""),
        ("retention.ms", "-1"),
    ],
)
def test_what_is_harmless_is_taken(name: str, value: str) -> None:
    validate_topic_options({name: value}, BROKER)
    log_config({name: value}, BROKER)


def test_bounds_are_those_of_the_option_behind() -> None:
    for entry in TOPIC_OPTIONS.values():
        if entry.field and entry.synonyms and "ms" not in entry.known.name:
            behind = OPTIONS[entry.synonyms[0]][1]
            assert entry.known.kind is behind.kind
            assert entry.known.choices == behind.choices
