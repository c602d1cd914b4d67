import pytest

from odradek.broker.cluster.images.usable_options import UsableOptions


def test_what_cannot_be_used_is_left_out_and_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    usable = UsableOptions()
    options = {
        "retention.ms": "5",
        "remote.storage.enable": "true",
        "message.format.version": "3.0",
        "segment.bytes": "14",
    }
    for _ in range(2):
        assert usable.of_topic("a", options) == {"retention.ms": "5"}
    said = [each.getMessage() for each in caplog.records]
    assert len(said) == 3
    assert "topic a: remote.storage.enable=true is not used" in said[0]
    assert usable.of_topic("b", {"segment.bytes": "14"}) == {}
    assert len(caplog.records) == 4


def test_what_can_be_used_is_all_there(caplog: pytest.LogCaptureFixture) -> None:
    options = {"remote.storage.enable": "false", "cleanup.policy": "compact"}
    assert UsableOptions().of_topic("a", options) == options
    assert not caplog.records
