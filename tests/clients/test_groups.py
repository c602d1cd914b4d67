"""Stock consumers in groups: they share, come, go, die, commit and resume."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterable

import pytest

from tests.broker_process import BrokerProcess
from tests.clients.adapters import QUICKLY, Confluent, Message
from tests.clients.consumers import COOPERATIVE, NAMES, Place, Settings
from tests.clients.members import Member, has_read, settle, shares, until
from tests.clients.questions import committed, describe, member_ids

PARTITIONS = 4
SHORT_SESSION_MS = 1500
# kafka-python leaves sockets to the garbage collector.
pytestmark = [
    pytest.mark.filterwarnings("ignore:unclosed <socket:ResourceWarning"),
    pytest.mark.usefixtures("collected"),
]
each_client = pytest.mark.parametrize("client", NAMES)
# What a coordinator decides does not depend on the loop that carries it.
on_one_loop = pytest.mark.parametrize("broker", ["uvloop"], indirect=True)


def fill(broker: BrokerProcess, topic: str, numbers: Iterable[int]) -> list[bytes]:
    """Make the topic if need be, and produce to its partitions in turn."""
    values = [b"%d" % number for number in numbers]
    messages = [
        Message(None, value, partition=int(value) % PARTITIONS) for value in values
    ]
    if not values or values[0] == b"0":
        Confluent().create_topic(broker.address, topic, PARTITIONS)
    Confluent().produce(broker.address, topic, messages, QUICKLY)
    return values


@each_client
def test_members_come_and_go(broker: BrokerProcess, topic: str, client: str) -> None:
    values = fill(broker, topic, range(200))
    settings = Settings("g-" + topic, (topic,))
    with Member(client, broker.address, settings) as first:
        until(lambda: has_read([first], values), "read", first)
        assert sorted(first.values()) == sorted(values)
        first.do(lambda consumer: consumer.commit())
        second = Member(client, broker.address, settings)
        both = first, second
        until(lambda: shares(*both, partitions=PARTITIONS), "shared", *both)
        more = fill(broker, topic, range(200, 400))
        until(lambda: has_read(both, more), "read by both", *both)
        assert second.values()
        assert sorted(first.values() + second.values()) == sorted(values + more)
        second.close()
        until(lambda: shares(first, partitions=PARTITIONS), "given back", first)
        more = fill(broker, topic, range(400, 440))
        until(lambda: has_read([first], more), "read alone", first)
    # Or once its session is over: no client waits until it has left for sure.
    until(lambda: describe(broker, settings.group).group_state == "Empty", "empty")
    assert not describe(broker, settings.group).members


@on_one_loop
@each_client
def test_a_member_that_dies_is_replaced(
    broker: BrokerProcess, topic: str, client: str
) -> None:
    """Killed, or frozen: after its session the others have its partitions."""
    fill(broker, topic, range(40))
    settings = Settings("g-" + topic, (topic,), session_ms=SHORT_SESSION_MS)
    command = [sys.executable, "-m", "tests.clients.member_process", client]
    command += [broker.address, settings.group, topic, str(SHORT_SESSION_MS)]
    with Member(client, broker.address, settings) as member:
        until(lambda: shares(member, partitions=PARTITIONS), "alone", member)
        other = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        try:
            until(lambda: len(member.partitions) == 2, "shared", member)
            os.kill(other.pid, signal.SIGSTOP)
            until(lambda: len(member.partitions) == PARTITIONS, "alone again", member)
            os.kill(other.pid, signal.SIGCONT)
            until(lambda: len(member.partitions) == 2, "shared again", member)
        finally:
            other.kill()
            other.wait()
        until(lambda: len(member.partitions) == PARTITIONS, "alone at last", member)
        assert len(describe(broker, settings.group).members) == 1


@on_one_loop
@each_client
def test_a_static_member_returns_unnoticed(
    broker: BrokerProcess, topic: str, client: str
) -> None:
    values = fill(broker, topic, range(40))
    names = ("one", "two", "three")
    # On a busy machine a client takes its time to return: no session may end then.
    settings = [
        Settings("g-" + topic, (topic,), instance=name, session_ms=120_000)
        for name in names
    ]
    one, two, three = (Member(client, broker.address, each) for each in settings)
    members = [one, two, three]
    until(lambda: shares(*members, partitions=PARTITIONS), "shared", *members)
    # The leader is the first one in the list; what goes is a follower, then it.
    for place in (2, 0):
        settle(*members)
        others = [each for each in members if each is not members[place]]
        noticed = [len(each.rebalances.given) for each in others]
        owned = [each.assignment for each in members]
        ids = member_ids(broker, settings[0].group)
        members[place].close()
        again = Member(client, broker.address, settings[place])
        members[place] = again
        until(lambda: again.assignment == owned[place], "given the same", *members)  # noqa: B023
        assert [len(each.rebalances.given) for each in others] == noticed
        now = member_ids(broker, settings[0].group)
        changed = {name for name in names if now[name] != ids[name]}
        assert changed == {names[place]}
    until(lambda: has_read(members, values), "read", *members)
    for member in members:
        member.close()


@on_one_loop
@pytest.mark.parametrize("client", COOPERATIVE)
def test_cooperative_members_keep_what_they_have(
    broker: BrokerProcess, topic: str, client: str
) -> None:
    fill(broker, topic, range(40))
    settings = Settings("g-" + topic, (topic,), is_cooperative=True)
    with Member(client, broker.address, settings) as first:
        until(lambda: shares(first, partitions=PARTITIONS), "alone", first)
        with Member(client, broker.address, settings) as second:
            both = first, second
            until(lambda: shares(*both, partitions=PARTITIONS), "shared", *both)
            taken = frozenset().union(*first.rebalances.taken)
            assert taken == second.assignment
            assert len(taken) == PARTITIONS // 2
        until(lambda: shares(first, partitions=PARTITIONS), "given back", first)
        assert frozenset().union(*first.rebalances.taken) == taken


@on_one_loop
@each_client
@pytest.mark.parametrize("how", ["sync", "async", "auto", "none"])
def test_commits_are_where_the_next_one_begins(
    broker: BrokerProcess, topic: str, client: str, how: str
) -> None:
    values = fill(broker, topic, range(100))
    settings = Settings("g-" + topic, (topic,), auto_commit=how == "auto")
    everything = dict.fromkeys(range(PARTITIONS), 25)
    with Member(client, broker.address, settings) as first:
        until(lambda: has_read([first], values), "read", first)
        if how == "sync":
            first.do(lambda consumer: consumer.commit())
            assert committed(broker, settings.group, topic) == everything
        elif how == "async":
            first.do(lambda consumer: consumer.commit_async())
        if how != "none":
            until(
                lambda: committed(broker, settings.group, topic) == everything,
                "committed",
                first,
            )
    more = fill(broker, topic, range(100, 120))
    with Member(client, broker.address, settings) as second:
        until(lambda: has_read([second], more), "read", second)
        wanted = values + more if how == "none" else more
        until(lambda: len(second.found) >= len(wanted), "read everything", second)
        assert sorted(second.values()) == sorted(wanted)


@on_one_loop
@each_client
def test_seek_and_pause(broker: BrokerProcess, topic: str, client: str) -> None:
    values = fill(broker, topic, range(100))
    with Member(client, broker.address, Settings("g-" + topic, (topic,))) as member:
        until(lambda: has_read([member], values), "read", member)
        member.do(lambda consumer: consumer.seek(Place(topic, 1), 20))
        until(lambda: len(member.found) >= 105, "read again", member)
        again = member.found[100:]
        assert [each.offset for each in again] == list(range(20, 25))
        assert {each.place for each in again} == {Place(topic, 1)}
        member.do(lambda consumer: consumer.pause(Place(topic, 2)))
        more = fill(broker, topic, range(100, 140))
        paused = {value for value in more if int(value) % PARTITIONS == 2}
        until(lambda: has_read([member], set(more) - paused), "read", member)
        assert not paused & set(member.values())
        member.do(lambda consumer: consumer.resume(Place(topic, 2)))
        until(lambda: has_read([member], paused), "read after the pause", member)


@on_one_loop
@each_client
def test_topics_by_pattern(broker: BrokerProcess, topic: str, client: str) -> None:
    """Those that are there, and one that appears later."""
    stem = "p-" + topic
    values = fill(broker, stem + "-a", range(20))
    settings = Settings("g-" + topic, pattern=stem + "-.*")
    with Member(client, broker.address, settings) as member:
        until(lambda: has_read([member], values), "read", member)
        member.do(lambda consumer: consumer.commit())
        fill(broker, stem + "-b", range(40))
        until(lambda: len(member.found) == 60, "read the new topic", member)
        assert len(member.assignment) == 2 * PARTITIONS


@on_one_loop
@each_client
def test_groups_do_not_know_each_other(
    broker: BrokerProcess, topic: str, client: str
) -> None:
    values = fill(broker, topic, range(40))
    groups = [f"g{number}-{topic}" for number in range(3)]
    members = [
        Member(client, broker.address, Settings(group, (topic,))) for group in groups
    ]
    for number, member in enumerate(members):
        until(lambda: has_read([member], values), "read", member)  # noqa: B023
        if number != 1:
            member.do(lambda consumer: consumer.commit())
    found = [committed(broker, group, topic) for group in groups]
    everything = dict.fromkeys(range(PARTITIONS), 10)
    assert found == [everything, {}, everything]
    for member in members:
        assert sorted(member.values()) == sorted(values)
        member.close()


@on_one_loop
def test_different_clients_share_a_group(broker: BrokerProcess, topic: str) -> None:
    """They have the range assignor in common, and read each other's subscriptions."""
    fill(broker, topic, range(40))
    settings = Settings("g-" + topic, (topic,))
    names = ("confluent-kafka", "kafka-python")
    members = [Member(name, broker.address, settings) for name in names]
    until(lambda: shares(*members, partitions=PARTITIONS), "shared", *members)
    for member in members:
        member.close()
