"""Which bytes of a segment were compared with their checksums since it was opened."""

from protocol.errors import CorruptMessage
from protocol.record_batch import check_crc, scan

from .files import Buffer


class BatchVerification:
    """Checks the batches of a file once, when they are first read.

    Bytes from ``trusted_from`` on were appended by this process. Below, one run of
    verified bytes is remembered; readers mostly go forward, so it grows with them.
    """

    def __init__(self, size: int) -> None:
        self.trusted_from = size
        self._run_start = 0
        self._run_end = 0

    def trust(self, start: int) -> None:
        """Take everything from ``start`` on as verified: recovery has read it."""
        self.trusted_from = min(self.trusted_from, start)

    def check(self, data: Buffer, position: int) -> Buffer:
        """What of ``data``, read at ``position``, may be handed out.

        It ends before a damaged batch that is not the first.

        Raises:
            CorruptMessage: the first batch does not match its checksum.
        """
        view = memoryview(data)
        checked = 0
        try:
            for at, header in scan(view):
                start = position + at
                if start >= self.trusted_from:
                    break
                if not self._is_verified(start, start + header.size) and not check_crc(
                    view[at:], header
                ):
                    raise CorruptMessage("a batch does not match its checksum")
                checked = at + header.size
        except CorruptMessage as error:
            if not checked:
                raise CorruptMessage(f"position {position}: {error}") from error
            view = view[:checked]
        self._remember(position, position + checked)
        return view

    def _is_verified(self, start: int, end: int) -> bool:
        return self._run_start <= start and end <= self._run_end

    def _remember(self, start: int, end: int) -> None:
        if self._run_start <= start <= self._run_end:
            self._run_end = max(self._run_end, end)
        elif end > start:
            self._run_start, self._run_end = start, end
        if self._run_end >= self.trusted_from:
            self.trusted_from = min(self.trusted_from, self._run_start)
