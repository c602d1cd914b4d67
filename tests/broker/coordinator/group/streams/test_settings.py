import pytest

from odradek.broker.coordinator.group.streams.settings import (
    assignment_configs,
    assignment_interval_ms,
    heartbeat_interval_ms,
    initial_delay_ms,
    session_timeout_ms,
    standby_count,
    standbys_of,
)
from tests.broker.coordinator.group.streams.rig import GROUP, StreamsGroups

ALL = (
    session_timeout_ms,
    heartbeat_interval_ms,
    assignment_interval_ms,
    initial_delay_ms,
    standby_count,
)
DEFAULTS = [45_000, 5_000, 1_000, 3_000, 0]


@pytest.mark.parametrize(
    ("own", "values"),
    [
        ({}, DEFAULTS),
        (
            {
                "streams.session.timeout.ms": "50000",
                "streams.heartbeat.interval.ms": "6000",
                "streams.assignment.interval.ms": "7000",
                "streams.initial.rebalance.delay.ms": "0",
                "streams.num.standby.replicas": "1",
            },
            [50_000, 6_000, 7_000, 0, 1],
        ),
        (
            {
                "streams.session.timeout.ms": "1",
                "streams.heartbeat.interval.ms": "99999",
                "streams.assignment.interval.ms": "99999",
                "streams.initial.rebalance.delay.ms": "99999",
                "streams.num.standby.replicas": "9",
            },
            [45_000, 15_000, 15_000, 99_999, 2],
        ),
    ],
)
def test_a_group_s_own_within_the_broker_s_bounds(
    own: dict[str, str], values: list[int]
) -> None:
    groups = StreamsGroups()
    groups.options[GROUP] = own
    assert [of(groups.state, GROUP) for of in ALL] == values
    assert [of(groups.state, "other") for of in ALL] == DEFAULTS


def test_what_an_assignment_went_by() -> None:
    groups = StreamsGroups()
    groups.options[GROUP]["streams.num.standby.replicas"] = "2"
    configs = assignment_configs(groups.state, GROUP)
    assert configs == (("num.standby.replicas", "2"),)
    assert (standbys_of(configs), standbys_of(())) == (2, 0)
