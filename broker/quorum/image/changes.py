"""What is different between two images: what a broker has to act on, and people read.

A section that both share is not looked at, nor is a topic that both share.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from .image import MetadataImage, TopicImage

# The sections of an image, in the order in which they are compared.
SECTIONS: Final = (
    *("features", "controllers", "brokers", "topics", "options", "quotas"),
    *("credentials", "acls", "tokens"),
)
PARTITIONS: Final = "partitions"


class Change(NamedTuple):
    """One thing: None before, it is new; None after, it is gone.

    A topic with the same partitions is no change, and one whose partitions differ has
    a change for each of these, by topic id and number.
    """

    section: str
    key: Any
    before: Any
    after: Any


def changes(before: MetadataImage, after: MetadataImage) -> Iterator[Change]:
    """What has to be done to ``before`` for it to be ``after``."""
    for section in SECTIONS:
        for change in _changed(
            section, getattr(before, section), getattr(after, section)
        ):
            if section == "topics":
                yield from _of_topic(change)
            else:
                yield change


def _of_topic(change: Change) -> Iterator[Change]:
    before: TopicImage | None = change.before
    after: TopicImage | None = change.after
    if before is None or after is None or before.name != after.name:
        yield change
    old = {} if before is None else before.partitions
    new = {} if after is None else after.partitions
    for partition in _changed(PARTITIONS, old, new):
        yield partition._replace(key=(change.key, partition.key))


def _changed(
    section: str, before: Mapping[Any, Any], after: Mapping[Any, Any]
) -> Iterator[Change]:
    if before is after:
        return
    for key, old in before.items():
        new = after.get(key)
        if new is not old and new != old:
            yield Change(section, key, old, new)
    for key, new in after.items():
        if key not in before:
            yield Change(section, key, None, new)
