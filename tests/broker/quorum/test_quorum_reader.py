from typing import Any

import pytest

from odradek.broker.quorum.image.replay import Replay
from odradek.broker.quorum.observer import Observer
from odradek.broker.quorum.quorum_reader import QuorumReader
from odradek.client.address import Address
from odradek.client.connection import Connection
from odradek.client.errors import NoAnswer, TlsCause, TlsFailed, Unreachable
from odradek.protocol.membership_records import NoOpRecord
from odradek.protocol.messages.fetch import FetchRequest, FetchResponse
from tests.fakes.controller import FakeQuorum


def reader_of(quorum: FakeQuorum) -> QuorumReader:
    addresses = [node.address for node in quorum.nodes]
    return QuorumReader(
        Observer(addresses, Replay()), quorum.connect, quorum.monotonic, quorum.sleep
    )


def test_it_reads_until_it_has_caught_up() -> None:
    quorum = FakeQuorum()
    leader = quorum.nodes[2]
    quorum.lead(leader, 3)
    leader.write(NoOpRecord())
    leader.commit()
    quorum.nodes[0].is_alive = False
    with reader_of(quorum) as reader:
        reader.catch_up(10)
        assert reader.observer.replay.image.offset == 0
        asked = FetchRequest()
        assert isinstance(reader.observer.leader, Address)
        with pytest.raises(IndexError):  # the fake looks at the topics
            reader.request_leader(asked, FetchResponse)


def test_without_a_majority_it_says_why_when_the_time_is_over() -> None:
    quorum = FakeQuorum()
    quorum.nodes[0].is_alive = quorum.nodes[1].is_alive = False
    start_s = quorum.now_s
    with reader_of(quorum) as reader, pytest.raises(NoAnswer, match="controller-"):
        reader.catch_up(5)
    assert 5 <= quorum.now_s - start_s < 6
    with pytest.raises(Unreachable):
        reader.request_leader(FetchRequest(), FetchResponse)


def test_a_leader_that_ends_in_between_is_looked_for_again() -> None:
    quorum = FakeQuorum()
    first, second, _ = quorum.nodes
    quorum.lead(first, 1)
    first.write(NoOpRecord())
    first.commit()
    with reader_of(quorum) as reader:
        reader.catch_up(10)
        second.batches = list(first.batches)
        first.is_alive = False
        quorum.lead(second, 2)
        second.write(NoOpRecord())
        second.commit()
        while reader.observer.replay.image.offset < 1:
            reader.step()
        assert reader.observer.leader == second.address


def test_a_controller_that_hangs_up_in_the_handshake_is_asked_again() -> None:
    quorum = FakeQuorum()
    quorum.lead(quorum.nodes[0], 1)
    quorum.nodes[0].commit()
    connects: list[Address] = []

    def connect(address: Address) -> Any:
        connects.append(address)
        if len(connects) == 1:
            raise TlsFailed("hung up", cause=TlsCause.HUNG_UP)
        return quorum.connect(address)

    observer = Observer([quorum.nodes[0].address], Replay())
    QuorumReader(observer, connect, quorum.monotonic, quorum.sleep).catch_up(60)
    assert len(connects) > 1


def test_tls_that_cannot_work_is_not_tried_again() -> None:
    quorum = FakeQuorum()

    def connect(_: Address) -> Connection:
        raise TlsFailed("unknown issuer")

    observer = Observer([quorum.nodes[0].address], Replay())
    reader = QuorumReader(observer, connect, quorum.monotonic, quorum.sleep)
    with pytest.raises(TlsFailed):
        reader.catch_up(5)
