import json
from pathlib import Path
from typing import Any

from odradek.broker.config.described import (
    ConfigSource,
    Described,
    Synonym,
    describe_broker,
    describe_every_broker,
    describe_topic,
)
from odradek.broker.config.live_config import with_changes
from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.option import Kind

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


# Options of which our default, and so what is shown, is another one.
OTHER_DEFAULTS = {
    "sasl.server.max.receive.size",
    "connections.max.idle.ms",
    "group.initial.rebalance.delay.ms",
    "listener.security.protocol.map",
    "listeners",
    "log.dir",
    "log.dirs",
    "log.flush.offset.checkpoint.interval.ms",
    "max.connection.creation.rate",
    "max.connections",
    "max.connections.per.ip",
    "offsets.topic.replication.factor",
    "queued.max.request.bytes",
    "socket.listen.backlog.size",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
}
NOT_CHANGED_HERE = {"listeners", "listener.security.protocol.map"}
AT_START_HERE = ("config.providers", "metric.reporters", "principal.", "sasl.", "ssl.")
RENEWABLE = {name for name, (_, known) in OPTIONS.items() if known.is_dynamic}


def test_the_broker_shows_every_option_that_apache_kafka_has() -> None:
    ours, theirs = by_name(describe_broker(BrokerConfig())), recorded("broker")
    assert list(ours) == sorted(ours)
    assert not theirs.keys() - ours.keys()
    assert not ours.keys() - theirs.keys() - OPTIONS.keys()
    for name, expected in theirs.items():
        option = ours[name]
        assert option.kind.name == expected["type"], name
        assert option.is_sensitive == expected["sensitive"], name
        is_of_start = name.startswith(AT_START_HERE) and name not in RENEWABLE
        if name in NOT_CHANGED_HERE or is_of_start:
            assert option.is_read_only, name
        else:
            assert option.is_read_only == expected["read_only"], name
        assert option.meaning, name
        is_default = expected["source"] == "DEFAULT_CONFIG"
        is_class = "org.apache" in (expected["value"] or "")
        if not is_default or is_class or name in OTHER_DEFAULTS:
            continue
        assert option.value == expected["value"], name
        assert option.source.name == expected["source"], name
        assert [
            {"name": s.name, "value": s.value, "source": s.source.name}
            for s in option.synonyms
        ] == expected["synonyms"], name


def test_an_option_that_was_set_says_where() -> None:
    broker = BrokerConfig(
        num_partitions=3,
        explicit=frozenset({"num.partitions"}),
        foreign={"num.io.threads": "2", "delegation.token.secret.key": "hush"},
    )
    named = by_name(describe_broker(broker))
    assert named["num.partitions"].synonyms == [
        Synonym("num.partitions", "3", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("num.partitions", "1", ConfigSource.DEFAULT_CONFIG),
    ]
    assert named["num.partitions"].is_read_only
    assert named["num.io.threads"].value == "2"
    assert named["num.io.threads"].source == ConfigSource.STATIC_BROKER_CONFIG
    token_key = named["delegation.token.secret.key"]
    assert "hush" not in str(token_key)
    assert named["broker.id"].value == named["node.id"].value == "1"


def test_the_options_of_one_listener_are_shown_too() -> None:
    options = {"ssl.keystore.location": "/in", "ssl.key.password": "hush"}
    broker = BrokerConfig(
        ssl_keystore_location="/all",
        explicit=frozenset({"ssl.keystore.location"}),
        of_listeners={
            f"listener.name.plaintext.{name}": value for name, value in options.items()
        },
    )
    named = by_name(describe_broker(broker))
    keystore = named["listener.name.plaintext.ssl.keystore.location"]
    assert (keystore.value, keystore.kind) == ("/in", Kind.STRING)
    assert keystore.synonyms == [
        Synonym(keystore.name, "/in", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("ssl.keystore.location", "/all", ConfigSource.STATIC_BROKER_CONFIG),
    ]
    password = named["listener.name.plaintext.ssl.key.password"]
    assert password.is_sensitive
    assert password.value is None
    assert "hush" not in str(password)


def test_what_was_changed_comes_first() -> None:
    static = BrokerConfig(log_retention_ms=5, explicit=frozenset({"log.retention.ms"}))
    broker = with_changes(
        static,
        {"log.retention.ms": "2", "num.io.threads": "9"},
        {"log.retention.ms": "1"},
    )
    expected = [
        Synonym("log.retention.ms", "1", ConfigSource.DYNAMIC_BROKER_CONFIG),
        Synonym("log.retention.ms", "2", ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG),
        Synonym("log.retention.ms", "5", ConfigSource.STATIC_BROKER_CONFIG),
        Synonym("log.retention.hours", "168", ConfigSource.DEFAULT_CONFIG),
    ]
    retention = by_name(describe_broker(broker))["log.retention.ms"]
    assert (retention.value, retention.source) == ("1", expected[0].source)
    assert retention.synonyms == expected
    of_topic = by_name(describe_topic({}, broker))["retention.ms"]
    assert (of_topic.value, of_topic.synonyms) == ("1", expected)
    assert [(each.name, each.value) for each in describe_every_broker(broker)] == [
        ("log.retention.ms", "2"),
        ("min.insync.replicas", "1"),
        ("num.io.threads", "9"),
    ]
    (fixed,) = describe_every_broker(static)
    assert (fixed.name, fixed.value) == ("min.insync.replicas", "1")
    assert fixed.source is ConfigSource.DYNAMIC_DEFAULT_BROKER_CONFIG


def test_in_a_cluster_what_is_unset_has_the_value_that_holds_there() -> None:
    name, set_one = "offsets.topic.replication.factor", "transaction.state.log.min.isr"
    for broker, factor in (
        (BrokerConfig(), "1"),
        (BrokerConfig(process_roles=("broker",)), "3"),
        (
            BrokerConfig(
                process_roles=("broker",),
                transaction_state_log_min_isr=1,
                explicit=frozenset({set_one}),
            ),
            "3",
        ),
    ):
        found = {each.name: each for each in describe_broker(broker)}
        assert found[name].value == factor
        assert found[name].source is ConfigSource.DEFAULT_CONFIG
        assert [each.value for each in found[name].synonyms] == [factor]
    assert found[set_one].value == "1"
    assert found[set_one].source is ConfigSource.STATIC_BROKER_CONFIG
