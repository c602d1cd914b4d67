from types import SimpleNamespace
from typing import Any

import pytest

from odradek.broker.config.options.error import OptionError
from odradek.broker.config.options.group_bounds import check_group_bounds


def options(**changed: int) -> Any:
    usual = {
        "group_x_session_timeout_ms": 50,
        "group_x_min_session_timeout_ms": 10,
        "group_x_max_session_timeout_ms": 100,
        "group_x_heartbeat_interval_ms": 5,
    }
    return SimpleNamespace(**{**usual, **changed})


def test_values_within_their_bounds() -> None:
    check_group_bounds(options(), "x", ["session.timeout.ms"])
    least = options(group_x_session_timeout_ms=10)
    check_group_bounds(least, "x", ["session.timeout.ms"])


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"group_x_session_timeout_ms": 9}, "must be between"),
        ({"group_x_session_timeout_ms": 101}, "must be between"),
        ({"group_x_heartbeat_interval_ms": 50}, "heartbeat.interval.ms must be less"),
    ],
)
def test_values_outside(changed: dict[str, int], message: str) -> None:
    with pytest.raises(OptionError, match=message):
        check_group_bounds(options(**changed), "x", ["session.timeout.ms"])
