"""The rights that a load needs on the brokers."""

from __future__ import annotations

from odradek.pipeline.security.words import GROUP, TOPIC, TRANSACTIONAL_ID, Need


def needs_of(job: str, topic: str, group: str, notes: str) -> tuple[Need, ...]:
    """All that a load of that name asks; ``notes`` is the topic of its notes."""
    return (
        *(Need(right, TOPIC, topic) for right in ("Write", "DescribeConfigs")),
        *(Need(right, TOPIC, notes) for right in ("Read", "Write", "Create")),
        Need("DescribeConfigs", TOPIC, notes),
        Need("Write", TRANSACTIONAL_ID, job),
        Need("Read", GROUP, group),
    )
