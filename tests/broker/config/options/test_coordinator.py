from typing import Any

import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.coordinator import GroupOptions, TransactionOptions
from odradek.broker.config.options.error import OptionError


def test_a_first_rebalance_does_not_wait() -> None:
    assert GroupOptions.group_initial_rebalance_delay_ms == 0


def test_transactions_end_after_a_quarter_of_an_hour() -> None:
    assert TransactionOptions.transaction_max_timeout_ms == 900_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"group_coordinator_rebalance_protocols": ("consumer",)},
            "group.coordinator.rebalance.protocols must have classic among them",
        ),
        (
            {"group_consumer_assignors": ()},
            "group.consumer.assignors must name one at least",
        ),
        (
            {"group_consumer_session_timeout_ms": 1000},
            "group.consumer.session.timeout.ms must be between "
            "group.consumer.min.session.timeout.ms (45000) and "
            "group.consumer.max.session.timeout.ms (60000)",
        ),
        (
            {"group_consumer_heartbeat_interval_ms": 16_000},
            "group.consumer.heartbeat.interval.ms must be between "
            "group.consumer.min.heartbeat.interval.ms (5000) and "
            "group.consumer.max.heartbeat.interval.ms (15000)",
        ),
        (
            {
                "group_consumer_session_timeout_ms": 5000,
                "group_consumer_min_session_timeout_ms": 5000,
            },
            "group.consumer.heartbeat.interval.ms must be less than "
            "group.consumer.session.timeout.ms",
        ),
    ],
)
def test_options_of_consumer_groups_agree(
    options: dict[str, Any], message: str
) -> None:
    with pytest.raises(OptionError) as refused:
        BrokerConfig(**options).check()
    assert str(refused.value) == message


def test_a_policy_is_written_in_any_case() -> None:
    known = OPTIONS["group.consumer.migration.policy"][1]
    assert known.parse("Downgrade") == "downgrade"
    with pytest.raises(OptionError):
        known.parse("sideways")
