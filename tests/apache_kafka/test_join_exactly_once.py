"""What is sent is kept and copied exactly once, whatever becomes of brokers.

See `kept_history`. In the end no copy of a partition has a byte more than another. The
same happens to brokers of Apache Kafka, which shows what is asked of them all.
"""

import os
import random
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from tests.apache_kafka.kept_history import TOPICS, history
from tests.apache_kafka.troubled import (
    ALL_OURS,
    ALL_THEIRS,
    MIXED,
    Troubled,
    troubled_brokers,
)
from tests.client.live import wait_until
from tests.patience import PATIENCE_S

LONG_S = float(os.environ.get("ODRADEK_TROUBLE_S", "1200"))


def data_of(directory: Path, topic: str, number: int) -> bytes:
    files = sorted((directory / f"{topic}-{number}").glob("*.log"))
    return b"".join(each.read_bytes() for each in files)


def are_copies_equal(at: Troubled) -> bool:
    directories = [each.data_dir for each in at.members]
    return all(
        len({data_of(each, topic, number) for each in directories}) == 1
        for topic, partitions in TOPICS.items()
        for number in range(partitions)
    )


def test_a_leader_sleeps_and_a_network_loses_one_direction(tmp_path: Path) -> None:
    def troubles(at: Troubled) -> Iterator[object]:
        yield at.freeze(at.ids[0])
        yield at.lose_what_goes_to(at.ids[1])

    with troubled_brokers(tmp_path, ALL_OURS) as at:
        history(at, troubles(at))
        wait_until(lambda: are_copies_equal(at), PATIENCE_S)


@pytest.mark.long
@pytest.mark.timeout(3 * LONG_S)  # what was sent is copied afterwards, too
@pytest.mark.parametrize(
    "ids", [ALL_OURS, MIXED, ALL_THEIRS], ids=["ours", "mixed", "theirs"]
)
def test_much_trouble(tmp_path: Path, ids: Sequence[int]) -> None:
    chance = random.Random(int(os.environ.get("ODRADEK_SEED", "1")))

    def troubles(at: Troubled) -> Iterator[object]:
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            yield at.some_trouble(chance)

    with troubled_brokers(tmp_path, ids) as at:
        history(at, troubles(at))
        wait_until(lambda: are_copies_equal(at), PATIENCE_S)
