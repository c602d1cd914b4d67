"""Where our answers differ from Apache Kafka's on purpose, and why.

Each entry must be needed: one that no longer matches any difference fails the test of
its group, so that this page stays true.
"""

from collections.abc import Iterator
from typing import Final

from odradek.protocol.errors import ErrorCode
from tests.wire_compare import Difference
from tests.wire_justified_shares import OF_SHARE_GROUPS
from tests.wire_justified_streams import OF_STREAMS_GROUPS
from tests.wire_reasons import (
    ANY_STEP,
    Justified,
    are_times,
    behind,
    is_hint,
    is_only_kafkas,
    lacks_batches,
    says,
    we_say,
    with_error,
)


class Justifications:
    """Those of one group, and which of them have been needed."""

    def __init__(self, group: str) -> None:
        self._group = group
        self._needed: list[tuple[Justified, int]] = []

    def explain(self, step: int, difference: Difference) -> bool:
        """Whether the difference is meant."""
        needed = [
            (reason, step)
            for reason in JUSTIFIED
            if reason.explains(self._group, step, difference)
        ]
        self._needed += needed
        return bool(needed)

    def stale(self) -> Iterator[str]:
        """The reasons that had nothing to explain."""
        for reason in JUSTIFIED:
            if self._group in reason.steps:
                steps = {step for needed, step in self._needed if needed is reason}
                missing = set(reason.steps[self._group]) - steps
                if missing or not steps:
                    yield f"{reason.why} ({reason.path} {sorted(missing)})"


REFUSES: Final = (
    "produce-errors",
    "produce-limits",
    "produce-idempotent",
    "fetch-diverging",
    "transactions",
    "ng-consumer-errors",
    "ng-share-basic",
    "ng-share-errors",
    "share-groups",
)

JUSTIFIED: Final = (
    Justified(
        "we say what is wrong where Apache Kafka gives only the code",
        dict.fromkeys(REFUSES, ANY_STEP),
        "*.error_message",
        is_hint,
    ),
    Justified(
        "a cache of three slots holds three sessions: it is not split into shards",
        {"fetch-session-cache": (3, 4, 5)},
        ".session_id",
        lambda difference: not difference.kafka and difference.ours > 0,
    ),
    Justified(
        "versions 4 and 5 of AddPartitionsToTxn are for brokers among themselves",
        {"api-versions": (1, 2, 3, 4, 5, 8, 11)},
        ".api_keys.24.max_version",
        says(5, 3),
    ),
    Justified(
        "the other features are of protocols that this broker has not",
        {"api-versions": (4, 5, 11)},
        ".*_features.*",
        is_only_kafkas,
    ),
    Justified(
        "a quorum of one broker, which no other can join",
        {"api-versions": (5,)},
        ".supported_features.kraft.version.max_version",
        says(1, 0),
    ),
    Justified(
        "the epoch of the features is the end of Apache Kafka's metadata log; here"
        " they never change while the broker runs",
        {"api-versions": (4, 5, 11)},
        ".finalized_features_epoch",
        we_say(0),
    ),
    Justified(
        "what was set before the group was recorded is not set here",
        {"cluster-admin": (40, 41)},
        ".config_resources.*",
        lambda difference: True,
    ),
    Justified(
        "a subscription that was made before the group has an interval of its own",
        {"cluster-admin": (38,)},
        ".push_interval_ms",
        says(60_000, 300_000),
    ),
    Justified(
        "the metadata log is as long as what came before; here changes are counted",
        {"cluster-admin": (34, 35, 36)},
        ".topics.0.partitions.0.*",
        lambda difference: 0 < difference.ours < difference.kafka,
    ),
    Justified(
        "there is no listener for controllers",
        {"cluster-admin": (36,)},
        ".nodes.0.listeners.0.name",
        says("CONTROLLER", "PLAINTEXT"),
    ),
    Justified(
        "a topic is made before the answer, so that nobody has to ask again",
        {"metadata": (22, 23, 33, 35)},
        ".topics.0.*",
        with_error(ErrorCode.NONE),
    ),
    Justified(
        "of names that collide: Apache Kafka makes them wait for ever",
        {"metadata": (34,)},
        ".topics.0.error_code",
        says(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ),
    Justified(
        "Apache Kafka never answers, and the connection is dead afterwards",
        {"produce-errors": (13, 14)},
        "answer",
        says("timeout", f"response [{ErrorCode.INVALID_RECORD:d}]"),
    ),
    Justified(
        "offsets in a batch that are not 0, 1, 2 ... are not made so, but refused",
        {"produce-errors": (26,)},
        ".responses.0.partition_responses.0.*",
        with_error(ErrorCode.INVALID_RECORD),
    ),
    Justified(
        "what cannot be decompressed is the client's error, not ours",
        {"produce-errors": (32, 33)},
        ".responses.0.partition_responses.0.error_code",
        says(ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_RECORD),
    ),
    Justified(
        "of two batches for one partition Apache Kafka drops one and says nothing",
        {"produce-errors": (44, 45)},
        ".responses.0.partition_responses.0.*",
        with_error(ErrorCode.INVALID_REQUEST),
    ),
    Justified(
        "the two records of step 26 were refused",
        {"produce-errors": (34, 39, 40, 42, 43)},
        ".responses.0.partition_responses.0.base_offset",
        behind(2),
    ),
    Justified(
        "the records of steps 26, 44 and 45 were refused",
        {"produce-errors": (47,)},
        ".responses.0.partition_responses.0.base_offset",
        behind(4),
    ),
    Justified(
        "the records of steps 26, 44 and 45 were refused",
        {"produce-errors": (48,)},
        ".topics.0.partitions.0.offset",
        behind(4),
    ),
    Justified(
        "the records of steps 26, 44 and 45 were refused",
        {"produce-errors": (49,)},
        ".responses.0.partitions.0.high_watermark",
        behind(4),
    ),
    Justified(
        "the records of steps 26, 44 and 45 were refused",
        {"produce-errors": (49,)},
        ".responses.0.partitions.0.last_stable_offset",
        behind(4),
    ),
    Justified(
        "the batches of steps 26, 44 and 45 were refused",
        {"produce-errors": (49,)},
        ".responses.0.partitions.0.records",
        lacks_batches(3),
    ),
    Justified(
        "this is when it was appended (for a duplicate: when it was first made)",
        {"produce-limits": (11,), "fetch-diverging": (35,)},
        ".responses.0.partition_responses.0.log_append_time_ms",
        are_times,
    ),
    Justified(
        "a request that makes no sense is the client's error, not ours",
        {"fetch-sizes": (14,), "list-offsets": (39,)},
        "*.partitions.0.error_code",
        says(ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.INVALID_REQUEST),
    ),
    Justified(
        "the topic of the groups is made before the answer",
        {"no-auto-create": (5,)},
        ".coordinators.0.*",
        with_error(ErrorCode.NONE),
    ),
    Justified(
        "a join that was refused leaves no group behind (cg2)",
        {"classic-group": (30, 31, 33)},
        ".groups*",
        lambda difference: True,
    ),
    Justified(
        "groups are deleted in the order in which they are named",
        {"classic-group": (34,)},
        ".results.*",
        lambda difference: True,
    ),
    Justified(
        "the topic of the transactions is made before the answer",
        {"find-coordinator": (8,)},
        ".coordinators.0.*",
        with_error(ErrorCode.NONE),
    ),
    Justified(
        "this 0 is nobody's id; the producer with the id 0 is one of the others here",
        {"transactions": (22,)},
        ".transaction_states.tnone.producer_id",
        says(0, 0),
    ),
    Justified(
        "a rebalance timeout below zero is none, and who asks for one is no member",
        {"ng-consumer-errors": (21,)},
        "*",
        with_error(ErrorCode.INVALID_REQUEST),
    ),
    Justified(
        "so that member is not listed, and the group is an epoch behind",
        {"ng-consumer-errors": (30, 31)},
        ".groups.*.members.*",
        is_only_kafkas,
    ),
    Justified(
        "so that member is not listed, and the group is an epoch behind",
        {"ng-consumer-errors": (30, 31)},
        ".groups.*.group_epoch",
        behind(1),
    ),
    *OF_SHARE_GROUPS,
    *OF_STREAMS_GROUPS,
)
