"""The options of the source, by name: ours, and those of Kafka's consumer.

Spark hands options over in lower case; messages call them as they are documented.
"""

from __future__ import annotations

from odradek.client.security.names import USED as SECURITY
from odradek.client.security.names import (
    SecurityOptionError,
    check_names,
    is_of_security,
)
from odradek.pipeline.errors import BadOption, did_you_mean

SOURCE = (
    "assign",
    "subscribe",
    "subscribePattern",
    "startingOffsets",
    "startingOffsetsByTimestamp",
    "startingOffsetsByTimestampStrategy",
    "startingTimestamp",
    "endingOffsets",
    "endingOffsetsByTimestamp",
    "endingTimestamp",
    "failOnDataLoss",
    "minPartitions",
    "maxRecordsPerPartition",
    "maxOffsetsPerTrigger",
    "minOffsetsPerTrigger",
    "maxTriggerDelay",
    "includeHeaders",
    "path",
    "mode",
    "onCorrupt",
    "pushdown",
    "commandConfig",
    # Of the connector's own consumers, which there are none of here.
    "groupIdPrefix",
    "kafkaConsumer.pollTimeoutMs",
    "fetchOffset.numRetries",
    "fetchOffset.retryIntervalMs",
)
KAFKA_PREFIX = "kafka."
KAFKA_USED = (
    "bootstrap.servers",
    "client.id",
    "fetch.max.bytes",
    "fetch.max.wait.ms",
    "group.id",
    "isolation.level",
    "max.partition.fetch.bytes",
    "request.timeout.ms",
)
# What a consumer in Java takes, and what makes no difference here.
KAFKA_IGNORED = (
    "allow.auto.create.topics",
    "auto.commit.interval.ms",
    "check.crcs",
    "client.dns.lookup",
    "client.rack",
    "config.providers",
    "connections.max.idle.ms",
    "default.api.timeout.ms",
    "enable.metrics.push",
    "exclude.internal.topics",
    "fetch.min.bytes",
    "group.instance.id",
    "group.protocol",
    "group.remote.assignor",
    "heartbeat.interval.ms",
    "max.poll.interval.ms",
    "max.poll.records",
    "metadata.max.age.ms",
    "metadata.recovery.rebootstrap.trigger.ms",
    "metadata.recovery.strategy",
    "metric.reporters",
    "metrics.num.samples",
    "metrics.recording.level",
    "metrics.sample.window.ms",
    "partition.assignment.strategy",
    "receive.buffer.bytes",
    "reconnect.backoff.max.ms",
    "reconnect.backoff.ms",
    "retry.backoff.max.ms",
    "retry.backoff.ms",
    "send.buffer.bytes",
    "session.timeout.ms",
    "socket.connection.setup.timeout.max.ms",
    "socket.connection.setup.timeout.ms",
)
# What the connector refuses too: the source itself decides it.
KAFKA_REFUSED = {
    "auto.offset.reset": "startingOffsets says where to begin.",
    "enable.auto.commit": "Spark's checkpoint keeps the offsets.",
    "interceptor.classes": "there is no consumer to put them in.",
    "key.deserializer": "keys are binary; cast them in a select.",
    "value.deserializer": "values are binary; cast them in a select.",
}

_BY_LOWER = {name.lower(): name for name in SOURCE}
_KAFKA_KNOWN = {*KAFKA_USED, *KAFKA_IGNORED, *SECURITY}


def check_name(name: str) -> None:
    """Whether there is such an option.

    Raises:
        BadOption: there is none, with the one that looks most like it.
    """
    lowered = name.lower()
    if lowered in _BY_LOWER:
        return
    if not lowered.startswith(KAFKA_PREFIX):
        known = [*SOURCE, *(KAFKA_PREFIX + each for each in KAFKA_USED)]
        text = f"there is none of this name.{did_you_mean(name, known)}"
        raise BadOption(name, text)
    config = lowered.removeprefix(KAFKA_PREFIX)
    if config in KAFKA_REFUSED:
        raise BadOption(lowered, f"cannot be set: {KAFKA_REFUSED[config]}")
    if is_of_security(config):
        try:
            check_names([config])
        except SecurityOptionError as error:
            raise BadOption(lowered, f"{error.reason}.") from None
    elif config not in _KAFKA_KNOWN:
        known = [KAFKA_PREFIX + each for each in sorted(_KAFKA_KNOWN)]
        text = f"a consumer has no such option.{did_you_mean(lowered, known)}"
        raise BadOption(lowered, text)
