"""A stream of bytes cut into frames: a length of four bytes, then as many bytes.

The reader does no I/O: its owner asks where the next bytes go, puts them there, and
says how many they were.

Invariants: a frame that was handed out is never written to again, so its view stays
valid as long as somebody holds it. Memory follows the bytes that came, not the length
that a stranger claims: an unfinished frame has at most twice its bytes (and never less
than 1 KiB), unless this connection has already delivered a frame as large; then it is
trusted with the whole at once. Between frames the reader holds no buffer.
"""

from struct import Struct

from .kafka_error import MalformedRequest

CHUNK_SIZE = 16 << 10
CHUNK_SIZE_MAX = 64 << 10
UNFINISHED_SIZE_MIN = 1 << 10

_LENGTH = Struct(">i")
_NO_BUFFER = memoryview(bytearray())


class FrameReader:
    """Cuts what one connection receives into frames of 1 to ``max_size`` bytes."""

    __slots__ = ("_filled", "_largest", "_refusal", "_view", "max_size")

    def __init__(self, max_size: int) -> None:
        self.max_size = max_size
        self._view = _NO_BUFFER
        self._filled = 0  # bytes of the view that hold the unfinished frame
        self._largest = 0  # the largest frame delivered, its length included
        self._refusal: MalformedRequest | None = None

    @property
    def pending(self) -> int:
        """Bytes here of a frame that is not complete; 0 between frames."""
        return self._filled

    def get_buffer(self) -> memoryview:
        """Where the next bytes go, never empty and writable."""
        if not self._view:
            # Frames as large as those before may come two at a time.
            size = max(CHUNK_SIZE, min(2 * self._largest, CHUNK_SIZE_MAX))
            self._view = memoryview(bytearray(size))
        return self._view[self._filled :] if self._filled else self._view

    def received(self, count: int) -> list[memoryview]:
        """The frames that ``count`` more bytes in the buffer have completed.

        What stands in front of an impossible length is returned all the same, and
        the next call raises; ``received(0)`` asks whether there is such a length.

        Raises:
            MalformedRequest: the next frame is empty, negative or too large.
        """
        if self._refusal is not None:
            raise self._refusal
        view, start, end = self._view, 0, self._filled + count
        frames = []
        size = 0
        while end - start >= 4:
            (size,) = _LENGTH.unpack_from(view, start)
            if not 0 < size <= self.max_size:
                self._refusal = MalformedRequest(
                    f"frame of {size} bytes, limit {self.max_size}"
                )
                break
            stop = start + 4 + size
            if stop > end:
                break
            frames.append(view[start + 4 : stop])
            if stop - start > self._largest:
                self._largest = stop - start
            start, size = stop, 0
        if start == end:  # nothing is unfinished, mostly
            self._filled, self._view = 0, _NO_BUFFER
        else:
            self._keep(start, end, size)
        if self._refusal is not None and not frames:
            raise self._refusal
        return frames

    def _keep(self, start: int, end: int, size: int) -> None:
        """Hold the unfinished frame at ``start``, in a buffer that fits what came.

        ``size`` is 0 as long as its length is not complete.
        """
        self._filled = filled = end - start
        if self._refusal is not None:
            self._view = _NO_BUFFER
            return
        view, room = self._view, max(2 * filled, UNFINISHED_SIZE_MIN)
        is_too_small = end == len(view)
        if size:
            whole = size + 4
            if whole <= room or whole <= self._largest:
                room = whole
                is_too_small = len(view) < whole
        if start or is_too_small or len(view) > room:
            self._view = memoryview(bytearray(room))
            self._view[:filled] = view[start:end]
