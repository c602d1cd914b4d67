import json
from pathlib import Path

import pytest

from odradek.broker.config.options.broker_config import ALIASES, OPTIONS
from odradek.broker.config.options.foreign import (
    is_meaningless,
    is_refusable,
    meaning_of,
    why_refused,
)

GOLDEN = Path(__file__).parents[3] / "golden" / "wire" / "describe_configs.json"


def test_every_option_of_apache_kafka_is_ours_or_known_not_to_be() -> None:
    names = [
        each["name"] for each in json.loads(GOLDEN.read_text())["broker"]["configs"]
    ]
    assert len(names) > 300
    strangers = [
        name
        for name in names
        if not (
            name in OPTIONS
            or name in ALIASES
            or is_meaningless(name)
            or is_refusable(name)
        )
    ]
    assert not strangers


def test_nothing_of_ours_is_called_meaningless() -> None:
    # These are: they begin like what only controllers have.
    ours = [name for name in OPTIONS if is_meaningless(name)]
    assert sorted(ours) == [
        "controller.listener.names",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.request.timeout.ms",
        "controller.quorum.voters",
        "controller.quota.window.num",
        "controller.quota.window.size.seconds",
    ]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("remote.log.storage.system.enable", "true"),
        ("create.topic.policy.class.name", "my.Policy"),
        ("zookeeper.connect", "zookeeper:2181"),
        ("controller.quorum.auto.join.enable", "true"),
        ("client.quota.callback.class", "my.Quotas"),
        ("cordoned.log.dirs", "/data/1"),
        ("group.share.enable", "false"),
    ],
)
def test_what_would_be_a_lie_is_refused(name: str, value: str) -> None:
    reason = why_refused(name, value)
    assert reason is not None
    assert "; leave it out" in reason, "what to do"
    assert meaning_of(name).startswith("Refused is ")


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("remote.log.storage.system.enable", "false"),
        ("num.network.threads", "3"),
        ("process.roles", "broker,controller"),
        ("controller.quorum.auto.join.enable", "False"),
        ("zookeeper.connection.timeout.ms", "18000"),
    ],
)
def test_harmless_values_are_not(name: str, value: str) -> None:
    assert why_refused(name, value) is None


def test_what_is_refused_is_refused_of_one_listener_too() -> None:
    name = "listener.name.external.principal.builder.class"
    assert why_refused(name, "x") == why_refused("principal.builder.class", "x")
    assert is_refusable(name)
    assert why_refused(name, "") is None
    assert why_refused("listener.name.external.ssl.keystore.location", "/k") is None
