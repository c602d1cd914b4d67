from pathlib import Path
from typing import Any

from odradek.broker.coordinator.share.state import StateSummary
from odradek.broker.handlers.groups.share_lag import lag_of
from odradek.broker.runtime.parked import Parked
from odradek.protocol.topic_partition import TopicPartition
from tests.broker.handlers.groups.test_share_offsets import T0, T1, client
from tests.fakes.other_brokers import OTHER, FakeOtherBrokers


def test_what_is_not_known_is_no_lag() -> None:
    assert lag_of(StateSummary(1, 1, 4, 2), 10) == 4
    assert lag_of(StateSummary(1, 1, 4, 2), 5) == 0
    assert lag_of(StateSummary(1, 1, 4, 2), None) == -1
    assert lag_of(StateSummary(1, 1, -1, 2), 10) == -1
    assert lag_of(StateSummary(1, 1, 4, -1), 10) == -1


class Elsewhere(FakeOtherBrokers):
    """The other broker says of what it leads that it ends at 10."""

    def end_of(self, broker_id: int, topic_partition: TopicPartition) -> Any:
        assert (broker_id, topic_partition) == (OTHER, T0)
        answer = Parked[int]()
        answer.set_result(10)
        return answer


async def test_how_much_there_is_to_do_is_asked_of_who_leads(tmp_path: Path) -> None:
    async with client(tmp_path) as it:
        await it.move(("t", 0, 4), ("t", 1, 0), ("u", 0, 0))
        others = it.broker.services.other_brokers = Elsewhere()
        others.leaders |= {T0: OTHER, T1: None}
        assert await it.places() == {
            "t": [(0, 4, 6, 0), (1, 0, -1, 0)],
            "u": [(0, 0, 0, 0)],
        }
