import pytest

from odradek.broker.replica.logs.gone_logs import write_checkpoints
from odradek.broker.runtime.disk_threads import DiskThreads
from odradek.storage.files.files import DiskFull, StorageFailure
from tests.fakes.topics import FakeLogManager


@pytest.mark.parametrize(("full_count", "written_count"), [(0, 1), (1, 1)])
async def test_room_is_made_for_them(full_count: int, written_count: int) -> None:
    manager, threads = FakeLogManager(), DiskThreads(1)
    manager.errors = [DiskFull("no room")] * full_count
    await write_checkpoints(manager, threads)  # type: ignore[arg-type]
    assert manager.removal_count == full_count
    assert manager.checkpoint_count == written_count
    threads.close()


@pytest.mark.parametrize(
    "errors", [[DiskFull("no room")] * 2, [StorageFailure("no way")]]
)
async def test_what_is_not_written_is_told(errors: list[Exception]) -> None:
    manager, threads = FakeLogManager(), DiskThreads(1)
    manager.errors = list(errors)
    with pytest.raises(type(errors[0])):
        await write_checkpoints(manager, threads)  # type: ignore[arg-type]
    assert manager.checkpoint_count == 0
    threads.close()
