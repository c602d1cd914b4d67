"""Where a partition begins whatever crashes: what was deleted for good."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.protocol.errors import KafkaError, KafkaStorageError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.storage.log.unified_log import UnifiedLog


class DurableLogStart:
    """The log start as the checkpoint has it. No crash brings back what is below."""

    __slots__ = ("_error", "offset")

    def __init__(self) -> None:
        self.offset = 0
        self._error: KafkaError | None = None

    def raise_to(self, offset: int) -> None:
        """The checkpoint with this log start, or with a later one, is durable."""
        self.offset = max(offset, self.offset)

    @contextmanager
    def failing(self, error: KafkaError) -> Iterator[None]:
        """The checkpoint could not be written: within, `check` says so."""
        self._error = error
        try:
            yield
        finally:
            self._error = None

    def check(self, log: UnifiedLog | None) -> None:
        """See that a log start of ``log`` that is not durable yet may still become so.

        Raises:
            KafkaError: it will not.
        """
        error = self._error
        if error is None and log is not None and log.is_failed:
            error = KafkaStorageError("the log has failed")
        if error is not None:
            raise type(error)(str(error))
