from pathlib import Path

import pytest

from odradek.broker.mirror.settings import MirrorSettings, may_be_mirrored

PLAIN = MirrorSettings("m", "one:9092,two:9092", "orders.*")


def test_what_is_kept_is_read_again() -> None:
    full = PLAIN._replace(command_config="/f", cluster_id="c")
    for settings in (PLAIN, full):
        assert MirrorSettings.read("m", settings.options) == settings
    assert "command_config" not in PLAIN.options


def test_whole_names_are_meant_and_none_of_the_brokers_own() -> None:
    assert PLAIN.pattern.fullmatch("orders-2")
    assert not PLAIN.pattern.fullmatch("old-orders")
    assert may_be_mirrored("orders")
    assert not may_be_mirrored("__consumer_offsets")
    assert not may_be_mirrored("__cluster_metadata")


def test_options_of_clients_are_read_when_it_connects(tmp_path: Path) -> None:
    file = tmp_path / "client.properties"
    settings = PLAIN._replace(command_config=str(file))
    with pytest.raises(ValueError, match=r"client\.properties"):
        settings.connect()
    file.write_text("security.protocol=SSL\n")
    assert settings.connect().security is not None
    assert PLAIN.connect().security is None
