"""Jobs that brokers refuse end at once, and say what they lack."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.client.delivery import DeliveryFailed
from odradek.pipeline.job_errors import JobStopped

from .words import is_final, told

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from odradek.client.security.settings import Security

    from .words import Need


@contextmanager
def stopping(security: Security | None, needs: Sequence[Need]) -> Iterator[None]:
    """What no other try would mend is raised as a `JobStopped` that says what would."""
    try:
        yield
    except Exception as error:
        if (stopped := stopped_by(error, security, needs)) is not None:
            raise stopped from error
        raise


def stopped_by(
    error: Exception, security: Security | None, needs: Sequence[Need]
) -> JobStopped | None:
    """What to raise for a refusal that will not change; None for what may pass."""
    refusal = refusal_of(error)
    if refusal is None:
        return None
    fitting = [need for need in needs if need.name in str(refusal)]
    return JobStopped(told(refusal, security, *(fitting or needs)))


def refusal_of(error: Exception) -> Exception | None:
    """The refusal that an error is, or comes of; None if it may pass."""
    if isinstance(error, DeliveryFailed):
        error = type(error.error)(f"{error.place}: {error.error}")
    return error if is_final(error) else None
