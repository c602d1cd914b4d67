"""What a recovery leaves beside the log: snapshots, and bytes that are on the disk."""

from odradek.storage.producers.snapshot import decode_snapshot
from tests.storage.logs import (
    DIRECTORY,
    Producer,
    files_of,
    filled,
    new_log,
    produce,
    reopened,
)


def test_snapshots_beside_the_segments_are_made_anew() -> None:
    log = filled()
    files = files_of(log)
    before = {
        path: {each.producer_id: each.last_offset for each in decode_snapshot(data)}
        for path in files.paths()
        if path.suffix == ".snapshot"
        for data in [files.content(path)]
    }
    for path in before:
        files.unlink(path)
    reopened(log)
    files.power_cut()
    for path, producers in before.items():
        found = decode_snapshot(files.content(path))
        assert {each.producer_id: each.last_offset for each in found} == producers
    assert files.exists(DIRECTORY / f"{90:020d}.snapshot")


def test_recovery_begins_with_the_batch_at_the_recovery_point() -> None:
    log = new_log(segment_bytes=1 << 20, index_interval_bytes=100)
    for number in range(2000):
        produce(log, 1, producer=Producer(1, 0, number), value=bytes(1000))
    ticket = log.syncing.begin(with_snapshot=True)
    assert ticket
    ticket.run()
    log.syncing.finish(ticket)
    produce(log, 1)
    files_of(log).counts.clear()
    again = reopened(log, recovery_point=2000)
    assert again.log_end_offset == 2001
    assert files_of(log).counts["read"] < 20


def test_an_unsynced_tail_survives_a_power_cut_after_the_recovery() -> None:
    log = filled()
    produce(log, 3)
    again = reopened(log, recovery_point=90)
    files_of(log).power_cut()
    assert reopened(again, recovery_point=93).log_end_offset == 93
