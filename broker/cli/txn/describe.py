"""``odradek txn describe``: transactions, and what they have open in logs."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, NamedTuple

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    error_text,
    print_json,
    run,
)
from odradek.broker.cli.arguments.moments import duration_text, moment_text
from odradek.broker.cli.arguments.refusals import refuse_named
from odradek.terminal.table import printable, table

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterable, Iterator, Sequence

    from odradek.client.cluster import Cluster
    from odradek.client.producers import ActiveProducer
    from odradek.client.transactions import TransactionDescription
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.topic_partition import TopicPartition

_COMMAND = "txn describe"
_HEAD = ("TOPIC", "PARTITION", "START-OFFSET", "LAST-RECORD")
_EXAMPLES = (
    "odradek txn describe billing-1",
    "odradek txn describe billing-1 billing-2 --json",
)


def command(arguments: list[str]) -> int:
    """Show transactions and their partitions."""
    parser = cluster_parser(
        _COMMAND,
        "Show transactions: their producer, since when, and where.",
        _EXAMPLES,
    )
    parser.add_argument("id", nargs="+", metavar="ID", help="a transactional id")
    options = parser.parse(arguments)
    return run(_COMMAND, options, lambda cluster: _describe(cluster, options))


def _describe(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.protocol.errors import KafkaError

    code = 0
    is_first = True
    for name in dict.fromkeys(options.id):
        try:
            found = described(cluster, name)
        except KafkaError as error:
            row = {"transactionalId": name}
            code = refuse_named(_COMMAND, cluster, error, name, row=row)
            continue
        if options.json:
            print_json(found.as_json())
            continue
        if not is_first:
            print()
        is_first = False
        print("\n".join(found.text(int(time.time() * 1000))))
    return code


class Part(NamedTuple):
    """A partition that takes part; None for a producer that has nothing open there."""

    place: TopicPartition
    producer: ActiveProducer | None
    error: KafkaError | None


class Described(NamedTuple):
    """A transactional id, and what the logs say of its transaction."""

    transaction: TransactionDescription
    parts: Sequence[Part]

    def text(self, now_ms: int) -> Iterator[str]:
        """For people."""
        found = self.transaction
        yield printable(
            f"transaction {found.transactional_id}: {found.state}, producer"
            f" {found.producer_id} (epoch {found.producer_epoch}), timeout"
            f" {duration_text(found.timeout_ms)}, coordinator {found.coordinator}"
        )
        if not self.parts:
            return
        if found.start_ms is not None:
            age = duration_text(now_ms - found.start_ms)
            yield f"open since {moment_text(found.start_ms)} ({age})"
        yield from table(_HEAD, self._rows())
        for part in self.parts:
            if part.error is not None:
                yield f"{part.place}: {part.error}"

    def _rows(self) -> Iterable[tuple[object, ...]]:
        for place, producer, _ in self.parts:
            if producer is None:
                yield (*place, None, None)
            else:
                last = moment_text(producer.last_timestamp_ms)
                yield (*place, producer.start_offset, last)

    def as_json(self) -> dict[str, Any]:
        """All of it, for `json`."""
        found = self.transaction
        node_id, address = found.coordinator
        return {
            "transactionalId": found.transactional_id,
            "state": found.state,
            "producerId": found.producer_id,
            "producerEpoch": found.producer_epoch,
            "timeoutMs": found.timeout_ms,
            "startTimeMs": found.start_ms,
            "coordinator": {
                "id": node_id,
                "host": address.host,
                "port": address.port,
            },
            "partitions": [
                {
                    "topic": place.topic,
                    "partition": place.partition,
                    "startOffset": producer and producer.start_offset,
                    "lastTimestampMs": producer and producer.last_timestamp_ms,
                    "error": error and error_text(error),
                }
                for place, producer, error in self.parts
            ],
        }


def described(cluster: Cluster, transactional_id: str) -> Described:
    """A transactional id with its partitions.

    Raises:
        TransactionalIdNotFound: there is none of this name.
    """
    from odradek.client.producers import describe_producers
    from odradek.client.transactions import describe_transaction

    found = describe_transaction(cluster, transactional_id)
    producers = describe_producers(cluster, found.partitions)
    parts = []
    for place in found.partitions:
        in_log = [
            each
            for each in producers.found.get(place, ())
            if each.producer_id == found.producer_id and each.start_offset is not None
        ]
        producer = in_log[0] if in_log else None
        parts.append(Part(place, producer, producers.failed.get(place)))
    return Described(found, parts)
