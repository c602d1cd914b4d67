"""What is said of a station, and who wakes whom."""

import inspect

from odradek.broker.operate.tracing.stations import Moment, woken_by
from odradek.broker.replica.waiting.purgatory import DelayedOperation, Purgatory
from tests.fakes.clock import FakeClock


class Waking(DelayedOperation[str]):
    """Notes who has completed it."""

    def __init__(self) -> None:
        super().__init__()
        self.said = ""

    def try_complete(self) -> bool:
        return self.force_complete()

    def try_complete_for(self, key: str) -> bool:
        return self.force_complete()

    def on_complete(self) -> None:
        frame = inspect.currentframe()
        assert frame is not None
        self.said = woken_by(frame)


def test_the_nearest_reason_that_is_known() -> None:
    clock = FakeClock()
    purgatory: Purgatory[str] = Purgatory("test", clock)
    late, asked = Waking(), Waking()
    purgatory.watch(late, ("a",), 100)
    purgatory.watch(asked, ("b",), 100)
    purgatory.check("b")
    clock.advance(200)
    assert late.said == "the end of its time"
    assert asked.said == "whoever had it"


def test_a_moment_has_the_variables_of_its_function() -> None:
    def function(number: int) -> Moment:
        frame = inspect.currentframe()
        assert frame is not None
        return Moment(frame, "value")

    moment = function(7)
    assert (moment["number"], moment.value) == (7, "value")
