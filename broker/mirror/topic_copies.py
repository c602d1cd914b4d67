"""The topics of a mirror: made, widened and given options as the source has them.

A topic is known by its id. One of the same name that is another topic, there or here,
is left alone, and said so.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.config.topic_config import validate_topic_options
from odradek.broker.metadata.topic import NewTopic
from odradek.protocol.errors import InvalidConfig, KafkaError
from odradek.protocol.uuids import to_text

if TYPE_CHECKING:
    from odradek.broker.config.chosen_options import ChosenOptions
    from odradek.broker.config.live_config import LiveConfig
    from odradek.broker.metadata.mirrored_topics import MirroredTopics
    from odradek.broker.metadata.topic import Topic
    from odradek.broker.metadata.topics import Topics

    from .source import SourceTopic, SourceView

_NO_RIGHT = "the mirror's user needs DESCRIBE_CONFIGS on it at the source"

_logger = logging.getLogger(__name__)


class TopicCopies:
    """What there is of topics here. ``troubles``: what is not copied, and why."""

    def __init__(
        self, mirror: str, topics: Topics, mirrored: MirroredTopics, live: LiveConfig
    ) -> None:
        self.troubles: dict[str, str] = {}
        self._mirror = mirror
        self._topics = topics
        self._mirrored = mirrored
        self._live = live
        self._left_out: set[tuple[str, str, str]] = set()

    async def follow(self, view: SourceView) -> list[SourceTopic]:
        """Make of the topics here what the source shows; returns those to copy.

        Raises:
            KafkaStorageError: the catalogue cannot be written.
        """
        troubles: dict[str, str] = {}
        followed = []
        for topic in view.topics.values():
            if topic.topic_id in self._mirrored.promoted:
                continue
            try:
                await self._follow_topic(topic)
            except KafkaError as error:
                troubles[topic.name] = str(error)
                continue
            followed.append(topic)
            if topic.options is None:
                troubles[topic.name] = f"its options are not followed: {_NO_RIGHT}"
        there = {topic.topic_id for topic in view.topics.values()}
        for topic_id in self._mirrored.of(self._mirror) - there:
            gone = self._topics.by_id(topic_id)
            if gone is not None:
                troubles[gone.name] = _where_it_went(gone, view)
        for name, trouble in troubles.items():
            if self.troubles.get(name) != trouble:
                _logger.warning("mirror %s: topic %s: %s", self._mirror, name, trouble)
        self.troubles = troubles
        return followed

    async def _follow_topic(self, wanted: SourceTopic) -> None:
        topic = self._topics.by_id(wanted.topic_id)
        options = self._options(wanted)
        if topic is None:
            if options is None:  # made without them, it might keep too little
                raise KafkaError(_NO_RIGHT)
            await self._make(wanted, options)
            return
        if self._mirrored.followed.get(wanted.topic_id) != self._mirror:
            raise KafkaError("a topic with its id is here, which is not this mirror's")
        if topic.name != wanted.name:
            raise KafkaError(f"it is called {topic.name} here")
        if len(wanted.leaders) > len(topic.partitions):
            widened = {topic.name: len(wanted.leaders)}
            for error in (await self._topics.create_partitions(widened)).values():
                if error is not None:
                    raise error
        if options is not None and topic.options != options:
            await self._topics.alter_options(topic.name, lambda _: options)

    async def _make(self, wanted: SourceTopic, options: ChosenOptions) -> None:
        if self._topics.get(wanted.name) is not None:
            raise KafkaError("a topic of this name is here, which is another one")
        self._topics.check_new_name(wanted.name)
        self._topics.check_new_id(wanted.topic_id)
        if self._mirrored.followed.get(wanted.topic_id) != self._mirror:
            await self._mirrored.begin(wanted.topic_id, self._mirror)
        new = NewTopic(wanted.name, len(wanted.leaders), options, wanted.topic_id)
        (made,) = await self._topics.create_topics([new])
        if isinstance(made, KafkaError):
            raise made
        _logger.info(
            "mirror %s: topic %s, id %s, is copied",
            self._mirror,
            wanted.name,
            to_text(wanted.topic_id),
        )

    def _options(self, wanted: SourceTopic) -> ChosenOptions | None:
        """Those that a topic can have here; the others are said once."""
        if wanted.options is None:
            return None
        config = self._live.current
        kept: dict[str, str] = {}
        for name, value in wanted.options.items():
            try:
                validate_topic_options({name: value}, config)
            except InvalidConfig as error:
                self._note_left_out(wanted.name, name, value, error)
            else:
                kept[name] = value
        return validate_topic_options(kept, config)

    def _note_left_out(
        self, topic: str, name: str, value: str, error: InvalidConfig
    ) -> None:
        left_out = topic, name, value
        if left_out not in self._left_out:
            self._left_out.add(left_out)
            _logger.warning(
                "mirror %s: topic %s: %s=%s is left out: %s",
                self._mirror,
                topic,
                name,
                value,
                error,
            )


def _where_it_went(gone: Topic, view: SourceView) -> str:
    if gone.name in view.topics:
        other = to_text(view.topics[gone.name].topic_id)
        return (
            f"the source has another topic of this name, with the id {other}; this one "
            "stays as it is until it is promoted, and deleted if the other is wanted"
        )
    return (
        "the source has it no more, or does not show it to the mirror's user any more;"
        " this one stays as it is until it is promoted, or is there again"
    )
