"""What goes along when a segment is read: it sees each batch and each damaged range."""

from odradek.protocol.record_batch import BatchHeader


class Watcher:
    """Sees a segment from its beginning to its end; does nothing by itself."""

    def on_batch(self, position: int, header: BatchHeader, batch: memoryview) -> None:
        """A valid batch. ``batch`` are its bytes."""

    def on_damage(self, position: int, end: int) -> None:
        """A range without a valid batch, before the next `on_batch`."""

    def on_end(self, valid_end: int, next_offset: int) -> None:
        """No valid batch follows: it ends at this position, with this offset."""
