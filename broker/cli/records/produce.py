"""``odradek produce``: write lines, JSON lines or whole files to a topic."""

from __future__ import annotations

import argparse
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    print_json,
    run,
)
from odradek.broker.cli.arguments.moments import instant_ms
from odradek.broker.cli.arguments.refusals import near_name, refuse
from odradek.terminal.failure import FAILED, fail
from odradek.terminal.table import printable

from .formats import EncodedLayout, format_arguments, formats_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.client.cluster import Cluster
    from odradek.client.producer import ProducerSettings, Written
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.record_json import Addressed

    from .input import LineLayout

_COMMAND = "produce"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
_ACKS = {"all": -1, "-1": -1, "1": 1, "0": 0}
_EXAMPLES = (
    "echo hello | odradek produce greetings",
    "odradek produce users -K: < users.txt       # lines like key:value",
    "odradek consume a --json -e | odradek produce b --json-lines",
    "odradek produce images --file cat.png --file dog.png -k pets -z zstd",
    "odradek produce orders --value-format avro --value-schema order.avsc < in.jsonl",
    "odradek produce orders -H source=shop -p 2 --timestamp 2026-01-31T12:00:00Z",
)


def command(arguments: list[str]) -> int:
    """Write lines, JSON or files to a topic."""
    options = _parse(arguments)
    return run(_COMMAND, options, lambda cluster: _produce(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        _COMMAND,
        "Write records to a topic: a record for each line of the standard input.",
        _EXAMPLES,
    )
    parser.add_argument("topic", metavar="TOPIC")
    _what_arguments(parser)
    _how_arguments(parser)
    format_arguments(parser)
    options = parser.parse(arguments)
    options.formats = formats_of(parser, _COMMAND, options, options.topic)
    if options.json_lines and options.key_separator is not None:
        parser.error("JSON lines have their keys; leave --key-separator out")
    if options.file and (options.json_lines or options.key_separator is not None):
        parser.error("--file takes whole files; leave --json-lines and -K out")
    if options.transaction and options.acks != -1:
        parser.error("a transaction needs --acks all")
    return options


def _what_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--file",
        type=Path,
        action="append",
        metavar="PATH",
        help="a record of a whole file, and no lines; again for more",
    )
    parser.add_argument(
        "--json-lines",
        action="store_true",
        help='each line is an object: {"key": ..., "value": ..., "headers": [[name,'
        ' value]], "partition": ..., "timestamp": ...}, as consume --json writes it',
    )
    parser.add_argument(
        "-K",
        "--key-separator",
        type=_bytes,
        metavar="TEXT",
        help=r"what stands between key and value in a line, like : or \t",
    )
    parser.add_argument(
        "-k", "--key", type=_bytes, metavar="TEXT", help="the key of every record"
    )
    parser.add_argument(
        "-H",
        "--header",
        type=_header,
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="a header of every record; again for more",
    )
    parser.add_argument(
        "-D",
        "--delimiter",
        type=_bytes,
        default=b"\n",
        metavar="TEXT",
        help=r"what ends a record (default: \n)",
    )
    parser.add_argument(
        "-Z",
        "--empty-null",
        action="store_true",
        help="an empty key or value is null",
    )
    parser.add_argument(
        "--timestamp",
        type=instant_ms,
        metavar="TIME",
        help="the time of every record, in ms or like 2026-01-31T12:00:00Z"
        " (default: now)",
    )


def _how_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-p",
        "--partition",
        type=count,
        metavar="N",
        help="where to (default: by the hash of the key, as Java's client)",
    )
    parser.add_argument(
        "-z", "--compression", choices=_CODECS, default="none", help="default: none"
    )
    parser.add_argument(
        "--acks",
        type=_acks,
        default=-1,
        metavar="all|1|0",
        help="who must have a record: all in-sync replicas (default), the leader, or"
        " nobody",
    )
    parser.add_argument(
        "--transaction",
        metavar="ID",
        help="write all of it in one transaction of this id: everything or nothing",
    )


def _bytes(text: str) -> bytes:
    from .format import unescaped

    return unescaped(text)


def _header(text: str) -> tuple[str, bytes | None]:
    name, equals, value = text.partition("=")
    if not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not a header; write NAME=VALUE")
    return name, value.encode("utf-8", "surrogateescape") if equals else None


def _acks(text: str) -> int:
    if text not in _ACKS:
        raise argparse.ArgumentTypeError(f"{text!r} is not known; write all, 1 or 0")
    return _ACKS[text]


def _produce(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.producer import DeliveryFailed
    from odradek.protocol.errors import KafkaError
    from odradek.protocol.record_json import BadRecord

    sending = _Sending(cluster, options)
    topic = options.topic
    try:
        sending.run()
    except BadRecord as error:
        return fail(_COMMAND, FAILED, f"{error}; {sending.written} written")
    except DeliveryFailed as failure:
        count = sum(failure.lost.values())
        hint = f"{count} not written, {sending.written} written"
        where = str(failure.place)
        return refuse(_COMMAND, failure.error, where, hint=f"({hint})")
    except KafkaError as error:
        hint = _hint(cluster, options, error)
        return refuse(_COMMAND, error, topic, hint=hint)
    if not options.json:
        word = "record" if sending.written == 1 else "records"
        print(f"{printable(topic)}: {sending.written} {word} written")
    return 0


def _hint(cluster: Cluster, options: argparse.Namespace, error: KafkaError) -> str:
    """What would help who wrote to a topic that is not there."""
    from odradek.client.errors import UnknownPartition
    from odradek.protocol.errors import UnknownTopicOrPartition

    is_unknown = isinstance(error, UnknownTopicOrPartition)
    if not is_unknown or isinstance(error, UnknownPartition):
        return ""
    topic, chosen = options.topic, options.partition
    more = f" --partitions {chosen + 1}" if chosen else ""
    meant = near_name(cluster, error, topic)
    return f"{meant} 'odradek topic create {topic}{more}' makes it.".strip()


class _Sending:
    """One run of the command."""

    def __init__(self, cluster: Cluster, options: argparse.Namespace) -> None:
        from odradek.terminal.progress import Progress

        self.written = 0
        self._cluster = cluster
        self._options = options
        self._size = 0
        self._progress = Progress()

    def run(self) -> None:
        """Write everything there is.

        Raises:
            BadRecord, DeliveryFailed, KafkaError, OSError: where it ended.
        """
        try:
            if self._options.transaction:
                self._run_in_transaction()
            else:
                self._run()
        finally:
            self._progress.end()

    def _run(self) -> None:
        from odradek.client.producer import Producer

        producer = Producer(self._cluster, self._settings(), on_written=self._note)
        try:
            for record, partition in self._records(producer.flush):
                producer.send(self._options.topic, record, partition)
        except ValueError:  # what came before is as it should be
            producer.flush()
            raise
        else:
            producer.flush()
        finally:
            producer.close()

    def _run_in_transaction(self) -> None:
        from odradek.client.transactional_producer import TransactionalProducer

        with TransactionalProducer(
            self._cluster,
            self._options.transaction,
            self._settings(),
            on_written=self._note,
        ) as producer:
            producer.begin()
            try:
                for record, partition in self._records(lambda: None):
                    producer.send(self._options.topic, record, partition)
                producer.commit()
            except BaseException:
                self.written = 0
                producer.abort()
                raise

    def _settings(self) -> ProducerSettings:
        from odradek.client.producer import ProducerSettings

        timeout_ms = int(self._options.timeout * 1000)
        return ProducerSettings(
            acks=self._options.acks,
            compression=_CODECS.index(self._options.compression),
            request_timeout_ms=timeout_ms,
            delivery_timeout_ms=timeout_ms,
            creates_topics=True,
        )

    def _records(self, on_idle: Any) -> Iterator[Addressed]:
        from odradek.protocol.record_json import BadRecord

        from .input import read_lines

        layout = self._layout()
        chosen = self._options.partition
        for path in self._options.file or ():
            value = path.read_bytes()
            yield layout.whole(value, _now_ms())._replace(partition=chosen)
        if self._options.file:
            return
        self._invite()
        lines = read_lines(sys.stdin.buffer, self._options.delimiter, on_idle)
        for number, line in enumerate(lines, 1):
            if layout.is_json and not line.strip():
                continue
            try:
                addressed = layout.record(line, _now_ms())
            except BadRecord as error:
                raise BadRecord(f"line {number}: {error}") from None
            if chosen is not None:
                addressed = addressed._replace(partition=chosen)
            yield addressed

    def _invite(self) -> None:
        """Who sits at a terminal would else wait for a command that waits for him."""
        if sys.stdin.isatty():
            what = "a JSON object" if self._options.json_lines else "a record"
            text = f"type {what} a line for {printable(self._options.topic)}"
            print(f"odradek {_COMMAND}: {text}; Ctrl-D ends", file=sys.stderr)

    def _layout(self) -> LineLayout | EncodedLayout:
        from .input import LineLayout

        options = self._options
        layout = LineLayout(
            options.json_lines,
            options.key_separator,
            options.key,
            options.header,
            options.timestamp,
            options.empty_null,
        )
        formats = options.formats
        return layout if formats is None else EncodedLayout(layout, formats)

    def _note(self, written: Written) -> None:
        batch = written.batch
        self.written += batch.records_count
        self._size += len(batch.data)
        self._progress.flow(f"to {self._options.topic}", self.written, self._size)
        if self._options.json:
            print_json(
                {
                    "topic": batch.place.topic,
                    "partition": batch.place.partition,
                    "offset": None if written.base_offset < 0 else written.base_offset,
                    "count": batch.records_count,
                }
            )


def _now_ms() -> int:
    return int(time.time() * 1000)
