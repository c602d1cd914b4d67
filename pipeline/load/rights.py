"""The rights that a load needs, and what it says when it has them not."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.client.delivery import DeliveryFailed
from odradek.pipeline.job_errors import JobStopped
from odradek.pipeline.security.words import (
    GROUP,
    TOPIC,
    TRANSACTIONAL_ID,
    Need,
    is_final,
    told,
)

from .sent_counts import SparkFailure

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.client.security.settings import Security


def needs_of(job: str, topic: str, group: str, notes: str) -> tuple[Need, ...]:
    """All that a load of that name asks of the brokers."""
    return (
        Need("Describe", TOPIC, topic),
        Need("Write", TOPIC, topic),
        Need("Create", TOPIC, notes),
        Need("DescribeConfigs", TOPIC, notes),
        Need("DescribeConfigs", TOPIC, topic),
        Need("Read", TOPIC, notes),
        Need("Write", TOPIC, notes),
        Need("Write", TRANSACTIONAL_ID, job),
        Need("Describe", GROUP, group),
        Need("Read", GROUP, group),
    )


@contextmanager
def in_words(security: Security | None, needs: tuple[Need, ...]) -> Iterator[None]:
    """What no other try would mend is raised as a `JobStopped` that says what would."""
    try:
        yield
    except Exception as error:
        if (stopped := stopped_by(error, security, needs)) is not None:
            raise stopped from error
        raise


def stopped_by(
    error: Exception, security: Security | None, needs: tuple[Need, ...]
) -> JobStopped | None:
    """What to raise for a refusal that will not change; None for what may pass."""
    refusal = _refusal_of(error)
    if refusal is None:
        return None
    fitting = tuple(need for need in needs if need.name in str(refusal))
    return JobStopped(told(refusal, security, *(fitting or needs)))


def _refusal_of(error: Exception) -> Exception | None:
    """The refusal that an error is, or comes of; None if it may pass."""
    found: Exception | None = error
    if isinstance(error, DeliveryFailed):
        found = type(error.error)(f"{error.place}: {error.error}")
    elif isinstance(error, SparkFailure):
        found = error.refusal
    return found if found is not None and is_final(found) else None
