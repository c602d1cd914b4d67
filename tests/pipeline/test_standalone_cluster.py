"""The commands on a cluster: a master, and two workers that see different files."""

import pytest

from tests.pipeline.cluster_place import FAR, Place, fill
from tests.pipeline.table_readers import rows_of

pytestmark = [pytest.mark.usefixtures("spark_java"), pytest.mark.timeout(3000)]


def test_all_machines_are_asked_and_do_their_part(place: Place, topic: str) -> None:
    fill(place, topic)
    brokers = ["--bootstrap-server", place.address]
    table = place.shared / topic
    typed = ["--value-format=json", "--schema=id BIGINT"]
    asked, exported = place.run(
        ["doctor", *brokers, "--path", str(place.hidden)],
        ["export", topic, str(table), *brokers, *typed],
    )
    assert asked.code == 1
    assert "2 on 2 machines were asked" in asked.out
    assert "all 2 reach the driver" in asked.out
    (found,) = [line for line in asked.out.splitlines() if line.startswith("FAIL")]
    assert found.startswith(f"FAIL  worker: path          {FAR} (executor ")
    assert found.endswith("No such file or directory (as user 0)")
    assert exported.code == 0, exported.err
    assert rows_of("duckdb", table, "id") == list(range(300))


@pytest.mark.long
def test_a_machine_without_the_packages(place: Place, topic: str) -> None:
    """Its tasks are done by the other one; the doctor says what it lacks."""
    brokers = ["--bootstrap-server", place.address]
    (asked,) = place.run(["doctor", *brokers], python=place.bare_python)
    assert asked.code == 1, asked.out
    lines = asked.out.splitlines()
    (found,) = [line for line in lines if line.startswith("FAIL")]
    assert found.startswith(f"FAIL  worker                {FAR} (executor ")
    assert "no odradek, no pyarrow, no numpy, no pandas" in found


@pytest.mark.long
def test_a_task_says_what_its_machine_lacks(place: Place, topic: str) -> None:
    fill(place, topic)
    given = ["--bootstrap-server", place.address]
    once = ["--conf", "spark.task.maxFailures=1"]  # nor is it tried elsewhere
    # And each of the two executors has some, of one core each.
    once += ["--conf", "spark.scheduler.minRegisteredResourcesRatio=1"]
    once += ["--min-partitions", "4"]
    table = str(place.hidden / topic)
    (unseen,) = place.run(["export", topic, table, *given, *once])
    assert unseen.code == 1
    said = unseen.err.splitlines()[-1]
    assert f" does not see {table}/_stage/" in said
    assert said.endswith(tuple(f"so said a task on {FAR} (executor {n})" for n in "01"))
    (bare,) = place.run(
        ["export", topic, str(place.shared / topic), *given, *once],
        python=place.bare_python,
    )
    assert bare.code == 1
    said = bare.err.splitlines()[-1]
    assert f"export: The Python of {FAR} (executor " in said
    assert " does not have odradek: install odradek with its extra" in said
