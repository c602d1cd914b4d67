from collections.abc import Iterable

from odradek.protocol.uuids import to_text
from odradek.storage.dump.row import Row, RowKind
from odradek.storage.dump.text_dump import (
    dump_clean_marker,
    dump_epoch_checkpoint,
    dump_meta_properties,
    dump_offset_checkpoint,
    dump_partition_metadata,
    dump_quarantine,
)
from odradek.storage.files.partition_metadata import format_partition_metadata
from odradek.storage.formats.quarantine_entry import QuarantineEntry, format_quarantine

TOPIC_ID = bytes(range(16))


def shown(rows: Iterable[Row]) -> list[object]:
    return [
        row.fields if row.kind is RowKind.ENTRY else str(row.fields["reason"])
        for row in rows
    ]


def test_offsets_and_epochs() -> None:
    assert shown(dump_offset_checkpoint(b"0\n1\na.b-c 3 15\n")) == [
        {"topic": "a.b-c", "partition": 3, "offset": 15}
    ]
    assert shown(dump_epoch_checkpoint(b"0\n2\n1 0\n4 10\n")) == [
        {"epoch": 1, "startOffset": 0},
        {"epoch": 4, "startOffset": 10},
    ]


def test_a_bad_line_does_not_hide_the_others() -> None:
    rows = list(dump_offset_checkpoint(b"0\n3\na 0 1\nb x 2\n\xff\xfe 1 1\nc 0 3\n"))
    assert [row.kind for row in rows] == [
        RowKind.ENTRY,
        RowKind.DAMAGE,
        RowKind.DAMAGE,
        RowKind.ENTRY,
        RowKind.DAMAGE,
    ]
    assert (rows[1].fields["position"], rows[1].fields["end"]) == (10, 16)
    assert rows[4].fields["reason"] == "b'3' entries announced, 4 present"


def test_other_versions_and_empty_files() -> None:
    assert shown(dump_epoch_checkpoint(b"9\n0\n")) == ["version '9' is not known"]
    assert shown(dump_epoch_checkpoint(b"0")) == ["b'' entries announced, 0 present"]
    assert shown(dump_epoch_checkpoint(b"")) == ["the file is empty: it has no entries"]


def test_quarantined_ranges() -> None:
    entry = QuarantineEntry(0, 10, 20, 3, 5, "a reason of words", 2)
    assert shown(dump_quarantine(format_quarantine([entry]).encode())) == [
        {
            "segment": 0,
            "position": 10,
            "end": 20,
            "baseOffset": 3,
            "lastOffset": 5,
            "partitionLeaderEpoch": 2,
            "reason": "a reason of words",
        }
    ]


def test_identities() -> None:
    data = format_partition_metadata(TOPIC_ID)
    assert shown(dump_partition_metadata(data)) == [
        {"version": 0, "topic_id": to_text(TOPIC_ID)}
    ]
    [reason] = shown(dump_partition_metadata(b"version: 4\ntopic_id: x"))
    assert "malformed" in str(reason)
    rows = shown(dump_meta_properties(b"#note\nversion=3\ncluster.id=c\n"))
    assert rows == [
        {"property": "version", "value": "3"},
        {"property": "cluster.id", "value": "c"},
        "version 3 is not known",
    ]


def test_the_marker_of_a_clean_stop() -> None:
    assert shown(dump_clean_marker(b'{"version":0}')) == [{"version": 0}]
    for data in (b"", b"[1]", b"[" * 100_000):
        assert "not JSON" in str(shown(dump_clean_marker(data))[0])
