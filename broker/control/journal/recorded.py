"""One call in the journal: as bytes until somebody asks for it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from odradek.broker.control.answers import Raw
from odradek.broker.requests.registry import NO_RESPONSE

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.requests.context import ConnectionInfo

# What is larger is held as it came, until it is made small.
WHOLE_SIZE_MAX = 16 << 10
SMALL_SIZE = 2 << 10
ANSWERED, UNANSWERED = "answered", "unanswered"


class Recorded:
    """A call; ``size`` is what it takes in the journal.

    ``request`` is the frame, and ``answer`` what a handler returns; with ``is_framed``
    bytes are the whole frame. Of one that ``is_large`` both are held as they came.
    """

    __slots__ = (
        "answer",
        "began_s",
        "connection",
        "elapsed_s",
        "ended_ms",
        "is_framed",
        "is_large",
        "number",
        "outcome",
        "request",
        "request_size",
        "rules",
        "size",
        "small",
    )

    answer: Any
    elapsed_s: float
    ended_ms: int
    number: int

    def __init__(
        self, connection: ConnectionInfo, frame: memoryview, began_s: float
    ) -> None:
        self.connection = connection
        self.began_s = began_s
        self.is_framed = False
        self.outcome = ANSWERED
        self.rules: Sequence[int] = ()
        self.request_size = self.size = size = len(frame)
        self.is_large = size > WHOLE_SIZE_MAX
        self.request: Any = frame if self.is_large else bytes(frame)
        self.small: Any = None  # what is left of one that was large

    def take(self, answer: Any) -> None:
        """Here is the answer; None: there is none."""
        kind, size = type(answer), 0
        if kind is bytes:
            size = len(answer)
        elif kind is list:
            for part in answer:
                size += len(part)
            if size <= WHOLE_SIZE_MAX:
                answer = b"".join(answer)
        elif kind is Raw:
            size = len(answer.data)
        elif answer is NO_RESPONSE:
            self.outcome = UNANSWERED
        self.answer = answer
        self.size += size
        if size > WHOLE_SIZE_MAX:
            self.is_large = True

    def make_small(self, small: Any) -> None:
        """Hold no more than this."""
        self.small, self.request, self.answer = small, None, None
        self.size = SMALL_SIZE
