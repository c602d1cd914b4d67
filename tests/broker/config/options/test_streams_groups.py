from typing import Any

import pytest

from odradek.broker.config.options.broker_config import OPTIONS, BrokerConfig
from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.foreign_table import foreign_table


def test_there_are_all_of_apache_kafka() -> None:
    ours = [name for name in OPTIONS if name.startswith("group.streams.")]
    assert len(ours) == 13
    assert not [name for name in foreign_table() if name.startswith("group.streams.")]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"group_streams_session_timeout_ms": 1000},
            "group.streams.session.timeout.ms must be between "
            "group.streams.min.session.timeout.ms (45000) and "
            "group.streams.max.session.timeout.ms (60000)",
        ),
        (
            {"group_streams_num_standby_replicas": 3},
            "group.streams.num.standby.replicas must not be more than "
            "group.streams.max.standby.replicas (2)",
        ),
    ],
)
def test_options_of_streams_groups_agree(options: dict[str, Any], message: str) -> None:
    with pytest.raises(OptionError) as refused:
        BrokerConfig(**options).check()
    assert str(refused.value) == message
