import logging

import pytest

from odradek.broker.config.live_config import (
    LiveConfig,
    broker_default,
    check_changes,
    find_broker_option,
    with_changes,
)
from odradek.broker.config.options.broker_config import BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.protocol.errors import InvalidConfig, InvalidRequest


def test_what_is_set_for_this_broker_wins() -> None:
    live = LiveConfig(BrokerConfig(message_max_bytes=5))
    seen: list[BrokerConfig] = []
    live.watch(seen.append)
    live.change({"message.max.bytes": "6", "log.retention.ms": "7"}, {})
    assert live.current.message_max_bytes == 6
    assert live.current.retention_ms == 7
    live.change({"message.max.bytes": "6"}, {"message.max.bytes": "8"})
    assert live.current.message_max_bytes == 8
    live.change({}, {})
    assert live.current.message_max_bytes == 5
    assert [each.message_max_bytes for each in seen] == [6, 8, 5]
    assert live.static.message_max_bytes == 5


def test_an_option_that_means_nothing_is_remembered() -> None:
    config = with_changes(BrokerConfig(), {}, {"num.io.threads": "9"})
    assert config.foreign == {"num.io.threads": "9"}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("log.retention.ms", "x"),
        ("log.retention.ms", "0"),
        ("log.segment.bytes", "10"),
        ("num.io.threads", "many"),
        ("no.such", "1"),
        ("cordoned.log.dirs", "data"),
        ("min.insync.replicas", "2"),
        ("log.cleaner.min.compaction.lag.ms", str((1 << 63) - 1)),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str) -> None:
    static = BrokerConfig(log_cleaner_max_compaction_lag_ms=1000)
    with pytest.raises(OptionError):
        with_changes(static, {name: value}, {})


def test_a_start_uses_what_it_can(caplog: pytest.LogCaptureFixture) -> None:
    live = LiveConfig(BrokerConfig())
    with caplog.at_level(logging.ERROR):
        live.restore({"gone.option": "1", "max.connections": "7"}, {"log.roll.ms": "x"})
    assert live.current.max_connections == 7
    assert live.current.log_roll_ms is None
    assert "gone.option" in caplog.text
    assert "log.roll.ms" in caplog.text
    untouched = LiveConfig(BrokerConfig())
    untouched.restore({}, {})
    assert untouched.current is untouched.static


def test_a_change_that_nobody_has_checked_is_used_as_far_as_it_can_be(
    caplog: pytest.LogCaptureFixture,
) -> None:
    """In a cluster others set options of brokers, and controllers take every one."""
    live = LiveConfig(BrokerConfig())
    seen: list[BrokerConfig] = []
    live.watch(seen.append)
    for retention in ("5", "6"):
        of_all = {"nonsense": "1", "log.retention.ms": retention}
        live.change(of_all, {"log.roll.ms": "x"})
    assert [each.log_retention_ms for each in seen] == [5, 6]
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 2, "each once"
    live.change({"log.retention.ms": "7"}, {})
    live.change({"nonsense": "1"}, {})
    assert live.current.log_retention_ms is None
    assert len(caplog.records) == 3


def test_only_some_options_change_while_it_runs() -> None:
    static = BrokerConfig()
    check_changes(["log.retention.ms", "num.io.threads", "max.connections"], static)
    message = r"Cannot update these configs dynamically: \[num.partitions, node.id\]"
    with pytest.raises(InvalidRequest, match=message):
        check_changes(["num.partitions", "log.retention.ms", "node.id"], static)
    with pytest.raises(InvalidConfig, match=r"did you mean log\.retention\.ms"):
        check_changes(["log.retention.sm"], static)


def test_what_is_appended_to_is_the_value_of_the_start() -> None:
    config = BrokerConfig(log_cleanup_policy=("compact",), foreign={"a": "b"})
    assert broker_default("log.cleanup.policy", config) == ("compact",)
    assert broker_default("num.io.threads", config) == "8"
    assert find_broker_option("num.io.threads", BrokerConfig()).name == "num.io.threads"


INSIDE = "listener.name.plaintext."


def test_certificates_change_for_one_listener_of_one_broker() -> None:
    static = BrokerConfig()
    location = f"{INSIDE}ssl.keystore.location"
    check_changes([location], static)
    with pytest.raises(InvalidRequest, match=r"only per-listener .*: \[ssl\.key"):
        check_changes(["ssl.keystore.location"], static)
    with pytest.raises(InvalidRequest, match="at default cluster level, broker id"):
        check_changes([location], static, of_all=True)
    with pytest.raises(InvalidRequest, match="Cannot update these configs dynamically"):
        check_changes([f"{INSIDE}ssl.client.auth"], static)
    with pytest.raises(InvalidConfig, match="listeners has no OUTSIDE"):
        check_changes(["listener.name.outside.ssl.key.file"], static)
    with pytest.raises(InvalidConfig, match="there is no option"):
        check_changes([f"{INSIDE}message.max.bytes.x"], static)


def test_what_was_set_for_a_listener_is_restored_together() -> None:
    live = LiveConfig(BrokerConfig(of_listeners={f"{INSIDE}ssl.key.file": "old.key"}))
    tls = {
        f"{INSIDE}ssl.keystore.location": "a.p12",
        f"{INSIDE}ssl.keystore.password": "x",
        f"{INSIDE}ssl.key.file": "",
    }
    live.restore({}, {**tls, "gone.option": "1"})
    assert live.current.of_listeners == {**tls, f"{INSIDE}ssl.key.file": None}
    assert broker_default(f"{INSIDE}ssl.key.file", live.static) == "old.key"
    known = find_broker_option(f"{INSIDE}ssl.keystore.password", live.static)
    assert known.is_sensitive
