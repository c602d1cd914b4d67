"""``odradek consume``: read records of topics, as text, in a format, or as JSON."""

from __future__ import annotations

import argparse
import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

from odradek.broker.cli.arguments.cluster_options import (
    cluster_parser,
    count,
    run,
    topic,
)
from odradek.broker.cli.arguments.refusals import Refused, refuse

from .formats import Shown, format_arguments, formats_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from odradek.client.cluster import Cluster
    from odradek.client.fetcher import Fetched, Fetcher, FetchLimits
    from odradek.protocol.records import Record
    from odradek.protocol.topic_partition import TopicPartition
    from odradek.terminal.ending import Ending

    from .format import RecordFormat
    from .formats import Write
    from .group_reading import GroupReading
    from .read_range import Edge
    from .share_reading import ShareReading

_COMMAND = "consume"
_USUAL_FORMAT = r"%s\n"
_FETCH_SIZE = 4 << 20
_WAIT_MS = 500
_EXAMPLES = (
    "odradek consume orders -e                         # all there is, then end",
    "odradek consume orders -o end                     # what comes from now on",
    "odradek consume orders:0,2 -o -10 -e --json",
    r"odradek consume orders -f '%p/%o %T %k: %s\n' -c 5",
    "odradek consume orders -o @2026-01-31T12:00:00Z --until @2026-02-01",
    "odradek consume orders --value-format avro --registry http://localhost:8081 -e",
    "odradek consume orders payments --group billing   # shared with its other members",
    "odradek consume jobs --share workers -c 10        # ten that nobody else gets",
)


def command(arguments: list[str]) -> int:
    """Read records of topics."""
    options = _parse(arguments)
    return run(_COMMAND, options, lambda cluster: _consume(cluster, options))


def _parse(arguments: list[str]) -> argparse.Namespace:
    parser = cluster_parser(
        _COMMAND,
        "Read records of topics and write their values, one a line; alone, or as a"
        " member of a group, which knows what was written.",
        _EXAMPLES,
    )
    parser.add_argument("topic", nargs="+", type=topic, metavar="TOPIC[:0,1]")
    _range_arguments(parser)
    _group_arguments(parser)
    parser.add_argument(
        "-f",
        "--format",
        type=_format,
        metavar="TEXT",
        help=r"how to show a record: %%s value, %%k key, %%h headers, %%S %%K their"
        r" sizes, %%R size as 4 bytes, %%t topic, %%p partition, %%o offset, %%T time"
        r" in ms, %%%%, \n \r \t \0 \xNN (default: %%s\n)",
    )
    parser.add_argument(
        "-K",
        "--key-separator",
        type=_bytes,
        metavar="TEXT",
        help="show the key too, with this behind it",
    )
    parser.add_argument(
        "--uncommitted",
        action="store_true",
        help="also what belongs to open and aborted transactions",
    )
    format_arguments(parser)
    options = parser.parse(arguments)
    if options.share is not None:
        _check_share(parser, options)
    if options.offset is None:
        options.offset = _edge("beginning")
    options.formats = formats_of(parser, _COMMAND, options)
    if options.json and (options.format or options.key_separator is not None):
        parser.error("--json has its own format; leave -f and -K out")
    if options.format and options.key_separator is not None:
        parser.error("put the key into the format: %k")
    begin, until = options.offset.offset, options.until and options.until.offset
    if begin is not None and until is not None and until < begin:
        parser.error(f"--until {until} is before --offset {begin}")
    chosen = [name for name, numbers in options.topic if numbers is not None]
    if (options.group or options.share) and chosen:
        parser.error(f"a group gives out partitions itself; write only {chosen[0]}")
    return options


def _check_share(parser: argparse.ArgumentParser, options: argparse.Namespace) -> None:
    if options.group:
        parser.error("--share and --group are two kinds of groups; leave one out")
    if options.offset is not None or options.until is not None:
        parser.error(
            "a share group knows itself what is next; odradek group reset-offsets"
            " moves it"
        )
    if options.uncommitted:
        parser.error(
            "what a share group shows of transactions is an option of the group:"
            " share.isolation.level"
        )


def _group(text: str) -> str:
    if not text:
        raise argparse.ArgumentTypeError("a group has a name")
    return text


def _group_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-g",
        "--group",
        type=_group,
        metavar="GROUP",
        help="share the topics with the other members of this group, go on where it"
        " is, and commit what was written; --offset is for partitions where the group"
        " has no offset",
    )
    parser.add_argument(
        "--share",
        type=_group,
        metavar="GROUP",
        help="be handed records by this share group (KIP-932), and accept what was"
        " written; the rest is given back",
    )


def _range_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-o",
        "--offset",
        type=_edge,
        metavar="WHERE",
        help="where to begin: beginning (default), end, an offset, -N for N before the"
        " end, or @TIME",
    )
    parser.add_argument(
        "--until",
        type=_edge,
        metavar="WHERE",
        help="where to end, written like --offset: the first record that is left out",
    )
    parser.add_argument(
        "-c", "--count", type=count, metavar="N", help="end after so many records"
    )
    parser.add_argument(
        "-e", "--exit", action="store_true", help="end where the topics end now"
    )


def _edge(text: str) -> Edge:
    from .read_range import parse_edge

    return parse_edge(text)


def _format(text: str) -> RecordFormat:
    from .format import parse_format

    return parse_format(text)


def _bytes(text: str) -> bytes:
    from .format import unescaped

    return unescaped(text)


def _consume(cluster: Cluster, options: argparse.Namespace) -> int:
    from odradek.client.errors import TopicReplaced
    from odradek.protocol.errors import KafkaError

    try:
        with _reading(cluster, options) as reading:
            write = _writer(options)
            _copy(reading, write, options.count)
    except (Refused, KafkaError, TopicReplaced) as error:
        sys.stdout.flush()
        return refuse(_COMMAND, error)
    return write.code if isinstance(write, Shown) else 0


@contextmanager
def _reading(
    cluster: Cluster, options: argparse.Namespace
) -> Iterator[_Reading | GroupReading | ShareReading]:
    from odradek.client.fetcher import FetchLimits
    from odradek.terminal.ending import BY_ANYBODY, BY_KEYBOARD, ended_by

    limits = FetchLimits(max_bytes=_FETCH_SIZE, max_wait_ms=_WAIT_MS)
    if options.group is None and options.share is None:
        with ended_by(BY_KEYBOARD) as ending:
            yield _Reading(cluster, options, limits, ending)
        return
    kind = _kind_of_reading(options)
    with ended_by(BY_ANYBODY) as ending:
        group_reading = kind(cluster, options, limits, ending)
        try:
            with group_reading as reading:
                yield reading
        except (KeyboardInterrupt, SystemExit):
            # It may have come between the end of the body and the leave.
            group_reading.leave(is_told=True)
            raise


def _kind_of_reading(
    options: argparse.Namespace,
) -> type[GroupReading] | type[ShareReading]:
    if options.share is not None:
        from .share_reading import ShareReading

        return ShareReading
    from .group_reading import GroupReading

    return GroupReading


def _copy(
    reading: _Reading | GroupReading | ShareReading,
    write: Write,
    count: int | None,
) -> None:
    """Write records, so many at most."""
    output = sys.stdout.buffer
    if count == 0:
        return
    left = -1 if count is None else count
    try:
        for pieces in reading.answers():
            for place, record in pieces:
                output.write(write(place, record))
                left -= 1
                if not left:
                    break
            output.flush()
            if not left:
                reading.written()
                return
    except (KeyboardInterrupt, SystemExit):
        output.flush()  # what is left out counts as not written
        raise


def _writer(options: argparse.Namespace) -> Write:
    write = _plain_writer(options)
    if options.formats is None:
        return write
    return Shown(_COMMAND, options.formats, write, is_json=options.json)


def _plain_writer(options: argparse.Namespace) -> Write:
    if options.json:
        import json

        from odradek.protocol.record_json import as_json

        return lambda place, record: (
            json.dumps(as_json(place, record), ensure_ascii=False).encode() + b"\n"
        )
    if options.format is None:
        separator = options.key_separator
        if separator is None:
            return lambda place, record: (record.value or b"") + b"\n"
        return lambda place, record: (
            b"%b%b%b\n"
            % (
                record.key or b"",
                separator,
                record.value or b"",
            )
        )
    pieces = options.format
    return lambda place, record: b"".join(piece(place, record) for piece in pieces)


class _Reading:
    """Where each partition goes on, and where it ends, if it does."""

    def __init__(
        self,
        cluster: Cluster,
        options: argparse.Namespace,
        limits: FetchLimits,
        ending: Ending,
    ) -> None:
        from odradek.broker.cli.group.plan import scope
        from odradek.client.fetcher import Fetcher

        from .read_range import bounds_of, check_offset, offsets_of

        self._committed = committed = not options.uncommitted
        places = scope(cluster, options.topic, {})
        bounds = bounds_of(cluster, places, committed=committed)
        self._offsets = offsets_of(cluster, options.offset, bounds, committed=committed)
        self._ends: dict[TopicPartition, int] = {}
        if options.until is not None:
            until = offsets_of(cluster, options.until, bounds, committed=committed)
            self._ends = until
        elif options.exit:
            self._ends = {place: each.end for place, each in bounds.items()}
        for remark in check_offset(cluster, options.offset, places, self._ends):
            print(f"odradek {_COMMAND}: {remark}", file=sys.stderr)
        self._fetcher: Fetcher = Fetcher(cluster, committed=committed)
        self._limits = limits
        self._ending = ending

    def written(self) -> None:
        """Nobody is told."""

    def answers(self) -> Iterator[Iterator[tuple[TopicPartition, Record]]]:
        """The records of one answer after the other, until all partitions end."""
        while wanted := self._unfinished():
            self._ending.check()
            fetched = self._fetcher.fetch_many(wanted, self._limits)
            for place, each in fetched.items():
                offset = wanted[place]
                self._offsets[place] = each.next_offset(offset)
                yield self._records(place, each, offset)

    def _unfinished(self) -> dict[TopicPartition, int]:
        return {
            place: offset
            for place, offset in self._offsets.items()
            if place not in self._ends or offset < self._ends[place]
        }

    def _records(
        self, place: TopicPartition, fetched: Fetched, offset: int
    ) -> Iterator[tuple[TopicPartition, Record]]:
        from odradek.client.record_reader import read_records

        end = self._ends.get(place)
        for record in read_records(fetched, offset, committed=self._committed):
            if end is not None and record.offset >= end:
                return
            yield place, record
