from odradek.broker.control.waiting.assignments import Assignments
from odradek.broker.control.waiting.fetch_watch import Fetching
from odradek.broker.coordinator.group.state.classic_group import ClassicGroup
from odradek.broker.coordinator.group.state.classic_member import ClassicMember
from odradek.broker.coordinator.group.state.classic_states import ClassicState
from odradek.broker.requests.context import ConnectionInfo
from odradek.protocol.consumer_protocol import encode_assignment
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.coordinator.group.rig import FakeTopics

TOPICS = FakeTopics()
HOST = "127.0.0.1"
T0, T1 = TopicPartition("t", 0), TopicPartition("t", 1)


class FakeWatch:
    """Notes whether fetches are to be seen."""

    def __init__(self) -> None:
        self.is_watching = False

    def begin(self, seen: object) -> None:
        self.is_watching = True

    def end(self) -> None:
        self.is_watching = False


class Rig:
    def __init__(self) -> None:
        self.watch = FakeWatch()
        self.told = 0
        self.assignments = Assignments(TOPICS, self.watch, self.tell)  # type: ignore[arg-type]

    def tell(self) -> None:
        self.told += 1

    def stable(
        self, group_id: str, *places: TopicPartition, client: str = "c"
    ) -> ClassicGroup:
        """A group of one member that has just been assigned ``places``."""
        group = ClassicGroup(group_id, 0)
        group.add(member(client, encode_assignment(places)))
        group.generation_id = 1
        group.state = ClassicState.STABLE
        self.assignments.note_group(group)
        return group

    def again(self, group: ClassicGroup) -> None:
        """The next generation, with the same assignment."""
        group.state = ClassicState.PREPARING_REBALANCE
        self.assignments.note_group(group)
        group.state = ClassicState.STABLE
        group.generation_id += 1
        self.assignments.note_group(group)

    def fetch(self, port: int, *places: TopicPartition, client: str = "c") -> None:
        offsets = dict.fromkeys(places, 7)
        self.assignments.note_fetch(Fetching((HOST, port), client, offsets))

    def unread(self, group: ClassicGroup) -> list[TopicPartition]:
        return sorted(self.assignments.of(group).unread)


def member(client: str, assignment: bytes, kind: str = "consumer") -> ClassicMember:
    protocols = (("range", b""),)
    return ClassicMember(
        f"{client}-1", None, client, f"/{HOST}", 1, 1, kind, protocols, assignment
    )


def test_a_partition_is_read_from_the_first_fetch_on() -> None:
    rig = Rig()
    group = rig.stable("g", T0, T1)
    assert rig.watch.is_watching
    rig.fetch(1, T0)
    assert (rig.unread(group), rig.told) == ([T1], 1)
    rig.fetch(1, T0, T1)
    assert (rig.unread(group), rig.told) == ([], 2)
    assert not rig.watch.is_watching
    assert rig.assignments.of(group).began == {T0: 7, T1: 7}


def test_other_clients_are_not_its_members() -> None:
    rig = Rig()
    group = rig.stable("g", T0)
    rig.fetch(1, T0, client="another")
    rig.fetch(1, T1)
    rig.assignments.note_fetch(Fetching(("10.0.0.1", 1), "c", {T0: 0}))
    assert (rig.unread(group), rig.told) == ([T0], 0)


def test_each_generation_begins_anew() -> None:
    rig = Rig()
    group = rig.stable("g", T0)
    rig.fetch(1, T0)
    rig.again(group)
    assert rig.unread(group) == [T0]
    assert rig.watch.is_watching
    rig.fetch(1, T0)
    assert rig.unread(group) == []


def test_of_two_groups_under_one_name_both_must_have_fetched() -> None:
    """A fetch does not say of which group it is."""
    rig = Rig()
    first, second = rig.stable("a", T0), rig.stable("b", T0)
    rig.fetch(1, T0)
    rig.fetch(1, T0)
    assert (rig.unread(first), rig.unread(second)) == ([T0], [T0])
    rig.fetch(2, T0)
    assert (rig.unread(first), rig.unread(second)) == ([], [])


def test_who_has_fetched_for_a_group_alone_fetches_for_no_other() -> None:
    rig = Rig()
    first = rig.stable("a", T0)
    rig.fetch(1, T0)
    second = rig.stable("b", T0)
    rig.fetch(1, T0)
    assert (rig.unread(first), rig.unread(second)) == ([], [T0])
    rig.fetch(2, T0)
    assert rig.unread(second) == []


def test_of_two_members_of_a_group_neither_is_of_another() -> None:
    rig = Rig()
    first, second = rig.stable("a", T0, T1), rig.stable("b", T1)
    rig.fetch(1, T0)  # of a member of a: b has no such partition
    rig.fetch(2, T1)  # of the other one, or of b
    assert (rig.unread(first), rig.unread(second)) == ([T1], [T1])
    rig.fetch(3, T1)
    assert (rig.unread(first), rig.unread(second)) == ([], [])


def test_a_connection_that_is_gone_is_nobody_s() -> None:
    rig = Rig()
    first, second = rig.stable("a", T0), rig.stable("b", T0)
    rig.fetch(1, T0)
    rig.assignments.note_gone(ConnectionInfo(peer_host=HOST, peer_port=1))
    rig.fetch(2, T0)
    assert rig.unread(first) == [T0]
    rig.fetch(3, T0)
    assert rig.unread(first) == rig.unread(second) == []


def test_a_group_that_was_loaded_is_stable_without_a_word() -> None:
    rig = Rig()
    group = ClassicGroup("g", 0)
    group.add(member("c", encode_assignment([T0])))
    group.state = ClassicState.STABLE
    assert rig.unread(group) == [T0]
    rig.fetch(1, T0)
    assert rig.unread(group) == []


def test_when_all_groups_are_gone_nothing_is_watched() -> None:
    rig = Rig()
    rig.stable("g", T0)
    rig.assignments.forget_all()
    assert not rig.watch.is_watching
