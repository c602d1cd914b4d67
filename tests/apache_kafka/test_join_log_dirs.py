"""What a broker of a cluster says of its log directories to Apache Kafka's tools."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.apache_kafka.java_client import JavaClient
from tests.apache_kafka.test_join import (
    COUNT,
    US,
    consumed,
    create,
    in_sync,
    produce,
)
from tests.apache_kafka.test_join_directories import OnTwoDisks, joined
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

__all__ = ["joined"]

TOOLS = "org.apache.kafka.tools"
THEIRS = 1


def described(joined: OnTwoDisks, java: JavaClient) -> dict[int, dict[str, Any]]:
    """By broker and directory, as kafka-log-dirs.sh prints it."""
    there = ("--bootstrap-server", joined.ours.address)
    lines = java.tool(f"{TOOLS}.LogDirsCommand", *there, "--describe").splitlines()
    found: dict[int, dict[str, Any]] = {}
    for broker in json.loads(lines[-1])["brokers"]:
        dirs = found.setdefault(broker["broker"], {})
        for each in broker["logDirs"]:
            assert each["error"] is None
            dirs[each["logDir"]] = {x["partition"]: x for x in each["partitions"]}
    return found


def reassign(
    joined: OnTwoDisks, java: JavaClient, plan: Path, *words: str
) -> list[str]:
    there = ("--bootstrap-server", joined.ours.address)
    tool = f"{TOOLS}.reassign.ReassignPartitionsCommand"
    file = ("--reassignment-json-file", str(plan))
    return java.tool(tool, *there, *file, *words).splitlines()


def planned(path: Path, name: str, *places: tuple[int, Path | str]) -> Path:
    partition = {
        "topic": name,
        "partition": 0,
        "replicas": [number for number, _ in places],
        "log_dirs": [str(directory) for _, directory in places],
    }
    path.write_text(json.dumps({"version": 1, "partitions": [partition]}))
    return path


@pytest.mark.long
def test_each_directory_has_what_is_in_it(
    joined: OnTwoDisks, java: JavaClient, tmp_path: Path
) -> None:
    """Nothing of what other brokers have; a partition comes where the tool has it."""
    create(joined, "ours", US)
    create(joined, "theirs", THEIRS)
    create(joined, "copied", THEIRS, US)
    for name in ("ours", "theirs", "copied"):
        produce(joined.kafka, name, 0)
    wait_until(lambda: in_sync(joined, "copied")[1] == {THEIRS, US}, PATIENCE_S)
    found = described(joined, java)
    assert {*found[THEIRS][str(joined.kafka.data_dir)]} == {"theirs-0", "copied-0"}
    assert {*found[US]} == {str(each) for each in joined.disks}
    for disk in joined.disks:
        told = found[US][str(disk)]
        assert {*told} == {each.name for each in disk.glob("*-0")}
        for name, each in told.items():
            files = (disk / name).glob("*.log")
            assert each["size"] == sum(file.stat().st_size for file in files)
            assert (each["offsetLag"], each["isFuture"]) == (0, False)
    assert {x for told in found[US].values() for x in told} == {"ours-0", "copied-0"}

    first, second = joined.disks
    plan = tmp_path / "plan.json"
    for disk in (second, first):  # made in the one, moved to the other
        planned(plan, "theirs", (US, disk))
        reassign(joined, java, plan, "--execute")

        def is_there(disk: Path = disk) -> bool:
            lines = reassign(joined, java, plan, "--verify")
            return not any("in progress" in line for line in lines) and (
                "theirs-0" in described(joined, java)[US][str(disk)]
            )

        wait_until(is_there, PATIENCE_S)
        assert [each.name for each in disk.glob("theirs-0*")] == ["theirs-0"]
    found = described(joined, java)
    assert "theirs-0" not in found[THEIRS][str(joined.kafka.data_dir)]
    assert "theirs-0" not in found[US][str(second)]
    produce(joined.kafka, "theirs", COUNT)
    assert consumed(joined.ours, "theirs", 2 * COUNT) == list(range(2 * COUNT))
