"""What is told of the broker as a whole, under the names of the JMX exporter.

What Apache Kafka has no name for begins with ``odradek_``.
"""

from __future__ import annotations

import os
import resource
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import odradek

from .cluster_families import cluster_families
from .exposition import HISTOGRAM, UNTYPED, Family, counter, gauge, labels
from .login_families import login_families
from .shortage_families import shortage_families
from .tls_families import tls_families

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from odradek.broker.network.listener import Listener
    from odradek.broker.network.network import Network
    from odradek.broker.replica.replica_manager import ReplicaManager
    from odradek.broker.requests.services import Services
    from odradek.broker.runtime.loop_pauses import LoopPauses
    from odradek.broker.security.login.logins import Logins
    from odradek.broker.upkeep.compaction.cleaning import Cleaning

_QUANTILES = (0.5, 0.95, 0.99, 0.999)
_PAGE_SIZE = resource.getpagesize()
_STARTED_S = time.time()


@dataclass(slots=True)
class MetricSources:
    """Where the samples come from. ``cleaning`` is None until it has begun."""

    services: Services
    listeners: Sequence[Listener]
    network: Network
    pauses: LoopPauses
    logins: Sequence[Logins]
    cleaning: Cleaning | None = None


def broker_families(sources: MetricSources) -> Iterator[Family]:
    """Everything but topics and groups."""
    yield from _process_families()
    yield from _server_families(sources)
    yield from _network_families(sources)
    yield from _request_families(sources)
    yield from _disk_families(sources)
    yield from shortage_families(sources.services)
    yield from _cleaner_families(sources)
    yield from _limit_families(sources)
    yield from tls_families(sources.listeners, sources.services.certificates)
    yield from login_families(sources.logins)


def _one(family: Family, value: float, **given: object) -> Family:
    family.add(value, labels(**given))
    return family


def _process_families() -> Iterator[Family]:
    used = resource.getrusage(resource.RUSAGE_SELF)
    yield _one(
        counter("process_cpu_seconds_total", "CPU time of the process."),
        round(used.ru_utime + used.ru_stime, 3),
    )
    yield _one(
        gauge("process_start_time_seconds", "When it began, since the epoch."),
        round(_STARTED_S, 3),
    )
    memory = _resident_bytes()
    if memory is not None:
        yield _one(gauge("process_resident_memory_bytes", "Memory it holds."), memory)
    if Path("/proc/self/fd").exists():
        count = len(os.listdir("/proc/self/fd"))
        yield _one(gauge("process_open_fds", "Files and sockets it has open."), count)
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
    yield _one(gauge("process_max_fds", "How many it may have open."), limit)


def _resident_bytes() -> int | None:
    try:
        fields = Path("/proc/self/statm").read_text(encoding="ascii").split()
    except OSError:
        return None
    return int(fields[1]) * _PAGE_SIZE


def _server_families(sources: MetricSources) -> Iterator[Family]:
    services = sources.services
    info = gauge("odradek_info", "Always 1; the labels say what this is.")
    yield _one(
        info,
        1,
        version=odradek.__version__,
        durability=services.config.durability,
        python=sys.version.split()[0],
        cluster_id=services.cluster_id,
        node_id=services.node_id,
    )
    yield from cluster_families(services)
    yield from _purgatory_families(services.replica_manager)
    yield _one(
        counter("odradek_bugs_total", "Errors that nobody expected; see the log."),
        services.bugs.count,
    )
    yield from _pause_families(sources.pauses)


def _purgatory_families(manager: ReplicaManager) -> Iterator[Family]:
    waiting = gauge(
        "kafka_server_delayedoperationpurgatory_purgatorysize",
        "What they watch: partitions, one for each request that waits for it, or for"
        " several that wait for the same.",
    )
    delayed = gauge(
        "kafka_server_delayedoperationpurgatory_numdelayedoperations",
        "Requests that wait for something.",
    )
    for purgatory in (
        manager.produces,
        manager.fetches,
        manager.deletions,
        manager.share_fetches,
        manager.visible_ends.waiting,
    ):
        name = labels(delayedOperation=purgatory.name)
        waiting.add(purgatory.watched_count, name)
        delayed.add(purgatory.delayed_count, name)
    yield from (waiting, delayed)


def _pause_families(pauses: LoopPauses) -> Iterator[Family]:
    longest_s, cpu_s = pauses.longest
    for name, meaning, value in (
        (
            "odradek_loop_longest_pause_seconds",
            "The longest time of the last minutes in which the loop served nobody.",
            longest_s,
        ),
        (
            "odradek_loop_longest_pause_cpu_seconds",
            "How much of it the broker itself computed, at most.",
            cpu_s,
        ),
    ):
        yield _one(gauge(name, meaning), round(value, 4))
    yield _one(
        counter("odradek_loop_long_pauses_total", "Such pauses of more than 50 ms."),
        pauses.long_count,
    )


def _network_families(sources: MetricSources) -> Iterator[Family]:
    connections = gauge(
        "kafka_server_socket_server_metrics_connection_count", "Open connections."
    )
    for listener in sources.listeners:
        name = labels(listener=listener.name)
        connections.add(len(listener.connections), name)
    yield connections
    memory = sources.network.memory
    yield _one(
        gauge("odradek_request_memory_bytes", "Requests that are in memory."),
        memory.used,
    )
    yield _one(
        gauge(
            "odradek_request_memory_waiting_connections",
            "Connections that are not read for want of memory.",
        ),
        memory.waiting_count,
    )
    answers = sources.network.answers
    yield _one(
        gauge("odradek_answer_memory_bytes", "Answers in memory that are not read."),
        answers.used,
    )
    yield _one(
        gauge(
            "odradek_answer_memory_waiting_connections",
            "Connections with a fetch that waits for memory.",
        ),
        answers.waiting_count,
    )
    sessions = sources.services.fetch_sessions
    yield _one(
        gauge("kafka_server_fetchsessioncache_numincrementalfetchsessions", "Open."),
        len(sessions),
    )


def _request_families(sources: MetricSources) -> Iterator[Family]:
    requests = counter(
        "kafka_network_requestmetrics_requests_total", "Requests, by API and version."
    )
    times = gauge(
        "kafka_network_requestmetrics_totaltimems",
        "Milliseconds from a request to its answer in the last minutes, of one request"
        " in 16.",
    )
    timed = Family(
        "kafka_network_requestmetrics_totaltimems_count",
        UNTYPED,
        "How many were timed.",
    )
    for route in sources.network.dispatcher.routes.values():
        requests.add(
            route.request_count,
            labels(request=route.api_name, version=route.api_version),
        )
    for api, request_times in sources.network.dispatcher.times.items():
        histogram = request_times.histogram
        for part in _QUANTILES:
            times.add(histogram.quantile(part), labels(request=api, quantile=part))
        timed.add(request_times.count, labels(request=api))
    yield from (requests, times, timed)


def _disk_families(sources: MetricSources) -> Iterator[Family]:
    services = sources.services
    seconds = Family("odradek_sync_seconds", HISTOGRAM, "How long syncs took.")
    sizes = Family(
        "odradek_group_commit_partitions", HISTOGRAM, "Partitions made durable at once."
    )
    flushes = counter("kafka_log_logflushstats_logflush_total", "Syncs.")
    failed = gauge("odradek_log_directory_failed", "Whether it takes no more writes.")
    stray = gauge("odradek_stray_directories", "Those kept as -stray, for people.")
    flush_count = 0
    for committer in services.committer.directories:
        directory = str(committer.directory)
        seconds.add_histogram(committer.sync_seconds, directory=directory)
        sizes.add_histogram(committer.group_sizes, directory=directory)
        flush_count += committer.sync_seconds.count
    flushes.add(flush_count)
    offline = 0
    failures = services.committer.failures
    for each in services.log_manager.directories:
        has_failed = each.failure is not None or each.path in failures
        offline += has_failed
        failed.add(int(has_failed), labels(directory=each.path))
        stray.add(each.stray_count, labels(directory=each.path))
    yield from (seconds, sizes, flushes, failed, stray)
    yield _one(
        gauge("kafka_log_logmanager_offlinelogdirectorycount", "Failed directories."),
        offline,
    )
    low = services.replica_manager.appends.free_space.low_directories
    yield _one(
        gauge(
            "odradek_log_directories_without_space",
            "Directories with less than log.min.free.bytes.",
        ),
        len(low),
    )


def _cleaner_families(sources: MetricSources) -> Iterator[Family]:
    cleaning = sources.cleaning
    if cleaning is None:
        return
    gauges = cleaning.gauges
    for name, meaning, value in (
        (
            "kafka_log_logcleanermanager_uncleanable_partitions_count",
            "Logs that compaction leaves alone; see odradek fsck.",
            len(cleaning.uncleanable),
        ),
        (
            "kafka_log_logcleanermanager_uncleanable_bytes",
            "What could be compacted of them.",
            cleaning.uncleanable_bytes,
        ),
        (
            "kafka_log_logcleanermanager_max_dirty_percent",
            "How much of the dirtiest compacted log is not clean.",
            round(gauges.max_dirty_percent, 2),
        ),
        (
            "kafka_log_logcleaner_deadthreadcount",
            "1 when compaction has failed with a bug.",
            gauges.dead_thread_count,
        ),
        (
            "kafka_log_logcleaner_max_clean_time_secs",
            "What the last round of compaction took.",
            gauges.max_clean_time_s,
        ),
        (
            "kafka_log_logcleaner_max_buffer_utilization_percent",
            "How full its memory for keys was.",
            round(gauges.max_buffer_utilization_percent, 2),
        ),
        (
            "kafka_log_logcleaner_cleaner_recopy_percent",
            "How much of what it read was written again.",
            round(gauges.recopy_percent, 2),
        ),
    ):
        yield _one(gauge(name, meaning), value)
    for name, meaning, value in (
        ("odradek_cleaner_rounds_total", "Rounds of compaction.", gauges.round_count),
        ("odradek_cleaner_read_bytes_total", "Bytes they read.", gauges.bytes_read),
        (
            "odradek_cleaner_written_bytes_total",
            "Bytes they wrote.",
            gauges.bytes_written,
        ),
    ):
        yield _one(counter(name, meaning), value)


def _limit_families(sources: MetricSources) -> Iterator[Family]:
    hits = counter(
        "odradek_limit_hits_total",
        "How often a limit was reached, by the name of its option.",
    )
    appends = sources.services.replica_manager.appends
    counts = sources.network.log.hits + appends.limits.hits
    if appends.free_space.low_count:
        counts["log.min.free.bytes"] = appends.free_space.low_count
    for name, count in sorted(counts.items()):
        hits.add(count, labels(limit=name))
    yield hits
