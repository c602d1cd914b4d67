"""Whether the broker is ready: a produce to it would succeed now."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.requests.services import Services


def why_not_ready(services: Services, listeners: Sequence[Listener]) -> list[str]:
    """What stands in the way, a line each; nothing when it is ready."""
    reasons = []
    if not any(listener.is_accepting for listener in listeners):
        reasons.append("no listener is open: it is starting or stopping")
    failure = services.metadata.catalog_failure
    if failure is not None:
        reasons.append(f"the catalogue has failed: {failure}")
    if services.cluster is not None:
        reasons += services.cluster.standing.why_not_ready()
    failures = services.committer.failures
    for each in services.log_manager.directories:
        error = failures.get(each.path) or each.failure
        if error is not None:
            reasons.append(f"{each.path} takes no writes: {error}")
    free_space = services.replica_manager.appends.free_space
    free_space.sample_if_due(services.clock.now_ms())
    minimum = services.config.log_min_free_bytes
    reasons += [
        f"{directory} has less than {minimum} bytes free"
        for directory in sorted(free_space.low_directories)
    ]
    reasons += services.shortage.reasons()
    return reasons
