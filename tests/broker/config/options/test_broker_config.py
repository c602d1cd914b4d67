import json
from pathlib import Path
from typing import Any

import pytest

from odradek.broker.config.options.broker_config import ALIASES, OPTIONS, BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.listener import Listener
from odradek.broker.config.options.option import format_value

GOLDEN = Path(__file__).parents[3] / "golden" / "wire" / "describe_configs.json"

# Where the default is not Apache Kafka's, and why.
OUR_DEFAULTS = {
    "advertised.listeners": "a client is told the address that it connected to",
    "controller.quorum.voters": "the recording has a controller",
    "inter.broker.listener.name": "the recording has one",
    "listener.security.protocol.map": "the recording maps its controller",
    "listeners": "loopback only",
    "log.dirs": "./data",
    "log.flush.offset.checkpoint.interval.ms": "bounds what a recovery reads",
    "max.connection.creation.rate": "limits on by default",
    "max.connections": "limits on by default",
    "max.connections.per.ip": "limits on by default",
    "metadata.log.dir": "the first of log.dirs",
    "process.roles": "the recording has both",
    "queued.max.request.bytes": "limits on by default",
    "sasl.server.max.receive.size": "who has not logged in gets little memory",
    "socket.listen.backlog.size": "a burst of clients is not refused",
}


def test_defaults_and_types_are_those_of_apache_kafka() -> None:
    theirs: dict[str, dict[str, Any]] = {
        each["name"]: each
        for each in json.loads(GOLDEN.read_text())["broker"]["configs"]
    }
    different = {
        name
        for name, (_, known) in OPTIONS.items()
        if name in theirs
        and (format_value(known.default) or "") != (theirs[name]["value"] or "")
    }
    assert different == set(OUR_DEFAULTS)
    kinds = {
        name: known.kind.name
        for name, (_, known) in OPTIONS.items()
        if name in theirs and known.kind.name != theirs[name]["type"]
    }
    assert not kinds


def test_a_field_is_called_like_its_option() -> None:
    for name, (field, known) in OPTIONS.items():
        assert field == name.replace(".", "_")
        assert known.name == name
        assert known.meaning.endswith(".")


def test_every_default_is_within_its_own_bounds() -> None:
    for name, (field, known) in OPTIONS.items():
        text = format_value(getattr(BrokerConfig(), field))
        if text is not None:
            assert known.parse(text) == getattr(BrokerConfig(), field), name


def test_aliases_lead_to_options() -> None:
    assert ALIASES == {"broker.id": "node.id", "log.dir": "log.dirs"}
    assert not set(ALIASES) & set(OPTIONS)


@pytest.mark.parametrize(
    ("more", "hours"),
    [
        ({}, 168),
        ({"log_retention_hours": 2}, 2),
        ({"log_retention_hours": 2, "log_retention_minutes": 180}, 3),
        ({"log_retention_minutes": 180, "log_retention_ms": 3_600_000}, 1),
    ],
)
def test_milliseconds_win_over_minutes_and_those_over_hours(
    more: dict[str, Any], hours: int
) -> None:
    assert BrokerConfig(**more).retention_ms == hours * 3_600_000


def test_any_negative_retention_is_unlimited() -> None:
    assert BrokerConfig(log_retention_minutes=-1).retention_ms == -1


def test_rolling_and_flushing_have_fallbacks() -> None:
    assert BrokerConfig(log_roll_hours=1).roll_ms == 3_600_000
    assert BrokerConfig(log_roll_hours=1, log_roll_ms=5).roll_ms == 5
    assert BrokerConfig(log_roll_jitter_hours=1).roll_jitter_ms == 3_600_000
    assert BrokerConfig(log_roll_jitter_ms=5).roll_jitter_ms == 5
    assert BrokerConfig(log_flush_scheduler_interval_ms=7).flush_ms == 7
    assert BrokerConfig(log_flush_interval_ms=5).flush_ms == 5


def test_catalogue_lives_in_the_first_data_directory() -> None:
    directories = (Path("a"), Path("b"))
    assert BrokerConfig(log_dirs=directories).catalog_directory == Path("a")
    config = BrokerConfig(log_dirs=directories, metadata_log_dir=Path("m"))
    assert config.catalog_directory == Path("m")


def test_advertised_address_is_that_of_the_listener() -> None:
    config = BrokerConfig(advertised_listeners=(Listener("OUT", "example.org", 1),))
    assert config.advertised_address("OUT") == ("example.org", 1)
    assert config.advertised_address("PLAINTEXT") is None


def test_controllers_have_no_listener_here() -> None:
    listeners = (
        Listener("PLAINTEXT", "127.0.0.1", 9092),
        Listener("CONTROLLER", "", 9093),
    )
    config = BrokerConfig(listeners=listeners)
    config.check()
    assert config.client_listeners == listeners[:1]


@pytest.mark.parametrize(
    ("more", "complaint"),
    [
        ({"listeners": (Listener("CONTROLLER", "", 1),)}, "no listener for clients"),
        ({"log_retention_ms": 0}, "would keep nothing"),
        (
            {
                "log_cleaner_min_compaction_lag_ms": 2,
                "log_cleaner_max_compaction_lag_ms": 1,
            },
            r"log\.cleaner\.min\.compaction\.lag\.ms must not be more",
        ),
        (
            {"group_min_session_timeout_ms": 2, "group_max_session_timeout_ms": 1},
            r"group\.min\.session\.timeout\.ms must not be more",
        ),
    ],
)
def test_options_that_contradict_each_other_are_refused(
    more: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(OptionError, match=complaint) as refused:
        BrokerConfig(**more).check()
    assert "\n" not in str(refused.value)


def test_a_listener_knows_its_protocol() -> None:
    config = BrokerConfig(
        listeners=tuple(Listener(name, "127.0.0.1", 1) for name in ("IN", "SASL_SSL")),
        listener_security_protocol_map=("IN:PLAINTEXT",),
    )
    inside, outside = config.client_listeners
    assert (inside.security_protocol, outside.security_protocol) == (
        "PLAINTEXT",
        "SASL_SSL",
    )
    assert not inside.has_tls
    assert not inside.has_login
    assert outside.has_tls
    assert outside.has_login
