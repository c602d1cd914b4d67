"""Produce that is refused beside a transaction: nobody has to be asked for that."""

from pathlib import Path

from odradek.protocol.errors import ErrorCode
from tests.broker.handlers.verification_rig import T0, data, produce, rig
from tests.fakes.replicas import batch_of, marker_of


async def test_t095_a_plain_batch_in_an_open_transaction_is_refused(
    tmp_path: Path,
) -> None:
    async with rig(tmp_path) as it:
        await it.codes(produce((T0, data())))
        plain = batch_of(b"v", producer_id=7, producer_epoch=0, base_sequence=1)
        assert await it.codes(produce((T0, plain), transactional_id=None)) == {0: 48}
        assert it.end_offset() == 1


async def test_t014_markers_are_not_for_clients(tmp_path: Path) -> None:
    async with rig(tmp_path) as it:
        for version in (11, 12):
            asked = produce((T0, marker_of(7, commits=True)))
            assert await it.codes(asked, version) == {0: ErrorCode.INVALID_RECORD}
        assert it.end_offset() == 0
