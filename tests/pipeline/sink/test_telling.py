"""What a sink says of its batches; the rest of it is in the tests of sinks."""

import io
import json
from pathlib import Path
from typing import Any, cast

from odradek.client.address import Address
from odradek.client.cluster import Cluster
from odradek.pipeline.jobs.job_committer import Written
from odradek.pipeline.jobs.job_file import read_job
from odradek.pipeline.records.offset_range import OffsetRange
from odradek.pipeline.sink.telling import Telling
from odradek.pipeline.tables.commit import Commit, CommittedRange
from odradek.terminal.progress import Progress

FAILURES = [
    "t-0 at offset 5: JSON: n: 'abc' is no number at 7",
    "t-1 at offset 9: JSON: n: 'x' is no number at 12",
    "t-0 at offset 7: id is missing, and NOT NULL",
]


def telling(folder: Path) -> tuple[Telling, io.StringIO]:
    job = read_job(
        {"name": "orders", "source": {"topics": ["t"]}, "table": {"path": "rows"}},
        folder,
    )
    said = io.StringIO()
    return Telling(job, cast("Cluster", None), Progress(said)), said


def written(count: int, failure: str) -> Written:
    return Written([], [], 1, count, {}, failure)


def lines(said: io.StringIO) -> list[dict[str, Any]]:
    return [json.loads(line) for line in said.getvalue().splitlines()]


def test_each_reason_is_said_once(tmp_path: Path) -> None:
    told, said = telling(tmp_path)
    told.dead_letters(written(0, ""))
    for failure in FAILURES * 2:
        told.dead_letters(written(3, failure))
    assert [line["first"] for line in lines(said)] == [FAILURES[0], FAILURES[2]]
    assert lines(said)[0]["to"] == str(tmp_path / "rows-dead-letters")


def test_reasons_are_bounded(tmp_path: Path) -> None:
    told, said = telling(tmp_path)
    for number in range(100):
        told.dead_letters(written(1, f"t-0 at offset 1: {'x' * number}"))
    assert len(lines(said)) == 20


def test_what_pages_of_spark_say(tmp_path: Path) -> None:
    told, _ = telling(tmp_path)
    planned = [OffsetRange("t", 0, 5, 1205), OffsetRange("t", 1, 7, 7)]
    assert told.description(3, planned) == (
        f"orders: batch 3, 1,200 offsets of 1 partition to {tmp_path / 'rows'}"
    )
    planned.append(OffsetRange("t", 2, 0, 1))
    assert "1,201 offsets of 2 partitions" in told.description(4, planned)


def test_a_cluster_that_is_away_stops_nothing(tmp_path: Path) -> None:
    job = read_job(
        {
            "name": "orders",
            "source": {"topics": ["t"], "bootstrap_servers": "127.0.0.1:1"},
            "table": {"path": "rows"},
        },
        tmp_path,
    )
    said = io.StringIO()
    with Cluster([Address("127.0.0.1", 1)], timeout_s=0.1) as cluster:
        told = Telling(job, cluster, Progress(said))
        ranges = (CommittedRange("t", 0, 0, 5, ""),)
        told.committed(Commit("orders", 4, ranges, 4, 1), 100)
    (line,) = lines(said)
    assert (line["batch"], line["records"], line["dead_letters"]) == (4, 5, 1)
    assert "remaining" not in line
