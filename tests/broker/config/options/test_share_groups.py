from typing import Any

import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.foreign_table import foreign_table


def test_there_are_all_of_apache_kafka() -> None:
    ours = [name for name in OPTIONS if name.startswith("group.share.")]
    assert len(ours) == 21
    assert not [name for name in foreign_table() if name.startswith("group.share.")]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("group.share.record.lock.duration.ms", "999"),
        ("group.share.record.lock.duration.ms", "3600001"),
        ("group.share.delivery.count.limit", "1"),
        ("group.share.partition.max.record.locks", "99"),
        ("group.share.max.size", "0"),
        ("group.share.assignors", "clever"),
    ],
)
def test_what_cannot_be_is_refused(name: str, value: str) -> None:
    with pytest.raises(OptionError, match=name):
        OPTIONS[name][1].parse(value)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"group_share_assignors": ()},
            "group.share.assignors must name one at least",
        ),
        (
            {"group_share_session_timeout_ms": 1000},
            "group.share.session.timeout.ms must be between "
            "group.share.min.session.timeout.ms (45000) and "
            "group.share.max.session.timeout.ms (60000)",
        ),
        (
            {"group_share_delivery_count_limit": 11},
            "group.share.delivery.count.limit must be between "
            "group.share.min.delivery.count.limit (2) and "
            "group.share.max.delivery.count.limit (10)",
        ),
        (
            {"group_share_record_lock_duration_ms": 5000},
            "group.share.record.lock.duration.ms must be between "
            "group.share.min.record.lock.duration.ms (15000) and "
            "group.share.max.record.lock.duration.ms (60000)",
        ),
        (
            {
                "group_share_session_timeout_ms": 5000,
                "group_share_min_session_timeout_ms": 5000,
            },
            "group.share.heartbeat.interval.ms must be less than "
            "group.share.session.timeout.ms",
        ),
    ],
)
def test_options_of_share_groups_agree(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        BrokerConfig(**options).check()
    assert str(refused.value) == message


def test_the_defaults_agree() -> None:
    BrokerConfig().check()
