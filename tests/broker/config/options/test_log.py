from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.log import LogOptions


def test_segments_are_at_least_a_mebibyte() -> None:
    assert OPTIONS["log.segment.bytes"][1].at_least == 1 << 20


def test_timestamps_may_be_an_hour_ahead() -> None:
    assert LogOptions.log_message_timestamp_after_max_ms == 3_600_000


def test_a_recovery_reads_a_bounded_piece_of_log() -> None:
    assert LogOptions.log_flush_offset_checkpoint_bytes == 256 << 20
    assert LogOptions.log_flush_offset_checkpoint_interval_ms == 5_000
