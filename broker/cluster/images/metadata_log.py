"""The controllers' log, as a broker of their cluster reads it: in a thread.

It is read on whatever becomes of its images: who leads the quorum must be known also
while one of them is applied, or cannot be. The newest image is kept for whoever applies
them; it may be some images further than the one before.
"""

from __future__ import annotations

import logging
from contextlib import suppress
from typing import TYPE_CHECKING, Final, NamedTuple

from odradek.broker.quorum.image.error import MetadataLogError
from odradek.broker.quorum.image.image import EMPTY
from odradek.broker.quorum.image.replay import NO_TIMESTAMP, Replay
from odradek.broker.quorum.observer import Identity, Observer
from odradek.broker.quorum.quorum_reader import QuorumReader
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.broker.runtime.start_error import StartError
from odradek.protocol.errors import InconsistentClusterId, KafkaError, MalformedRequest
from odradek.protocol.messages.fetch import FetchResponse

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

    from odradek.broker.quorum.image.image import MetadataImage
    from odradek.client.address import Address
    from odradek.client.connection import Connection

_ADVICE: Final = "start this broker with empty directories (log.dirs)"

_logger = logging.getLogger(__name__)


class ReadImage(NamedTuple):
    """An image, and the time of the last record of it."""

    image: MetadataImage = EMPTY
    timestamp_ms: int = NO_TIMESTAMP


class LogPosition(NamedTuple):
    """A place in the metadata log: an offset, and the leader epoch there."""

    epoch: int
    offset: int

    @classmethod
    def of(cls, image: MetadataImage) -> LogPosition:
        """How far an image is."""
        return cls(image.epoch, image.offset)


NOWHERE: Final = LogPosition(-1, -1)


class MetadataLog:
    """Reads the log. ``newest`` is how far it is."""

    def __init__(
        self,
        controllers: list[Address],
        cluster_id: str,
        connect: Callable[[Address], Connection],
    ) -> None:
        self.newest = ReadImage()
        self.trouble = ""  # why it is not read, if it is not
        self.controllers = controllers
        self._cluster_id = cluster_id
        # Nobody, until we know that no controller has our id: it would be taken for it.
        nobody = Identity(cluster_id=cluster_id)
        self._observer = Observer(controllers, Replay(), nobody)
        self._reader = QuorumReader(self._observer, connect)
        self._thread = DiskThreads(1, "metadata log")

    @property
    def leader(self) -> Address | None:
        """Where the controller listens that leads, while it is known."""
        return self._observer.leader

    async def catch_up(self, timeout_ms: int) -> None:
        """Read all that is committed by now.

        Raises:
            StartError: it cannot be read; it says why.
        """
        every = ", ".join(map(str, self.controllers))
        try:
            await self._thread.run(self._reader.catch_up, timeout_ms / 1000)
        except InconsistentClusterId as error:
            raise StartError(
                f"the controllers at {every} are of another cluster than"
                f" {self._cluster_id}, which is this broker's"
            ) from error
        except (OSError, KafkaError, MetadataLogError, MalformedRequest) as error:
            raise StartError(
                f"the controllers at {every} cannot be followed: {error}"
            ) from error
        self._note()

    def why_behind(self, known: LogPosition) -> str:
        """Why this is not the log that was read to there; nothing if it may be."""
        image = self.newest.image
        if image.epoch >= known.epoch and image.offset >= known.offset:
            return ""
        return (
            "the metadata log of the controllers is older than what this broker has"
            f" applied: it ends at offset {image.offset} of epoch {image.epoch}, and"
            f" here it was read to offset {known.offset} of epoch {known.epoch}; if"
            f" they were made anew, or restored from a copy, {_ADVICE}"
        )

    async def see_that_it_has(self, known: LogPosition) -> None:
        """See that this is not another log, which has grown past what was read before.

        Whether it is nobody says of what only a snapshot has, or without an answer; and
        `why_behind` does, of one that is older.

        Raises:
            StartError: it is another one.
        """
        if known == NOWHERE or self.why_behind(known):
            return
        request = self._observer.fetch_at(known.offset + 1, known.epoch)
        with suppress(OSError, KafkaError, MalformedRequest):
            response = await self._thread.run(
                self._reader.request_leader, request, FetchResponse
            )
            for topic in response.responses:
                for each in topic.partitions:
                    if not each.error_code and each.diverging_epoch.end_offset >= 0:
                        raise StartError(
                            "the controllers have another metadata log than the one"
                            " that this broker has applied, which had epoch"
                            f" {known.epoch} at offset {known.offset}; if they were"
                            f" restored from a copy, {_ADVICE}"
                        )

    def identify(self, node_id: int, directory_id: bytes) -> None:
        """Read from now on as this node of the cluster."""
        identity = Identity(node_id, directory_id, self._cluster_id)
        self._observer.identify(identity)

    async def follow(self, on_step: Callable[[], object]) -> NoReturn:
        """Read on; ``on_step`` is called after each answer.

        Raises:
            MetadataLogError, InconsistentClusterId: it cannot be followed any more.
        """
        while True:
            await self._step()
            on_step()

    def close(self) -> None:
        """Read nothing any more; nobody waits for what is still asked."""
        self._thread.submit(self._reader.close, lambda _, __: None)
        self._thread.close(waits=False)

    async def _step(self) -> None:
        """Ask once. What would have been in the way of joining may pass by now."""
        try:
            await self._thread.run(self._reader.step)
        except InconsistentClusterId:
            raise
        except (KafkaError, OSError, MalformedRequest) as error:
            self._observer.lost(str(error) or repr(error))
        self._note()
        trouble = self._observer.trouble
        if trouble and not self.trouble:
            _logger.warning("the metadata log is not read: %s", trouble)
        elif self.trouble and not trouble:
            _logger.info("the metadata log is read again")
        self.trouble = trouble

    def _note(self) -> None:
        replay = self._observer.replay
        if replay.image is not self.newest.image:
            self.newest = ReadImage(replay.image, replay.timestamp_ms)
