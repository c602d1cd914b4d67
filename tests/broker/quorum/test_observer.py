import json
from typing import Any

import pytest

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.replay import Replay
from odradek.broker.quorum.observer import Identity, Observer
from odradek.client.address import Address
from odradek.protocol.errors import InconsistentClusterId, InvalidRequest
from odradek.protocol.headers import decode_response
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from odradek.protocol.messages.fetch_snapshot import FetchSnapshotRequest
from odradek.protocol.metadata_records import FeatureLevelRecord, TopicRecord
from odradek.protocol.schema import RESPONSES
from tests.adopted import METADATA_GOLDEN
from tests.fakes.controller import FakeController, FakeQuorum, snapshot_of


def topic(name: str) -> TopicRecord:
    return TopicRecord(name=name, topic_id=name.encode().ljust(16, b"-"))


class World:
    """Three controllers, the first of which leads, and an observer of them."""

    def __init__(self, *, starts_at: int = 0) -> None:
        self.quorum = FakeQuorum()
        self.first, self.second, self.third = self.quorum.nodes
        self.quorum.lead(self.first, 1)
        addresses = [node.address for node in self.quorum.nodes]
        order = addresses[starts_at:] + addresses[:starts_at]
        self.observer = Observer(order, Replay())

    def step(self, count: int = 1) -> None:
        for _ in range(count):
            question = self.observer.next_question()
            try:
                link = self.quorum.connect(question.address)
                answer = link.request(question.request, None)
            except OSError as error:
                self.observer.lost(str(error))
            else:
                self.observer.take(question.address, answer)

    def asked(self) -> list[int]:
        return [node_id for node_id, _ in self.quorum.asked]

    def names(self) -> set[str]:
        return set(self.observer.replay.image.topic_ids)


def replace_log(node: FakeController, other: FakeController, count: int) -> None:
    """The log of ``other``, but of no more than so many batches."""
    node.batches = other.batches[:count]


def test_an_empty_log_is_asked_for_with_epoch_0() -> None:
    world = World()
    asked = world.observer.next_question().request
    assert isinstance(asked, FetchRequest)
    (partition,) = asked.topics[0].partitions
    assert (partition.fetch_offset, partition.last_fetched_epoch) == (0, 0)
    assert (partition.current_leader_epoch, partition.high_watermark) == (0, -1)
    assert asked.replica_state.replica_id == -1
    known = Observer([world.first.address], Replay(), Identity(7, b"d" * 16, "c"))
    asked = known.next_question().request
    assert isinstance(asked, FetchRequest)
    assert (asked.replica_state.replica_id, asked.cluster_id) == (7, "c")


def test_what_is_not_committed_is_not_applied() -> None:
    world = World()
    world.first.write(topic("a"))
    world.first.commit()
    world.first.write(topic("b"))
    world.step(2)
    assert world.names() == {"a"}
    assert world.observer.is_caught_up
    world.first.commit()
    assert world.names() == {"a"}
    world.step()
    assert world.names() == {"a", "b"}
    assert world.observer.replay.image.offset == 1


def test_a_high_watermark_that_falls_takes_nothing_back() -> None:
    world = World()
    world.first.write(topic("a"))
    world.first.commit()
    world.step(2)
    world.first.high_watermark = 0
    world.step()
    assert world.observer.high_watermark == 1
    assert world.names() == {"a"}


def test_who_does_not_lead_says_who_does() -> None:
    world = World(starts_at=2)
    world.first.write(topic("a"))
    world.first.commit()
    world.step(3)
    assert world.asked()[:2] == [3, 1]
    assert world.observer.leader == world.first.address
    assert world.names() == {"a"}


def test_who_names_no_address_is_left_for_the_next_one() -> None:
    world = World(starts_at=1)
    for node in world.quorum.nodes:
        node.names_leader = False
    world.step(2)
    assert world.observer.next_question().address == world.first.address
    assert world.observer.next_question().is_retry
    world.step()
    assert world.observer.leader == world.first.address


def test_a_leader_that_dies_is_followed_by_the_next() -> None:
    world = World()
    world.first.write(topic("a"))
    world.first.commit()
    world.step(2)
    replace_log(world.second, world.first, 1)
    world.first.is_alive = False
    world.quorum.lead(world.second, 2)
    world.second.write(topic("b"))
    world.second.commit()
    world.step(4)
    assert world.observer.leader == world.second.address
    assert world.observer.leader_epoch == 2
    assert world.names() == {"a", "b"}


def test_a_leader_of_before_is_not_believed() -> None:
    world = World()
    world.first.write(topic("a"))
    world.first.commit()
    world.step(2)
    replace_log(world.second, world.first, 1)
    world.first.is_alive = False
    world.quorum.lead(world.second, 5)
    world.second.commit()
    world.step(4)
    # It comes back, and has heard of nothing.
    world.first.is_alive = True
    world.second.is_alive = False
    world.first.write(topic("nowhere"))
    world.first.commit()
    world.step(10)
    assert world.observer.leader_epoch == 5
    assert world.observer.leader != world.first.address
    assert world.names() == {"a"}
    world.second.is_alive = True
    world.step(6)
    assert world.observer.leader == world.second.address


def test_a_minority_has_nobody_who_leads() -> None:
    world = World()
    for node in world.quorum.nodes:
        node.leader_id = -1
    world.first.is_alive = world.second.is_alive = False
    world.step(7)
    assert world.observer.leader is None
    assert not world.observer.is_caught_up
    assert world.observer.trouble


def test_what_a_new_leader_does_not_have_is_dropped_before_it_was_applied() -> None:
    world = World()
    world.first.write(topic("a"))
    world.first.commit()
    world.first.write(topic("lost"))
    world.first.write(topic("lost-too"))
    world.step(3)
    replace_log(world.second, world.first, 1)
    world.first.is_alive = False
    world.quorum.lead(world.second, 2)
    world.second.write(topic("b"))
    world.second.commit()
    world.step(6)
    assert world.names() == {"a", "b"}
    assert world.observer.replay.image.offset == 1


def test_a_leader_that_lost_what_was_committed_is_not_followed() -> None:
    world = World()
    world.first.write(topic("a"))
    world.first.write(topic("b"))
    world.first.commit()
    world.step(2)
    replace_log(world.second, world.first, 1)
    world.first.is_alive = False
    world.quorum.lead(world.second, 2)
    with pytest.raises(MetadataLogError, match="below offset 2, which is committed"):
        world.step(5)


@pytest.mark.parametrize("piece_size", [1, 7, 1 << 20])
def test_a_snapshot_comes_in_pieces_and_the_log_goes_on(piece_size: int) -> None:
    world = World()
    level = FeatureLevelRecord(name="metadata.version", feature_level=30)
    world.first.snapshot = snapshot_of([level, topic("a")])
    world.first.snapshot_id = (10, 1)
    world.first.piece_size = piece_size
    world.first.write(topic("b"))
    world.first.commit()
    while not world.observer.is_caught_up:
        world.step()
    assert world.names() == {"a", "b"}
    image = world.observer.replay.image
    assert (image.offset, image.epoch) == (10, 1)
    assert image.features == {"metadata.version": 30}


def test_a_snapshot_replaces_all_that_was() -> None:
    world = World()
    world.first.write(topic("gone"))
    world.first.commit()
    world.step(2)
    world.first.batches.clear()
    world.first.snapshot = snapshot_of([topic("a")])
    world.first.snapshot_id = (5, 1)
    world.first.commit()
    world.step(3)
    assert world.names() == {"a"}
    assert world.observer.replay.image.offset == 4


def test_a_snapshot_without_its_footer_is_refused() -> None:
    world = World()
    world.first.snapshot = snapshot_of([topic("a")], has_footer=False)
    world.first.snapshot_id = (5, 1)
    with pytest.raises(MetadataLogError, match="has no footer"):
        world.step(4)
    assert world.names() == set()


def test_a_snapshot_that_is_gone_is_asked_for_no_more() -> None:
    world = World()
    world.first.snapshot = snapshot_of([topic("a")])
    world.first.snapshot_id = (5, 1)
    world.step(2)
    assert isinstance(world.observer.next_question().request, FetchSnapshotRequest)
    world.first.snapshot = snapshot_of([topic("b")])
    world.first.snapshot_id = (9, 1)
    world.first.commit()
    while not world.observer.is_caught_up:
        world.step()
    assert world.names() == {"b"}


def test_a_leader_that_changes_within_a_snapshot_begins_it_anew() -> None:
    world = World()
    for node in world.quorum.nodes:
        node.snapshot, node.snapshot_id = snapshot_of([topic("a")]), (5, 1)
        node.piece_size = 40
        node.commit()
    world.step(3)
    world.quorum.lead(world.second, 2)
    while not world.observer.is_caught_up:
        world.step()
    assert world.observer.leader == world.second.address
    assert world.names() == {"a"}


# A controller of Apache Kafka 4.3.1

RECORDED = json.loads((METADATA_GOLDEN / "controller.json").read_text())
AT = Address("127.0.0.1", 29301)


def recorded(name: str, version: int) -> Any:
    (found,) = [
        each for each in RECORDED if (each["name"], each["version"]) == (name, version)
    ]
    cls = next(each for each in RESPONSES.values() if each.__name__ == found["message"])
    return decode_response(bytes.fromhex(found["answer"]), cls, version)[1]


def test_apache_kafkas_answers_lead_to_its_snapshot() -> None:
    observer = Observer([AT], Replay())
    observer.take(AT, recorded("an epoch that is over", 18))
    assert (observer.leader, observer.leader_epoch) == (AT, 1)
    observer.take(AT, recorded("from offset 0", 18))
    for position in (0, 700, 1400, 2100):
        asked = observer.next_question().request
        assert isinstance(asked, FetchSnapshotRequest)
        assert asked.topics[0].partitions[0].position == position
        observer.take(AT, recorded(f"piece {position}", 1))
    image = observer.replay.image
    assert (image.offset, image.epoch) == (1953, 1)
    assert sorted(image.topic_ids) == ["orders", "pay"]
    assert [each.rack for each in image.brokers.values()] == ["rack-1", "rack-2"]
    assert {each.is_fenced for each in image.brokers.values()} == {False, True}
    assert image.controllers[3000].endpoints[0].port == 29301
    assert [voter.voter_id for voter in image.quorum.voters] == [3000]
    assert image.quorum.kraft_version == 1
    assert image.features["metadata.version"] == 30
    partition = image.topics[image.topic_ids["orders"]].partitions[0]
    assert (partition.leader, partition.isr, partition.replicas) == (1, (1,), (1, 2))


def test_apache_kafkas_refusals() -> None:
    observer = Observer([AT], Replay())
    with pytest.raises(InconsistentClusterId):
        observer.take(AT, recorded("another cluster", 18))
    with pytest.raises(InvalidRequest):
        observer.take(AT, recorded("no last epoch", 18))
    observer.take(AT, recorded("an epoch to come", 18))
    assert observer.next_question().is_retry
    observer.take(AT, recorded("from offset 0", 18))
    observer.take(AT, recorded("a missing snapshot", 1))
    assert isinstance(observer.next_question().request, FetchRequest)


def test_nothing_in_an_answer_is_no_leader() -> None:
    observer = Observer([AT], Replay())
    observer.take(AT, FetchResponse())
    assert observer.next_question().is_retry
