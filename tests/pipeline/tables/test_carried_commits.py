"""Where jobs are, in the snapshots and properties of an Iceberg table."""

from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil

from odradek.pipeline.tables.carried_commits import (
    commit_in,
    in_properties,
    in_summary,
    last_commit,
    last_commits,
    lineage,
)
from odradek.pipeline.tables.commit import Commit, CommittedRange


def commit(job: str, batch: int) -> Commit:
    ranges = (CommittedRange("t", 0, batch * 10, batch * 10 + 10, "id", 0),)
    return Commit(job, batch, ranges, 10, staged=f"{job}-{batch}")


def metadata(
    summaries: list[dict[str, str]],
    properties: dict[str, str] | None = None,
    *,
    first: int = 0,
    current: int | None = None,
) -> TableMetadata:
    """A table with a snapshot for each summary; those before ``first`` are expired."""
    numbers = range(first, len(summaries))
    snapshots = [
        {
            "snapshot-id": number + 1,
            "parent-snapshot-id": number if number > first else None,
            "sequence-number": number + 1,
            "timestamp-ms": 1000 + number,
            "manifest-list": "x",
            "schema-id": 0,
            "summary": {"operation": "append", **summaries[number]},
        }
        for number in numbers
    ]
    last = current or len(summaries)
    found = {
        "format-version": 2,
        "table-uuid": "9c12d441-03fe-4693-9a96-a0705ddf69c1",
        "location": "file:///t",
        "last-sequence-number": len(summaries),
        "last-updated-ms": 2000,
        "last-column-id": 1,
        "schemas": [
            {
                "type": "struct",
                "schema-id": 0,
                "fields": [{"id": 1, "name": "n", "required": False, "type": "long"}],
            }
        ],
        "current-schema-id": 0,
        "partition-specs": [{"spec-id": 0, "fields": []}],
        "default-spec-id": 0,
        "last-partition-id": 999,
        "sort-orders": [{"order-id": 0, "fields": []}],
        "default-sort-order-id": 0,
        "properties": properties or {},
        "snapshots": snapshots,
        "current-snapshot-id": last if snapshots else -1,
        "refs": {"main": {"snapshot-id": last, "type": "branch"}} if snapshots else {},
    }
    return TableMetadataUtil.parse_obj(found)


FOREIGN: dict[str, str] = {}
A, B = commit("a", 3), commit("b.c", 5)


def test_newest_of_our_snapshots_has_all() -> None:
    both = in_summary({"a": A, "b.c": B})
    older = in_summary({"a": commit("a", 2), "gone": commit("gone", 1)})
    table = metadata([older, both, FOREIGN, FOREIGN])
    assert last_commits(table) == {"a": A, "b.c": B}
    assert last_commit(table, "b.c") == B
    # It was carried no more: what is before a snapshot with all does not count.
    assert last_commit(table, "gone") is None
    assert [commit_in(each, "a") for each in lineage(table)] == [
        None,
        None,
        A,
        commit("a", 2),
    ]


def test_snapshots_of_earlier_versions_have_their_own_job_only() -> None:
    alone = [
        {"odradek.commit.a": A.as_json()},
        {"odradek.commit.b.c": B.as_json()},
    ]
    table = metadata([*alone, FOREIGN])
    assert last_commits(table) == {"a": A, "b.c": B}
    assert last_commit(table, "a") == A
    assert last_commit(table, "c") is None


def test_properties_are_left_when_all_snapshots_are_expired() -> None:
    properties = in_properties(metadata([FOREIGN]), {"a": A, "b.c": B})
    table = metadata([FOREIGN] * 5, properties, first=4)
    assert last_commits(table) == {"a": A, "b.c": B}
    assert last_commit(table, "a") == A
    assert in_properties(table, {"a": A}) == {}
    assert list(in_properties(table, {"a": commit("a", 4), "b.c": B})) == [
        "odradek.commit.a"
    ]


def test_properties_of_a_later_state_do_not_count() -> None:
    properties = in_properties(metadata([FOREIGN] * 3), {"a": A})
    assert last_commit(metadata([FOREIGN] * 4, properties), "a") == A
    assert last_commit(metadata([FOREIGN] * 4, properties, current=3), "a") is None
    assert last_commits(metadata([], properties)) == {}


def test_properties_that_are_none_of_ours() -> None:
    for text in ("", "[]", "7", '{"sequence": "x"}', '{"sequence": 1}'):
        table = metadata([FOREIGN], {"odradek.commit.a": text})
        assert last_commits(table) == {}
        assert last_commit(table, "a") is None
