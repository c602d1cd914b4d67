"""What is told of mirrors: how far each partition is, and what is wrong."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exposition import Family, counter, gauge, labels

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.requests.services import Services


def mirror_families(services: Services) -> Iterator[Family]:
    """The families of all mirrors; while there are none, nothing is loaded."""
    lag = gauge(
        "odradek_mirror_lag",
        "Offsets that the source of a mirror showed, and that cannot be read here yet.",
    )
    copied = counter(
        "odradek_mirror_copied_bytes_total", "Bytes of batches that were copied."
    )
    troubled = gauge(
        "odradek_mirror_troubled_partitions",
        "Partitions of a mirror that are not copied at the moment.",
    )
    looked = gauge(
        "odradek_mirror_source_answers",
        "Whether the source of a mirror answered when it was asked last.",
    )
    for mirror in services.mirrors_in_use or ():
        name = mirror.settings.name
        count = 0
        for (topic, partition), copy in mirror.copies.items():
            text = labels(mirror=name, topic=topic, partition=partition)
            lag.add(copy.lag, text)
            copied.add(copy.copied_bytes, text)
            count += bool(copy.trouble or copy.stop_reason)
        troubled.add(count, labels(mirror=name))
        answers = mirror.has_looked and mirror.trouble is None
        looked.add(int(answers), labels(mirror=name))
    yield from (lag, copied, troubled, looked)
