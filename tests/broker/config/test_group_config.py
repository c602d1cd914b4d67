import json
from pathlib import Path

import pytest

from odradek.broker.config.described import ConfigSource, Synonym
from odradek.broker.config.group_config import (
    describe_group,
    find_group_option,
    group_default,
    validate_group_options,
)
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.protocol.errors import InvalidConfig

GOLDEN = Path(__file__).parents[2] / "golden" / "wire" / "describe_configs.json"
SESSION = "consumer.session.timeout.ms"


def test_a_group_looks_as_it_does_at_apache_kafka() -> None:
    recorded = json.loads(GOLDEN.read_text())["group"]["configs"]
    theirs = {each["name"]: each for each in recorded}
    ours = {each.name: each for each in describe_group({}, BrokerConfig())}
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


def test_a_groups_own_value_comes_first() -> None:
    ours = {x.name: x for x in describe_group({SESSION: "50000"}, BrokerConfig())}
    assert ours[SESSION].value == "50000"
    assert ours[SESSION].synonyms == [
        Synonym(SESSION, "50000", ConfigSource.GROUP_CONFIG),
        Synonym(f"group.{SESSION}", "45000", ConfigSource.DEFAULT_CONFIG),
    ]


@pytest.mark.parametrize(
    ("name", "value", "complaint"),
    [
        (
            SESSION,
            "5",
            "greater than or equal to group.consumer.min.session.timeout.ms",
        ),
        (
            SESSION,
            "90000",
            "less than or equal to group.consumer.max.session.timeout.ms",
        ),
        (SESSION, "x", "Not a number"),
        ("share.isolation.level", "none", "must be one of"),
        ("share.auto.offset.reset", "none", "must be latest, earliest"),
        ("share.auto.offset.reset", "by_duration:PT-1H", "not negative, such as"),
        (
            "share.record.lock.duration.ms",
            "14999",
            "greater than or equal to group.share.min.record.lock.duration.ms",
        ),
        ("streams.num.standby.replicas", "-1", "not be negative"),
        ("consumer.session.timeout", "1", "did you mean consumer.session.timeout.ms"),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str, complaint: str) -> None:
    with pytest.raises(InvalidConfig, match=complaint):
        validate_group_options({name: value}, BrokerConfig())


def test_the_brokers_bounds_count() -> None:
    broker = BrokerConfig(group_consumer_min_session_timeout_ms=5)
    validate_group_options(
        {SESSION: "6", "share.isolation.level": "read_committed"}, broker
    )
    assert group_default(SESSION, broker) == 45_000
    validate_group_options({"share.auto.offset.reset": "by_duration:PT1H"}, broker)
    assert group_default("share.auto.offset.reset", broker) == "latest"
    assert find_group_option(SESSION).name == SESSION
