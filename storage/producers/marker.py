"""The markers that end transactions, as they lie in a log."""

import logging
from typing import TYPE_CHECKING, NamedTuple

from odradek.protocol.control_records import EndTxnMarker, read_marker
from odradek.protocol.errors import CorruptMessage, InvalidRecord
from odradek.storage.files.files import Buffer

if TYPE_CHECKING:
    from odradek.protocol.record_batch import BatchHeader

_log = logging.getLogger(__name__)


class BuiltMarker(NamedTuple):
    """What the batch of an end marker says that its coordinator built just now."""

    producer_id: int
    producer_epoch: int
    is_commit: bool
    coordinator_epoch: int
    transaction_version: int


def read_written_marker(header: "BatchHeader", batch: Buffer) -> EndTxnMarker | None:
    """The marker in a control batch of the log, which may make no sense."""
    try:
        return read_marker(batch)
    except (CorruptMessage, InvalidRecord) as error:
        _log.warning(
            "the control batch of producer %d at offset %d ends no transaction: %s",
            header.producer_id,
            header.base_offset,
            error,
        )
        return None
