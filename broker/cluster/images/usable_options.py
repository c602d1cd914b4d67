"""The options of topics, as far as this broker can do what they say.

Controllers have options that are none here, and take values that are refused here; and
a cluster may have some from an earlier version that nobody knows any more. What is left
out here nobody meets who asks the catalogue for the options of a topic.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from odradek.broker.config.topic_config import parse_topic_option
from odradek.protocol.errors import InvalidConfig

if TYPE_CHECKING:
    from collections.abc import Mapping

_logger = logging.getLogger(__name__)


class UsableOptions:
    """Those that can be used; of each of the others there is one line in the log."""

    def __init__(self) -> None:
        self._told: set[tuple[str, str, str]] = set()

    def of_topic(self, topic: str, options: Mapping[str, str]) -> dict[str, str]:
        """What is set for a topic and can be used."""
        usable = {}
        for name, text in options.items():
            try:
                parse_topic_option(name, text)
            except InvalidConfig as error:
                self._tell(topic, name, text, error)
            else:
                usable[name] = text
        return usable

    def _tell(self, topic: str, name: str, text: str, error: InvalidConfig) -> None:
        if (topic, name, text) not in self._told:
            self._told.add((topic, name, text))
            _logger.warning("topic %s: %s=%s is not used: %s", topic, name, text, error)
