"""The topics that applications of Kafka Streams need for themselves, made for them.

They are made beside the heartbeats that miss them: the next one finds them. Why one
could not be made is told to the members for a while.
"""

from __future__ import annotations

import asyncio
import logging
from typing import TYPE_CHECKING

from odradek.broker.metadata.topic_creation import (
    USE_DEFAULT,
    WantedTopic,
    check_wanted,
)
from odradek.protocol.errors import KafkaError, PolicyViolation, TopicAlreadyExists

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from odradek.broker.config.options.broker_config import BrokerConfig
    from odradek.broker.coordinator.group.state.streams.topology import InternalTopic
    from odradek.broker.metadata.topic import NewTopic
    from odradek.broker.metadata.topics import Topics
    from odradek.broker.runtime.clock import Clock

    Made = Callable[[Sequence[NewTopic]], object]

_logger = logging.getLogger(__name__)


class InternalTopics:
    """Makes topics; each of them once at a time."""

    def __init__(
        self, topics: Topics, clock: Clock, config_of: Callable[[], BrokerConfig]
    ) -> None:
        self._topics = topics
        self._clock = clock
        self._config_of = config_of
        self._under_way: set[str] = set()
        self._refusals: dict[str, tuple[str, int]] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def make(
        self, wanted: Iterable[InternalTopic], told_for_ms: int, then: Made
    ) -> None:
        """Begin to make topics; ``then`` is given those that were made.

        Why others were not is told for ``told_for_ms``.
        """
        new = [each for each in wanted if each.name not in self._under_way]
        if not new:
            return
        self._under_way.update(each.name for each in new)
        task = asyncio.get_running_loop().create_task(
            self._make(new, told_for_ms, then), name="make topics of Kafka Streams"
        )
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def refusals(self, wanted: Iterable[InternalTopic]) -> dict[str, str]:
        """Why topics were not made, by their names, as far as that is not long ago."""
        now_ms = self._clock.monotonic_ms()
        for name in [
            name for name, (_, until_ms) in self._refusals.items() if until_ms <= now_ms
        ]:
            del self._refusals[name]
        return {
            each.name: self._refusals[each.name][0]
            for each in wanted
            if each.name in self._refusals
        }

    async def close(self) -> None:
        """Wait for what has been begun."""
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _make(
        self, wanted: Sequence[InternalTopic], told_for_ms: int, then: Made
    ) -> None:
        errors: dict[str, str] = {}
        try:
            possible = self._possible(wanted, errors)
            results = await self._topics.create_topics(possible)
            made = []
            for new, result in zip(possible, results, strict=True):
                if not isinstance(result, KafkaError):
                    made.append(new)
                elif not isinstance(result, TopicAlreadyExists):
                    errors[new.name] = str(result)
            then(made)
        except KafkaError as error:
            errors.update((each.name, str(error)) for each in wanted)
        finally:
            self._under_way.difference_update(each.name for each in wanted)
        until_ms = self._clock.monotonic_ms() + told_for_ms
        for name, why in errors.items():
            _logger.warning("topic %s is not made for Kafka Streams: %s", name, why)
            self._refusals[name] = why, until_ms
        for each in wanted:
            if each.name not in errors:
                self._refusals.pop(each.name, None)

    def _possible(
        self, wanted: Sequence[InternalTopic], errors: dict[str, str]
    ) -> list[NewTopic]:
        config, possible = self._config_of(), []
        left = config.create_topics_max_partitions
        for each in wanted:
            try:
                new = check_wanted(_described(each), config)
                if new.partition_count > left:
                    raise PolicyViolation(
                        "Excessively large number of partitions per request: at most "
                        f"{config.create_topics_max_partitions} "
                        "(create.topics.max.partitions)."
                    )
                left -= new.partition_count
                possible.append(new)
            except KafkaError as error:
                errors[each.name] = str(error)
        return possible


def _described(topic: InternalTopic) -> WantedTopic:
    return WantedTopic(
        topic.name,
        topic.partitions,
        topic.replication_factor or USE_DEFAULT,
        [],
        dict(topic.configs),
    )
