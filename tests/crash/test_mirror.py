"""A broker that copies another one is killed again and again while that is written."""

import json
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from odradek.broker.cli.admin.admin_client import AdminRefusal, ask
from odradek.broker.cli.main import main
from odradek.client.cluster import Cluster
from tests.broker_process import BrokerProcess, running_broker
from tests.client.live import connected, create_topic, produce, wait_until

TOPIC = "written"
KILLS = 40 if os.environ.get("ODRADEK_LONG") else 2
OPTIONS = ("-o", "log.min.free.bytes=0", "-o", "offsets.topic.num.partitions=1")


@contextmanager
def written(cluster: Cluster) -> Iterator[None]:
    """The topic gets batches all the time."""
    is_over = threading.Event()

    def run() -> None:
        while not is_over.wait(0.002):
            produce(cluster, TOPIC, 0, [1, 2, 3])

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield
    finally:
        is_over.set()
        thread.join()


def end_of(broker: BrokerProcess) -> int:
    """Up to where the copy says that it is durable; -1 while nobody says it."""
    try:
        items = list(ask(broker.data_dir, {"request": "mirror-status"}))
    except AdminRefusal:
        return -1
    return max((each.get("end", -1) for each in items), default=-1)


def data_of(broker: BrokerProcess) -> bytes:
    files = Path(broker.data_dir, f"{TOPIC}-0").glob("*.log")
    return b"".join(each.read_bytes() for each in sorted(files)).rstrip(b"\0")


def test_kills_lose_nothing_and_repeat_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        running_broker(tmp_path / "source", *OPTIONS) as source,
        running_broker(tmp_path / "ours", *OPTIONS) as ours,
        connected(source.port) as cluster,
    ):
        create_topic(cluster, TOPIC, 1)
        request = {"name": "m", "bootstrap": source.address, "topics": TOPIC}
        list(ask(ours.data_dir, {"request": "mirror-add", **request}))
        with written(cluster):
            durable = 0
            for _ in range(KILLS):
                wait_until(lambda at=durable: end_of(ours) > at + 50)
                durable = end_of(ours)
                ours.kill()
                ours.start()
                wait_until(lambda: end_of(ours) >= 0)
                assert end_of(ours) >= durable
        wait_until(lambda: data_of(ours) == data_of(source))
        ours.terminate()
    assert main(["fsck", str(ours.data_dir), "--json"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert all(json.loads(line).get("findings", []) == [] for line in lines)
