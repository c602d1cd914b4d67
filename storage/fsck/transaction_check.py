"""The transaction indexes of a partition against the end markers in its log.

A transaction counts as known when its data were seen before its marker. Of such an
aborted one the index must have an entry: consumers would read its records otherwise.
"""

from typing import NamedTuple

from odradek.protocol.control_records import read_marker
from odradek.protocol.errors import KafkaError
from odradek.protocol.record_batch import BatchHeader
from odradek.storage.dump.index_dump import dump_transaction_index
from odradek.storage.dump.row import RowKind
from odradek.storage.files.file_system import File

from .known import Known
from .report import Findings, Place, Severity
from .watcher import Watcher

_CODE = "txnindex"


class _Abort(NamedTuple):
    producer_id: int
    first_offset: int | None  # None: its data were not seen
    marker_offset: int


class TransactionCheck(Watcher):
    """Follows the transactions through all segments of a partition."""

    def __init__(self, known: Known, findings: Findings) -> None:
        self._known = known
        self._findings = findings
        self._ongoing: dict[int, int] = {}
        self._aborts: dict[int, _Abort] = {}
        self._next_offset = -1
        self._has_gap = False
        self._name = ""
        self._index: File | None = None

    def begin(self, name: str, index: File | None) -> None:
        """The next segment, with its ``.txnindex`` if there is one."""
        self._name, self._index = name, index
        self._aborts.clear()
        self._has_gap = False

    def on_batch(self, position: int, header: BatchHeader, batch: memoryview) -> None:
        """Note what begins and what ends."""
        if header.base_offset != self._next_offset >= 0:
            self._has_gap = True
        self._next_offset = header.next_offset
        if not header.is_transactional:
            return
        if not header.is_control:
            self._ongoing.setdefault(header.producer_id, header.base_offset)
            return
        try:
            marker = read_marker(batch)
        except (KafkaError, ValueError) as error:
            message = f"a control batch cannot be read: {error}"
            place = Place(position, position + header.size, header.base_offset)
            self._findings.damage("records", self._log_name, message, place)
            return
        if marker is None:
            return
        first_offset = self._ongoing.pop(header.producer_id, None)
        if not marker.is_commit:
            self._aborts[header.last_offset] = _Abort(
                header.producer_id, first_offset, header.last_offset
            )

    def on_damage(self, position: int, end: int) -> None:
        """Markers and data may have been in there: nothing older is known."""
        self._has_gap = True
        self._ongoing.clear()

    def on_end(self, valid_end: int, next_offset: int) -> None:
        """Compare the index of the segment with its markers."""
        if self._index is not None:
            self._compare(self._index)
        for abort in self._aborts.values():
            if abort.first_offset is None:
                continue
            is_durable = self._known.is_durable(abort.marker_offset)
            self._findings.add(
                Severity.DAMAGE if is_durable else Severity.NOTE,
                _CODE,
                self._name,
                f"no entry for the aborted transaction of producer {abort.producer_id}",
                Place(None, None, abort.first_offset, abort.marker_offset),
            )

    @property
    def _log_name(self) -> str:
        return self._name.replace(".txnindex", ".log")

    def _compare(self, index: File) -> None:
        for row in dump_transaction_index(index):
            fields = row.fields
            if row.kind is RowKind.DAMAGE:
                place = Place(_int(fields["position"]), _int(fields["end"]))
                reason = str(fields["reason"])
                self._findings.damage(_CODE, self._name, reason, place)
            elif row.kind is RowKind.ENTRY:
                self._match(
                    _int(fields["producerId"]),
                    _int(fields["firstOffset"]),
                    _int(fields["lastOffset"]),
                )

    def _match(self, producer_id: int, first_offset: int, last_offset: int) -> None:
        place = Place(None, None, first_offset, last_offset)
        abort = self._aborts.pop(last_offset, None)
        if abort is None or abort.producer_id != producer_id:
            # Compaction removes markers; what is damaged may have been one.
            if not self._has_gap and self._known.is_durable(last_offset):
                message = f"producer {producer_id} aborted nothing at {last_offset}"
                self._findings.damage(_CODE, self._name, message, place)
        elif abort.first_offset not in (None, first_offset):
            message = (
                f"says that a transaction of producer {producer_id} began at"
                f" {first_offset}, in the log it is {abort.first_offset}"
            )
            self._findings.damage(_CODE, self._name, message, place)


def _int(value: object) -> int:
    assert isinstance(value, int)
    return value
