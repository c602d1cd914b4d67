from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from odradek.broker.control.clock.sessions import Sessions
from tests.broker.coordinator.group.rig import GROUP, SESSION_MS, Groups
from tests.fakes.client import Client

HALF_MS = SESSION_MS // 2


def sessions(
    groups: Groups, *clients: Client, connected: Callable[[str, str], bool]
) -> Sessions:
    shards = [SimpleNamespace(state=groups.state)]
    services: Any = SimpleNamespace(
        clock=groups.clock,
        groups=SimpleNamespace(runtime=SimpleNamespace(shards=lambda: shards)),
    )
    return Sessions(services, [each.listener for each in clients], connected)


def test_who_is_connected_counts_as_just_heard() -> None:
    groups = Groups()
    here, gone = groups.stable("a", "b")
    kept = sessions(
        groups, connected=lambda group, member: (group, member) == (GROUP, here)
    )
    for _ in range(4):
        groups.clock.advance(HALF_MS)
        kept.keep(0)
    assert list(groups.group.members) == [here]
    assert gone not in groups.group.members
    for _ in range(2):
        groups.clock.advance(HALF_MS)
    assert not groups.group.members, "nobody keeps it any more"


def test_no_session_is_looked_at_before_the_way_is_over() -> None:
    groups = Groups()
    groups.stable("a", "b")
    sessions(groups, connected=lambda group, member: True).keep(100 * SESSION_MS)
    groups.clock.advance(101 * SESSION_MS - 1)
    assert len(groups.group.members) == 2
    groups.clock.advance(1)
    assert not groups.group.members


def test_who_waits_for_others_has_no_session_that_could_end() -> None:
    groups = Groups()
    groups.stable("a")
    groups.join(client_id="b")
    before = len(groups.fake.timers)
    sessions(groups, connected=lambda group, member: True).keep(0)
    assert len(groups.fake.timers) == before


def test_connections_are_not_idle_either() -> None:
    groups, client = Groups(), Client(connections_max_idle_ms=600_000)
    kept = sessions(groups, client, connected=lambda group, member: False)
    for _ in range(5):
        groups.clock.advance(400_000)
        client.clock.advance(400_000)
        kept.keep(0)
        client.listener.sweep()
    assert not client.transport.is_closing()
