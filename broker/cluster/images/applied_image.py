"""The image of the metadata log that is applied here, and how the next one becomes it.

Invariant: of two images the difference is applied, and that again until all of it is.
"""

from __future__ import annotations

import asyncio
import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import KafkaError

from .metadata_log import ReadImage

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.broker.runtime.bugs import Bugs
    from odradek.broker.runtime.clock import Clock

    Apply = Callable[[MetadataImage, MetadataImage], Awaitable[None]]

_logger = logging.getLogger(__name__)

_AGAIN_MS: Final = 1_000
_TRIES: Final = 30  # then others had better do what this broker should


class AppliedImage:
    """What of the metadata log holds here: ``found``."""

    def __init__(self, clock: Clock, bugs: Bugs) -> None:
        self.found = ReadImage()
        self.why_stale = ""  # why the newest one is not applied, if it is not
        self.apply: Apply | None = None
        self._clock = clock
        self._bugs = bugs
        self._changed = asyncio.Event()  # another one for each image
        self._turn = asyncio.Lock()

    def has_unfenced(self, broker_id: int) -> bool:
        """Whether it says that clients may come to that broker."""
        broker = self.found.image.brokers.get(broker_id)
        return broker is not None and not broker.is_fenced

    async def take(self, newer: ReadImage) -> None:
        """Apply an image.

        Raises:
            KafkaError: it could not be kept; or whatever ``apply`` raises.
        """
        assert self.apply is not None
        async with self._turn:
            await self.apply(self.found.image, newer.image)
            self.found = newer
        changed, self._changed = self._changed, asyncio.Event()
        changed.set()

    async def take_at_last(self, newer: ReadImage) -> None:
        """Apply an image, however often that fails, until it may fail for good.

        It is the same one each time: what is done of it already is not to be seen in
        the difference between the image before and a later one.

        Raises:
            StartError: it cannot be applied.
        """
        for _ in range(_TRIES):
            try:
                await self.take(newer)
            except Exception as error:
                if not self.why_stale:
                    _logger.error("what was decided is not applied yet: %s", error)
                    if not isinstance(error, KafkaError):
                        self._bugs.record("what the controllers decided", error)
                self.why_stale = str(error) or repr(error)
            else:
                self.why_stale = ""
                return
            await self._clock.sleep(_AGAIN_MS)
        why = self.why_stale
        raise StartError(f"what the cluster has decided cannot be applied: {why}")

    async def until(
        self, is_there: Callable[[MetadataImage], bool], timeout_ms: int
    ) -> bool:
        """Return when an image is applied that says so, or the time is over."""
        with suppress(TimeoutError):
            async with asyncio.timeout(timeout_ms / 1000):
                while not is_there(self.found.image):
                    await self._changed.wait()
                return True
        return False

    async def end(self, task: asyncio.Task[None]) -> None:
        """Cancel the task that applies, but not in the middle of an image."""
        async with self._turn:
            task.cancel()
        await asyncio.gather(task, return_exceptions=True)
