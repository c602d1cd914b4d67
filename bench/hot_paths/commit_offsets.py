"""Whole OffsetCommits without sockets: from received bytes to those of the answer.

What the usual consumer sends, which takes a short way, and the same with a long note
beside an offset, which takes the long one.
"""

from collections.abc import Iterator

from dispatch_requests import Sender, SyncedSenders, start
from logs import temporary_root
from measuring import Case, main
from partitions import Loop

from odradek.broker.metadata.topic_names import CONSUMER_OFFSETS
from odradek.protocol.headers import encode_request
from odradek.protocol.messages.offsets import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)

VERSION = 9


def commit_bytes(partition_count: int, note: str = "") -> bytes:
    partitions = [
        OffsetCommitRequestPartition(
            partition_index=index, committed_offset=7, committed_metadata=note
        )
        for index in range(partition_count)
    ]
    topic = OffsetCommitRequestTopic(name="committed", partitions=partitions)
    request = OffsetCommitRequest(group_id="bench-group", topics=[topic])
    return encode_request(request, VERSION, 7, "bench-client")


def cases() -> Iterator[Case]:
    loop = Loop()
    with temporary_root() as root:
        for durability in ("none", "commit"):
            serving = loop.run(start(root / durability, durability))
            loop.run(serving.topics.create_topic("committed", 12))
            loop.run(serving.topics.create_topic(CONSUMER_OFFSETS, 50))
            for label, count, note in (
                ("1 partition", 1, ""),
                ("12 partitions", 12, ""),
                ("1 partition with a long note", 1, "note" * 50),
            ):
                request = commit_bytes(count, note)
                if durability == "none":
                    run = Sender(serving, request).run
                else:
                    label += ", one of 50 synced"
                    run = SyncedSenders(serving, request, 50).run
                yield Case(f"whole OffsetCommit, {label}", loop.case(run))
            loop.run(serving.close())
    loop.close()


if __name__ == "__main__":
    main(cases)
