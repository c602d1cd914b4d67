import threading
from pathlib import Path

from odradek.broker.node.closing import CLOSING_THREADS, close_logs
from odradek.protocol.topic_partition import TopicPartition
from odradek.storage.directory.log_manager import LogManager
from odradek.storage.files.files import OsFiles
from odradek.storage.values.log_config import LogConfig
from tests.storage.logs import NOW, TOPIC_ID


def opened(directory: Path) -> LogManager:
    manager = LogManager([directory], OsFiles(), cluster_id="c", node_id=1)
    manager.open()
    return manager


def test_logs_are_closed_in_order_and_leave_no_thread(tmp_path: Path) -> None:
    manager = opened(tmp_path)
    assert manager.was_clean  # it is new
    for number in range(2 * CLOSING_THREADS):
        topic_partition = TopicPartition("t", number)
        manager.create(topic_partition, TOPIC_ID, LogConfig(), None, NOW)
    close_logs(manager)
    assert not any(each.name.startswith("close") for each in threading.enumerate())
    again = opened(tmp_path)
    assert again.was_clean
    close_logs(again)
    close_logs(opened(tmp_path))
