from typing import NamedTuple

from odradek.pipeline.records.committed_filter import CommittedFilter
from odradek.pipeline.records.sound_batches import SoundBatches, SoundWalk
from odradek.pipeline.segments.planning import AbortedRange
from odradek.protocol.control_records import (
    ControlType,
    EndTxnMarker,
    build_marker_batch,
)
from odradek.protocol.record_batch import restamp_crc
from odradek.protocol.records import NewRecord, build_batch
from tests.pipeline.walks import PLACE
from tests.protocol.walked_batches import laid_out

ABORT, COMMIT = ControlType.ABORT, ControlType.COMMIT


class Step(NamedTuple):
    producer: int
    end: ControlType | None = None


def run_of(*steps: Step) -> SoundBatches:
    made = []
    for producer, end in steps:
        if end is not None:
            made.append(build_marker_batch(EndTxnMarker(end, 0), producer, 0, 5))
            continue
        made.append(
            build_batch(
                [NewRecord(b"k", b"v")],
                producer_id=producer,
                is_transactional=producer >= 0,
            )
        )
    (found,) = SoundWalk(PLACE, "log").piece(memoryview(laid_out(made)))
    assert isinstance(found, SoundBatches)
    return found


def passed(aborted: list[AbortedRange], *steps: Step) -> list[int]:
    passes = CommittedFilter(aborted).passes(run_of(*steps))
    return [place for place, is_passed in enumerate(passes) if is_passed]


def test_without_aborted_ones_everything_passes() -> None:
    assert passed([], Step(1), Step(1, COMMIT), Step(-1)) == [0, 1, 2]


def test_a_transaction_is_aborted_from_its_first_offset_to_its_marker() -> None:
    steps = Step(1), Step(1, COMMIT), Step(1), Step(2), Step(1), Step(1, ABORT), Step(1)
    assert passed([AbortedRange(1, 2)], *steps) == [0, 1, 3, 5, 6]


def test_two_of_one_producer_and_their_order_and_repetition() -> None:
    steps = Step(1), Step(1, ABORT), Step(1), Step(1, COMMIT), Step(1), Step(1, ABORT)
    aborted = [AbortedRange(1, 4), AbortedRange(1, 0), AbortedRange(1, 4)]
    assert passed(aborted, *steps) == [1, 2, 3, 5]


def test_records_without_a_transaction_pass_even_of_that_producer() -> None:
    assert passed([AbortedRange(-1, 0), AbortedRange(3, 0)], Step(-1), Step(3)) == [0]


def test_what_is_aborted_goes_on_from_run_to_run() -> None:
    made = CommittedFilter([AbortedRange(1, 0)])
    assert made.passes(run_of(Step(1))).tolist() == [False]
    assert made.passes(run_of(Step(1), Step(1, ABORT), Step(1))).tolist() == [
        False,
        True,
        True,
    ]


def test_a_marker_that_cannot_be_read_ends_nothing() -> None:
    marker = build_marker_batch(EndTxnMarker(ABORT, 0), 1, 0, 5)
    marker[68] ^= 0x80  # its key's version
    restamp_crc(marker)
    data = laid_out(
        [build_batch([NewRecord()], producer_id=1, is_transactional=True), marker]
    )
    (run,) = SoundWalk(PLACE, "log").piece(memoryview(data))
    assert isinstance(run, SoundBatches)
    made = CommittedFilter([AbortedRange(1, 0)])
    assert made.passes(run).tolist() == [False, True]
    assert made.passes(run_of(Step(1))).tolist() == [False]
