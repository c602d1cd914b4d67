import pytest

from odradek.broker.coordinator.group.share.settings import (
    assignment_interval_ms,
    heartbeat_interval_ms,
    session_timeout_ms,
)
from tests.broker.coordinator.group.share.rig import GROUP, ShareGroups

ALL = (session_timeout_ms, heartbeat_interval_ms, assignment_interval_ms)


@pytest.mark.parametrize(
    ("own", "values"),
    [
        ({}, [45_000, 5_000, 1_000]),
        (
            {
                "share.session.timeout.ms": "50000",
                "share.heartbeat.interval.ms": "6000",
                "share.assignment.interval.ms": "7000",
            },
            [50_000, 6_000, 7_000],
        ),
        (
            {
                "share.session.timeout.ms": "1",
                "share.heartbeat.interval.ms": "99999",
                "share.assignment.interval.ms": "99999",
            },
            [45_000, 15_000, 15_000],
        ),
    ],
)
def test_a_group_s_own_within_the_broker_s_bounds(
    own: dict[str, str], values: list[int]
) -> None:
    groups = ShareGroups()
    groups.options[GROUP] = own
    assert [of(groups.state, GROUP) for of in ALL] == values
    assert [of(groups.state, "other") for of in ALL] == [45_000, 5_000, 1_000]


def test_members_are_told_the_interval() -> None:
    groups = ShareGroups(t=1)
    groups.options[GROUP] = {"share.heartbeat.interval.ms": "6000"}
    assert groups.join("a").heartbeat_interval_ms == 6000
