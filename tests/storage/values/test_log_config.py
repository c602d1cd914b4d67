import pytest

from odradek.storage.values.log_config import LogConfig


def test_compaction_may_want_segments_to_roll_sooner() -> None:
    options = {"segment_ms": 1000, "max_compaction_lag_ms": 300}
    compacted = LogConfig(cleanup_policy=frozenset({"compact", "delete"}), **options)
    assert compacted.max_segment_ms == 300
    assert LogConfig(**options).max_segment_ms == 1000


def test_defaults_are_kafkas() -> None:
    config = LogConfig()
    assert not config.is_compacted
    assert not config.is_log_append_time
    assert config.max_message_bytes == 1_048_588
    assert LogConfig(message_timestamp_type="LogAppendTime").is_log_append_time


def test_options_are_replaced_not_changed() -> None:
    with pytest.raises(AttributeError):
        LogConfig().segment_bytes = 5  # type: ignore[misc]
