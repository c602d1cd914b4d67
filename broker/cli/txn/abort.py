"""``odradek txn abort``: end a transaction without its producer.

Nothing is changed without ``--execute``: what would be is shown.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
)
from odradek.broker.cli.arguments.refusals import near_name, refuse, refuse_named
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

from .describe import described

if TYPE_CHECKING:
    import argparse

    from odradek.client.cluster import Cluster
    from odradek.client.producers import ActiveProducer
    from odradek.protocol.topic_partition import TopicPartition

_COMMAND = "txn abort"
_DRY_RUN = "nothing was changed (dry run); --execute does it"
_EXAMPLES = (
    "odradek txn abort billing-1",
    "odradek txn abort billing-1 --execute",
    "odradek txn abort --topic orders --partition 0 --start-offset 120 --execute",
)


def command(arguments: list[str]) -> int:
    """Abort a transaction."""
    options = _parse(arguments)
    act = _abort if options.id is not None else _abort_hanging
    return run(_COMMAND, options, lambda cluster: act(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        _COMMAND,
        "Show what would be aborted: the transaction of a transactional id, or what is"
        " open in a log and owned by no coordinator; with --execute, abort it.",
        _EXAMPLES,
    )
    parser.add_argument("id", nargs="?", metavar="ID", help="a transactional id")
    parser.add_argument("--topic", metavar="T", help="where a transaction hangs")
    parser.add_argument("--partition", type=count, metavar="N")
    parser.add_argument(
        "--start-offset",
        type=count,
        metavar="O",
        help="where it begins, as find-hanging shows it",
    )
    parser.add_argument("--execute", action="store_true", help="do it")
    parser.add_argument(
        "--dry-run", action="store_true", help="only show it (the default)"
    )
    options = parser.parse(arguments)
    given = [options.topic, options.partition, options.start_offset]
    is_id = options.id is not None
    if is_id == (None not in given) or (is_id and given != [None] * 3):
        parser.error("say which ID, or --topic, --partition and --start-offset")
    if options.execute and options.dry_run:
        parser.error("--execute or --dry-run, not both")
    return options


# By its transactional id


def _abort(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.transactions import ONGOING, abort_transaction
    from odradek.protocol.errors import KafkaError

    name = options.id
    try:
        found = described(cluster, name)
        state = found.transaction.state
        if state != ONGOING:
            why = "its end is decided" if "Prepare" in state else "nothing is open"
            return fail(_COMMAND, FAILED, f"{why} ({state})", what=name)
        if options.execute:
            abort_transaction(cluster, name)
    except KafkaError as error:
        return refuse_named(_COMMAND, cluster, error, name)
    if options.json:
        print_json({**found.as_json(), "executed": options.execute})
        return 0
    print("\n".join(found.text(int(time.time() * 1000))))
    print("aborted; its producer is shut out" if options.execute else _DRY_RUN)
    return 0


# By its place in a log


def _abort_hanging(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.hanging import abort_hanging, owner_of
    from odradek.protocol.errors import ClusterAuthorizationFailed, KafkaError
    from odradek.protocol.topic_partition import TopicPartition

    place = TopicPartition(options.topic, options.partition)
    try:
        producer = _open_at(cluster, place, options.start_offset)
        if producer is None:
            reason = f"no transaction is open from offset {options.start_offset} on"
            return fail(_COMMAND, FAILED, reason, what=str(place))
        owner = owner_of(cluster, producer)
        if owner is not None:
            reason = (
                f"it belongs to {owner.transactional_id}, which is {owner.state}:"
                f" abort that"
            )
            return fail(_COMMAND, FAILED, reason, what=str(place))
        if options.execute:
            abort_hanging(cluster, producer)
    except ClusterAuthorizationFailed as error:
        hint = "Perhaps its producer has something open elsewhere: end that."
        return refuse(_COMMAND, error, str(place), hint=hint)
    except KafkaError as error:
        hint = near_name(cluster, error, place.topic)
        return refuse(_COMMAND, error, str(place), hint=hint)
    if options.json:
        print_json({**producer_json(producer), "executed": options.execute})
        return 0
    print(
        printable(
            f"{place}: producer {producer.producer_id} (epoch"
            f" {producer.producer_epoch}), open from offset {producer.start_offset} on"
        )
    )
    print("aborted" if options.execute else _DRY_RUN)
    return 0


def _open_at(
    cluster: Cluster, place: TopicPartition, start_offset: int
) -> ActiveProducer | None:
    from odradek.client.producers import describe_producers

    producers = describe_producers(cluster, [place])
    for error in producers.failed.values():
        raise error
    for each in producers.found[place]:
        if each.start_offset == start_offset:
            return each
    return None


def producer_json(producer: ActiveProducer) -> dict[str, object]:
    """What is open in a partition, for `json`."""
    return {
        "topic": producer.place.topic,
        "partition": producer.place.partition,
        "producerId": producer.producer_id,
        "producerEpoch": producer.producer_epoch,
        "coordinatorEpoch": producer.coordinator_epoch,
        "startOffset": producer.start_offset,
        "lastTimestampMs": producer.last_timestamp_ms,
    }
