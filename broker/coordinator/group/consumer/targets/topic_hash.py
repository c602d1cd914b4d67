"""One number for the topics of a group: another one when they have changed.

Apache Kafka has one of its own for it (XXH3). It is compared only with itself, so that
a group which moves between the two is assigned anew once.
"""

from __future__ import annotations

from hashlib import blake2b
from struct import Struct
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from odradek.broker.metadata.topic_index import TopicIndex

NO_TOPICS = 0
_COUNT = Struct(">i")


def topic_hash(topics: TopicIndex, names: Iterable[str]) -> int:
    """A number, signed, of 64 bits; 0 when there is none of these topics."""
    digest = None
    for name in sorted(names):
        topic = topics.get(name)
        if topic is None:
            continue
        digest = digest or blake2b(digest_size=8)
        digest.update(topic.topic_id)
        digest.update(_COUNT.pack(len(topic.partitions)))
    if digest is None:
        return NO_TOPICS
    return int.from_bytes(digest.digest(), "big", signed=True)
