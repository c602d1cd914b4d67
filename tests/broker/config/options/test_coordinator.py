import pytest

from odradek.broker.config.options.broker_config import OPTIONS
from odradek.broker.config.options.coordinator import GroupOptions, TransactionOptions
from odradek.broker.config.options.error import OptionError


def test_a_first_rebalance_does_not_wait() -> None:
    assert GroupOptions.group_initial_rebalance_delay_ms == 0


@pytest.mark.parametrize(
    "name",
    [
        "offsets.topic.replication.factor",
        "transaction.state.log.replication.factor",
        "transaction.state.log.min.isr",
    ],
)
def test_one_broker_has_one_copy(name: str) -> None:
    assert OPTIONS[name][1].parse("1") == 1
    with pytest.raises(OptionError, match="no more than 1, as one broker holds one"):
        OPTIONS[name][1].parse("3")


def test_transactions_end_after_a_quarter_of_an_hour() -> None:
    assert TransactionOptions.transaction_max_timeout_ms == 900_000
