"""What is told of the cluster: by one of its brokers, or by one that is all of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from .exposition import Family, counter, gauge

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.broker.cluster.standing import Standing
    from odradek.broker.cluster.throttles import Throttles
    from odradek.broker.requests.services import Services
    from odradek.broker.runtime.clock import Clock


def cluster_families(services: Services) -> Iterator[Family]:
    """Of a broker alone what it decides; of one among others how it follows."""
    cluster = services.cluster
    brokers = gauge("kafka_brokers", "Brokers of the cluster.")
    brokers.add(1 if cluster is None else cluster.alive_count)
    yield brokers
    yield from _of_controller(services)
    standing = None if cluster is None else cluster.standing
    yield from _of_member(standing, services.clock)
    yield from _of_copies(None if cluster is None else cluster.throttles)


def _of_controller(services: Services) -> Iterator[Family]:
    """Where other controllers decide, they tell."""
    topics = list(services.metadata) if services.cluster is None else []
    for name, meaning, value in (
        ("activecontrollercount", "Itself.", 1),
        (
            "offlinepartitionscount",
            "Partitions that cannot be used.",
            len(services.metadata.offline),
        ),
        (
            "globalpartitioncount",
            "Partitions.",
            sum(len(topic.partitions) for topic in topics),
        ),
        ("globaltopiccount", "Topics.", len(topics)),
    ):
        family = gauge(f"kafka_controller_kafkacontroller_{name}", meaning)
        if services.cluster is None:
            family.add(value)
        yield family


def _of_member(standing: Standing | None, clock: Clock) -> Iterator[Family]:
    state = gauge(
        "kafka_server_kafkaserver_brokerstate",
        "1 starting, 2 not let in yet, 3 running, 6 giving others what it leads.",
    )
    offset = gauge(
        "kafka_server_broker_metadata_metrics_last_applied_record_offset",
        "The last offset of the metadata log that holds here.",
    )
    lag = gauge(
        "kafka_server_broker_metadata_metrics_last_applied_record_lag_ms",
        "How old that is. Controllers write twice a second.",
    )
    unread = gauge(
        "odradek_metadata_log_unread", "Whether the metadata log cannot be read."
    )
    unapplied = gauge(
        "odradek_metadata_log_unapplied",
        "Whether what it says cannot be applied; /readyz says why.",
    )
    fenced = gauge(
        "odradek_fenced", "Whether the controllers keep clients away from this broker."
    )
    age = gauge(
        "odradek_heartbeat_age_seconds",
        "Since a controller has answered a heartbeat.",
    )
    failed = counter(
        "odradek_heartbeats_failed_total",
        "Heartbeats without an answer, or with an error.",
    )
    late = counter(
        "odradek_heartbeats_late_total",
        "Those that were answered more than two intervals after the one before.",
    )
    if standing is not None:
        member = standing.member
        state.add(standing.state)
        offset.add(member.image.offset)
        if member.applied_timestamp_ms >= 0:
            lag.add(max(clock.now_ms() - member.applied_timestamp_ms, 0))
        unread.add(int(bool(member.why_unread)))
        unapplied.add(int(bool(member.why_stale)))
        fenced.add(int(member.membership.is_fenced))
        age_ms = member.heartbeats.age_ms(clock.monotonic_ms())
        if age_ms is not None:
            age.add(round(age_ms / 1000, 3))
        failed.add(member.membership.failed_count)
        late.add(member.heartbeats.late_count)
    yield from (state, offset, lag, unread, unapplied, fenced, age, failed, late)


def _of_copies(throttles: Throttles | None) -> Iterator[Family]:
    """What brokers copy from each other; of one that is alone, nothing."""
    prefix = "kafka_server_brokertopicmetrics"
    taken = counter(f"{prefix}_replicationbytesin_total", "Bytes taken of leaders.")
    sent = counter(f"{prefix}_replicationbytesout_total", "Bytes sent to followers.")
    taken_of_moves = counter(
        f"{prefix}_reassignmentbytesin_total",
        "Bytes taken for replicas here that were being added.",
    )
    sent_of_moves = counter(
        f"{prefix}_reassignmentbytesout_total",
        "Bytes sent to replicas that were being added.",
    )
    if throttles is not None:
        taken.add(throttles.follower.copied.count)
        sent.add(throttles.leader.copied.count)
        taken_of_moves.add(throttles.follower.copied.of_moves)
        sent_of_moves.add(throttles.leader.copied.of_moves)
    yield from (taken, sent, taken_of_moves, sent_of_moves)
