"""Answers that are lost, cut off or damaged: T331, T332 and T338 by frames."""

from pathlib import Path

from odradek.protocol.headers import encode_request
from odradek.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from tests.fakes.faulty import faulty
from tests.fakes.network import settle
from tests.fakes.traced import produce

PRODUCE = {"api": "Produce", "topic": "t"}


async def test_dropped_before_nothing_is_done_and_nothing_behind_it(
    tmp_path: Path,
) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match=PRODUCE, when={"skip": 1, "times": 1}, drop={})
        await broker.send(produce(0) * 3)
        assert broker.codes() == [{0: 0}]
        assert broker.end_of(0) == 1
        assert broker.transport.is_closing()
        assert not broker.transport.is_aborted


async def test_dropped_after_it_is_done(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.arm(match=PRODUCE, when={"skip": 1, "times": 1}, drop={"at": "after"})
        await broker.send(produce(0) * 3)
        assert broker.codes() == [{0: 0}]
        assert broker.end_of(0) == 2
        assert broker.transport.is_closing()


async def test_an_answer_is_cut_at_every_byte(tmp_path: Path) -> None:
    """T338: so much of it is sent, and the connection closes."""
    async with faulty(tmp_path) as broker:
        request = MetadataRequest(topics=[MetadataRequestTopic(name="t")])
        asked = encode_request(request, 9, 5, "client")
        await broker.send(asked)
        whole = bytes(broker.transport.sent)
        for size in range(len(whole) + 1):
            transport = broker.connect()
            rule = broker.arm(match={"api": "Metadata"}, truncate={"bytes": size})
            transport.feed(asked)
            await settle()
            broker.rules.clear([rule])
            assert bytes(transport.sent) == whole[:size]
            assert transport.is_closing()


async def test_garbled_are_some_bits_behind_the_head(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        await broker.send(produce(0))
        clean = bytes(broker.transport.sent)
        other = broker.connect()
        broker.arm(match=PRODUCE, garble={"bits": 1, "seed": 3})
        other.feed(produce(0))
        await settle()
        garbled = bytes(other.sent)
        assert garbled[:8] == clean[:8]
        assert len(garbled) == len(clean)
        assert garbled != clean
        assert not other.is_closing()


async def test_with_no_answer_there_is_nothing_to_damage(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        rule = broker.arm(match=PRODUCE, garble={})
        await broker.send(produce(0, acks=0))
        assert (rule.count, broker.end_of(0)) == (1, 1)
        assert not broker.transport.sent
