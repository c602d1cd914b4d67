"""Upserts beside a dictionary, while drivers die and tables are compacted."""

import random
from pathlib import Path

import pytest

from odradek.pipeline.jobs.job_committer import Step
from odradek.pipeline.tables.compaction.compaction import compact
from tests.pipeline.table_readers import READERS, rows_of
from tests.pipeline.upsert_job import Change, UpsertJob, put
from tests.sampling import sampled_rows

KINDS = ("delta", "iceberg")
KEYS = [b"key-%d" % number for number in range(12)]


def check(job: UpsertJob, kind: str, model: dict[bytes, int]) -> None:
    for reader in READERS[kind]:
        assert rows_of(reader, job.table, "id") == sorted(model.values()), reader
        assert rows_of(reader, job.table, "_key") == sorted(model), reader
    assert list(job.table.rglob("*.tmp")) == []
    staged = [path for path in (job.table / "data").glob("*-*-*-*") if path.is_dir()]
    assert [path for path in staged if not path.name.startswith("compact-")] == []


@pytest.mark.parametrize(
    ("kind", "by"),
    sampled_rows(
        [
            *((kind, ()) for kind in KINDS),
            ("delta", ("text", "days(_timestamp)")),
            ("iceberg", ("text",)),
        ],
        ("delta", ("text", "days(_timestamp)")),
        ("iceberg", ()),
    ),
)
def test_a_table_is_what_a_dictionary_is(
    kind: str, by: tuple[str, ...], tmp_path: Path
) -> None:
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    chance = random.Random(seed)
    job, model = UpsertJob(tmp_path, kind, by), dict[bytes, int]()
    for number in range(6 if by else 12):
        changes = []
        for place in range(chance.randrange(1, 12)):
            key = chance.choice(KEYS)
            partition = KEYS.index(key) % 3
            if chance.random() < 0.3:
                changes.append(Change(key, None, partition))
                model.pop(key, None)
            else:
                value = (number * 100 + place) % (3 if by else 10_000)
                changes.append(put(key, value, partition))
                model[key] = value
        dies_at = chance.choice([None, None, *Step])
        job.run(changes, dies_at)
        if number % 5 == 4:
            compact(str(job.table), 1 << 20)
            check(job, kind, model)
    check(job, kind, model)


@pytest.mark.parametrize("kind", KINDS)
def test_keys_that_were_not_there_go(kind: str, tmp_path: Path) -> None:
    """Nothing changes, and the batch is a batch all the same."""
    job = UpsertJob(tmp_path, kind)
    job.run([Change(b"a", None)])
    job.run([put(b"a", 1), put(b"b", 2)])
    for _ in range(2):
        job.run([Change(b"z", None)])
    job.run([Change(b"z", None), Change(b"a", None)])
    check(job, kind, {b"b": 2})


@pytest.mark.parametrize("kind", KINDS)
def test_what_has_no_key_or_is_no_value(kind: str, tmp_path: Path) -> None:
    job = UpsertJob(tmp_path, kind)
    job.run([put(b"a", 1), Change(None, b'{"id": 2}'), Change(b"a", b"bad")])
    job.run([Change(None, None), Change(b"b", b"bad")])
    check(job, kind, {b"a": 1})  # a bad value is no value of its key
    reader = READERS[kind][0]
    assert len(rows_of(reader, job.letters, "offset")) == 4
    reasons = rows_of(reader, job.letters, "reason")
    assert [("has no key" in reason) for reason in reasons].count(True) == 2
