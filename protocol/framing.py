"""A stream of bytes cut into frames: a length of four bytes, then as many bytes.

The reader does no I/O: its owner asks where the next bytes go, puts them there, and
says how many they were.

Invariants: a frame that was handed out is never written to again, so its view stays
valid as long as somebody holds it. Memory follows the bytes that came, not the length
that a stranger claims: an unfinished frame has at most twice its bytes (and never less
than 1 KiB), unless this connection has already delivered a frame as large, and there
is memory to spare; then it is trusted with the whole at once. Between frames the reader
holds no buffer.
"""

from collections.abc import Callable
from struct import Struct

from .kafka_error import FrameTooLarge, MalformedRequest

CHUNK_SIZE = 16 << 10
CHUNK_SIZE_MAX = 128 << 10
UNFINISHED_SIZE_MIN = 1 << 10
BEGINNING_SIZE_MAX = 256

_LENGTH = Struct(">i")
_NO_BUFFER = memoryview(bytearray())


class ReceiveChunk:
    """Memory into which many readers receive, one behind the other.

    A reader gets what is ``left``, and takes as much of it as whole frames came: small
    requests of all connections share a buffer, instead of one of 16 KiB for each. When
    it is full and nobody holds a frame in it any more, it is filled again.
    Between a reader's ``get_buffer`` and its ``received`` no other may ask; the event
    loop makes a receive of one socket in one go.
    """

    __slots__ = ("_memory", "left")

    def __init__(self) -> None:
        self._memory = bytearray()
        self.left = _NO_BUFFER

    def get_room(self, size: int) -> memoryview:
        """At least ``size`` bytes; the same again until some of them are taken."""
        if len(self.left) < size:
            self.left = _NO_BUFFER
            if not self._is_free():
                self._memory = bytearray(CHUNK_SIZE_MAX)
            self.left = memoryview(self._memory)
        return self.left

    def _is_free(self) -> bool:
        """Whether there is memory, and nobody holds a view of it any more.

        A bytearray refuses to become shorter while there is a view. New memory is
        cleared first, and not in the cache: a quarter of all that a Produce of 16 KB
        took.
        """
        try:
            self._memory.pop()
        except (BufferError, IndexError):
            return False
        self._memory.append(0)
        return True


def _always(size: int) -> bool:
    """There is memory to spare: for readers that nobody limits."""
    return True


class FrameReader:
    """Cuts what one connection receives into frames of 1 to ``max_size`` bytes.

    Where frames may be empty ``size_min`` is 0; both may change between frames.
    ``pending`` are the bytes here of a frame that is not complete; 0 between frames.
    ``has_room`` says whether there is memory to spare for so many bytes that have yet
    to come.
    """

    __slots__ = (
        "_chunk",
        "_has_room",
        "_largest",
        "_refusal",
        "_room",
        "_view",
        "max_size",
        "pending",
        "size_min",
    )

    def __init__(
        self,
        max_size: int,
        chunk: ReceiveChunk | None = None,
        has_room: Callable[[int], bool] = _always,
    ) -> None:
        self.max_size = max_size
        self.size_min = 1
        self._chunk = chunk or ReceiveChunk()
        self._has_room = has_room
        self._view = _NO_BUFFER  # of an unfinished frame, in a buffer of its own
        self.pending = 0
        self._largest = 0  # the largest frame delivered, its length included
        self._room = CHUNK_SIZE  # to receive into, between frames
        # No error: that would hold this reader, and all that it has received.
        self._refusal: tuple[type[MalformedRequest], str, bytes] | None = None

    @property
    def held(self) -> int:
        """How large the buffer of an unfinished frame is."""
        return len(self._view)

    @property
    def refused(self) -> bytes:
        """How what was refused begins, its length included; empty: nothing was."""
        return b"" if self._refusal is None else self._refusal[2]

    def close(self) -> None:
        """Let go of what has come of a frame: nothing more will."""
        self._view, self.pending = _NO_BUFFER, 0

    def get_buffer(self) -> memoryview:
        """Where the next bytes go, never empty and writable."""
        if self.pending:
            return self._view[self.pending :]
        chunk = self._chunk
        if len(chunk.left) >= self._room:  # mostly: that is seen without a call
            return chunk.left
        return chunk.get_room(self._room)  # while nobody here holds a view of it

    def received(self, count: int) -> list[memoryview]:
        """The frames that ``count`` more bytes in the buffer have completed.

        What stands in front of an impossible length is returned all the same, and
        the next call raises; ``received(0)`` asks whether there is such a length.

        Raises:
            MalformedRequest: the next frame is empty or negative.
            FrameTooLarge: it is too large.
        """
        if self._refusal is not None:
            raise self._refused()
        filled = self.pending
        view = self._view if filled else self._chunk.left
        frames = []
        start, end, size, largest = 0, filled + count, 0, self._largest
        while end - start >= 4:
            (size,) = _LENGTH.unpack_from(view, start)
            if not self.size_min <= size <= self.max_size:
                refuse = FrameTooLarge if size > 0 else MalformedRequest
                reason = f"frame of {size} bytes, limit {self.max_size}"
                beginning = bytes(view[start : min(end, start + BEGINNING_SIZE_MAX)])
                self._refusal = refuse, reason, beginning
                break
            stop = start + 4 + size
            if stop > end:
                break
            frames.append(view[start + 4 : stop])
            if stop - start > largest:
                largest = stop - start
            start, size = stop, 0
        if largest > self._largest:
            self._largest = largest
            # As large ones may come two at a time.
            self._room = max(CHUNK_SIZE, min(2 * largest, CHUNK_SIZE_MAX))
        if not filled:
            self._chunk.left = view[start:]  # what is before is nobody else's
        if start == end:  # nothing is unfinished, mostly
            self.pending, self._view = 0, _NO_BUFFER
        else:
            self._keep(view, start, end, size)
        if self._refusal is not None and not frames:
            raise self._refused()
        return frames

    def _refused(self) -> MalformedRequest:
        assert self._refusal is not None
        refuse, message, _ = self._refusal
        return refuse(message)

    def _keep(self, view: memoryview, start: int, end: int, size: int) -> None:
        """Hold the unfinished frame at ``start``, in a buffer that fits what came.

        ``size`` is 0 as long as its length is not complete.
        """
        is_own = self.pending > 0 and not start  # holds this frame, and it alone
        self.pending = filled = end - start
        if self._refusal is not None:
            self._view = _NO_BUFFER
            return
        room = max(2 * filled, UNFINISHED_SIZE_MIN)
        is_too_small = end == len(view)
        if size:
            whole = size + 4
            if is_own and len(view) == whole:
                return
            if whole <= room or (whole <= self._largest and self._has_room(whole)):
                room = whole
                is_too_small = len(view) < whole
        if not is_own or is_too_small or len(view) > room:
            self._view = memoryview(bytearray(room))
            self._view[:filled] = view[start:end]
