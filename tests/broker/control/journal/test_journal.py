"""The ring of calls, and the layer that fills it."""

from pathlib import Path

from tests.fakes.faulty import Faulty, faulty
from tests.fakes.network import settle
from tests.fakes.traced import commit, fetch, produce


def outcomes(broker: Faulty, since: int = 0) -> list[tuple[int, str]]:
    return [(call.number, call.outcome) for call in broker.journal.since(since)]


async def test_calls_are_written_down_while_somebody_wants_it(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        journal = broker.journal
        await broker.send(produce(0))
        assert broker.is_untouched
        assert not journal.is_on
        assert (journal.begin(), journal.begin()) == (0, 0)
        await broker.send(produce(0) * 2 + produce(0, acks=0))
        journal.end()
        assert journal.is_on
        await broker.send(commit())
        journal.end()
        assert broker.is_untouched
        await broker.send(produce(0))
        journal.end()  # one too many
        assert outcomes(broker) == [
            (0, "answered"),
            (1, "answered"),
            (2, "unanswered"),
            (3, "answered"),
        ]
        assert outcomes(broker, since=3) == [(3, "answered")]
        assert outcomes(broker, since=9) == []


async def test_the_ring_has_the_last_ones(tmp_path: Path) -> None:
    """T352"""
    async with faulty(tmp_path, calls_max=3) as broker:
        broker.journal.begin()
        await broker.send(produce(0) * 5)
        assert [number for number, _ in outcomes(broker)] == [2, 3, 4]
        assert broker.journal.first_number == 2
        broker.journal.clear()
        await broker.send(produce(0))
        assert [number for number, _ in outcomes(broker)] == [5]


async def test_the_ring_has_so_many_bytes(tmp_path: Path) -> None:
    size = len(produce(0)) + 60
    async with faulty(tmp_path, bytes_max=3 * size) as broker:
        broker.journal.begin()
        await broker.send(produce(0) * 9)
        assert 2 <= len(broker.journal.calls) <= 3


async def test_calls_stand_in_the_order_of_their_answers(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        await broker.send(fetch(0, max_wait_ms=10_000))
        assert outcomes(broker) == []
        other = broker.connect()
        other.feed(produce(1))
        await settle()
        await broker.broker.clock.tick(20_000)
        apis = [broker.reading.item(call)["api"] for call in broker.journal.calls]
        assert apis == ["Produce", "Fetch"]


async def test_what_rules_do_is_written_down(tmp_path: Path) -> None:
    """Whichever of the two was there first."""
    async with faulty(tmp_path) as broker:
        match = {"api": "Produce", "partition": 1}
        early = broker.arm(match=match, error={"code": "CORRUPT_MESSAGE"})
        broker.journal.begin()
        late = broker.arm(match={"api": "Produce"}, drop={"at": "after"})
        await broker.send(produce(1))
        [call] = broker.journal.calls
        assert list(call.rules) == [early.rule_id]
        assert broker.reading.item(call)["codes"] == ["CORRUPT_MESSAGE"]
        await broker.send(produce(0))
        call = broker.journal.calls[-1]
        assert list(call.rules) == [late.rule_id]
        assert call.outcome == "unanswered"


async def test_what_was_refused_with_a_close_is_written_down(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        broker.journal.begin()
        frame = produce(0)
        await broker.send(frame[:30] + bytes(len(frame) - 30))
        [call] = broker.journal.calls
        assert call.outcome.startswith("failed: ")
        assert broker.reading.item(call)["request"] is None


async def test_who_listens_is_told_of_each(tmp_path: Path) -> None:
    async with faulty(tmp_path) as broker:
        told: list[int] = []

        def listener() -> None:
            told.append(broker.journal.next_number)

        broker.journal.begin()
        broker.journal.listen(listener)
        await broker.send(produce(0) * 2)
        broker.journal.unlisten(listener)
        await broker.send(produce(0))
        assert told == [1, 2]
