import json
from pathlib import Path

import pytest

from odradek.broker.config.client_metrics_config import (
    describe_client_metrics,
    find_client_metrics_option,
    subscription,
)
from odradek.broker.config.described import ConfigSource
from odradek.protocol.errors import InvalidConfig, InvalidRequest, KafkaError

GOLDEN = Path(__file__).parents[2] / "golden" / "wire" / "describe_configs.json"


def test_a_subscription_looks_as_it_does_at_apache_kafka() -> None:
    theirs = json.loads(GOLDEN.read_text())["client_metrics"]["configs"]
    ours = describe_client_metrics({})
    assert [(x.name, x.value, x.kind.name, x.source.name) for x in ours] == [
        (x["name"], x["value"], x["type"], x["source"]) for x in theirs
    ]
    [interval, *_] = describe_client_metrics({"interval.ms": "1000"})
    assert (interval.value, interval.source) == (
        "1000",
        ConfigSource.CLIENT_METRICS_CONFIG,
    )


def test_a_subscription_matches_clients() -> None:
    wanted = subscription(
        "s",
        {"match": "client_id=app-.*,client_software_name=apache-kafka-java"},
    )
    assert wanted.interval_ms == 300_000
    java = {"client_software_name": "apache-kafka-java"}
    assert wanted.matches({**java, "client_id": "app-1"})
    assert not wanted.matches({**java, "client_id": "my-app-1"})
    assert not wanted.matches({"client_id": "app-1"})
    assert subscription("s", {}).matches({})


@pytest.mark.parametrize(
    ("name", "value", "error"),
    [
        ("interval.ms", "1", InvalidRequest),
        ("interval.ms", "3600001", InvalidRequest),
        ("interval.ms", "x", InvalidConfig),
        ("match", "foo=bar", InvalidConfig),
        ("match", "client_id", InvalidConfig),
        ("match", "client_id=[", InvalidConfig),
        ("foo", "bar", InvalidRequest),
    ],
)
def test_what_cannot_be_is_refused(
    name: str, value: str, error: type[KafkaError]
) -> None:
    with pytest.raises(error):
        subscription("s", {name: value})


def test_an_option_is_found_by_name() -> None:
    assert find_client_metrics_option("metrics").name == "metrics"
