from odradek.protocol.record_batch import read_header
from odradek.storage.fsck.watcher import Watcher
from tests.storage.batches import batch


def test_looks_on() -> None:
    data = batch(0)
    watcher = Watcher()
    watcher.on_batch(0, read_header(data), memoryview(data))
    watcher.on_damage(0, 1)
    watcher.on_end(1, 1)
